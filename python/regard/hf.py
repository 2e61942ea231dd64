"""Hugging Face transformers 5: `attn_implementation="regard"`.

    import regard.hf
    regard.hf.register()
    model = AutoModel.from_pretrained(name, attn_implementation="regard")

Causal models, sliding windows, padding and packed sequences reach the engine as offsets, windows
and lengths, without a mask of Sq x Skv; grouped heads are read in place. Softcap and sinks are the
engine's. `model(..., output_attentions=True)` gives weights, (B, Hq, Sq, Skv) a layer.
"""

from __future__ import annotations

from typing import Any

import torch

from transformers import AttentionInterface, AttentionMaskInterface
from transformers.generation.continuous_batching.cache import PagedAttentionCache

import regard
from regard import _hf_masks

__all__ = ["attention_forward", "register"]


def register(name: str = "regard") -> None:
    """Make `attn_implementation=name` known to transformers. May be called again."""
    AttentionInterface.register(name, attention_forward)
    AttentionMaskInterface.register(name, _hf_masks.attention_mask)


def _refuse(dropout: float, tensors: tuple[torch.Tensor, ...], rest: dict[str, Any]) -> None:
    """ValueError for what the engine does not do."""
    if dropout > 0:
        raise ValueError(f"dropout is {dropout} but regard has none: call model.eval()")
    if torch.is_grad_enabled() and any(x.requires_grad for x in tensors):
        raise ValueError("query, key or value needs gradients but regard has no backward: "
                         "use torch.no_grad() or torch.inference_mode()")  # fmt: skip
    if isinstance(rest.get("cache"), PagedAttentionCache):
        raise ValueError("cache is paged, for continuous batching, which regard does not serve")


def _mask_options(
    mask: torch.Tensor | None, causal: bool, position_bias: torch.Tensor | None
) -> dict[str, Any]:
    """The mask a model passes on, and its bias, under the names of `regard.attention`."""
    options: dict[str, Any] = {"causal": "top_left" if causal else "none"}
    if isinstance(mask, _hf_masks.CompactMask):
        options = mask.pattern.options()
    elif mask is not None:
        options = {"mask" if mask.dtype == torch.bool else "bias": mask}
    if position_bias is not None:
        bias = options.get("bias")
        options["bias"] = position_bias if bias is None else position_bias + bias
    return options


def _packed(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, pattern: _hf_masks.Pattern, **options: Any
) -> tuple[torch.Tensor, torch.Tensor | None]:
    """Attention of each packed sequence by itself, (B, S, H, D) in and out."""
    batch, tokens, heads, _ = q.shape
    out = q.new_empty(batch, tokens, heads, v.shape[-1])
    weights = None
    if options.get("return_weights"):
        weights = q.new_zeros(batch, heads, tokens, tokens, dtype=torch.float32)
    for b, sequences in enumerate(pattern.sequences()):
        for first, last in sequences:
            at = (slice(b, b + 1), slice(first, last))
            result = regard.attention(q[at], k[at], v[at], out=out[at], **options)
            if weights is not None:
                weights[b, :, first:last, first:last] = result.weights[0]
    return out, weights


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
    keys up to their own number, as with transformers' "sdpa"; one row sees all.
    Errors: ValueError for dropout, for tensors that need gradients and for paged caches.
    """
    _refuse(dropout, (query, key, value), rest)
    if torch.is_autocast_enabled("cpu"):
        dtype = torch.get_autocast_dtype("cpu")
        query, key, value = (x.to(dtype) for x in (query, key, value))
    causal = is_causal if is_causal is not None else getattr(module, "is_causal", True)
    causal = bool(causal) and attention_mask is None and query.shape[2] > 1
    options = _mask_options(attention_mask, causal, position_bias)
    options |= {"scale": scaling, "layout": "bshd", "return_weights": bool(output_attentions)}
    if softcap:
        options["softcap"] = softcap
    if s_aux is not None:
        options["sinks"] = s_aux.detach()
    q, k, v = (x.transpose(1, 2) for x in (query, key, value))
    pattern = getattr(attention_mask, "pattern", None)
    if pattern is not None and pattern.sequence is not None:
        out, weights = _packed(q, k, v, pattern, **options)
    elif output_attentions:
        result = regard.attention(q, k, v, **options)
        out, weights = result.out, result.weights
    else:
        out, weights = regard.attention(q, k, v, **options), None
    return out, None if weights is None else weights.to(query.dtype)
