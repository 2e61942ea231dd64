"""`attention_forward` by itself: what it refuses, and what it passes on."""

from __future__ import annotations

import pytest
import torch
from transformers.generation.continuous_batching.cache import PagedAttentionCache

import regard.hf
from regard._hf_masks import attention_mask


def tensors(batch: int = 2, rows: int = 5, keys: int = 5) -> tuple[torch.Tensor, ...]:
    """q of 4 heads, k and v of 2, as views of (B, S, H, D)."""
    shapes = ((batch, rows, 4, 8), (batch, keys, 2, 8), (batch, keys, 2, 8))
    return tuple(torch.randn(shape).transpose(1, 2) for shape in shapes)


def forward(*arguments, **options) -> tuple[torch.Tensor, torch.Tensor | None]:
    return regard.hf.attention_forward(torch.nn.Module(), *arguments, **options)


def sdpa(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, **options) -> torch.Tensor:
    out = torch.nn.functional.scaled_dot_product_attention(q, k, v, enable_gqa=True, **options)
    return out.transpose(1, 2)


def test_dropout_is_refused() -> None:
    with pytest.raises(ValueError, match="dropout: 0.1 is not 0"):
        forward(*tensors(), None, dropout=0.1)


def test_gradients_are_refused() -> None:
    q, k, v = tensors()
    with torch.enable_grad(), pytest.raises(ValueError, match="no_grad"):
        forward(q.requires_grad_(), k, v, None)
    forward(q, k, v, None)


def test_a_paged_cache_is_refused() -> None:
    cache = object.__new__(PagedAttentionCache)  # a whole one takes a model and gigabytes
    with pytest.raises(ValueError, match="cache: it is paged, for continuous batching"):
        forward(*tensors(), None, cache=cache)


def test_memory_is_read_in_place(calls: list) -> None:
    given = tensors()
    out, weights = forward(*given, attention_mask(2, 5, 5))
    assert [calls[0][name].data_ptr() for name in "qkv"] == [x.data_ptr() for x in given]
    assert out.shape == (2, 5, 4, 8) and out.is_contiguous() and weights is None


def test_without_a_mask_as_sdpa() -> None:
    given = tensors()
    torch.testing.assert_close(forward(*given, None)[0], sdpa(*given, is_causal=True))
    torch.testing.assert_close(forward(*given, None, is_causal=False)[0], sdpa(*given))
    given = tensors(rows=1)
    torch.testing.assert_close(forward(*given, None)[0], sdpa(*given))


@pytest.mark.parametrize("kind", ["bool", "float"])
def test_masks_of_the_caller(kind: str) -> None:
    given = tensors(rows=3)
    mask = torch.rand(2, 1, 3, 5) > 0.4
    mask[..., 0] = True
    if kind == "float":
        mask = torch.where(mask, 0.0, torch.finfo(torch.float32).min)
    torch.testing.assert_close(forward(*given, mask)[0], sdpa(*given, attn_mask=mask))


def test_position_bias_is_added() -> None:
    given = tensors()
    bias = torch.randn(1, 4, 5, 5)
    found, _ = forward(*given, attention_mask(2, 5, 5), position_bias=bias)
    hidden = torch.ones(5, 5, dtype=torch.bool).tril().logical_not()
    expected = sdpa(*given, attn_mask=bias.masked_fill(hidden, -torch.inf))
    torch.testing.assert_close(found, expected)
    mask = torch.randn(2, 1, 5, 5)
    found, _ = forward(*given, mask, position_bias=bias)
    torch.testing.assert_close(found, sdpa(*given, attn_mask=bias + mask))


def test_scale_and_softcap() -> None:
    q, k, v = tensors(rows=2)
    s = 0.7 * q @ k.repeat_interleave(2, 1).mT
    weights = torch.softmax(3 * torch.tanh(s / 3), -1)
    found, given = forward(
        q, k, v, None, is_causal=False, scaling=0.7, softcap=3.0, output_attentions=True
    )
    torch.testing.assert_close(given, weights)
    torch.testing.assert_close(found, (weights @ v.repeat_interleave(2, 1)).transpose(1, 2))
