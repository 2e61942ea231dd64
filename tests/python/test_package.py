"""The package as a whole: what it says of itself, and what it imports."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import numpy as np
import pytest

import regard


def run(program, **environment):
    return subprocess.run([sys.executable, "-c", program], env=os.environ | environment,
                          capture_output=True, text=True, check=False)


def test_info_is_what_calls_use():
    info = regard.info()
    assert info.version == regard.__version__ and re.fullmatch(r"\d+\.\d+\.\d+", info.version)
    x = np.ones((2000, 64), np.float32)
    explanation = regard.explain(x, x, x)
    assert explanation.isa == info.isa in info.isas and info.isas[0] == "generic"
    assert explanation.threads == info.threads > 0
    assert f"threads   {info.threads}, from {info.threads_reason}; " in str(info)


def test_the_environment_pins_isa_and_threads():
    program = "import regard; i = regard.info(); print(i.isa, i.threads, i.threads_reason)"
    said = run(program, REGARD_ISA="generic", OMP_NUM_THREADS="3").stdout
    assert said == "generic 3 OMP_NUM_THREADS\n"
    failed = run("import regard; regard.info()", REGARD_ISA="sse9").stderr
    assert "ValueError" in failed and "sse9" in failed


def test_other_libraries_are_imported_when_asked_for():
    program = """
import importlib.util, sys, regard
assert not {"torch", "transformers", "jax"} & set(sys.modules)
try:
    assert regard.torch is sys.modules["regard.torch"]
except ModuleNotFoundError as error:
    assert error.name == "torch" and importlib.util.find_spec("torch") is None
"""
    found = run(program)
    assert found.returncode == 0, found.stderr


def test_other_names_are_no_attributes():
    with pytest.raises(AttributeError, match="module 'regard' has no attribute 'atention'"):
        regard.atention  # noqa: B018
