"""Attention from its definition, in f64 and with every score in memory: docs/math.md, line by line.

Shares nothing with the engine; tests compare with it."""
from typing import Any, NamedTuple

import numpy as np


class Answer(NamedTuple):
    """What attention is, and how far f32 or f64 arithmetic may be from it."""

    out: np.ndarray
    """(B, Hq, Sq, Dv)"""
    lse: np.ndarray
    """(B, Hq, Sq)"""
    weights: np.ndarray
    """(B, Hq, Sq, Skv)"""
    size: float
    """An upper bound of |scale| sum_d |q_d k_d| over all pairs."""


def per_batch(value: Any, batch: int, absent: int) -> np.ndarray:
    """(B, 1, 1, 1) of one number, one a batch entry, or none."""
    value = absent if value is None else value
    return np.broadcast_to(np.asarray(value, np.int64).reshape(-1, 1, 1, 1), (batch, 1, 1, 1))


def visible(shape: tuple[int, int, int, int], options: dict[str, Any]) -> np.ndarray:
    """(B, 1, Sq, Skv): what causal, window and lengths leave of a call of B, Hq, Sq, Skv."""
    batch, _, sq, skv = shape
    row, key = np.arange(sq)[:, None], np.arange(skv)[None, :]
    q_len = per_batch(options.get("q_len"), batch, sq)
    kv_len = per_batch(options.get("kv_len"), batch, skv)
    position = positions(shape, options)
    seen = (row < q_len) & (key < kv_len)
    if options.get("causal", "none") != "none":
        seen = seen & (key <= position)
    left, right = options.get("window", (-1, -1))
    if left >= 0:
        seen = seen & (key >= position - left)
    if right >= 0:
        seen = seen & (key <= position + right)
    return seen


def positions(shape: tuple[int, int, int, int], options: dict[str, Any]) -> np.ndarray:
    """(B, 1, Sq, 1): the position of each row."""
    batch, _, sq, skv = shape
    offset = per_batch(options.get("q_offset"), batch, 0)
    if options.get("q_offset") is None and options.get("causal") == "bottom_right":
        offset = (per_batch(options.get("kv_len"), batch, skv)
                  - per_batch(options.get("q_len"), batch, sq))
    return np.arange(sq)[:, None] + offset


def attention(q: np.ndarray, k: np.ndarray, v: np.ndarray, **options: Any) -> Answer:
    """Of 4-D arrays, with options under the engine's names; `causal` is a word."""
    q, k, v = (np.asarray(array, np.float64) for array in (q, k, v))
    group = q.shape[1] // max(k.shape[1], 1)
    k, v = np.repeat(k, group, axis=1), np.repeat(v, group, axis=1)
    shape = (q.shape[0], q.shape[1], q.shape[2], k.shape[2])
    scale = options.get("scale", q.shape[3] ** -0.5)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        scores = scale * (q @ k.swapaxes(2, 3))
        size = float(np.max(abs(scale) * (abs(q) @ abs(k).swapaxes(2, 3)), initial=0))
        if cap := options.get("softcap"):
            scores = cap * np.tanh(scores / cap)
        seen = np.broadcast_to(visible(shape, options), shape)
        if (mask := options.get("mask")) is not None:
            seen = seen & np.asarray(mask)
        if (bias := options.get("bias")) is not None:
            bias = np.broadcast_to(np.asarray(bias, np.float64), shape)
            seen = seen & (bias != -np.inf)
            scores = scores + bias
        if (slopes := options.get("alibi_slopes")) is not None:
            distance = abs(positions(shape, options) - np.arange(shape[3]))
            slopes = np.asarray(slopes, np.float64)
            scores = scores - slopes.reshape(-1, slopes.shape[-1], 1, 1) * distance
        scores = np.where(seen, scores, -np.inf)
        return Answer(*softmax(scores, v, options), size)


def softmax(scores: np.ndarray, v: np.ndarray, options: dict[str, Any]
            ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """out, lse and weights of scores that are -inf where a key is hidden."""
    sinks = np.full((1, scores.shape[1], 1, 1), -np.inf)
    if options.get("sinks") is not None:
        sinks = np.asarray(options["sinks"], np.float64).reshape(1, -1, 1, 1)
    most = np.maximum(scores.max(axis=3, keepdims=True, initial=-np.inf), sinks)
    reference = np.where(np.isfinite(most), most, 0)
    terms = np.exp(scores - reference)
    total = terms.sum(axis=3, keepdims=True) + np.exp(sinks - reference)
    weights = np.where(total > 0, terms / np.where(total > 0, total, 1), 0)
    lse = (reference + np.log(total))[..., 0]
    past = np.arange(scores.shape[2])[:, None] >= per_batch(options.get("q_len"), scores.shape[0],
                                                            scores.shape[2])
    lse = np.where(past[..., 0], -np.inf, lse)
    # A hidden value never counts, NaN included.
    out = np.where(weights[..., None] > 0, weights[..., None] * v[:, :, None], 0).sum(axis=3)
    return out, lse, weights


UNITS = {"float64": 2.0**-53, "float32": 2.0**-24, "float16": 2.0**-11, "bfloat16": 2.0**-8}


def bound(answer: Answer, v: np.ndarray, dtype: str, depth: int) -> float:
    """Largest error of out for arrays of `dtype` and head size `depth`.

    A score is a sum of `depth` products, scaled: off by (depth + 4) u size. Twice that, and
    Skv + 8 roundings of sums and exponentials, are relative errors of weights whose values are at
    most |v|; the result is rounded once more. On tiles of bf16 weights are off by 2^-7.
    """
    unit = UNITS["float64" if dtype == "float64" else "float32"]
    relative = (2 * (depth + 4) * answer.size + answer.weights.shape[-1] + 8) * unit
    if dtype == "bfloat16":
        relative += 2.0**-7
    largest = float(np.max(abs(np.asarray(v, np.float64)), initial=0))
    return relative * largest + UNITS[dtype] * largest * (1 + relative)
