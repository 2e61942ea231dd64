"""Hugging Face transformers 5: `attn_implementation="regard"`.

    import regard.hf
    regard.hf.register()
    model = AutoModel.from_pretrained(name, attn_implementation="regard")

Causal models, sliding windows, chunks, padding and packed sequences reach the engine as offsets,
windows and lengths, without a mask of Sq x Skv; grouped heads are read in place. Softcap and sinks
are the engine's. `model(..., output_attentions=True)` gives weights, (B, Hq, Sq, Skv) a layer.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import torch
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.generation.continuous_batching.cache import PagedAttentionCache

import regard
from regard import _hf_masks
from regard._hf_pattern import Pattern, Sequences
from regard.torch import NO_BACKWARD

__all__ = ["attention_forward", "register"]


def register(name: str = "regard") -> None:
    """Make `attn_implementation=name` known to transformers. May be called again."""
    AttentionInterface.register(name, attention_forward)
    AttentionMaskInterface.register(name, _hf_masks.attention_mask)


def _refuse(dropout: float, tensors: tuple[torch.Tensor, ...], rest: dict[str, Any]) -> None:
    """ValueError for what the engine does not do."""
    if dropout > 0:
        raise ValueError(f"dropout: {dropout} is not 0, and regard has none; call model.eval()")
    if torch.is_grad_enabled() and any(x.requires_grad for x in tensors):
        raise ValueError("query, key, value: " + NO_BACKWARD)
    if isinstance(rest.get("cache"), PagedAttentionCache):
        raise ValueError("cache: it is paged, for continuous batching, which regard does not serve")


def _mask_options(
    mask: torch.Tensor | None, pattern: Pattern | None, position_bias: torch.Tensor | None
) -> dict[str, Any]:
    """The mask, by its pattern if it has one, and the bias, named as for `regard.attention`."""
    if pattern is not None:
        options = pattern.options()
    elif mask.dtype == torch.bool:
        options = {"mask": mask}
    else:
        options = {"bias": mask}
    if position_bias is not None:
        bias = options.get("bias")
        options["bias"] = position_bias if bias is None else position_bias + bias
    return options


def _pattern(
    mask: torch.Tensor | None, shape: tuple[int, int, int, int], causal: bool, rest: dict[str, Any]
) -> Pattern | None:
    """What the mask is known to be; None for the caller's own. Starts of packed sequences, under
    transformers' names for flash attention, count where the mask hides no padding: as there, a
    mask comes first."""
    pattern = getattr(mask, "pattern", None) if mask is not None else Pattern(shape, causal=causal)
    starts = [rest.get(name) for name in ("cu_seq_lens_q", "cu_seq_lens_k")]
    if pattern is None or None in starts or pattern.kv_len is not None or pattern.keys is not None:
        return pattern
    if pattern.q_offset:
        raise ValueError("cu_seq_lens_q: packed sequences must be all that there is, but the cache "
                         f"holds {pattern.q_offset} tokens")  # fmt: skip
    sequences = Sequences(*(tuple(x.tolist()) for x in starts))
    if pattern.sequences not in (None, sequences):
        raise ValueError(f"cu_seq_lens_q: it makes {len(sequences.q_starts) - 1} sequences, other "
                         f"than the mask's {len(pattern.sequences.q_starts) - 1}: chunks go with "
                         "position_ids and use_cache=False")  # fmt: skip
    return dataclasses.replace(pattern, sequences=sequences)


def _packed(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, pattern: Pattern, options: dict[str, Any]
) -> torch.Tensor:
    """Attention of ranges that stay apart, (B, S, H, D) in and out. Batch entries are put behind
    one another: a view, unless there are several and their heads lie outside the rows."""
    out = q.new_empty(*q.shape[:3], v.shape[-1])
    flat = (x.flatten(0, 1) for x in (q, k, v))
    options = {**options, **pattern.varlen_options(), "out": out.flatten(0, 1)}
    regard.attention_varlen(*flat, **options)
    return out


@torch.compiler.disable
def attention_forward(
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    dropout: float = 0.0,
    scaling: float | None = None,
    is_causal: bool | None = None,
    softcap: float | None = None,
    s_aux: torch.Tensor | None = None,
    position_bias: torch.Tensor | None = None,
    output_attentions: bool = False,
    **rest: Any,
) -> tuple[torch.Tensor, torch.Tensor | None]:
    """transformers' attention interface.

    query (B, Hq, Sq, D), key (B, Hkv, Skv, D), value (B, Hkv, Skv, Dv), of any strides; gives
    (B, Sq, Hq, Dv), and the weights (B, Hq, Sq, Skv) or None. `s_aux` (Hq,) are sinks,
    `position_bias` is added to the scores. Without a mask, several rows of a causal module see
    keys up to their own number, as with transformers' "sdpa"; one row sees all. `cu_seq_lens_q` and
    `cu_seq_lens_k`, (N + 1,), keep packed sequences apart.
    Errors: ValueError for dropout, for tensors that need gradients and for paged caches.
    """
    _refuse(dropout, (query, key, value), rest)
    if torch.is_autocast_enabled("cpu"):
        dtype = torch.get_autocast_dtype("cpu")
        query, key, value = (x.to(dtype) for x in (query, key, value))
    causal = is_causal if is_causal is not None else getattr(module, "is_causal", True)
    shape = (query.shape[0], 1, query.shape[2], key.shape[2])
    pattern = _pattern(attention_mask, shape, bool(causal) and query.shape[2] > 1, rest)
    options: dict[str, Any] = {"scale": scaling, "layout": "bshd"}
    if softcap:
        options["softcap"] = softcap
    if s_aux is not None:
        options["sinks"] = s_aux.detach()
    q, k, v = (x.transpose(1, 2) for x in (query, key, value))
    # Weights and a bias have Sq x Skv elements a head: there a dense mask of bools adds little.
    if pattern is not None and pattern.sequences is not None:
        if position_bias is None and not output_attentions:
            return _packed(q, k, v, pattern, options), None
    options |= _mask_options(attention_mask, pattern, position_bias)
    if not output_attentions:
        return regard.attention(q, k, v, **options), None
    result = regard.attention(q, k, v, return_weights=True, **options)
    return result.out, result.weights.to(query.dtype)
