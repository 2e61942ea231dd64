"""What torch's arguments mean, where a reader could think otherwise, and what is refused."""
import math

import pytest
import torch
from torch.nn.functional import scaled_dot_product_attention as torch_attention

from regard.torch import scaled_dot_product_attention
from torch_reference import assert_right, heads_inside, normal

Q, K, V = normal(2, 3, 5, 8), normal(2, 3, 7, 8, seed=1), normal(2, 3, 7, 4, seed=2)


def seen(*shape: int) -> torch.Tensor:
    """A bool mask that hides about a third."""
    return normal(*shape, seed=3) > -0.5


# name: query, key, value, options
SAME_AS_TORCH = {
    "2-D": (Q[0, 0], K[0, 0], V[0, 0], {}),
    "3-D": (Q[0], K[0], V[0], {}),
    "5-D": (Q[None], K[None], V[None], {}),
    "5-D, batches broadcast": (normal(2, 4, 3, 5, 8), normal(4, 3, 7, 8), normal(2, 1, 3, 7, 8),
                               {}),
    "5-D, mask": (normal(2, 4, 3, 5, 8), normal(2, 4, 3, 7, 8), normal(2, 4, 3, 7, 8),
                  {"attn_mask": seen(2, 1, 1, 5, 7)}),
    "ranks 4, 3, 2": (Q, K[0], V[0, 0], {}),
    "ranks 2, 4, 4": (Q[0, 0], K, V, {}),
    "batch of 1 key": (Q, K[:1], V[:1], {}),
    "batch of 1 query": (Q[:1], K, V, {}),
    "1 key head": (Q, K[:, :1], V[:, :1], {}),
    "1 query head": (Q[:, :1], K, V, {}),
    "key and value broadcast apart": (Q, K[:1], V[:, :1], {}),
    "mask of 1 row": (Q, K, V, {"attn_mask": seen(1, 7)}),
    "mask of 1 key": (Q, K, V, {"attn_mask": seen(5, 1)}),
    "mask of rank 4 on 3-D": (Q[0], K[0], V[0], {"attn_mask": seen(1, 1, 5, 7)}),
    "expanded mask": (Q, K, V, {"attn_mask": seen(5, 7).expand(2, 3, 5, 7)}),
    "causal, more keys": (Q, K, V, {"is_causal": True}),
    "causal, more rows": (K, Q, V[:, :, :5], {"is_causal": True}),
    "scale 0": (Q, K, V, {"scale": 0.0}),
    "negative scale": (Q, K, V, {"scale": -1.5}),
    "integer scale": (Q, K, V, {"scale": 1}),
    "grouped 3-D": (normal(6, 5, 8), K[0], V[0], {"enable_gqa": True}),
    "grouped 5-D": (normal(2, 1, 6, 5, 8), K[:, None], V[:, None], {"enable_gqa": True}),
    "grouped, batch of 1": (normal(2, 6, 5, 8), K[:1], V[:1], {"enable_gqa": True}),
    "grouped, key and value apart": (normal(2, 6, 5, 8), K, V[:, :2], {"enable_gqa": True}),
    "grouped, mask of heads": (normal(2, 6, 5, 8), K, V,
                               {"enable_gqa": True, "attn_mask": seen(6, 5, 7)}),
    "no keys": (Q, K[:, :, :0], V[:, :, :0], {}),
    "no rows": (Q[:, :, :0], K, V, {}),
    "no batch": (Q[:0], K[:0], V[:0], {}),
    "no heads": (Q[:, :0], K[:, :0], V[:, :0], {}),
    "no value columns": (Q, K, V[..., :0], {}),
    "negative bit": (torch.complex(Q, Q).conj().imag, K, V, {}),
    "every other row": (Q[:, :, ::2], K[..., :], V, {}),
    "parameter": (torch.nn.Parameter(Q, requires_grad=False), K, V, {}),
}


@pytest.mark.parametrize("name", SAME_AS_TORCH)
def test_same_as_torch(name: str) -> None:
    """Shape, place in memory and numbers of torch's own answer. 1e-5: both are off by at most 40
    units of f32 on these sizes, 2.4e-6, at answers below 4."""
    q, k, v, options = SAME_AS_TORCH[name]
    out = scaled_dot_product_attention(q, k, v, **options)
    theirs = torch_attention(q, k, v, **options)
    assert out.shape == theirs.shape
    torch.testing.assert_close(out, theirs, rtol=0, atol=1e-5)


@pytest.mark.parametrize("dtype", (torch.float64, torch.float32, torch.bfloat16, torch.float16))
@pytest.mark.parametrize("kind", (torch.bool, torch.float32))
def test_row_without_keys_is_zero_in_both(dtype: torch.dtype, kind: torch.dtype) -> None:
    """torch on the CPU gives 0 too, not NaN."""
    mask = torch.ones(5, 7, dtype=torch.bool)
    mask[2] = False
    if kind != torch.bool:
        mask = torch.zeros(5, 7, dtype=kind).masked_fill(~mask, -math.inf)
    arguments = (Q.to(dtype), K.to(dtype), V.to(dtype), mask)
    out = scaled_dot_product_attention(*arguments)
    assert not out[:, :, 2].any()
    assert out[:, :, 1].any()
    assert not torch_attention(*arguments)[:, :, 2].any()


def test_hidden_numbers_are_not_read() -> None:
    """torch gives NaN here; what a row does not see is no concern of its own."""
    k = K.clone()
    k[:, :, 6] = math.nan
    v = V.clone()
    v[:, :, 6] = math.inf
    out = scaled_dot_product_attention(Q, k, v, is_causal=True)
    torch.testing.assert_close(out, scaled_dot_product_attention(Q, K, V, is_causal=True),
                               rtol=0, atol=0)


def test_flags_that_are_no_python_bools() -> None:
    """NumPy's count for what they say."""
    flag = (Q.numpy() == Q.numpy()).all()
    assert flag is not True
    out = scaled_dot_product_attention(Q, K, V, is_causal=flag, enable_gqa=flag)
    assert_right(out, Q, K, V, is_causal=True)


def test_finite_minimum_is_a_number() -> None:
    """A row full of it takes the mean of the values."""
    mask = torch.full((5, 7), torch.finfo(torch.float32).min)
    out = scaled_dot_product_attention(Q, K, V, mask)
    torch.testing.assert_close(out, V.mean(2, keepdim=True).expand_as(out), rtol=0, atol=1e-6)


def test_output_lies_like_the_query() -> None:
    """As torch's does, so that a following view of (B, S, H D) copies nothing."""
    q, k, v = map(heads_inside, (K, K, normal(2, 3, 7, 8, seed=5)))
    out = scaled_dot_product_attention(q, k, v)
    assert out.stride() == torch_attention(q, k, v).stride() == q.stride()


def test_autocast_casts_as_torch_does() -> None:
    """f32 becomes bf16, f64 stays."""
    with torch.autocast("cpu", dtype=torch.bfloat16):
        out = scaled_dot_product_attention(Q, K.bfloat16(), V)
        assert out.dtype == torch_attention(Q, K.bfloat16(), V).dtype == torch.bfloat16
        assert scaled_dot_product_attention(Q.double(), K.double(),
                                            V.double()).dtype == torch.float64
    assert_right(out, Q.bfloat16(), K.bfloat16(), V.bfloat16())


def test_threads_do_not_change_the_bits() -> None:
    """As many as torch may use."""
    q = normal(2, 3, 130, 64)
    one = scaled_dot_product_attention(q, q, q)
    torch.set_num_threads(2)
    try:
        two = scaled_dot_product_attention(q, q, q)
    finally:
        torch.set_num_threads(1)
    assert torch.equal(one, two)


def test_subclass_stays_a_subclass() -> None:
    """As through torch's function."""
    class Named(torch.Tensor):
        """Nothing of its own."""

    out = scaled_dot_product_attention(Q.as_subclass(Named), K, V)
    assert type(out) is Named
    assert_right(out.as_subclass(torch.Tensor), Q, K, V)


def test_meta_tensors_give_shapes() -> None:
    """As torch's function does."""
    out = scaled_dot_product_attention(Q.to("meta"), K.to("meta"), V.to("meta"))
    assert out.is_meta
    assert out.shape == (2, 3, 5, 4)


REFUSED = {
    "dropout": (NotImplementedError, "dropout_p: 0.5", (Q, K, V), {"dropout_p": 0.5}),
    "mask and causal": (ValueError, "attn_mask: .*is_causal", (Q, K, V, seen(5, 7)),
                        {"is_causal": True}),
    "mixed types": (TypeError, "key: dtype torch.bfloat16 differs from query's torch.float32",
                    (Q, K.bfloat16(), V), {}),
    "integers": (TypeError, "query: dtype torch.int32", (Q.int(), K.int(), V.int()), {}),
    "f64 mask": (TypeError, "attn_mask: dtype torch.float64", (Q, K, V, seen(5, 7).double()), {}),
    "array": (TypeError, "query: ndarray is not", (Q.numpy(), K, V), {}),
    "1-D": (ValueError, "query: 1 axes", (Q[0, 0, 0], K, V), {}),
    "mask of rank 1": (ValueError, "attn_mask: 1 axes", (Q, K, V, seen(7)), {}),
    "mask shape": (ValueError, r"attn_mask: shape \(4, 7\) .* \(2, 3, 5, 7\)",
                   (Q, K, V, seen(4, 7)), {}),
    "head sizes": (ValueError, "key: head size 4 differs from query's 8", (Q, K[..., :4], V), {}),
    "keys": (ValueError, "value: 4 keys differ from key's 7", (Q, K, V[:, :, :4]), {}),
    "heads without enable_gqa": (ValueError, r"\(2, 6\), \(2, 3\)", (normal(2, 6, 5, 8), K, V), {}),
    "heads that do not divide": (ValueError, "key: 3 heads do not divide query's 7",
                                 (normal(2, 7, 5, 8), K, V), {"enable_gqa": True}),
    "scale of a word": (TypeError, "scale: '1' is no number", (Q, K, V), {"scale": "1"}),
    "grouped 2-D": (ValueError, "enable_gqa: .* no heads", (Q[0, 0], K[0, 0], V[0, 0]),
                    {"enable_gqa": True}),
    "sparse": (TypeError, "query: it is sparse", (Q.to_sparse(), K, V), {}),
    "scale": (ValueError, "scale: nan", (Q, K, V), {"scale": math.nan}),
    "head size 0": (ValueError, "query: head size 0", (Q[..., :0], K[..., :0], V), {}),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused_with_a_sentence(name: str) -> None:
    """Which argument, and what disagrees."""
    error, sentence, arguments, options = REFUSED[name]
    with pytest.raises(error, match=sentence):
        scaled_dot_product_attention(*arguments, **options)


@pytest.mark.parametrize("place", range(4))
def test_gradients_are_refused_while_grad_mode_is_on(place: int) -> None:
    """Silently wrong gradients would be worse."""
    arguments = [Q, K, V, torch.zeros(5, 7)]
    arguments[place] = arguments[place].clone().requires_grad_()
    with pytest.raises(NotImplementedError, match="no backward yet"):
        scaled_dot_product_attention(*arguments)
    with torch.no_grad():
        assert_right(scaled_dot_product_attention(*arguments), Q, K, V, torch.zeros(5, 7))
    with torch.inference_mode():
        assert scaled_dot_product_attention(*arguments).is_inference()
