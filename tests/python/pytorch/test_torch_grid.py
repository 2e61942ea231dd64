"""The grid of forward calls on which PyTorch tests its own attention on the CPU, in our words:
types, lengths, heads, head sizes, masks of either kind and every rank, causal, both memory
layouts."""
import functools
from typing import NamedTuple

import pytest
import torch
from torch.nn.functional import scaled_dot_product_attention as torch_attention

from regard.torch import scaled_dot_product_attention
from torch_reference import (answer_and_bound, assert_right, assert_within,
                             heads_inside, normal)

DTYPES = (torch.float64, torch.float32, torch.bfloat16, torch.float16)
# Batch, heads, L, S, head size.
SHAPES = ((2, 1, 11, 17, 8), (2, 3, 11, 514, 8), (1, 3, 514, 17, 8), (1, 1, 258, 514, 16),
          (1, 1, 1030, 57, 8), (12, 3, 1, 257, 40), (1, 3, 267, 267, 31), (1, 1, 67, 1030, 64),
          (2, 2, 33, 65, 128), (1, 2, 5, 7, 1))
MASKS = ("none", "causal", "bool 2", "bool 4", "bool heads", "bool batch", "bool keys", "float 2",
         "float 4", "float heads", "float f32", "empty rows")


class Problem(NamedTuple):
    """A call, its answer and how far off it may be."""
    inputs: tuple[torch.Tensor, ...]
    options: dict[str, object]
    answer: torch.Tensor
    bound: torch.Tensor


def make_mask(kind: str, shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor | None:
    """A mask of a kind: its numbers, and the axes it has."""
    batch, heads, rows, keys, _ = shape
    if kind in ("none", "causal"):
        return None
    sizes = {"2": (rows, keys), "4": (batch, heads, rows, keys), "heads": (heads, rows, keys),
             "batch": (batch, 1, 1, keys), "keys": (1, keys), "f32": (1, 1, rows, keys),
             "rows": (rows, keys)}[kind.split()[1]]
    numbers = normal(*sizes, seed=4)
    if kind == "empty rows":
        return (numbers > 0) & (torch.arange(rows) % 3 > 0)[:, None]
    if kind.startswith("bool"):
        return numbers > -0.5
    return numbers.to(torch.float32 if kind == "float f32" else dtype)


@functools.lru_cache(maxsize=1)  # the two layouts of one problem follow each other
def problem(dtype: torch.dtype, shape: tuple[int, ...], kind: str) -> Problem:
    """Normal numbers, and what is right."""
    batch, heads, rows, keys, d = shape
    q, k, v = (normal(batch, heads, s, d, dtype=dtype, seed=n)
               for n, s in enumerate((rows, keys, keys)))
    options = {"attn_mask": make_mask(kind, shape, dtype), "is_causal": kind == "causal"}
    return Problem((q, k, v), options, *answer_and_bound(q, k, v, **options))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("kind", MASKS)
@pytest.mark.parametrize("layout", ("bhsd", "bshd"))
def test_forward(dtype: torch.dtype, shape: tuple[int, ...], kind: str, layout: str) -> None:
    """Every number is within the bound, and lies where torch would put it."""
    case = problem(dtype, shape, kind)
    q, k, v = map(heads_inside, case.inputs) if layout == "bshd" else case.inputs
    out = scaled_dot_product_attention(q, k, v, **case.options)
    assert out.stride() == torch.empty_like(q).stride()
    assert out.dtype == dtype
    assert_within(out, case.answer, case.bound)
    if kind == "empty rows":
        assert not out[..., ::3, :].any()


@pytest.mark.parametrize("dtype", (torch.float32, torch.bfloat16), ids=str)
@pytest.mark.parametrize("heads", ((2, 1), (6, 2), (6, 3), (9, 9)))
@pytest.mark.parametrize("rows, keys", ((1, 130), (37, 37), (64, 5)))
@pytest.mark.parametrize("is_causal", (False, True))
def test_grouped_heads(dtype: torch.dtype, heads: tuple[int, int], rows: int, keys: int,
                       is_causal: bool) -> None:
    """Query heads that share a key head, as torch shares them."""
    q = normal(2, heads[0], rows, 48, dtype=dtype)
    k, v = (normal(2, heads[1], keys, 48, dtype=dtype, seed=n) for n in (1, 2))
    out = scaled_dot_product_attention(q, k, v, is_causal=is_causal, enable_gqa=True)
    wide = [t.repeat_interleave(heads[0] // heads[1], 1) for t in (k, v)]
    assert_right(out, q, *wide, is_causal=is_causal)
    theirs = torch_attention(q.double(), k.double(), v.double(), is_causal=is_causal,
                             enable_gqa=True)
    torch.testing.assert_close(out.double(), theirs, rtol=2.0 ** -6, atol=2.0 ** -6)
