"""Random tiny models: logits and generated tokens are those of eager attention."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import transformers

from tiny_models import CHUNK, DECODERS, FAMILIES, WINDOW, batch, pair

STEPS = 64
# The first token comes from a row of padding where that is on the right. Here each such row still
# sees a token: there is less padding than a window, and no chunk of padding alone. (A row that sees
# none is the mean of all values with eager, which adds a finite minimum, and 0 with regard.)
LENGTHS = {"none": (23, 23, 23), "left": (23, 9, 16), "right": (23, 18, 20)}
SIDES = ("none", "left", "right")


def largest_difference(eager: Any, ours: Any, inputs: dict[str, torch.Tensor]) -> float:
    """Of the logits of tokens that exist."""
    seen = inputs["attention_mask"].bool()
    return (eager(**inputs).logits - ours(**inputs).logits)[seen].abs().max().item()


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("family", FAMILIES)
def test_logits(family: str, side: str) -> None:
    eager, ours = pair(family)
    assert largest_difference(eager, ours, batch(side)) < 1e-4


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("family", DECODERS)
def test_greedy_generation_with_a_cache(family: str, side: str) -> None:
    eager, ours = pair(family)
    settings = {"max_new_tokens": STEPS, "min_new_tokens": STEPS, "do_sample": False}
    prompts = batch(side, LENGTHS[side])
    expected = eager.generate(**prompts, **settings)
    tokens = ours.generate(**prompts, **settings)
    assert tokens.shape == (3, 23 + STEPS)
    assert torch.equal(tokens, expected)
    assert len(set(tokens[0, 23:].tolist())) > 3  # not one token for ever


@pytest.mark.parametrize("family", DECODERS)
def test_cache_in_pieces_gives_logits_of_one_call(family: str) -> None:
    _, ours = pair(family)
    inputs = batch("left")
    whole = ours(**inputs).logits
    cache = transformers.DynamicCache(config=ours.config)
    parts = []
    for first, last in ((0, 11), (11, 12), (12, 23)):
        parts.append(
            ours(
                input_ids=inputs["input_ids"][:, first:last],
                attention_mask=inputs["attention_mask"][:, :last],
                cache=cache,
            ).logits
        )
    seen = inputs["attention_mask"].bool()
    assert (torch.cat(parts, 1) - whole)[seen].abs().max() < 1e-4


@pytest.mark.parametrize("family", ["llama", "llama4", "mistral", "gpt_oss"])
@pytest.mark.parametrize("side", ["none", "left"])
def test_static_cache(family: str, side: str, calls: list) -> None:
    eager, ours = pair(family)
    settings = {"max_new_tokens": 12, "do_sample": False, "cache_implementation": "static"}
    settings |= {"disable_compile": True}
    expected = eager.generate(**batch(side), **settings)
    assert torch.equal(ours.generate(**batch(side), **settings), expected)
    assert len(calls) == 2 * 12
    for call in calls:  # no mask has rows
        assert call.get("mask") is None or call["mask"].shape[1:3] == (1, 1)
    assert side == "left" or not any("mask" in call for call in calls)


@pytest.mark.parametrize("family", FAMILIES)
def test_output_attentions(family: str) -> None:
    eager, ours = pair(family)
    inputs = batch("right")
    expected = eager(**inputs, output_attentions=True).attentions
    weights = ours(**inputs, output_attentions=True).attentions
    assert len(weights) == len(expected) == 2
    seen = inputs["attention_mask"].bool()
    for one, other in zip(weights, expected):
        assert one.shape == other.shape == (3, 6, 23, 23)
        assert (one - other).transpose(1, 2)[seen].abs().max() < 1e-5
    assert ours(**inputs).attentions is None


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("family", [f for f in FAMILIES if f != "llama4"])
def test_no_mask_of_rows_and_no_copied_heads(family: str, side: str, calls: list) -> None:
    _, ours = pair(family)
    ours(**batch(side))
    assert len(calls) == 2
    for call in calls:
        assert call["layout"] == "bshd"
        assert call["q"].shape[2] == 6
        assert call["k"].shape[2] == call["v"].shape[2] == (6 if family == "bert" else 2)
        assert call.get("bias") is None
        assert call["causal"] == ("none" if family == "bert" else "top_left")
        if side == "right":
            assert call["kv_len"] == [23, 9, 16]
        if side == "left":
            assert call["mask"].shape == (3, 1, 1, 23)
        else:
            assert call.get("mask") is None
    windowed = {"mistral": 2, "gemma2": 1, "gpt_oss": 1}.get(family, 0)
    assert [c.get("window") for c in calls].count((WINDOW - 1, -1)) == windowed
    assert [c.get("softcap") for c in calls].count(2.0) == (2 if family == "gemma2" else 0)
    assert sum(c.get("sinks") is not None for c in calls) == (2 if family == "gpt_oss" else 0)


@pytest.mark.parametrize("side", SIDES)
def test_no_mask_of_chunks(side: str, calls: list) -> None:
    _, ours = pair("llama4")
    ours(**batch(side))
    assert [call["name"] for call in calls] == ["attention_varlen", "attention"]
    chunks = calls[0]
    assert chunks["q"].shape == (3 * 23, 6, 8) and chunks["k"].shape == (3 * 23, 2, 8)
    assert chunks["causal"] == "top_left" and "mask" not in chunks
    counts = [b - a for a, b in zip(chunks["q_starts"], chunks["q_starts"][1:])]
    assert max(counts) == CHUNK
    if side == "none":
        assert counts == [8, 8, 7] * 3
    del calls[:]
    ours.generate(**batch(side), max_new_tokens=3, min_new_tokens=3)
    assert [call["name"] for call in calls] == ["attention_varlen"] + 5 * ["attention"]
    for call in calls[2:]:  # one row: a window where all chunks start together, else keys
        assert call["q"].shape[1] == 1
        assert call.get("mask") is None or call["mask"].shape[1:3] == (1, 1)
    assert any("window" in call for call in calls) == (side != "left")


def test_half_types() -> None:
    eager, ours = (model.to(torch.bfloat16) for model in pair("llama"))
    inputs = batch("left")
    reference = pair("llama")[0](**inputs).logits
    seen = inputs["attention_mask"].bool()
    error = [(m(**inputs).logits - reference)[seen].abs().mean() for m in (eager, ours)]
    assert error[1] < 1.5 * error[0]
    weights = [m(**inputs, output_attentions=True).attentions[0] for m in (eager, ours)]
    assert weights[0].dtype == weights[1].dtype == torch.bfloat16


def test_autocast() -> None:
    """Rotary positions leave q and k in f32 beside a bf16 v."""
    eager, ours = pair("llama")
    inputs = batch("left")
    reference = eager(**inputs).logits
    seen = inputs["attention_mask"].bool()
    with torch.autocast("cpu", torch.bfloat16):
        error = [(m(**inputs).logits - reference)[seen].abs().mean() for m in (eager, ours)]
    assert error[1] < 1.5 * error[0]
