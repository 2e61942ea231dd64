"""Packed sequences: every sequence gets the bits that a call of its own gives."""

from __future__ import annotations

import numpy as np
import pytest

import regard

LENGTHS_Q = [3, 0, 17, 1, 9]
LENGTHS_KV = [5, 4, 17, 1, 33]


def starts(lengths):
    return np.concatenate([[0], np.cumsum(lengths)])


def packed(seed=0, hq=4, hkv=2, d=16, dv=24, dtype=np.float32):
    rng = np.random.default_rng(seed)
    rows, keys = sum(LENGTHS_Q), sum(LENGTHS_KV)
    shapes = ((hq, rows, d), (hkv, keys, d), (hkv, keys, dv))
    return tuple(rng.standard_normal(shape).astype(dtype) for shape in shapes)


def parts(q, k, v):
    q_starts, kv_starts = starts(LENGTHS_Q), starts(LENGTHS_KV)
    for n in range(len(LENGTHS_Q)):
        rows = slice(q_starts[n], q_starts[n + 1])
        keys = slice(kv_starts[n], kv_starts[n + 1])
        yield rows, q[:, rows], k[:, keys], v[:, keys]


@pytest.mark.parametrize("causal", ["none", "top_left", "bottom_right"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
def test_same_bits_as_single_calls(causal, dtype):
    q, k, v = packed(dtype=dtype)
    got = regard.attention_varlen(q, k, v, starts(LENGTHS_Q), starts(LENGTHS_KV), causal=causal,
                                  return_lse=True)
    assert got.out.shape == (4, sum(LENGTHS_Q), 24) and got.lse.shape == (4, sum(LENGTHS_Q))
    for rows, *one in parts(q, k, v):
        alone = regard.attention(*one, causal=causal, return_lse=True)
        np.testing.assert_array_equal(got.out[:, rows], alone.out)
        np.testing.assert_array_equal(got.lse[:, rows], alone.lse)


def test_packed_as_tokens_heads_columns():
    q, k, v = packed()
    out = regard.attention_varlen(q, k, v, starts(LENGTHS_Q), starts(LENGTHS_KV))
    turned = [np.ascontiguousarray(a.swapaxes(0, 1)) for a in (q, k, v)]
    got = regard.attention_varlen(*turned, starts(LENGTHS_Q), starts(LENGTHS_KV), layout="bshd")
    np.testing.assert_array_equal(got, out.swapaxes(0, 1))


def test_one_list_serves_rows_and_keys():
    rng = np.random.default_rng(1)
    q, k, v = (rng.standard_normal((2, 20, 8)).astype(np.float32) for _ in range(3))
    both = regard.attention_varlen(q, k, v, [0, 7, 20], [0, 7, 20], causal="top_left")
    np.testing.assert_array_equal(
        regard.attention_varlen(q, k, v, [0, 7, 20], causal="top_left"), both)


def test_starts_of_any_integer_type():
    q, k, v = packed()
    expected = regard.attention_varlen(q, k, v, list(starts(LENGTHS_Q)), list(starts(LENGTHS_KV)))
    for dtype in (np.int32, np.int64, np.uint8):
        got = regard.attention_varlen(q, k, v, starts(LENGTHS_Q).astype(dtype),
                                      starts(LENGTHS_KV).astype(dtype))
        np.testing.assert_array_equal(got, expected)
    with pytest.raises(TypeError):
        regard.attention_varlen(q, k, v, starts(LENGTHS_Q).astype(float), starts(LENGTHS_KV))


def test_out_is_written_in_place():
    q, k, v = packed()
    memory = np.full((4, sum(LENGTHS_Q), 24), np.nan, np.float32)
    got = regard.attention_varlen(q, k, v, starts(LENGTHS_Q), starts(LENGTHS_KV), out=memory)
    assert got is memory and np.isfinite(memory).all()


def test_options_count_as_for_a_batch():
    q, k, v = packed()
    longest = (len(LENGTHS_Q), 1, max(LENGTHS_Q), max(LENGTHS_KV))
    mask = np.random.default_rng(2).random(longest) < 0.7
    got = regard.attention_varlen(q, k, v, starts(LENGTHS_Q), starts(LENGTHS_KV), mask=mask,
                                  window=(4, 2))
    for n, (rows, *one) in enumerate(parts(q, k, v)):
        small = mask[n, :, : LENGTHS_Q[n], : LENGTHS_KV[n]]
        np.testing.assert_array_equal(got[:, rows],
                                      regard.attention(*one, mask=small, window=(4, 2)))


def test_sentences():
    q, k, v = packed()
    with pytest.raises(ValueError, match="kv_starts: 3 starts differ from q's 6"):
        regard.attention_varlen(q, k, v, starts(LENGTHS_Q), [0, 5, 9])
    for more in ({}, {"return_lse": True}):
        with pytest.raises(ValueError, match="q_starts: the first start is 1, it must be 0"):
            regard.attention_varlen(q, k, v, [1, 30], **more)
    with pytest.raises(ValueError, match="q_starts: the first start is -9223372036854775808"):
        regard.attention_varlen(q, k, v, [-(2**63), 2**63 - 1])
    with pytest.raises(TypeError, match="q_starts: 'NoneType' is no array"):
        regard.attention_varlen(q, k, v, None)
    with pytest.raises(ValueError, match="kv_len"):
        regard.attention_varlen(q, k, v, starts(LENGTHS_Q), starts(LENGTHS_KV), kv_len=[1] * 5)
