"""Exact scaled-dot-product attention on CPUs: softmax(scale q k') v."""
from . import lab, oracle
from ._cache import decode
from ._core import Explanation, KVCache, __version__, attention, explain
from ._judge import CheckReport, Convention, RowVerdict, check
from ._merge import merge
from ._report import KVReport, KVSummary, KVWorst, report_kv
from ._results import Result, Stats
from ._varlen import attention_varlen

__all__ = [
    "CheckReport", "Convention", "Explanation", "KVCache", "KVReport",
    "KVSummary", "KVWorst", "Result", "RowVerdict", "Stats",
    "__version__", "attention", "attention_varlen", "check", "decode", "explain", "lab", "merge",
    "oracle", "report_kv",
]
