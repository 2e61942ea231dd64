#!/usr/bin/env python3
"""Sizes and leftovers: files over 500 lines, functions over 80, lines over 100 columns and marks of
unfinished work fail; files over 300 lines and functions over 40 are listed. Prints the largest of
both. C++ functions are found by counting braces, Python ones by parsing."""
import ast
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FILE_GOAL, FILE_LIMIT = 300, 500
FUNCTION_GOAL, FUNCTION_LIMIT = 40, 80
COLUMNS = 100
CPP = (".h", ".cpp", ".c")
SCRIPTS = ("run", "test")
ENDINGS = (*CPP, ".py", ".cmake", ".sh", "CMakeLists.txt", ".in")
MARKS = re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X|HA" r"CK)\b")

# What braces in C++ must not be counted in: comments, strings, characters, preprocessor lines.
NOISE = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"([^(\s]*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"'
    r"|(?<!\w)'(?:\\.|[^'\\\n])+'|^[ \t]*#(?:\\\n|[^\n])*", re.DOTALL | re.MULTILINE)
SCOPE = re.compile(r"^(template\s*<.*>\s*)?(requires\b.*)?((inline|typedef)\s+)?"
                   r"(namespace|class|struct|union|enum|extern)\b(?!.*\)\s*(const|noexcept|\s)*$)",
                   re.DOTALL)

NAME = re.compile(r"([~\w:]*operator[^(\w]+|[~\w:]+)\s*\(")


def sources():
    command = ["git", "-C", ROOT, "ls-files", "-co", "--exclude-standard"]
    names = subprocess.run(command, check=True, text=True, capture_output=True).stdout.split("\n")
    return [name for name in names if (ROOT / name).is_file()
            and (name.endswith(ENDINGS) or pathlib.PurePath(name).name in SCRIPTS)]


def blank(match):
    return "\n" * match[0].count("\n") + " "


def cpp_functions(text):
    """(name, first line, last line) of the outermost functions."""
    text = NOISE.sub(blank, text)
    open_scopes, header_start, line = [], 0, 1
    name, first = "", 0
    for position, char in enumerate(text):
        if char == "\n":
            line += 1
        elif char == "{":
            header = text[header_start:position].strip()
            inside = "body" in open_scopes
            kind = "scope" if SCOPE.match(header) and not inside else "body"
            if kind == "body" and not inside:
                names = NAME.findall(header) if not header.endswith("=") else [""]
                # Without a name it goes on: the body behind a braced member initialiser.
                if names:
                    name = names[0]
                    first = line - header.count("\n")
            open_scopes.append(kind)
        elif char == "}" and open_scopes:
            if open_scopes.pop() == "body" and "body" not in open_scopes and name:
                yield name, first, line
        if char in "{};" and "body" not in open_scopes:
            header_start = position + 1


def python_functions(text):
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef):
            yield node.name, node.lineno, node.end_lineno


def functions(name, text):
    if name.endswith(CPP):
        return list(cpp_functions(text))
    return list(python_functions(text)) if name.endswith(".py") else []


def check_file(name, text):
    """(problems, notes, (lines, file), (lines, function)) of one file."""
    lines = text.splitlines()
    problems, notes, largest = [], [], (0, "")
    for number, line in enumerate(lines, 1):
        if len(line) > COLUMNS:
            problems.append(f"{name}:{number}: {len(line)} columns")
        if MARKS.search(line):
            problems.append(f"{name}:{number}: unfinished: {MARKS.search(line)[0]}")
    if len(lines) > FILE_GOAL:
        (problems if len(lines) > FILE_LIMIT else notes).append(f"{name}: {len(lines)} lines")
    for function, first, last in functions(name, text):
        size = last - first + 1
        sentence = f"{name}:{first}: {function} has {size} lines"
        if size > FUNCTION_GOAL:
            (problems if size > FUNCTION_LIMIT else notes).append(sentence)
        largest = max(largest, (size, f"{function} in {name}"))
    return problems, notes, (len(lines), name), largest


def main():
    results = [check_file(name, (ROOT / name).read_text()) for name in sources()]
    problems = [sentence for result in results for sentence in result[0]]
    notes = [sentence for result in results for sentence in result[1]]
    for sentence in notes:
        print(f"note: {sentence}")
    print(*problems, sep="\n", end="\n" if problems else "", file=sys.stderr)
    print("largest file: {1}, {0} lines".format(*max(result[2] for result in results)))
    print("largest function: {1}, {0} lines".format(*max(result[3] for result in results)))
    print(f"{len(results)} files, {len(problems)} problems")
    return 1 if problems else 0


sys.exit(main())
