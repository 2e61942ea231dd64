"""The reference: attention from its definition, in f64 with compensated sums, row by row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, overload

from . import _core
from ._results import Result

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    from typing_extensions import Unpack

    from ._arrays import Array, ArrayT
    from ._options import Integers, Layout, Options, Stage

__all__ = ["attention"]


@overload
def attention(
    q: npt.NDArray[Any], k: Array, v: Array, *, layout: Layout = "bhsd",
    rows: Integers | None = None, return_lse: Literal[False] = False,
    return_weights: Literal[False] = False, weights_stage: Stage = "softmax",
    **options: Unpack[Options],
) -> npt.NDArray[np.float64]: ...
@overload
def attention(
    q: ArrayT, k: Array, v: Array, *, layout: Layout = "bhsd", rows: Integers | None = None,
    return_lse: Literal[False] = False, return_weights: Literal[False] = False,
    weights_stage: Stage = "softmax", **options: Unpack[Options],
) -> ArrayT: ...
@overload
def attention(
    q: Array, k: Array, v: Array, *, layout: Layout = "bhsd", rows: Integers | None = None,
    return_lse: Literal[True], return_weights: bool = False, weights_stage: Stage = "softmax",
    **options: Unpack[Options],
) -> Result: ...
@overload
def attention(
    q: Array, k: Array, v: Array, *, layout: Layout = "bhsd", rows: Integers | None = None,
    return_lse: bool = False, return_weights: Literal[True], weights_stage: Stage = "softmax",
    **options: Unpack[Options],
) -> Result: ...
@overload
def attention(
    q: Array, k: Array, v: Array, *, layout: Layout = "bhsd", rows: Integers | None = None,
    return_lse: bool = False, return_weights: bool = False, weights_stage: Stage = "softmax",
    **options: Unpack[Options],
) -> Any: ...
def attention(q: Array, k: Array, v: Array, *, layout: Layout = "bhsd",
              rows: Integers | None = None, return_lse: bool = False,
              return_weights: bool = False, weights_stage: Stage = "softmax",
              **options: Unpack[Options]) -> Any:
    """Attention as `regard.attention` defines it, exact to the last bits of f64, and slow.

    It shares no arithmetic with the engine. Memory beside the results is O(Skv + Dv), whatever the
    lengths; a row costs O(Skv (D + Dv)).

    Args:
        q, k, v, layout, options: as for `regard.attention`; how it computes (precision, path,
            threads) makes no difference.
        rows: query rows in [0, Sq) to compute, in this order, repeats allowed; absent: all. Unlike
            `regard.attention`, out and lse have these R rows alone.
        return_lse, return_weights, weights_stage: more results, as for `regard.attention`.

    Returns:
        out (B, Hq, R, Dv), or with more asked for a result with .out, .lse (B, Hq, R) and .weights
        (B, Hq, R, Skv); f64, of the rank and layout of q;
        tensors for tensors, NumPy arrays for all else.

    Raises:
        ValueError, TypeError: what `regard.attention` refuses, in the same words.

    Source: include/regard/oracle.h.
    """
    result = Result(*_core.oracle_attention(q, k, v, {
        "layout": layout, "rows": rows, "return_lse": return_lse,
        "return_weights": return_weights, "weights_stage": weights_stage, **options}))
    return result if return_lse or return_weights else result.out
