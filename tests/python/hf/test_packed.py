"""Packed sequences, and chunks of one: one call a layer, and the logits of each sequence alone."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import transformers
from transformers import masking_utils

from regard._hf_masks import attention_mask
from regard._hf_pattern import CompactMask
from test_forward import forward, tensors
from tiny_models import VOCABULARY, pair

LENGTHS = (9, 1, 17, 12)  # on either side of the window, 7
TOLD_BY_POSITIONS = ("llama", "mistral", "gemma2")
FAMILIES = (*TOLD_BY_POSITIONS, "gpt_oss", "bert")  # two that keep positions from their masks


def prompts() -> list[list[int]]:
    generator = torch.Generator().manual_seed(3)
    return [torch.randint(1, VOCABULARY, (n,), generator=generator).tolist() for n in LENGTHS]


def flattened(**options: Any) -> dict[str, Any]:
    """What transformers' own collator makes of them: one row of all tokens."""
    collate = transformers.DataCollatorWithFlattening(return_tensors="pt", **options)
    inputs = collate([{"input_ids": prompt} for prompt in prompts()])
    del inputs["labels"]
    return inputs


def alone(model: torch.nn.Module) -> torch.Tensor:
    """The logits (tokens, vocabulary) of each prompt in a call of its own."""
    return torch.cat([model(input_ids=torch.tensor([ids])).logits[0] for ids in prompts()])


@pytest.mark.parametrize(
    "family, told_by",
    [*((family, "position_ids") for family in TOLD_BY_POSITIONS),
     *((family, "cu_seq_lens") for family in FAMILIES)],
)  # fmt: skip
def test_logits_of_each_alone_by_one_call_a_layer(family: str, told_by: str, calls: list) -> None:
    eager, ours = pair(family)
    expected = alone(eager)
    if told_by == "position_ids":
        inputs = {**flattened(), "use_cache": False}
    else:
        inputs = flattened(return_flash_attn_kwargs=True)
    logits = ours(**inputs).logits[0]
    assert (logits - expected).abs().max() < 1e-4
    assert [call["name"] for call in calls] == ["attention_varlen"] * 2  # layers
    for call in calls:
        assert tuple(call["q_starts"]) == tuple(call["kv_starts"]) == (0, 9, 10, 27, 39)
        assert call["q"].shape == (39, 6, 8) and "mask" not in call
        assert call["k"].shape == call["v"].shape == (39, 6 if family == "bert" else 2, 8)
        assert call["causal"] == ("none" if family == "bert" else "top_left")
    assert any("window" in call for call in calls) == (family not in ("llama", "bert"))


@pytest.mark.parametrize("family", TOLD_BY_POSITIONS)
def test_several_packed_rows(family: str, calls: list) -> None:
    eager, ours = pair(family)
    ids = torch.randint(1, VOCABULARY, (3, 23))
    lengths = [(9, 2, 12), (23,), (1, 22)]
    positions = torch.stack([torch.cat([torch.arange(n) for n in row]) for row in lengths])
    logits = ours(input_ids=ids, position_ids=positions, use_cache=False).logits
    assert [call["q_starts"] for call in calls] == [(0, 9, 11, 23, 46, 47, 69)] * 2
    for row, found, sizes in zip(ids, logits, lengths):
        expected = [eager(input_ids=part[None]).logits[0] for part in row.split(sizes)]
        assert (found - torch.cat(expected)).abs().max() < 1e-4


@pytest.mark.parametrize("family", TOLD_BY_POSITIONS)
def test_weights_by_one_call_a_layer(family: str, calls: list) -> None:
    eager, ours = pair(family)
    inputs = {**flattened(), "use_cache": False}
    expected = eager(**inputs, output_attentions=True).attentions
    weights = ours(**inputs, output_attentions=True).attentions
    assert len(calls) == len(weights) == 2
    for one, other in zip(weights, expected):
        assert one.shape == (1, 6, 39, 39)
        assert (one - other).abs().max() < 1e-5


def test_chunks_within_packed_sequences() -> None:
    """By a dense mask, where positions tell of both; by starts alone they would cross."""
    eager, ours = pair("llama4")
    expected = alone(eager)
    logits = ours(**flattened(), use_cache=False).logits[0]
    assert (logits - expected).abs().max() < 1e-4
    with pytest.raises(ValueError, match="chunks go with position_ids and use_cache=False"):
        ours(**flattened(return_flash_attn_kwargs=True))


def packed_mask(batch: int) -> torch.Tensor:
    numbers = torch.tensor([[0, 0, 1, 1, 1]]).expand(batch, -1)
    positions = torch.tensor([[0, 1, 0, 1, 2]]).expand(batch, -1)
    function = masking_utils.and_masks(
        masking_utils.remap_positions_for_packed_sequence(
            masking_utils.causal_mask_function, positions
        ),
        masking_utils.packed_sequence_mask_function(numbers),
    )
    return attention_mask(batch, 5, 5, mask_function=function)


def test_memory_is_read_in_place(calls: list) -> None:
    given = tensors()  # (B, S, H, D) in memory, as projections leave them
    mask = packed_mask(2)
    out, _ = forward(*given, mask)
    assert [calls[0][name].data_ptr() for name in "qkv"] == [x.data_ptr() for x in given]
    assert calls[0]["out"].data_ptr() == out.data_ptr()
    inside_out = [x.contiguous() for x in tensors(batch=1)]  # one entry may lie in any way
    forward(*inside_out, packed_mask(1))
    assert [calls[1][name].data_ptr() for name in "qkv"] == [x.data_ptr() for x in inside_out]
    # Several entries with heads outside the rows must be copied, and give the same.
    again, _ = forward(*(x.contiguous() for x in given), mask)
    torch.testing.assert_close(again, out, rtol=0, atol=0)


def test_a_bias_beside_sequences() -> None:
    q, k, v = tensors()
    bias = torch.randn(1, 4, 5, 5)
    mask = packed_mask(2)
    dense = bias.masked_fill(~mask.pattern.dense(), -torch.inf)
    expected = torch.nn.functional.scaled_dot_product_attention(q, k, v, dense, enable_gqa=True)
    found, _ = forward(q, k, v, mask, position_bias=bias)
    torch.testing.assert_close(found, expected.transpose(1, 2))


def starts(*numbers: int) -> dict[str, torch.Tensor]:
    return dict.fromkeys(("cu_seq_lens_q", "cu_seq_lens_k"), torch.tensor(numbers))


def test_starts_without_a_mask(calls: list) -> None:
    given = tensors(batch=1)
    found, _ = forward(*given, None, **starts(0, 2, 5))
    torch.testing.assert_close(found, forward(*given, packed_mask(1))[0], rtol=0, atol=0)
    whole, _ = forward(*given, None, is_causal=False, **starts(0, 2, 5))
    first = [x[:, :, :2] for x in given]
    expected, _ = forward(*first, None, is_causal=False)
    torch.testing.assert_close(whole[:, :2], expected, rtol=0, atol=0)


def test_a_mask_comes_before_starts(calls: list) -> None:
    given = tensors(batch=1)
    mask = torch.ones(1, 1, 5, 5, dtype=torch.bool).tril()
    padded = attention_mask(1, 5, 5, attention_mask=torch.arange(5)[None] < 4)
    for each in (mask, padded):
        found, _ = forward(*given, each, **starts(0, 2, 5))
        torch.testing.assert_close(found, forward(*given, each)[0], rtol=0, atol=0)
    assert {call["name"] for call in calls} == {"attention"}


def test_starts_that_do_not_fit() -> None:
    with pytest.raises(ValueError, match="cache holds 3 tokens"):
        forward(*tensors(1, 2, 5), attention_mask(1, 2, 5, q_offset=3), **starts(0, 1, 2))
    with pytest.raises(ValueError, match="makes 3 sequences, other than the mask's 2"):
        forward(*tensors(batch=1), packed_mask(1), **starts(0, 2, 4, 5))
    with pytest.raises(ValueError, match="the last start is 4, the packed length is 5"):
        forward(*tensors(batch=1), None, **starts(0, 2, 4))


@pytest.mark.parametrize("kind", ["none", "left", "right"])
@pytest.mark.parametrize("rows, keys, offset", [(7, 7, 0), (3, 9, 6), (1, 9, 8), (5, 12, 0)])
def test_chunks_reach_the_engine_as_ranges(
    rows: int, keys: int, offset: int, kind: str, calls: list
) -> None:
    tokens = torch.arange(offset + rows)
    first, last = torch.tensor([[0], [2], [1]]), torch.tensor([[rows], [offset + rows - 1], [1]])
    exist = {"none": None, "left": tokens >= first, "right": tokens < last}[kind]
    left = torch.zeros(3, dtype=torch.int64) if exist is None else (exist.cumsum(-1) == 0).sum(-1)
    function = masking_utils.chunked_causal_mask_function(3, left)
    mask = attention_mask(3, rows, keys, offset, 0, function, exist)
    assert isinstance(mask, CompactMask)
    given = tensors(3, rows, keys)
    found, _ = forward(*given, mask)
    assert calls[0]["name"] == ("attention" if rows == 1 else "attention_varlen")
    torch.testing.assert_close(found, forward(*given, mask.pattern.dense())[0])
