#!/usr/bin/env python3
"""Proves that the suite notices mistakes: applies each tests/mutants/*.patch to a copy of the tree
built for the generic ISA alone, and demands that its tests fail and that the checker names the
convention that the mutant follows.

A patch opens with two lines: `# what: one sentence` and `# tests: regular expression for ctest -R`;
`# convention: name` is a third, where the checker has one for it. A patch that does not apply or
compile is an error, as are tests that fail, or a result called wrong, without any mutant.
"""
import argparse
import pathlib
import re
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
COPIED = ("CMakeLists.txt", "cmake", "include", "src", "tests", "examples", "data")
OPTIONS = ("-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_CXX_FLAGS_RELEASE=-O1",
           "-DREGARD_KERNEL_OPTIMISATION=-O1", "-DREGARD_ISAS=generic", "-DREGARD_BUILD_TESTS=ON",
           "-DREGARD_BUILD_CLI=OFF", "-DBUILD_SHARED_LIBS=OFF")
# Of tests/mutants: prints what the checker says of a build.
PROGRAM = "name_convention"


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
        head = re.match(r"# what: (.+)\n# tests: (.+)\n(?:# convention: (.+)\n)?", text)
        if not head:
            sys.exit(f"{path} does not open with its two lines `# what:` and `# tests:`")
        self.what, self.tests, self.convention = head.groups()
        self.files = re.findall(r"^\+\+\+ b/(\S+)", text, re.MULTILINE)


def matching_tests(build, tests):
    listing = run("ctest", "--test-dir", build, "-N", "-R", tests)
    names = re.findall(r"Test +#\d+: (\S+)", listing)
    if not names:
        raise Broken(f"no test matches {tests}")
    return names


def build_and_test(build, tests, program):
    """Names of the matching tests that fail; `program` is built beside them."""
    targets = {name.split(".")[0] for name in matching_tests(build, tests)}
    run("ninja", "-C", build, *sorted(targets | program))
    result = subprocess.run(["ctest", "--test-dir", build, "-R", tests, "--timeout", "120"],
                            text=True, capture_output=True)
    failures = result.stdout.partition("The following tests FAILED:")[2]
    if result.returncode and not failures:
        raise Broken(result.stdout + result.stderr)
    return re.findall(r"^\s*\d+ - (\S+) \(", failures, re.MULTILINE)


def named(build, conventions):
    """What the checker says of this build, asked for each convention."""
    return run(build / "tests/mutants" / PROGRAM, *conventions).splitlines()


def try_mutant(mutant, tree, build):
    """Whether the suite notices, and whether the checker names it (None: nothing to name); says
    so."""
    start = time.monotonic()
    convention = None
    try:
        run("patch", "-d", tree, "-p1", "--forward", "--batch", "--fuzz=0", "-i", mutant.path)
        failed = build_and_test(build, mutant.tests, {PROGRAM} if mutant.convention else set())
        if mutant.convention:
            convention, = named(build, [mutant.convention])
    except Broken as error:
        print(f"ERROR {mutant.name}: {error}", flush=True)
        return False, mutant.convention and False
    finally:
        for name in mutant.files:
            shutil.copyfile(ROOT / name, tree / name)
            (tree / (name + ".rej")).unlink(missing_ok=True)
            (tree / (name + ".orig")).unlink(missing_ok=True)
    verdict = f"caught by {', '.join(failed)}" if failed else f"SURVIVED {mutant.tests}"
    if mutant.convention:
        verdict += f", named {convention}" if convention == mutant.convention else \
            f", MISNAMED '{convention}' instead of {mutant.convention}"
    print(f"{mutant.name} ({mutant.what}): {verdict}, {time.monotonic() - start:.0f} s", flush=True)
    return bool(failed), mutant.convention and convention == mutant.convention


def complaint_without_mutant(mutants, build):
    """What is wrong before anything is changed; empty if nothing is."""
    sound = build_and_test(build, "|".join({mutant.tests for mutant in mutants}), {PROGRAM})
    if sound:
        return f"without a mutant these fail: {', '.join(sound)}"
    conventions = [mutant.convention for mutant in mutants if mutant.convention]
    wrong = [(asked, said) for asked, said in zip(conventions, named(build, conventions))
             if said != "right"]
    return "".join(f"without a mutant the problem of {asked} is not right but '{said}'\n"
                   for asked, said in wrong)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("patches", nargs="*", type=pathlib.Path)
    parser.add_argument("--work", type=pathlib.Path, default=ROOT / "build/mutants")
    arguments = parser.parse_args()
    paths = arguments.patches or sorted((ROOT / "tests/mutants").glob("*.patch"))
    mutants = [Mutant(path.resolve()) for path in paths]
    tree, build = arguments.work.resolve() / "tree", arguments.work.resolve() / "build"
    try:
        copy_tree(tree)
        run("cmake", "-G", "Ninja", "-S", tree, "-B", build, *OPTIONS)
        complaint = complaint_without_mutant(mutants, build)
    except Broken as error:
        complaint = error
    if complaint:
        print(complaint)
        return 1
    results = [try_mutant(mutant, tree, build) for mutant in mutants]
    caught = [result[0] for result in results]
    names = [result[1] for result in results if result[1] is not None]
    print(f"{sum(caught)} of {len(caught)} mutants caught, {sum(names)} of {len(names)} named")
    return 0 if caught and all(caught) and all(names) else 1


sys.exit(main())
