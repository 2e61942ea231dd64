#!/usr/bin/env python3
"""Keeps code compiled for one ISA apart from the rest, by reading `nm`.

check_symbols.py BUILD             every ISA object of a Release tree defines only names of
                                   regard::<isa> and refers only to those and to memory functions
check_symbols.py --shared LIBRARY  the library exports what tools/exported_symbols.txt lists
                                   (--update rewrites the list)
"""
import argparse
import pathlib
import re
import subprocess
import sys

MEMORY_FUNCTIONS = {"memcpy", "memmove", "memset"}
LIST = pathlib.Path(__file__).with_name("exported_symbols.txt")
# Namespaces of the inside; what the library exports lies in none of them.
INNER = "api base cache contract dispatch io plan problem run generic avx2 avx512 amx neon".split()
# A demangled name of ours; a template of std may merely begin with our type as what it returns.
OURS = re.compile(r"(?:(?:vtable|typeinfo|typeinfo name) for )?"
                  r"regard::(\w+)[\w:~]*(?:operator[^ (]+)?(?=[([]|$)")

# The C interface, whose names carry no types, and the headers that declare it.
IN_C = re.compile(r"regard_\w+$")
HEADERS_IN_C = sorted(LIST.parent.parent.glob("include/regard/regard*.h"))
DECLARED_IN_C = re.compile(r"^REGARD_API [\w* ]+?\b(regard_\w+)\(", re.MULTILINE)

def nm(path, *options):
    """(name, type letter) of each symbol."""
    lines = subprocess.run(["nm", *options, path], check=True, text=True,
                           capture_output=True).stdout.splitlines()
    fields = (re.match(r"[0-9a-f]* *(\w) (.*)", line) for line in lines)
    return [(field[2], field[1]) for field in fields if field]


def own_name(isa):
    """Mangled names inside regard::<isa>, and the statics, guards and type data of such names."""
    return re.compile(rf"_Z(G[VR]|T[VIST]|Z)*N[rVKRO]*6regard{len(isa)}{isa}")


def check_objects(build):
    problems, objects = [], sorted(build.glob("src/CMakeFiles/regard_isa_*.dir/**/*.o"))
    for path in objects:
        isa = re.search(r"regard_isa_(\w+)\.dir", str(path))[1]
        own = own_name(isa)
        for name, kind in nm(path):
            label = name.startswith((".L", "$"))  # $x, $d: aarch64's marks of code and data
            if label or own.match(name) or (kind in "Uwv" and name in MEMORY_FUNCTIONS):
                continue
            verb = "refers to" if kind in "Uwv" else "defines"
            problems.append(f"{isa}/{path.name} {verb} {demangle(name)}")
    if not objects:
        problems.append(f"no ISA object below {build}")
    return problems, f"{len(objects)} ISA objects"


def demangle(name):
    return subprocess.run(["c++filt", name], text=True, capture_output=True).stdout.strip()


def check_exports(library, update):
    # Weak copies of the standard library's templates are in every C++ library; they are not ours.
    names = sorted({name for name, kind in nm(library, "-DC", "--defined-only")
                    if kind not in "WVu" or OURS.match(name)})
    declared = {name for header in HEADERS_IN_C
                for name in DECLARED_IN_C.findall(header.read_text())}
    problems = [f"exported, but not part of the interface: {name}" for name in names
                if name not in declared and (not OURS.match(name) or OURS.match(name)[1] in INNER)]
    problems += [f"declared in C, but not exported: {name}"
                 for name in sorted(declared - {name for name in names if IN_C.match(name)})]
    if update:
        LIST.write_text("\n".join(names) + "\n")
    listed = set(LIST.read_text().splitlines())
    problems += [f"exported, but not listed: {name}" for name in names if name not in listed]
    problems += [f"listed, but not exported: {name}" for name in sorted(listed - set(names))]
    return problems, f"{len(names)} exported symbols"


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", nargs="?", type=pathlib.Path)
    parser.add_argument("--shared", type=pathlib.Path, metavar="LIBRARY")
    parser.add_argument("--update", action="store_true")
    arguments = parser.parse_args()
    if (arguments.build is None) == (arguments.shared is None):
        parser.error("give either a build folder or --shared LIBRARY")
    if arguments.shared:
        problems, counted = check_exports(arguments.shared, arguments.update)
    else:
        problems, counted = check_objects(arguments.build)
    print(*problems, sep="\n", end="\n" if problems else "", file=sys.stderr)
    print(f"{counted}, {len(problems)} problems")
    return 1 if problems else 0


sys.exit(main())
