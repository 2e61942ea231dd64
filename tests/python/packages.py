"""Packages that some tests need beside NumPy, and what becomes of the tests without them."""

from __future__ import annotations

import os
from typing import Any

import pytest


def needed(name: str, minversion: str | None = None) -> Any:
    """The package. Without it the tests are skipped; where all were asked for, which the
    environment variable REGARD_TEST_ALL says, they fail."""
    try:
        return pytest.importorskip(name, minversion=minversion)
    except pytest.skip.Exception as missing:
        if not os.environ.get("REGARD_TEST_ALL"):
            raise
        raise ImportError(f"all tests were asked for, but {missing.msg}") from None
