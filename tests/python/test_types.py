"""What editors and checkers of types read agrees with the package."""

from __future__ import annotations

import ast
import inspect
import pathlib

import pytest

from regard import _core

PACKAGE = pathlib.Path(__file__).resolve().parents[2] / "python" / "regard"
STUB = PACKAGE / "_core.pyi"


def words(text):
    return " ".join((text or "").split())


def documented():
    """(name, docstring) of all that the stub describes, members of classes as "Class.member"."""
    for node in ast.parse(STUB.read_text()).body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and hasattr(_core, node.name):
            members = node.body if isinstance(node, ast.ClassDef) else []
            yield from ((f"{node.name}.{member.name}", ast.get_docstring(member))
                        for member in members if isinstance(member, ast.FunctionDef))
            yield node.name, ast.get_docstring(node)


@pytest.mark.parametrize("name, text", [pair for pair in documented() if pair[1]],
                         ids=lambda value: value if "\n" not in value else "")
def test_docstrings_of_the_stub_are_those_of_the_module(name, text):
    if not name.startswith("torch_"):
        thing = _core
        for part in name.split("."):
            thing = getattr(thing, part)
        assert words(inspect.getdoc(thing)).endswith(words(text))


@pytest.mark.parametrize("thing", [_core.KVCache, _core.Explanation])
def test_every_public_member_is_in_the_stub_and_documented(thing):
    texts = {name: text for name, text in documented() if text}
    for name in vars(thing):
        if not name.startswith("_"):
            assert f"{thing.__name__}.{name}" in texts


@pytest.mark.parametrize("function", [_core.attention, _core.explain])
def test_every_option_is_in_the_stub(function):
    (tree, *_) = [node for node in ast.parse(STUB.read_text()).body
                  if isinstance(node, ast.FunctionDef) and node.name == function.__name__]
    named = [argument.arg for argument in (*tree.args.args, *tree.args.kwonlyargs)]
    assert named == list(inspect.signature(_core.attention).parameters)


def test_results_are_described_alike_in_stub_and_source():
    def texts(name):
        tree = ast.parse((PACKAGE / name).read_text())
        for node in (node for node in tree.body if isinstance(node, ast.ClassDef)):
            for line in node.body:
                is_field = isinstance(line, ast.AnnAssign)
                yield node.name, line.target.id if is_field else line.value.value

    assert list(texts("_results.pyi")) == list(texts("_results.py"))
