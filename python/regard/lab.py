"""The two NumPy programs that the project grew from, under their own names and signatures.

`causal_attention` is single-head causal self-attention from x and three weight matrices;
`block_attention` is softmax(q k') v computed tile by tile with a running maximum and sum, in plain
NumPy and written to be read. Three facts about the first hold for every input, and `./run` checks
them: rows of the weights are weighted averages, a later token changes no earlier output, and
1/sqrt(d_head) keeps the softmax from saturating. `entropy` measures the third.

The formulas are those of docs/math.md; src/lab/ holds the same programs as plain C++ loops.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from . import _core
from ._arrays import ArrayT
from ._options import counts, shown

Array = npt.NDArray[Any]

__all__ = ["block_attention", "causal_attention", "entropy", "plain_attention"]


def causal_attention(x: ArrayT, wq: ArrayT, wk: ArrayT, wv: ArrayT,
                     scale: bool = True) -> tuple[ArrayT, ArrayT]:
    """Single-head causal self-attention of the tokens in x, by the engine.

    With q = x wq, k = x wk and v = x wv it is softmax(q k' / sqrt(d_head)) v, token i reading
    tokens 0 to i.

    Args:
        x: (tokens, d_model), f32 or f64 (or a half type that its own library can multiply).
        wq, wk: (d_model, d_head), wv: (d_model, d_value), of the type of x.
        scale: False leaves the division by sqrt(d_head) out.

    Returns:
        (out, weights): out is (tokens, d_value); row i of weights (tokens, tokens) is what token i
        reads, exact zeros after i. Both are of the kind and, but for half types, the type of x.

    Raises:
        ValueError: shapes that disagree; the sentence names the argument.
    """
    _require_lab_shapes(x, wq, wk, wv)
    q, k, v = (_product(x, weights) for weights in (wq, wk, wv))
    result = _core.attention(q, k, v, causal="top_left", scale=None if scale else 1.0,
                             return_weights=True)
    return result.out, result.weights


def block_attention(q: npt.ArrayLike, k: npt.ArrayLike, v: npt.ArrayLike, block: int) -> Array:
    """softmax(q k') v over tiles of `block` rows and `block` keys, unscaled, in f64.

    Of a row only the largest score so far m, the sum l of exp(s - m) and the sum o of exp(s - m) v
    are kept. Where a tile brings a larger maximum m', the factor exp(m - m') turns l and o into
    what they would have been with it (Milakov and Gimelshein 2018, arXiv:1805.02867).

    Args:
        q: (..., Sq, D), k: (..., Skv, D), v: (..., Skv, Dv), the axes before them equal.
        block: rows and keys of a tile, at least 1; lengths need not be multiples of it.

    Returns:
        (..., Sq, Dv) f64: `plain_attention` to rounding. Rows are 0 where there is no key.

    Raises:
        ValueError: shapes that disagree, or block below 1.
    """
    q, k, v = _problem(q, k, v)
    (block,) = counts(block=block)
    if block < 1:
        raise ValueError(f"block: {block} is below 1")
    out = np.zeros((*q.shape[:-1], v.shape[-1]))
    for i in range(0, q.shape[-2], block):
        rows = q[..., i:i + block, :]
        m = np.full((*rows.shape[:-1], 1), -np.inf)
        l = np.zeros_like(m)
        o = np.zeros((*rows.shape[:-1], v.shape[-1]))
        for j in range(0, k.shape[-2], block):
            s = rows @ k[..., j:j + block, :].swapaxes(-1, -2)
            m_new = np.maximum(m, s.max(axis=-1, keepdims=True))
            rescale = np.exp(m - m_new)
            p = np.exp(s - m_new)
            l = l * rescale + p.sum(axis=-1, keepdims=True)
            o = o * rescale + p @ v[..., j:j + block, :]
            m = m_new
        if k.shape[-2] > 0:
            out[..., i:i + block, :] = o / l
    return out


def plain_attention(q: npt.ArrayLike, k: npt.ArrayLike, v: npt.ArrayLike) -> Array:
    """softmax(q k') v with all scores at once, unscaled, in f64: what `block_attention` must equal.

    Args, result and errors are those of `block_attention`; memory grows with Sq Skv.
    """
    q, k, v = _problem(q, k, v)
    if k.shape[-2] == 0:
        return np.zeros((*q.shape[:-1], v.shape[-1]))
    s = q @ k.swapaxes(-1, -2)
    p = np.exp(s - s.max(axis=-1, keepdims=True))
    return np.asarray(p / p.sum(axis=-1, keepdims=True) @ v)


def entropy(weights: npt.ArrayLike) -> Array:
    """-sum p ln p in nats over the last axis of `weights`, which loses it; 0 ln 0 is 0."""
    p = _numbers("weights", weights)
    return np.asarray(-np.sum(p * np.log(np.where(p > 0, p, 1.0)), axis=-1))


def _numbers(name: str, array: npt.ArrayLike) -> Array:
    try:
        return np.asarray(array, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"{name}: {shown(array)} is no array of numbers") from None


def _product(x: Any, weights: Any) -> Any:
    return x @ weights


def _require_lab_shapes(x: Any, wq: Any, wk: Any, wv: Any) -> None:
    for name, array in (("x", x), ("wq", wq), ("wk", wk), ("wv", wv)):
        if not hasattr(array, "shape"):
            raise TypeError(f"{name}: {shown(array)} is no array")
        if len(array.shape) != 2:
            raise ValueError(f"{name}: shape {tuple(array.shape)} has {len(array.shape)} axes "
                             "where 2 are needed")
    for name, array in (("wq", wq), ("wk", wk), ("wv", wv)):
        if array.shape[0] != x.shape[1]:
            raise ValueError(f"{name}: {array.shape[0]} rows where x has {x.shape[1]} columns")
    if wk.shape[1] != wq.shape[1]:
        raise ValueError(f"wk: {wk.shape[1]} columns where wq has {wq.shape[1]}")


def _problem(q: npt.ArrayLike, k: npt.ArrayLike, v: npt.ArrayLike) -> tuple[Array, Array, Array]:
    q, k, v = (_numbers(name, array) for name, array in (("q", q), ("k", k), ("v", v)))
    for name, array in (("q", q), ("k", k), ("v", v)):
        if array.ndim < 2:
            raise ValueError(f"{name}: shape {array.shape} has fewer than 2 axes")
    if k.shape != (*q.shape[:-2], k.shape[-2], q.shape[-1]):
        raise ValueError(f"k: shape {k.shape} does not fit q of shape {q.shape}")
    if v.shape[:-1] != k.shape[:-1]:
        raise ValueError(f"v: shape {v.shape} does not fit k of shape {k.shape}")
    return q, k, v
