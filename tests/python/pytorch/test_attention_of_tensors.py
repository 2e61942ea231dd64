"""regard.attention of torch tensors and JAX arrays: kinds, types, memory, gradients."""
import numpy as np
import pytest
import regard
import torch
from packages import needed
from torch._subclasses.fake_tensor import FakeTensorMode

DTYPES = [torch.float64, torch.float32, torch.float16, torch.bfloat16]


def normal(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(1)).to(dtype)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_tensors_come_back_with_the_bits_of_numpy(dtype: torch.dtype) -> None:
    q, k, v = (normal(2, 4, n, 16, dtype=dtype) for n in (5, 30, 30))
    result = regard.attention(q, k, v, causal="bottom_right", stats=True, return_lse=True)
    assert isinstance(result.out, torch.Tensor) and result.out.dtype == dtype
    assert isinstance(result.stats.top_keys, torch.Tensor)
    if dtype != torch.bfloat16:
        arrays = (tensor.numpy() for tensor in (q, k, v))
        same = regard.attention(*arrays, causal="bottom_right", return_lse=True)
        np.testing.assert_array_equal(result.out.numpy(), same.out)
        np.testing.assert_array_equal(result.lse.numpy(), same.lse)


def test_bfloat16_is_that_of_ml_dtypes() -> None:
    ml_dtypes = needed("ml_dtypes")
    q = normal(2, 5, 32, dtype=torch.bfloat16)
    array = q.view(torch.int16).numpy().view(ml_dtypes.bfloat16)
    expected = regard.attention(array, array, array).view(np.int16)
    np.testing.assert_array_equal(regard.attention(q, q, q).view(torch.int16).numpy(), expected)


def test_strides_masks_and_out() -> None:
    wide = normal(2, 7, 3, 4, 16)
    q, k, v = wide.permute(2, 0, 3, 1, 4)
    mask = torch.rand(2, 1, 7, 7) < 0.7
    out = torch.empty(2, 7, 4, 16).transpose(1, 2)
    given = regard.attention(q, k, v, mask=mask, out=out)
    assert given is out
    copies = (tensor.contiguous() for tensor in (q, k, v))
    assert torch.equal(out, regard.attention(*copies, mask=mask.numpy()))


def test_out_dtype_and_mixed_kinds() -> None:
    q = normal(2, 5, 16)
    assert regard.attention(q, q, q, out_dtype=torch.bfloat16).dtype == torch.bfloat16
    assert regard.attention(q, q, q, out_dtype="float64").dtype == torch.float64
    assert isinstance(regard.attention(q.numpy(), q, q), np.ndarray)
    lengths = regard.attention(q, q, q, kv_len=torch.tensor([3]))
    assert torch.equal(lengths, regard.attention(q, q, q, kv_len=[3]))


def test_gradients_are_refused_while_they_are_on() -> None:
    q = normal(2, 5, 16).requires_grad_()
    with pytest.raises(ValueError, match="q: it needs a gradient, and there is no backward"):
        regard.attention(q, q.detach(), q.detach())
    with torch.no_grad():
        out = regard.attention(q, q, q)
    assert torch.equal(out, regard.attention(*[q.detach()] * 3))
    with torch.inference_mode():
        assert torch.equal(out, regard.attention(q, q, q))


def test_tensors_without_memory_of_the_cpu() -> None:
    q = normal(2, 5, 16)
    for tensor in (q.to("meta"), q.to_sparse()):
        with pytest.raises(TypeError, match="k: this 'Tensor' gives no memory of the CPU"):
            regard.attention(q, tensor, q)
    with FakeTensorMode():
        fake = torch.empty(2, 5, 16)
    with pytest.raises(TypeError, match="k: this 'FakeTensor' gives no memory of the CPU"):
        regard.attention(q, fake, q)
    with pytest.raises(TypeError, match="q: elements are int32"):
        regard.attention(q.int(), q, q)


def test_results_are_on_the_cpu_whatever_the_default_device() -> None:
    q = normal(2, 5, 16)
    with torch.device("meta"):
        out = regard.attention(q, q, q)
    assert out.device.type == "cpu" and torch.equal(out, regard.attention(q, q, q))


def test_threads_below_0_are_refused() -> None:
    q = normal(2, 5, 16)
    with pytest.raises(ValueError, match="threads: -1 is below 0"):
        regard.attention(q, q, q, threads=-1)


def test_memory_that_holds_negatives_is_refused() -> None:
    q = normal(2, 5, 16)
    negated = torch.complex(q, q).conj().imag
    assert negated.is_neg()
    for place in range(3):
        tensors = [q, q, q]
        tensors[place] = negated
        with pytest.raises(ValueError, match=f"{'qkv'[place]}: its memory holds the negatives"):
            regard.attention(*tensors)
    with pytest.raises(ValueError, match="out: its memory holds the negatives"):
        regard.attention(q, q, q, out=torch.complex(q, q).conj().imag)
    resolved = negated.resolve_neg()
    assert torch.equal(regard.attention(resolved, q, q), regard.attention(-q, q, q))
