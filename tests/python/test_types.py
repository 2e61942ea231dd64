"""What editors and checkers of types read agrees with the package."""

from __future__ import annotations

import ast
import inspect
import pathlib
import re
from typing import get_args

import numpy as np
import pytest

import regard
from regard import _core, _options

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


@pytest.mark.parametrize("name, text", [(name, text) for name, text in documented()
                                        if text and not name.startswith("torch_")],
                         ids=lambda value: value if "\n" not in value else "")
def test_docstrings_of_the_stub_are_those_of_the_module(name, text):
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


def test_every_option_is_in_the_stub():
    trees = {}
    for node in ast.parse(STUB.read_text()).body:
        trees.setdefault(getattr(node, "name", ""), node)
    named = list(inspect.signature(_core.attention).parameters)
    arguments = trees["attention"].args
    assert [argument.arg for argument in (*arguments.args, *arguments.kwonlyargs)] == named
    fields = [line.target.id for name in ("_More", "_Everything") for line in trees[name].body
              if isinstance(line, ast.AnnAssign)]
    assert sorted([*"qkv", *_options.Options.__annotations__, *fields]) == sorted(named)


def test_every_option_is_taken():
    x = np.ones((2, 3), np.float32)
    names = list(inspect.signature(_core.attention).parameters)[3:]
    assert regard.explain(x, x, x, **dict.fromkeys(names)).threads >= 1


@pytest.mark.parametrize("option, type_of_it", [
    ("causal", get_args(_options.Causal)[0]), ("layout", _options.Layout),
    ("path", _options.Path), ("precision", _options.Precision),
    ("weights_stage", _options.Stage), ("stats", _options.Statistic)])
def test_words_of_types_are_those_that_are_taken(option, type_of_it):
    x = np.ones((2, 3), np.float32)
    with pytest.raises(ValueError) as raised:
        regard.explain(x, x, x, **{option: "?"})
    taken = re.findall(r"'(\w+)'", str(raised.value))
    assert sorted(taken) == sorted(get_args(type_of_it))


def test_types_of_caches_are_those_that_are_taken():
    with pytest.raises(ValueError) as raised:
        regard.KVCache(kv_heads=1, k_head_size=1, pages=1, k_type="?")
    taken = str(raised.value).removeprefix("k_type: '?' is none of ").split(", ")
    assert tuple(taken) == get_args(_options.KVType)
    listed = re.search(r"k_type, v_type: (.*?);", words(regard.KVCache.__doc__))
    assert re.split(", | or ", listed[1]) == taken


def test_results_are_described_alike_in_stub_and_source():
    def texts(name):
        tree = ast.parse((PACKAGE / name).read_text())
        for node in (node for node in tree.body if isinstance(node, ast.ClassDef)):
            for line in node.body:
                is_field = isinstance(line, ast.AnnAssign)
                yield node.name, line.target.id if is_field else line.value.value

    assert list(texts("_results.pyi")) == list(texts("_results.py"))
