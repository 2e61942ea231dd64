"""ONNX's operator Attention (opsets 23 to 25) in terms of `regard.attention`.

Source: the operator's specification, https://onnx.ai/onnx/operators/onnx__Attention.html, and
`onnx.defs.get_schema("Attention")` of the installed package. Letters are those of docs/math.md.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import regard

ONNX_DOUBLE = 11  # TensorProto.DOUBLE: softmax in f64
STAGES = ("scaled", "capped", "biased", "softmax")  # of qk_matmul_output_mode 0 to 3


def split_heads(x: np.ndarray, heads: int | None) -> np.ndarray:
    """(B, S, H D) as a view (B, H, S, D); four axes as they are."""
    if x.ndim == 4:
        return x
    if heads is None:
        raise ValueError("inputs of three axes need q_num_heads and kv_num_heads")
    batch, tokens, width = x.shape
    return x.reshape(batch, tokens, heads, width // heads).transpose(0, 2, 1, 3)


def pad_mask(mask: np.ndarray, keys: int) -> np.ndarray:
    """A mask whose last axis is short hides the keys past its end."""
    missing = keys - mask.shape[-1]
    if missing <= 0:
        return mask
    hidden = False if mask.dtype == np.bool_ else -np.inf
    return np.concatenate([mask, np.full((*mask.shape[:-1], missing), hidden, mask.dtype)], axis=-1)


def attention(
    q: np.ndarray,
    k: np.ndarray,
    v: np.ndarray,
    attn_mask: np.ndarray | None = None,
    past_key: np.ndarray | None = None,
    past_value: np.ndarray | None = None,
    nonpad_kv_seqlen: np.ndarray | None = None,
    *,
    scale: float | None = None,
    is_causal: int = 0,
    softcap: float = 0.0,
    q_num_heads: int | None = None,
    kv_num_heads: int | None = None,
    softmax_precision: int | None = None,
    qk_matmul_output_mode: int = 0,
    left_window_size: int = -1,
    right_window_size: int = -1,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Y, present_key, present_value and qk_matmul_output, inputs and attributes as ONNX names them.

    The rows of q stand after the keys of the past: position of row i is i + past, or, with
    `nonpad_kv_seqlen`, i + nonpad_kv_seqlen[b] - Sq.
    """
    packed = q.ndim == 3
    q = split_heads(q, q_num_heads)
    k, v = (split_heads(x, kv_num_heads) for x in (k, v))
    options: dict[str, Any] = {"scale": scale, "softcap": softcap}
    if past_key is not None:
        options["q_offset"] = past_key.shape[2]
        k = np.concatenate([past_key, k], axis=2)
        v = np.concatenate([past_value, v], axis=2)
    if nonpad_kv_seqlen is not None:
        options["kv_len"] = nonpad_kv_seqlen
        options["q_offset"] = nonpad_kv_seqlen - q.shape[2]
    if is_causal:
        options["causal"] = "top_left"
    if left_window_size >= 0 or right_window_size >= 0:
        options["window"] = (left_window_size, right_window_size)
    if attn_mask is not None:
        name = "mask" if attn_mask.dtype == np.bool_ else "bias"
        options[name] = pad_mask(attn_mask, k.shape[2])

    dtype = np.float64 if softmax_precision == ONNX_DOUBLE else q.dtype
    arrays = [x.astype(dtype, copy=False) for x in (q, k, v)]
    y = regard.attention(*arrays, **options).astype(q.dtype)
    if packed:
        y = y.transpose(0, 2, 1, 3).reshape(y.shape[0], y.shape[2], -1)
    if qk_matmul_output_mode < 2:  # before masks: scores of all pairs
        options = {"scale": scale, "softcap": softcap}
    qk = regard.attention(*arrays, return_weights=True,
                          weights_stage=STAGES[qk_matmul_output_mode], **options).weights
    return y, k, v, qk.astype(q.dtype)
