#!/usr/bin/env python3
"""Fails on an #include that docs/architecture.md does not allow. --graph prints which room includes
which; --graph=dot does so for Graphviz."""
import argparse
import pathlib
import re
import sys

# Room -> rooms it may include besides itself. A name with a slash allows that one header.
BASELINE = ["include", "contract", "base"]
ROOMS = {
    "include": [],
    "contract": [],
    "prim": ["contract"],
    "kernels": ["contract", "prim"],
    "isa": ["contract", "prim", "kernels"],
    "base": ["include", "contract"],
    "dispatch": BASELINE,
    "problem": BASELINE,
    "cache": ["include", "base", "problem"],
    "plan": [*BASELINE, "problem"],
    "run": [*BASELINE, "problem", "plan"],
    "api": [*BASELINE, "problem", "cache", "plan", "run", "dispatch"],
    "oracle": ["include", "base", "problem/problem.h"],
    "check": ["include", "base", "problem", "cache"],
    "lab": ["include", "base", "problem"],
    "merge": ["include", "base", "problem"],
    "io": ["include", "base"],
    "cli": ["include", "io"],
    "python": ["include"],
    "examples": ["include"],
}
# Rooms compiled once per ISA see no standard code that the linker could merge with baseline code.
ISA_ROOMS = ["contract", "prim", "kernels", "isa"]
ISA_SYSTEM_HEADERS = ["bit", "concepts", "cstddef", "cstdint", "cstring", "limits", "type_traits",
                      "arm_neon.h", "immintrin.h", "xmmintrin.h"]
# Includes by macro, and the room they lead to.
MACROS = {"REGARD_PRIM": "prim"}

INCLUDE = re.compile(r'^\s*#\s*include\s+(?:"([^"]+)"|<([^>]+)>|(\w+))')


def room_of(path):
    parts = path.parts
    return parts[1] if parts[0] == "src" and len(parts) > 2 else parts[0]


def project_file(root, source, name):
    """The file of this project that #include "name" in `source` means, or None."""
    for base in (source.parent, pathlib.Path("include"), pathlib.Path("src"), pathlib.Path(".")):
        if (root / base / name).is_file() or (root / base / (name + ".in")).is_file():
            return base / name
    return None


def allowed(room, target_room, target):
    header = "/".join(target.parts[-2:])
    return target_room == room or target_room in ROOMS[room] or header in ROOMS[room]


def check_include(root, source, room, match, edges):
    """A sentence about what is wrong with one include, or None."""
    quoted, angled, macro = match.groups()
    target = None if macro else project_file(root, source, quoted or angled)
    if target is None and not macro:
        if quoted:
            return f"{quoted} is no file of this project"
        if room in ISA_ROOMS and angled not in ISA_SYSTEM_HEADERS:
            return f"<{angled}> is not for code that is compiled once per ISA"
        return None
    if macro and macro not in MACROS:
        return f"{macro} is not in the table of macros"
    target = target or pathlib.Path(MACROS[macro], macro)
    target_room = room_of(target) if quoted or angled else MACROS[macro]
    edges.setdefault(room, set()).add(target_room)
    if not allowed(room, target_room, target):
        return f"{room} may not include {target}"
    return None


def check_file(root, source, edges):
    room = room_of(source)
    if room not in ROOMS:
        return [f"{source}: room {room} is not in the table"]
    problems = []
    for number, line in enumerate((root / source).read_text().splitlines(), 1):
        match = INCLUDE.match(line)
        problem = match and check_include(root, source, room, match, edges)
        if problem:
            problems.append(f"{source}:{number}: {problem}")
    return problems


def print_graph(edges, style):
    arrows = [(room, sorted(edges.get(room, set()) - {room})) for room in ROOMS if room in edges]
    if style == "dot":
        print("digraph rooms {\n  rankdir=LR;\n  node [shape=box];")
        for room, targets in arrows:
            for target in targets:
                print(f"  {room} -> {target};")
        print("}")
    else:
        for room, targets in arrows:
            print(f"{room:9} -> {' '.join(targets)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--graph", nargs="?", const="text", choices=["text", "dot"])
    parser.add_argument("--root", type=pathlib.Path,
                        default=pathlib.Path(__file__).resolve().parent.parent)
    arguments = parser.parse_args()
    sources = sorted(path.relative_to(arguments.root)
                     for top in ("include", "src", "cli", "python", "examples")
                     for path in (arguments.root / top).rglob("*")
                     if path.suffix in (".h", ".cpp") or path.name.endswith(".h.in"))
    edges = {}
    problems = [problem for source in sources
                for problem in check_file(arguments.root, source, edges)]
    if arguments.graph:
        print_graph(edges, arguments.graph)
    print(*problems, sep="\n", end="\n" if problems else "", file=sys.stderr)
    if not arguments.graph:
        print(f"{len(sources)} files, {len(problems)} includes that the layers forbid")
    return 1 if problems else 0


sys.exit(main())
