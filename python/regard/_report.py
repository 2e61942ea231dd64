"""What storing K and V in fewer bits does to attention."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from . import _core
from ._options import counts, shown

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._arrays import Array
    from ._options import Integers, KVType, Layout, Options

_ROW = np.dtype([("b", "i8"), ("h", "i8"), ("i", "i8"), ("visible", "i8"), ("out_error", "f8"),
                 ("logit_shift", "f8"), ("logit_key", "i8"), ("entropy_change", "f8"),
                 ("weight_moved", "f8")])


class KVWorst(NamedTuple):
    """The largest of a measure, and its row; -1 where no row was measured."""

    value: float
    b: int
    h: int
    i: int


class KVSummary(NamedTuple):
    """Of one head's rows, or of all; numbers are over the rows that were measured."""

    b: int
    """-1: all heads together."""
    h: int
    rows: int
    rows_empty: int
    """Rows that see no key."""
    rows_undefined: int
    """Rows that are not finite before storing."""
    rms_out_error: float
    mean_entropy_change: float
    out_error: KVWorst
    logit_shift: KVWorst
    entropy_change: KVWorst
    """Of the largest magnitude."""
    weight_moved: KVWorst


class KVReport(NamedTuple):
    """What `regard.report_kv` found."""

    rows: npt.NDArray[Any]
    """A structured array with fields b, h, i, visible, out_error, logit_shift, logit_key,
    entropy_change (nats) and weight_moved, in the order of (B, Hq, Sq)."""
    heads: tuple[KVSummary, ...]
    """B Hq of them."""
    all: KVSummary

    def __str__(self) -> str:
        of = self.all
        return (f"{of.rows} rows: out_error {of.rms_out_error:.3g} rms, {of.out_error.value:.3g} "
                f"at most; logit_shift {of.logit_shift.value:.3g}, entropy_change "
                f"{of.entropy_change.value:.3g}, weight_moved {of.weight_moved.value:.3g} at most")


def report_kv(q: Array, k: Array, v: Array, types: KVType | tuple[KVType, KVType] | None = None, *,
              cache: _core.KVCache | None = None, sequences: Integers | None = None,
              layout: Layout = "bhsd", sample: int = 0, seed: int = 0,
              **options: Unpack[Options]) -> KVReport:
    """What storing K and V in fewer bits does to outputs, scores and weights, row by row.

    Both sides come from the f64 oracle, so that nothing but the types counts. o, s, p and H being
    a row's output, scores after scale and softcap, weights and entropy, and a prime marking those
    over the stored numbers: out_error is |o' - o| / |o|, logit_shift max |s' - s|, entropy_change
    H' - H in nats and weight_moved sum |p' - p| / 2.

    Args:
        q, k, v, layout, options: as for `regard.attention`; k and v, of any float types, are what a
            cache is given.
        types: what they are stored as, "int8" or ("int8", "int4_32") for K and V: see
            `regard.KVCache`. Instead of it:
        cache, sequences: the cache that has them, and the numbers of its sequences, one a batch
            entry; options are then those of `regard.decode`, Skv is the longest length.
        sample: how many rows over all heads are measured; 0: every one. seed: which ones.

    Returns:
        KVReport. Rows that see no key have zeros, those that are not finite before storing NaN.

    Raises:
        ValueError, TypeError: what `regard.attention` or `regard.decode` refuses.

    Source: include/regard/kv_report.h.
    """
    sample, seed = counts(sample=sample, seed=seed)
    rows, heads, overall = _core.report_kv(q, k, v, _stored(types, cache, sequences),
                                           (sample, seed), {"layout": layout, **options})
    return KVReport(np.array(rows, dtype=_ROW), tuple(_summary(head) for head in heads),
                    _summary(overall))


def _stored(types: KVType | tuple[KVType, KVType] | None, cache: _core.KVCache | None,
            sequences: Integers | None) -> tuple[Any, Any]:
    """(k_type, v_type), or (cache, sequences)."""
    if (types is None) == (cache is None):
        raise TypeError("types: give either types or a cache, and not both")
    if cache is not None:
        if not isinstance(cache, _core.KVCache):
            raise TypeError(f"cache: {type(cache).__name__} is no regard.KVCache")
        if sequences is None:
            raise TypeError("sequences: a cache is given, but not which of its sequences")
        return cache, sequences
    if sequences is not None:
        raise TypeError("sequences: given without the cache that they are of")
    names = (types, types) if isinstance(types, str) else types
    if not isinstance(names, (tuple, list)) or [type(name) for name in names] != [str, str]:
        raise TypeError(f"types: {shown(types)} is neither a name nor a pair of names")
    return names[0], names[1]


def _summary(numbers: tuple[Any, ...]) -> KVSummary:
    return KVSummary(*numbers[:7], *(KVWorst(*worst) for worst in numbers[7:]))
