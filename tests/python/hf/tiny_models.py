"""Tiny models of the families that differ in attention, of random weights."""

from __future__ import annotations

from typing import Any

import torch
import transformers

VOCABULARY = 97
WINDOW = 7
CHUNK = 8
PADDING = 0

# Weights of 0.02 would make all attention nearly uniform, and all next tokens nearly as likely.
_SMALL: dict[str, Any] = {
    "vocab_size": VOCABULARY, "hidden_size": 48, "intermediate_size": 64, "num_hidden_layers": 2,
    "num_attention_heads": 6, "num_key_value_heads": 2, "head_dim": 8, "initializer_range": 0.3,
    "max_position_embeddings": 256, "pad_token_id": PADDING, "bos_token_id": None,
    "eos_token_id": None, "tie_word_embeddings": False,
}  # fmt: skip


def _config(family: str) -> transformers.PreTrainedConfig:
    match family:
        case "llama":
            return transformers.LlamaConfig(**_SMALL)
        case "mistral":
            return transformers.MistralConfig(**_SMALL, sliding_window=WINDOW)
        case "gemma2":
            return transformers.Gemma2Config(
                **_SMALL, sliding_window=WINDOW, attn_logit_softcapping=2.0,
                query_pre_attn_scalar=8, final_logit_softcapping=30.0,
            )  # fmt: skip
        case "gpt_oss":
            return transformers.GptOssConfig(
                **_SMALL, sliding_window=WINDOW, num_local_experts=4, num_experts_per_tok=2
            )
        case "llama4":  # a layer of chunks, one that sees all
            return transformers.Llama4TextConfig(
                **_SMALL, intermediate_size_mlp=64, attention_chunk_size=CHUNK,
                no_rope_layers=[1, 0], interleave_moe_layer_step=2, num_local_experts=2,
            )  # fmt: skip
        case "qwen2":
            return transformers.Qwen2Config(**_SMALL)
        case "qwen3":
            return transformers.Qwen3Config(**_SMALL)
        case "bert":
            small = {k: _SMALL[k] for k in _SMALL.keys() - {"num_key_value_heads", "head_dim"}}
            return transformers.BertConfig(**small)
    raise ValueError(family)


DECODERS = ("llama", "llama4", "mistral", "gemma2", "gpt_oss", "qwen2", "qwen3")
FAMILIES = (*DECODERS, "bert")


def pair(family: str) -> tuple[torch.nn.Module, torch.nn.Module]:
    """The same weights with transformers' eager attention and with regard."""
    models = []
    for implementation in ("eager", "regard"):
        torch.manual_seed(1)
        kind = transformers.AutoModelForCausalLM
        if family == "bert":
            kind = transformers.AutoModelForMaskedLM
        config = _config(family)
        model = kind.from_config(config, attn_implementation=implementation).eval()
        for name, parameter in model.named_parameters():
            if name.endswith("sinks"):
                parameter.copy_(torch.randn_like(parameter))
        models.append(model)
    eager, ours = models
    ours.load_state_dict(eager.state_dict())
    return eager, ours


def batch(side: str, lengths: tuple[int, ...] = (23, 9, 16)) -> dict[str, torch.Tensor]:
    """Token sequences padded on the "left" or the "right"; "none": all of the first length."""
    width = max(lengths)
    generator = torch.Generator().manual_seed(2)
    ids = torch.randint(1, VOCABULARY, (len(lengths), width), generator=generator)
    seen = torch.ones_like(ids)
    for row, length in enumerate(lengths):
        if side == "left":
            seen[row, : width - length] = 0
        elif side == "right":
            seen[row, length:] = 0
    return {"input_ids": ids.masked_fill(seen == 0, PADDING), "attention_mask": seen}
