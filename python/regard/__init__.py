"""Exact scaled-dot-product attention on CPUs: softmax(scale q k') v."""
from ._core import Explanation, __version__, attention, explain
from ._results import Result, Stats

__all__ = ["Explanation", "Result", "Stats", "__version__", "attention", "explain"]
