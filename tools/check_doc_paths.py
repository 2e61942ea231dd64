#!/usr/bin/env python3
"""Fails when a Markdown file, or a comment that points to docs/, names a file that is not there.

Looked at: words in backticks that look like a path (a slash behind the name of a folder of this
tree, or the ending of a source file), link targets, and docs/*.md in source files. A path may be
written from the root, from the document, from src/ or from include/; * and <name> match anything.
"""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
SOURCE_ENDINGS = (".md", ".h", ".cpp", ".cmake", ".py", ".patch", ".json")
BASES = ("", "src", "include")
# First parts of paths that documents may name although the tree does not keep them.
MADE = ("build",)

CODE = re.compile(r"`([^`\n]+)`")
LINK = re.compile(r"\]\(([^)#\s]+)")
POINTER = re.compile(r"\bdocs/[\w-]+\.md\b")


def tracked():
    command = ["git", "-C", ROOT, "ls-files", "-co", "--exclude-standard"]
    names = subprocess.run(command, check=True, text=True, capture_output=True).stdout.split("\n")
    return [name for name in names if name and (ROOT / name).is_file()]


def looks_like_path(word, folders):
    if not re.fullmatch(r"[\w.*<>/-]+", word):
        return False
    first = word.removeprefix("./").split("/")[0]
    if first in MADE:
        return False
    return ("/" in word and first in folders) or word.endswith(SOURCE_ENDINGS)


def exists(word, document, names):
    pattern = re.sub(r"<\w+>", "*", word).removeprefix("./").strip("/") or "."
    bases = [ROOT / base for base in BASES] + [document.parent]
    if any(any(base.glob(pattern)) for base in bases if base.is_dir()):
        return True
    return "/" not in word and any(pathlib.PurePath(name).match(pattern) for name in names)


def named_paths(path, folders):
    """(line number, path) that a file names."""
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if path.suffix != ".md":
            yield from ((number, word) for word in POINTER.findall(line))
            continue
        for word in (part for code in CODE.findall(line) for part in code.split()):
            if looks_like_path(word, folders):
                yield number, word
        yield from ((number, word) for word in LINK.findall(line) if "://" not in word)


def main():
    names = tracked()
    # The folders of the tree, of src/ and of include/: what a path can begin with.
    folders = {name.removeprefix(base).split("/")[0] for name in names
               for base in ("", "src/", "include/") if name.startswith(base) and "/" in name}
    problems, count = [], 0
    for name in names:
        if name.endswith(SOURCE_ENDINGS) and not name.startswith("tests/mutants/"):
            for number, word in named_paths(ROOT / name, folders):
                count += 1
                if not exists(word, ROOT / name, names):
                    problems.append(f"{name}:{number}: no {word}")
    print(*problems, sep="\n", end="\n" if problems else "", file=sys.stderr)
    print(f"{count} paths named, {len(problems)} of them missing")
    return 1 if problems else 0


sys.exit(main())
