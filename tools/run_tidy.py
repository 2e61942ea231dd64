#!/usr/bin/env python3
"""Runs clang-tidy over the changed files of a built tree: those that differ from where this branch
left origin's, or else from ten commits ago. A changed header is read through one file that
includes it. Stops starting files after --seconds and says how many are left; --all reads all."""
import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"


def output(*command, check=True):
    result = subprocess.run(command, cwd=ROOT, check=check, text=True, capture_output=True)
    return result.stdout.strip()


def base_commit():
    head = output("git", "rev-parse", "HEAD")
    base = output("git", "merge-base", "HEAD", "origin/HEAD", check=False)
    if base and base != head:
        return base
    return output("git", "rev-parse", "-q", "--verify", "HEAD~10", check=False) or EMPTY_TREE


def changed_files():
    names = output("git", "diff", "--name-only", "--diff-filter=d", base_commit()).splitlines()
    names += output("git", "ls-files", "-o", "--exclude-standard").splitlines()
    return {str(ROOT / name) for name in names}


def dependencies(build):
    """Object -> files it was compiled from, as ninja recorded."""
    files, name = {}, ""
    for line in output("ninja", "-C", str(build), "-t", "deps").splitlines():
        if line.startswith("    "):
            files[name].add(os.path.normpath(build / line.strip()))
        elif ": #deps" in line:
            name = line.split(":")[0]
            files[name] = set()
    return files


def to_read(build, everything):
    """Source files to hand to clang-tidy, fewest that cover the changed ones."""
    database = json.loads((build / "compile_commands.json").read_text())
    sources = {re.search(r" -o (\S+)", entry["command"])[1]: entry["file"] for entry in database}
    if everything:
        return sorted(set(sources.values()))
    changed = changed_files()
    chosen = {source for source in sources.values() if source in changed}
    files = {name: read & changed for name, read in dependencies(build).items() if name in sources}
    left = set().union(*files.values()) - chosen
    for name, read in files.items():
        if sources[name] in chosen:
            left -= read
    for name in sorted(files, key=lambda name: (-len(files[name] & left), name)):
        if files[name] & left:
            chosen.add(sources[name])
            left -= files[name]
    return sorted(chosen)


def tidy(build, source, deadline):
    """What clang-tidy says of one file; None when its turn came too late."""
    if time.monotonic() > deadline:
        return None
    command = ["clang-tidy-14", "--quiet", "-p", build, "--extra-arg=-Wno-unknown-warning-option",
               source]
    without_analyzer = [*command, "--checks=-clang-analyzer-*"]
    # Templates of CLI11 and GoogleTest cost the static analyzer five times what all else costs.
    if not pathlib.Path(source).is_relative_to(ROOT / "src"):
        command = without_analyzer
    result = subprocess.run(command, text=True, capture_output=True)
    if result.returncode < 0:  # the analyzer of clang 14 crashes on some remainders of addresses
        result = subprocess.run(without_analyzer, text=True, capture_output=True)
    return (result.stdout or result.stderr) if result.returncode else ""


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--seconds", type=int, default=360)
    arguments = parser.parse_args()
    build = arguments.build.resolve()
    sources = to_read(build, arguments.all)
    deadline = time.monotonic() + (float("inf") if arguments.all else arguments.seconds)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        said = list(pool.map(lambda source: tidy(build, source, deadline), sources))
    findings = [text for text in said if text]
    print(*findings, sep="\n", end="\n" if findings else "")
    late = said.count(None)
    print(f"clang-tidy read {len(sources) - late} files, {len(findings)} with findings"
          + (f"; time ran out before {late} more: ./test --lint --all reads them" if late else ""))
    return 1 if findings else 0


sys.exit(main())
