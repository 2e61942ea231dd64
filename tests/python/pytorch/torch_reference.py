"""What right answers are, and how far off an answer may be: docs/numerics.md, "The bound", for
calls without softcap, ALiBi and sinks, worked out in float64 by plain tensor operations."""
import math

import torch

UNIT = {torch.float64: 2.0 ** -53}
UNIT_F32 = 2.0 ** -24
# Half of the step of the result, relative to it, where its type is coarser than the arithmetic.
RESULT_UNIT = {torch.float16: 2.0 ** -11, torch.bfloat16: 2.0 ** -8}
# bf16 weights may be rounded, and evaluated roughly, with precision "default".
WEIGHT_ERROR = {torch.bfloat16: 2.0 ** -7}


def _scores(q: torch.Tensor, k: torch.Tensor, mask: torch.Tensor | None, is_causal: bool,
            scale: float) -> tuple[torch.Tensor, torch.Tensor]:
    """Scores, and the biases added to them, hidden pairs being -infinity."""
    bias = torch.zeros((), dtype=torch.float64)
    scores = scale * (q @ k.mT)
    if mask is not None and mask.dtype == torch.bool:
        scores = scores.masked_fill(~mask, -math.inf)
    elif mask is not None:
        bias = mask.double()
        scores = scores + bias
    if is_causal:
        seen = torch.ones(scores.shape[-2:], dtype=torch.bool).tril()
        scores = scores.masked_fill(~seen, -math.inf)
    return scores, torch.where(torch.isfinite(bias), bias, 0).abs()


def answer_and_bound(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor,
                     attn_mask: torch.Tensor | None = None, is_causal: bool = False,
                     scale: float | None = None) -> tuple[torch.Tensor, torch.Tensor]:
    """The answer in float64, and how far off each number may be."""
    u = UNIT.get(query.dtype, UNIT_F32)
    d, n = query.shape[-1], key.shape[-2]
    scale = 1 / math.sqrt(d) if scale is None else scale
    q, k, v = query.double(), key.double(), value.double()
    scores, bias = _scores(q, k, attn_mask, is_causal, scale)
    top = scores.amax(-1, keepdim=True) if n else scores.new_zeros(*scores.shape[:-1], 1)
    top = torch.where(torch.isfinite(top), top, 0)
    p = torch.exp(scores - top)
    p = p / p.sum(-1, keepdim=True).clamp_min(2.0 ** -1022)
    out = p @ v
    sizes = abs(scale) * (q.abs() @ k.mT.abs())
    size = abs(scale) * (q @ k.mT).abs()
    falls = torch.where(torch.isfinite(scores), top - scores, 0)
    most = falls.amax(-1, keepdim=True).clamp_max(32 * math.log(2)) if n else 0
    has_bias = attn_mask is not None and attn_mask.dtype != torch.bool
    x = u * ((math.sqrt(d) + 2) * sizes + d / 2 * size + 2 * has_bias * (size + bias)
             + 6 + (6.36 if has_bias else 2.36) * (falls + most))
    x = torch.expm1(x) + WEIGHT_ERROR.get(query.dtype, 0)
    r = u * (4 + min(n, 192) + min(n, 64) + 2 * n / 192)
    error = (p * x) @ v.abs()
    bound = error + out.abs() * (p * x).sum(-1, keepdim=True) + r * (p @ v.abs() + error)
    bound = bound * (1 + (p * x).sum(-1, keepdim=True)) + 2.0 ** -126 * (n + v.abs().sum())
    bound = bound + RESULT_UNIT.get(query.dtype, 0) * (out.abs() + bound) + 2.0 ** -25 * (
        query.dtype == torch.float16)
    return out, bound


def assert_within(actual: torch.Tensor, answer: torch.Tensor, bound: torch.Tensor) -> None:
    """Shape and every number; a NaN is no number."""
    assert actual.shape == answer.shape
    assert bool(((actual.double() - answer).abs() <= bound).all())


def assert_right(actual: torch.Tensor, query: torch.Tensor, key: torch.Tensor,
                 value: torch.Tensor, attn_mask: torch.Tensor | None = None,
                 is_causal: bool = False) -> None:
    """Shape, type and every number."""
    assert actual.dtype == query.dtype
    assert_within(actual, *answer_and_bound(query, key, value, attn_mask, is_causal))


def normal(*shape: int, dtype: torch.dtype = torch.float32, seed: int = 0) -> torch.Tensor:
    """Normal numbers, the same for the same seed."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64).to(dtype)


def heads_inside(tensor: torch.Tensor) -> torch.Tensor:
    """The same numbers, lying in memory as (B, S, H, D)."""
    return tensor.transpose(1, 2).contiguous().transpose(1, 2)
