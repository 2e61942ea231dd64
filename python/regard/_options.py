"""What attention means, as keyword arguments: the same names in every function of the package."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, SupportsIndex, TypedDict, Union

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


def shown(value: Any) -> str:
    """repr(value) for a message: of its first line the first characters."""
    return f"{next(iter(repr(value).splitlines()), ''):.80}"


def counts(**numbers: Any) -> tuple[int, ...]:
    """The numbers as ints. Raises TypeError for what is no integer, ValueError for what is not in
    [0, 2**63), naming the argument."""
    return tuple(_count(name, number) for name, number in numbers.items())


def _count(name: str, number: Any) -> int:
    try:
        count = operator.index(number)
    except TypeError:
        raise TypeError(f"{name}: {shown(number)} is no integer") from None
    if not 0 <= count < 2**63:
        raise ValueError(f"{name}: {count} is {'below 0' if count < 0 else 'not below 2**63'}")
    return count


def truth(name: str, value: Any) -> bool:
    """What `if` says of the value. Raises TypeError, naming the argument, where it says nothing."""
    try:
        return bool(value)
    except (RuntimeError, TypeError, ValueError):
        raise TypeError(f"{name}: {shown(value)} is neither true nor false") from None


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
