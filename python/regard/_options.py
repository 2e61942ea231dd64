"""What attention means, as keyword arguments: the same names in every function of the package."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, SupportsIndex, TypedDict, Union

from ._arrays import Array

Layout = Literal["bhsd", "bshd"]
Stage = Literal["softmax", "scaled", "capped", "biased"]
Causal = Union[Literal["none", "top_left", "bottom_right"], bool]
Precision = Literal["default", "high"]
Path = Literal["auto", "direct", "tiles", "decode"]
Statistic = Literal["entropy", "top_keys", "key_mass"]
Statistics = Union[Literal[True], Statistic, Iterable[Statistic], Mapping[Statistic, int]]
KVType = Literal["f32", "f16", "bf16", "fp8_e4m3", "fp8_e5m2", "int8", "int8_32", "int4_32",
                 "q8_0", "q4_0"]
Integers = Union[SupportsIndex, Sequence[SupportsIndex], Array]
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
    causal: Causal | None
    q_offset: Integers | None
    window: int | tuple[int, int] | None
    softcap: float | None
    bias: Array | None
    mask: Array | None
    alibi_slopes: Array | None
    sinks: Array | None
    q_len: Integers | None
    kv_len: Integers | None
    precision: Precision | None
    path: Path | None
    threads: int | None
