"""Compact masks mean what transformers' dense masks mean."""

from __future__ import annotations

import pytest
import torch
from transformers import masking_utils as hf

from regard._hf_masks import attention_mask
from regard._hf_pattern import CompactMask

FUNCTIONS = {
    "causal": hf.causal_mask_function,
    "bidirectional": hf.bidirectional_mask_function,
    "window": hf.sliding_window_causal_mask_function(3),
    "bidirectional window": hf.sliding_window_bidirectional_mask_function(2),
}
# q_length, kv_length, q_offset, kv_offset
LENGTHS = [(7, 7, 0, 0), (1, 9, 8, 0), (3, 9, 6, 0), (2, 4, 7, 5), (5, 12, 0, 0), (1, 1, 0, 0)]


def padding(kind: str, tokens: int) -> torch.Tensor | None:
    number = torch.arange(tokens)
    first, last = torch.tensor([[0], [2], [1]]), torch.tensor([[tokens], [tokens - 1], [1]])
    match kind:
        case "all":
            return torch.ones(3, tokens, dtype=torch.bool)
        case "left":
            return number >= first
        case "right":
            return number < last
        case "holes":
            return (number + first) % 3 != 0
    return None


@pytest.mark.parametrize("kind", ["none", "all", "left", "right", "holes"])
@pytest.mark.parametrize("lengths", LENGTHS, ids=str)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_same_pairs_as_dense(name: str, lengths: tuple[int, ...], kind: str) -> None:
    q_length, kv_length, q_offset, kv_offset = lengths
    arguments = (3, *lengths, FUNCTIONS[name], padding(kind, q_offset + q_length))
    mask = attention_mask(*arguments)
    dense = hf.sdpa_mask(*arguments, allow_is_causal_skip=False)
    assert isinstance(mask, CompactMask)
    assert mask.shape == dense.shape == (3, 1, q_length, kv_length)
    assert torch.equal(mask.pattern.dense(), dense)
    assert mask.untyped_storage().nbytes() == 1


@pytest.mark.parametrize("kind", ["none", "all", "left", "right", "holes"])
@pytest.mark.parametrize("size", [1, 3, 4, 20])
@pytest.mark.parametrize("lengths", LENGTHS, ids=str)
def test_chunks(lengths: tuple[int, ...], size: int, kind: str) -> None:
    q_length, kv_length, q_offset, kv_offset = lengths
    exist = padding(kind, q_offset + q_length)
    left = torch.zeros(3, dtype=torch.int64)
    if exist is not None:
        left = (exist.cumsum(-1) == 0).sum(-1)  # as create_chunked_causal_mask counts
    function = hf.chunked_causal_mask_function(size, left)
    mask = attention_mask(3, *lengths, function, exist)
    dense = hf.sdpa_mask(3, *lengths, function, exist, allow_is_causal_skip=False)
    if kind == "holes" and type(mask) is torch.Tensor:  # rows of several chunks, keys missing
        assert q_length > 1
        assert torch.equal(mask, dense)
        return
    assert isinstance(mask, CompactMask)
    assert torch.equal(mask.pattern.dense(), dense)
    assert (mask.pattern.sequences is None) == (q_length == 1 or size == 20)


def test_packed_sequences() -> None:
    positions = torch.tensor([[0, 1, 2, 0, 1, 0, 1, 2], [0, 1, 2, 3, 4, 5, 0, 1]])
    numbers = hf.find_packed_sequence_indices(positions)
    for name in ("causal", "window"):
        function = hf.and_masks(
            hf.remap_positions_for_packed_sequence(FUNCTIONS[name], positions),
            hf.packed_sequence_mask_function(numbers),
        )
        mask = attention_mask(2, 8, 8, mask_function=function)
        assert mask.pattern.sequences.q_starts == (0, 3, 5, 8, 14, 16)
        assert mask.pattern.sequences.kv_starts == (0, 3, 5, 8, 14, 16)
        dense = hf.sdpa_mask(2, 8, 8, mask_function=function, allow_is_causal_skip=False)
        assert torch.equal(mask.pattern.dense(), dense)
        padded = (2, 8, 8, 0, 0, function, padding("left", 8)[1:])
        assert torch.equal(
            attention_mask(*padded), hf.sdpa_mask(*padded, allow_is_causal_skip=False)
        )


@pytest.mark.parametrize(
    "function",
    [
        hf.chunked_overlay(3, torch.zeros(2, dtype=torch.int64)),
        hf.and_masks(
            hf.sliding_window_overlay(2),
            hf.chunked_causal_mask_function(3, torch.zeros(2, dtype=torch.int64)),
        ),
        hf.or_masks(hf.causal_mask_function, hf.sliding_window_overlay(2)),
        hf.and_masks(hf.sliding_window_overlay(4), hf.sliding_window_overlay(2)),
        hf.and_masks(hf.causal_mask_function, lambda b, h, q, k: (q + k) % 2 == 0),
    ],
)
def test_unknown_functions_become_dense(function) -> None:
    mask = attention_mask(2, 7, 7, mask_function=function)
    assert type(mask) is torch.Tensor
    expected = hf.sdpa_mask(2, 7, 7, mask_function=function, allow_is_causal_skip=False)
    assert torch.equal(mask, expected)


def test_operations_see_the_dense_mask() -> None:
    mask = attention_mask(2, 4, 4)
    lower = torch.ones(4, 4, dtype=torch.bool).tril()
    assert mask.ndim == 4 and len(mask.shape) == 4 and mask.dtype == torch.bool
    assert torch.equal(mask[1, 0], lower)
    assert torch.equal(~mask[:, :, 1:3], ~lower[1:3].expand(2, 1, 2, 4))
    assert torch.equal(torch.cat([mask, mask], -1)[0, 0, :, 4:], lower)
    assert torch.equal(torch.where(mask, 0.0, 1.0)[0, 0], (~lower).float())
    assert type(mask & mask) is torch.Tensor
