"""Attention of packed sequences."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, overload

from . import _core

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._arrays import Array, ArrayT, FloatType
    from ._options import Integers, Layout, Options, Statistics
    from ._results import Result


@overload
def attention_varlen(
    q: ArrayT, k: Array, v: Array, q_starts: Integers, kv_starts: Integers | None = None, *,
    layout: Layout = "bhsd", out: None = None, out_dtype: None = None,
    return_lse: Literal[False] = False, stats: None = None, **options: Unpack[Options],
) -> ArrayT: ...
@overload
def attention_varlen(
    q: ArrayT, k: Array, v: Array, q_starts: Integers, kv_starts: Integers | None = None, *,
    layout: Layout = "bhsd", out: Array | None = None, out_dtype: FloatType | None = None,
    return_lse: Literal[True], stats: Statistics | None = None, **options: Unpack[Options],
) -> Result[ArrayT]: ...
@overload
def attention_varlen(
    q: ArrayT, k: Array, v: Array, q_starts: Integers, kv_starts: Integers | None = None, *,
    layout: Layout = "bhsd", out: Array | None = None, out_dtype: FloatType | None = None,
    return_lse: bool = False, stats: Statistics, **options: Unpack[Options],
) -> Result[ArrayT]: ...
@overload
def attention_varlen(
    q: Array, k: Array, v: Array, q_starts: Integers, kv_starts: Integers | None = None, *,
    layout: Layout = "bhsd", out: Array | None = None, out_dtype: FloatType | None = None,
    return_lse: bool = False, stats: Statistics | None = None, **options: Unpack[Options],
) -> Any: ...
def attention_varlen(q: Array, k: Array, v: Array, q_starts: Integers,
                     kv_starts: Integers | None = None, *, layout: Layout = "bhsd",
                     out: Array | None = None, out_dtype: FloatType | None = None,
                     return_lse: bool = False, stats: Statistics | None = None,
                     **options: Unpack[Options]) -> Any:
    """Attention of sequences of several lengths that lie behind one another, without padding.

    Sequence n has rows q_starts[n] to q_starts[n + 1] - 1 and keys kv_starts[n] to
    kv_starts[n + 1] - 1, and gets the bits that `regard.attention` would give it alone.

    Args:
        q: (Hq, rows, D), all sequences together; k: (Hkv, keys, D); v: (Hkv, keys, Dv). With
            layout "bshd": (rows, Hq, D) and so on. A leading axis of size 1 is allowed, and 2-D is
            one head.
        q_starts, kv_starts: N + 1 integers for N sequences; both start at 0, never fall and end at
            the number of rows or keys. kv_starts absent: those of q.
        layout, out, out_dtype, return_lse, stats: as for `regard.attention`.
        **options: as for `regard.attention` of a batch of N sequences, Sq and Skv being the
            longest: mask and bias broadcast against (N, Hq, Sq, Skv), q_offset may have N numbers.
            q_len and kv_len may not be given.

    Returns:
        out, of the layout, rank and kind of q; or, with return_lse or stats, a result with .out,
        .lse (the shape of out without its last axis) and .stats, packed likewise.

    Raises:
        ValueError, TypeError: the engine's sentence names the argument.
        MemoryError: scratch could not be had.

    Source: `forward_varlen` in include/regard/attention.h.
    """
    return _core.attention_varlen(q, k, v, q_starts, q_starts if kv_starts is None else kv_starts,
                                  {"layout": layout, "out": out, "out_dtype": out_dtype,
                                   "return_lse": return_lse, "stats": stats, **options})
