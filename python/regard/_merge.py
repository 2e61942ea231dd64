"""Attention over parts of the keys, put together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from . import _core
from ._options import shown
from ._results import Result

if TYPE_CHECKING:
    from ._arrays import Array, ArrayT, FloatType
    from ._options import Layout


def merge(parts: Sequence[Result[ArrayT] | tuple[ArrayT, Array]], *, sinks: Array | None = None,
          layout: Layout = "bhsd", out: Array | None = None, lse: Array | None = None,
          out_dtype: FloatType | None = None) -> Result[ArrayT]:
    """Puts attention over parts of the keys together: the result over all of them.

    With lse_n the log-sum-exp of part n: lse = ln(sum_n e^lse_n + e^sink) and out = sum_n
    e^(lse_n - lse) out_n, in f64 inside, in the order of the parts.

    Args:
        parts: results of `regard.attention(..., return_lse=True)`, or pairs (out, lse), at least
            one: out (B, Hq, Sq, Dv) of any float type, in `layout` and of rank 2 to 4; lse
            (B, Hq, Sq), or what is left of it, f32 or f64, natural logarithm. Computed without
            sinks. A part whose lse is -infinity adds nothing, whatever its out holds.
        sinks: (Hq,), one logit a query head; they enter here, once.
        layout: of the parts' out, "bhsd" or "bshd"; lse is (B, Hq, Sq) in both.
        out, lse: arrays to write to, that of a part being allowed; absent: new ones.
        out_dtype: the type of a new out; absent: that of the first part's.

    Returns:
        A result with .out and .lse, of the rank, layout and kind of the first part.

    Raises:
        ValueError: shapes that disagree, no parts. TypeError: a part is neither of the two forms.

    Source: `merge` in include/regard/merge.h; docs/numerics.md bounds what it costs.
    """
    if not hasattr(parts, "__iter__"):
        raise TypeError(f"parts: {shown(parts)} is no sequence of results")
    pairs = [_pair(n, part) for n, part in enumerate(parts)]
    if not pairs:
        raise ValueError("parts: there are none, and at least 1 is needed")
    return Result(*_core.merge([pair[0] for pair in pairs], [pair[1] for pair in pairs],
                               (sinks, out, lse), layout, out_dtype))


def _pair(n: int, part: Any) -> tuple[Any, Any]:
    if hasattr(part, "out") and hasattr(part, "lse"):
        part = (part.out, part.lse)
    if not isinstance(part, (tuple, list)) or len(part) != 2:
        raise TypeError(f"parts: part {n} is a '{type(part).__name__}', neither a pair (out, lse) "
                        "nor a result that has both")
    if part[1] is None:
        raise ValueError(f"parts: part {n} has no lse; ask for it with return_lse=True")
    return part[0], part[1]
