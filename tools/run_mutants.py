#!/usr/bin/env python3
"""Proves that the suite notices mistakes: applies each tests/mutants/*.patch to a copy of the tree
built for the generic ISA alone, and demands that its tests fail.

A patch opens with two lines: `# what: one sentence` and `# tests: regular expression for ctest -R`.
One that does not apply or compile is an error, as are tests that fail without any mutant.
"""
import argparse
import pathlib
import re
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
COPIED = ("CMakeLists.txt", "cmake", "include", "src", "tests", "data")
OPTIONS = ("-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_CXX_FLAGS_RELEASE=-O1", "-DREGARD_ISAS=generic",
           "-DREGARD_BUILD_TESTS=ON", "-DREGARD_BUILD_CLI=OFF", "-DBUILD_SHARED_LIBS=OFF")


class Broken(Exception):
    """The mutant could not be tried; the message is the log."""


def run(*command):
    result = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if result.returncode:
        raise Broken(" ".join(map(str, command)) + "\n" + result.stdout)
    return result.stdout


def copy_tree(tree):
    """Brings the copy up to date, times included, so that little is built again."""
    for name in COPIED:
        source = ROOT / name
        for path in [source] if source.is_file() else source.rglob("*"):
            target = tree / path.relative_to(ROOT)
            if path.is_file() and (not target.exists() or target.read_bytes() != path.read_bytes()):
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, target)
    for path in [path for path in tree.rglob("*") if path.is_file()]:
        if not (ROOT / path.relative_to(tree)).exists():
            path.unlink()


class Mutant:
    def __init__(self, path):
        text = path.read_text()
        self.path, self.name = path, path.stem
        head = re.match(r"# what: (.+)\n# tests: (.+)\n", text)
        if not head:
            sys.exit(f"{path} does not open with its two lines `# what:` and `# tests:`")
        self.what, self.tests = head.groups()
        self.files = re.findall(r"^\+\+\+ b/(\S+)", text, re.MULTILINE)


def matching_tests(build, tests):
    listing = run("ctest", "--test-dir", build, "-N", "-R", tests)
    names = re.findall(r"Test +#\d+: (\S+)", listing)
    if not names:
        raise Broken(f"no test matches {tests}")
    return names


def build_and_test(build, tests):
    """Names of the matching tests that fail."""
    targets = {name.split(".")[0] for name in matching_tests(build, tests)}
    run("ninja", "-C", build, *sorted(targets))
    result = subprocess.run(["ctest", "--test-dir", build, "-R", tests, "--timeout", "120"],
                            text=True, capture_output=True)
    failures = result.stdout.partition("The following tests FAILED:")[2]
    if result.returncode and not failures:
        raise Broken(result.stdout + result.stderr)
    return re.findall(r"^\s*\d+ - (\S+) \(", failures, re.MULTILINE)


def try_mutant(mutant, tree, build):
    """True if the suite notices; says so."""
    start = time.monotonic()
    try:
        run("patch", "-d", tree, "-p1", "--forward", "--batch", "--fuzz=0", "-i", mutant.path)
        failed = build_and_test(build, mutant.tests)
    except Broken as error:
        print(f"ERROR {mutant.name}: {error}")
        return False
    finally:
        for name in mutant.files:
            shutil.copyfile(ROOT / name, tree / name)
            (tree / (name + ".rej")).unlink(missing_ok=True)
            (tree / (name + ".orig")).unlink(missing_ok=True)
    verdict = f"caught by {', '.join(failed)}" if failed else f"SURVIVED {mutant.tests}"
    print(f"{mutant.name} ({mutant.what}): {verdict}, {time.monotonic() - start:.0f} s")
    return bool(failed)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("patches", nargs="*", type=pathlib.Path)
    parser.add_argument("--work", type=pathlib.Path, default=ROOT / "build/mutants")
    arguments = parser.parse_args()
    paths = arguments.patches or sorted((ROOT / "tests/mutants").glob("*.patch"))
    mutants = [Mutant(path.resolve()) for path in paths]
    tree, build = arguments.work / "tree", arguments.work / "build"
    try:
        copy_tree(tree)
        run("cmake", "-G", "Ninja", "-S", tree, "-B", build, *OPTIONS)
        sound = build_and_test(build, "|".join(mutant.tests for mutant in mutants))
    except Broken as error:
        print(error)
        return 1
    if sound:
        print(f"without a mutant these fail: {', '.join(sound)}")
        return 1
    results = [try_mutant(mutant, tree, build) for mutant in mutants]
    print(f"{sum(results)} of {len(results)} mutants caught")
    return 0 if all(results) and results else 1


sys.exit(main())
