"""Arrays of other libraries in calls beside `attention`: what comes back is of the kind given."""

from __future__ import annotations

import signal
import threading
import time

import numpy as np
import pytest
from packages import needed

import regard


class Foreign:
    """Memory of the CPU behind DLPack alone, of a library that is not known."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **keywords):
        return self.array.__dlpack__(**keywords)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def problem(seed=0, hq=4, hkv=2, sq=6, skv=20, d=32):
    rng = np.random.default_rng(seed)
    shapes = ((hq, sq, d), (hkv, skv, d), (hkv, skv, d))
    return tuple(rng.standard_normal(shape).astype(np.float32) for shape in shapes)


def run_all(convert):
    """Every call with arrays made by `convert`: names and what came back."""
    q, k, v = (convert(a) for a in problem())
    halves = [regard.attention(convert(problem()[0]), *(convert(a[:, part]) for a in problem()[1:]),
                               return_lse=True) for part in (slice(0, 9), slice(9, None))]
    cache = regard.KVCache(kv_heads=2, k_head_size=32, pages=4, k_type="f32")
    sequence = cache.add()
    cache.append(sequence, k, v)
    oracle = regard.oracle.attention(q, k, v, return_lse=True)
    merged = regard.merge(halves)
    decoded = regard.decode(q, cache, sequence, return_lse=True)
    packed = regard.attention_varlen(q, k, v, [0, 2, 6], [0, 9, 20], return_lse=True)
    report = regard.check(q, k, v, decoded.out, lse=decoded.lse)
    assert report, str(report)
    return {"oracle.out": oracle.out, "oracle.lse": oracle.lse, "merge.out": merged.out,
            "merge.lse": merged.lse, "decode.out": decoded.out, "decode.lse": decoded.lse,
            "varlen.out": packed.out, "varlen.lse": packed.lse}


def test_foreign_arrays_give_numpy():
    expected = run_all(np.asarray)
    for name, array in run_all(Foreign).items():
        assert type(array) is np.ndarray, name
        np.testing.assert_array_equal(array, expected[name], err_msg=name)


def test_tensors_give_tensors():
    torch = needed("torch")
    expected = run_all(np.asarray)
    for name, tensor in run_all(torch.from_numpy).items():
        assert isinstance(tensor, torch.Tensor), name
        np.testing.assert_array_equal(tensor.numpy(), expected[name], err_msg=name)
    cache = regard.KVCache(kv_heads=2, k_head_size=32, pages=4, k_type="bf16")
    sequence = cache.add()
    k, v = (torch.from_numpy(a).bfloat16() for a in problem()[1:])
    cache.append(sequence, k, v)
    held = torch.empty_like(k), torch.empty_like(v)
    got = cache.gather(sequence, out=held)
    assert got[0] is held[0] and torch.equal(held[0], k) and torch.equal(held[1], v)


def test_brain_floats():
    types = needed("ml_dtypes")
    q, k, v = (a.astype(types.bfloat16) for a in problem())
    cache = regard.KVCache(kv_heads=2, k_head_size=32, pages=4, k_type="bf16")
    sequence = cache.add()
    cache.append(sequence, k, v)
    got_k, _ = cache.gather(sequence, out_dtype="bfloat16")
    assert got_k.dtype == types.bfloat16 and np.array_equal(got_k, k)
    out = regard.decode(q, cache, sequence)
    assert out.dtype == types.bfloat16 and regard.check(q, k, v, out)


class Pressed(Exception):
    """What the signal handler of a test raises."""


@pytest.mark.skipif(threading.current_thread() is not threading.main_thread(),
                    reason="signals reach the main thread alone")
@pytest.mark.parametrize("call", ["oracle", "check", "report_kv"])
def test_a_signal_stops_a_long_call(call):
    q, k, v = problem(sq=4000, skv=20_000)
    calls = {"oracle": lambda: regard.oracle.attention(q, k, v),
             "check": lambda: regard.check(q, k, v, np.zeros_like(q)),
             "report_kv": lambda: regard.report_kv(q, k, v, "int8")}

    def press(*_):
        raise Pressed

    before = signal.signal(signal.SIGALRM, press)
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    start = time.monotonic()
    try:
        with pytest.raises(Pressed):
            calls[call]()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert time.monotonic() - start < 5  # the whole takes minutes
