"""Exact scaled-dot-product attention on CPUs: softmax(scale q k') v.

`help(regard.attention)` gives every option and shape; docs/python.md lists the functions. `info()`
says what this machine runs, `explain(q, k, v, ...)` how a call would be served, `check` judges
anyone's result. `regard.torch` and `regard.hf` import those libraries when they are first used.
"""
from __future__ import annotations

from typing import TYPE_CHECKING

from . import lab, oracle
from ._cache import decode
from ._core import Explanation, KVCache, __version__, attention, explain
from ._info import Info, info
from ._judge import CheckReport, Convention, RowVerdict, check
from ._merge import merge
from ._report import KVReport, KVSummary, KVWorst, report_kv
from ._results import Result, Stats
from ._varlen import attention_varlen

__all__ = [
    "CheckReport", "Convention", "Explanation", "Info", "KVCache", "KVReport",
    "KVSummary", "KVWorst", "Result", "RowVerdict", "Stats",
    "__version__", "attention", "attention_varlen", "check", "decode", "explain", "info", "lab",
    "merge", "oracle", "report_kv",
]

if TYPE_CHECKING:
    from . import hf as hf
    from . import torch as torch
else:
    def __getattr__(name):
        if name not in ("hf", "torch"):
            raise AttributeError(f"module 'regard' has no attribute '{name}'")
        import importlib

        return importlib.import_module(f"regard.{name}")
