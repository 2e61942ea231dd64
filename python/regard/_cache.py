"""Attention of few rows over cached keys."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, overload

from . import _core

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._arrays import Array, ArrayT, FloatType
    from ._options import Integers, Layout, Options
    from ._results import Result


@overload
def decode(
    q: ArrayT, cache: _core.KVCache, sequences: Integers, *, starts: Integers | None = None,
    parents: Integers | None = None, layout: Layout = "bhsd", out: None = None,
    out_dtype: None = None, return_lse: Literal[False] = False, **options: Unpack[Options],
) -> ArrayT: ...
@overload
def decode(
    q: ArrayT, cache: _core.KVCache, sequences: Integers, *, starts: Integers | None = None,
    parents: Integers | None = None, layout: Layout = "bhsd", out: Array | None = None,
    out_dtype: FloatType | None = None, return_lse: Literal[True], **options: Unpack[Options],
) -> Result[ArrayT]: ...
@overload
def decode(
    q: Array, cache: _core.KVCache, sequences: Integers, *, starts: Integers | None = None,
    parents: Integers | None = None, layout: Layout = "bhsd", out: Array | None = None,
    out_dtype: FloatType | None = None, return_lse: bool = False, **options: Unpack[Options],
) -> Any: ...
def decode(q: Array, cache: _core.KVCache, sequences: Integers, *, starts: Integers | None = None,
           parents: Integers | None = None, layout: Layout = "bhsd", out: Array | None = None,
           out_dtype: FloatType | None = None, return_lse: bool = False,
           **options: Unpack[Options]) -> Any:
    """Attention of new rows over the cached tokens of their sequences: generating tokens.

    Exact over the numbers that the cache holds, sums in f32. The new tokens have been appended
    before. A row of K and V is read once for all rows that share it.

    Args:
        q: (N, Hq, Sq, D), Sq rows of each of N sequences, f32, f16 or bf16; with layout "bshd"
            (N, Sq, Hq, D). For one sequence the first axis may be left out.
        cache: a `regard.KVCache`.
        sequences: N numbers that `add` or `fork` gave, or one number.
        starts: N + 1 integers: sequence n has rows starts[n] to starts[n + 1] - 1 of a packed q
            (1, Hq, rows, D).
        parents: trees of speculated tokens: for each row the row of its sequence before it, or -1.
            The last keys of a sequence belong to its rows one by one; a row sees, beside all
            earlier keys, those of itself and its ancestors. At most 64 rows a sequence.
        layout, out, out_dtype, return_lse: as for `regard.attention`.
        **options: as for `regard.attention` of a batch of N, Skv being the longest length, with
            causal="bottom_right" for rows that are the sequence's last tokens; kv_len may not be
            given.

    Returns:
        out, of the layout, rank and kind of q; with return_lse a result with .out and .lse
        (N, Hq, Sq). The bits depend on neither pages, threads nor other sequences.

    Raises:
        ValueError, TypeError: the sentence names the argument. MemoryError.

    Source: include/regard/decode.h and docs/kv-cache.md.
    """
    if not isinstance(cache, _core.KVCache):
        raise TypeError(f"cache: {type(cache).__name__} is no regard.KVCache")
    return _core.decode(q, cache, sequences, starts, parents, {
        "layout": layout, "out": out, "out_dtype": out_dtype, "return_lse": return_lse, **options})
