"""The Python that README.md and docs/python.md show runs, and no function is left out."""

from __future__ import annotations

import functools
import inspect
import pathlib
import re

import numpy as np
import pytest

import regard
from regard._options import Options

ROOT = pathlib.Path(__file__).resolve().parents[2]


def blocks(name):
    return re.findall(r"(?ms)^```python\n(.*?)^```$", (ROOT / name).read_text())


def zeros(*shape):
    return np.zeros(shape, np.float32)


def test_readme_runs(capsys):
    names = {}
    for block in blocks("README.md"):
        exec(block, names)
    assert names["out"].shape == (1, 8, 1, 64)
    assert "PASS  2048 of 2048 rows checked" in capsys.readouterr().out


def test_page_runs():
    (caches,) = blocks("docs/python.md")
    names = {"regard": regard, "k": zeros(8, 70, 128), "v": zeros(8, 70, 128),
             "k_new": zeros(8, 1, 128), "v_new": zeros(8, 1, 128), "q_new": zeros(1, 32, 1, 128),
             "q_rows": zeros(32, 5, 128)}
    for line in caches.splitlines():
        exec(line, names)
        if "decode(q_new" in line:
            assert names["out"].shape == (1, 32, 1, 128)
    assert names["out"].shape == (32, 5, 128)


def test_five_lines_are_the_example():
    example = (ROOT / "examples" / "python" / "numpy_five_lines.py").read_text()
    assert blocks("README.md")[0] in example


def test_the_page_for_users_of_other_libraries_runs():
    (packed,) = blocks("docs/how-to/from-other-libraries.md")
    names = {"regard": regard, "q": zeros(7, 4, 8), "k": zeros(9, 2, 8), "v": zeros(9, 2, 6),
             "cu_seqlens_q": np.array([0, 3, 7], np.int32),
             "cu_seqlens_k": np.array([0, 4, 9], np.int32)}
    exec(packed, names)
    assert [x.shape for x in names["result"][:2]] == [(7, 4, 6), (4, 7)]


@pytest.mark.parametrize("name", [name for name in regard.__all__ if not name.startswith("_")])
def test_everything_public_is_on_the_page(name):
    page = (ROOT / "docs" / "python.md").read_text()
    helpers = {"Convention", "KVSummary", "KVWorst", "RowVerdict", "Stats"}  # parts of results
    assert name in helpers or re.search(rf"\b{name}\b", page)
    assert getattr(regard, name).__doc__


def listed():
    """(function, what is in its brackets) of the page's table."""
    page = (ROOT / "docs" / "python.md").read_text()
    cells = " ".join(re.findall(r"(?m)^\| (`\w[^|]*) \|", page))
    return [(name, inside) for name, inside in re.findall(r"`([\w.]+)\(([^`]*)\)`", cells)
            if not name.startswith(("torch.", "hf.")) and "..." not in inside]


@pytest.mark.parametrize("name, inside", [pair for pair in listed() if pair[0] != "KVCache"])
def test_functions_take_what_the_page_says(name, inside):
    said = {word.split("=")[0] for word in inside.split(", ") if word not in ("", "*")}
    function = functools.reduce(getattr, name.split("."), regard)
    taken = set(inspect.signature(function).parameters)
    for names in (said, taken):
        if "options" in names:
            names.remove("options")
            names |= set(Options.__annotations__)
    assert said | {"layout"} == taken | {"layout"}


def test_the_page_names_every_option():
    page = (ROOT / "docs" / "python.md").read_text()
    said = re.search(r"(?s)Options stand for (.*?), by keyword", page)
    assert sorted(re.findall(r"`(\w+)`", said[1])) == sorted(Options.__annotations__)
