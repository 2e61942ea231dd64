"""Tests with JAX on the CPU. `definition.py` and `test_kinds.py` stand one folder up."""

from __future__ import annotations

import os
import pathlib
import sys

os.environ["JAX_PLATFORMS"] = "cpu"
sys.path.append(str(pathlib.Path(__file__).parents[1]))
