"""What attention means, as keyword arguments: the same names in every function of the package."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypedDict, Union

Layout = Literal["bhsd", "bshd"]
Stage = Literal["softmax", "scaled", "capped", "biased"]
Integers = Union[int, Sequence[int], Any]
"""One integer, a sequence of them, or a rank-1 array of any integer type."""


def require_counts(**numbers: int) -> None:
    """Raises ValueError, naming it, for one that is below 0."""
    for name, number in numbers.items():
        if number < 0:
            raise ValueError(f"{name}: {number} is below 0")


class Options(TypedDict, total=False):
    """Keyword arguments of every call; one that is absent or None is off.

    docs/reference.md gives the formula, limits and errors of each, `regard.attention` the shapes.
    """

    scale: float | None
    causal: Literal["none", "top_left", "bottom_right"] | bool
    q_offset: Integers | None
    window: int | tuple[int, int] | None
    softcap: float | None
    bias: Any
    mask: Any
    alibi_slopes: Any
    sinks: Any
    q_len: Integers | None
    kv_len: Integers | None
    precision: Literal["default", "high"]
    path: Literal["auto", "direct", "tiles", "decode"]
    threads: int
