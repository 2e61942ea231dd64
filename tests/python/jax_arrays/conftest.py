"""Tests with JAX on the CPU."""

from __future__ import annotations

import os

os.environ["JAX_PLATFORMS"] = "cpu"
