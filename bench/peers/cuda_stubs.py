#!/usr/bin/env python3
"""Lets PyTorch from PyPI start without its gigabytes of CUDA libraries: cuda_stubs.py TORCH_LIB.

The wheel for x86-64 is linked against them even where only the CPU is used. One small library
stands in for all: every function it has answers "no device", by number or in words, so PyTorch
finds no GPU and goes on. Its CPU code never calls them, so what is measured is untouched.
Libraries that are there are left alone. Needs nm, readelf and a C compiler."""
import pathlib
import re
import subprocess
import sys

NO_DEVICE = 100
# "cudaMalloc@libcudart.so.13" or "ncclSend"; the part behind @ is the version of the symbol.
CUDA_SYMBOL = re.compile(r" U ((?:cu|nccl|nv|__cuda)\w+)(?:@(\S+))?$", re.MULTILINE)
# These give a text, which PyTorch puts into its errors; those of the driver, cuGet..., a number.
TEXT = re.compile(r"(?!cuGet).*(Error|Status)(String|Name)$|ncclGetLastError$")
NEEDED = re.compile(r"\(NEEDED\).*\[(lib(?:cu|nccl|nv)[^\]]+)\]")


def output_of(*command: str) -> str:
    """What a program prints."""
    return subprocess.run(command, check=True, text=True, capture_output=True).stdout


def wanted(libraries: list[pathlib.Path]) -> tuple[set[str], dict[str, set[str]]]:
    """Names of libraries, and the functions of each symbol version ("" for none)."""
    names: set[str] = set()
    functions: dict[str, set[str]] = {}
    for library in libraries:
        names |= set(NEEDED.findall(output_of("readelf", "-d", str(library))))
        for name, version in CUDA_SYMBOL.findall(output_of("nm", "-D", str(library))):
            functions.setdefault(version, set()).add(name)
    return names, functions


def compile_stub(path: pathlib.Path, functions: dict[str, set[str]]) -> None:
    """A library that has `functions`, each under its version."""
    source, script = path.with_suffix(".c"), path.with_suffix(".map")
    every = sorted(set().union(*functions.values()))
    source.write_text("".join(
        f'const char* {name}(void) {{ return "no device"; }}\n' if TEXT.match(name) else
        f"int {name}(void) {{ return {NO_DEVICE}; }}\n" for name in every), encoding="utf-8")
    script.write_text("".join(f"{version} {{ {' '.join(f'{name};' for name in sorted(names))} }};\n"
                              for version, names in functions.items() if version),
                      encoding="utf-8")
    subprocess.run(["cc", "-shared", "-fPIC", "-w", "-o", path, source,
                    f"-Wl,--version-script={script}"], check=True)
    source.unlink()
    script.unlink()


def main(folder: pathlib.Path) -> None:
    """Puts the stand-in under every missing name, beside PyTorch's own libraries."""
    libraries = [path for path in folder.glob("lib*.so") if not path.is_symlink()]
    names, functions = wanted(libraries)
    own = {path.name for path in libraries}
    missing = {name for name in names if name not in own and not (folder / name).exists()
               and not any(folder.parent.parent.glob(f"nvidia/*/lib/{name}"))}
    if not missing:
        return
    stub = folder / "no_cuda.so"
    compile_stub(stub, functions)
    for name in missing:
        (folder / name).symlink_to(stub.name)


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
