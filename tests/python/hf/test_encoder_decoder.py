"""Models with cross attention, and with a bias of positions."""

from __future__ import annotations

import pytest
import torch
import transformers

from tiny_models import VOCABULARY, batch


def config(family: str) -> transformers.PreTrainedConfig:
    if family == "t5":
        return transformers.T5Config(
            vocab_size=VOCABULARY, d_model=48, d_ff=64, d_kv=8, num_layers=2, num_heads=6,
            pad_token_id=0, decoder_start_token_id=0,
        )  # fmt: skip
    return transformers.BartConfig(
        vocab_size=VOCABULARY, d_model=48, encoder_layers=2, decoder_layers=2,
        encoder_attention_heads=6, decoder_attention_heads=6, encoder_ffn_dim=64,
        decoder_ffn_dim=64, pad_token_id=0, init_std=0.3,
    )  # fmt: skip


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("family", ["t5", "bart"])
def test_logits(family: str, side: str, calls: list) -> None:
    eager, ours = (
        transformers.AutoModelForSeq2SeqLM.from_config(
            config(family), attn_implementation=implementation
        ).eval()
        for implementation in ("eager", "regard")
    )
    ours.load_state_dict(eager.state_dict())
    inputs = {**batch(side), "decoder_input_ids": torch.randint(1, VOCABULARY, (3, 11))}
    expected = eager(**inputs).logits
    assert not calls
    assert (ours(**inputs).logits - expected).abs().max() < 1e-4
    assert len(calls) == 6  # two of the encoder, two and two across of the decoder
    assert [c["causal"] for c in calls].count("top_left") == 2
    assert any(c.get("bias") is not None for c in calls) == (family == "t5")
