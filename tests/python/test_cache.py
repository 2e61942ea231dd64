"""KV caches: decode is attention over what gather gives back, and calls keep their promises."""

from __future__ import annotations

import threading
from typing import get_args

import numpy as np
import pytest

import regard
from regard._options import KVType


def tokens(seed, count, heads=2, d=32, dv=32, dtype=np.float32):
    rng = np.random.default_rng(seed)
    return tuple(rng.standard_normal((heads, count, size)).astype(dtype) for size in (d, dv))


def queries(seed, n, rows, heads=4, d=32, dtype=np.float32):
    return np.random.default_rng(seed).standard_normal((n, heads, rows, d)).astype(dtype)


def filled(lengths, **options):
    cache = regard.KVCache(kv_heads=2, k_head_size=32, pages=64, page_tokens=16, **options)
    sequences = []
    for n, length in enumerate(lengths):
        sequences.append(cache.add())
        cache.append(sequences[-1], *tokens(n, length))
    return cache, sequences


@pytest.mark.parametrize("k_type", get_args(KVType))
@pytest.mark.parametrize("rows", [1, 3])
def test_decode_is_attention_over_what_is_held(k_type, rows):
    cache, sequences = filled([5, 64, 70], k_type=k_type)
    q = queries(9, 3, rows)
    got = regard.decode(q, cache, sequences, causal="bottom_right", return_lse=True)
    assert got.out.shape == (3, 4, rows, 32) and got.lse.shape == (3, 4, rows)
    for n, sequence in enumerate(sequences):
        k, v = cache.gather(sequence)
        report = regard.check(q[n], k, v, got.out[n], lse=got.lse[n], causal="bottom_right")
        assert report, str(report)


def test_numbers_and_properties():
    cache, (a, b) = filled([5, 40])
    assert (cache.length(a), cache.length(b)) == (5, 40)
    assert cache.free_pages == 64 - 1 - 3
    assert 0 < cache.bytes_used <= cache.bytes_reserved
    assert (cache.k_type, cache.v_type, cache.kv_heads) == ("f16", "f16", 2)
    assert (cache.k_head_size, cache.v_head_size, cache.page_tokens, cache.pages) == (32, 32, 16,
                                                                                      64)
    assert "4 of 64 pages of 16 tokens in use" in repr(cache)
    cache.trim(b, 16)
    assert cache.length(b) == 16 and cache.free_pages == 64 - 2
    cache.remove(a)
    assert cache.free_pages == 63
    with pytest.raises(ValueError, match="sequence"):
        cache.length(a)


def test_gather_gives_what_was_appended():
    cache, (a,) = filled([40], k_type="f32")
    k, v = tokens(0, 40)
    got_k, got_v = cache.gather(a)
    assert got_k.dtype == np.float32
    np.testing.assert_array_equal(got_k, k)
    np.testing.assert_array_equal(got_v, v)
    some_k, _ = cache.gather(a, 10, 13)
    np.testing.assert_array_equal(some_k, k[:, 10:13])
    for begin, end in ((0, 41), (-1, 3), (5, 4), (0, 10**14)):
        with pytest.raises(ValueError, match=f"{begin} and {end} are no part of the 40 tokens"):
            cache.gather(a, begin, end)


def test_forks_share_until_written():
    cache, (a,) = filled([20], k_type="f32")
    free = cache.free_pages
    b = cache.fork(a)
    assert cache.free_pages == free
    cache.append(b, *tokens(7, 1))
    assert cache.free_pages == free - 1
    np.testing.assert_array_equal(cache.gather(a)[0], tokens(0, 20)[0])
    np.testing.assert_array_equal(cache.gather(b)[0][:, :20], tokens(0, 20)[0])


def test_layouts_of_tokens_and_rows():
    k, v = tokens(0, 9)
    cache, (a,) = filled([9], k_type="f32")
    b = cache.add()
    cache.append(b, k.swapaxes(0, 1), v.swapaxes(0, 1), layout="bshd")
    c = cache.add()
    cache.append(c, k[None], v[None])
    for other in (b, c):
        np.testing.assert_array_equal(cache.gather(other)[0], k)
    q = queries(1, 2, 3)
    out = regard.decode(q, cache, [a, b])
    turned = regard.decode(q.swapaxes(1, 2), cache, [a, b], layout="bshd")
    np.testing.assert_array_equal(turned, out.swapaxes(1, 2))
    np.testing.assert_array_equal(regard.decode(q[0], cache, [a]), out[0])
    np.testing.assert_array_equal(regard.decode(q[0], cache, a), out[0])


def test_packed_rows():
    cache, sequences = filled([5, 64, 70])
    rows = [1, 4, 2]
    starts = np.concatenate([[0], np.cumsum(rows)])
    q = queries(3, 1, sum(rows))
    out = regard.decode(q, cache, sequences, starts=starts, causal="bottom_right")
    for n, sequence in enumerate(sequences):
        mine = slice(starts[n], starts[n + 1])
        alone = regard.decode(q[:, :, mine], cache, [sequence], causal="bottom_right")
        np.testing.assert_array_equal(out[:, :, mine], alone)


def test_a_chain_of_parents_is_causal():
    cache, sequences = filled([30])
    q = queries(4, 1, 4)
    chain = regard.decode(q, cache, sequences, parents=[-1, 0, 1, 2])
    causal = regard.decode(q, cache, sequences, causal="bottom_right")
    np.testing.assert_array_equal(chain, causal)


def test_a_ring_holds_its_window_and_its_first_tokens():
    cache = regard.KVCache(kv_heads=2, k_head_size=32, pages=8, page_tokens=16, k_type="f32",
                           window=20, keep_first=4)
    a = cache.add()
    k, v = tokens(5, 300)
    for t in range(0, 300, 10):
        cache.append(a, k[:, t:t + 10], v[:, t:t + 10])
    assert cache.length(a) == 300 and cache.held_from(a) == 280
    held = np.r_[0:4, 280:300]
    q = queries(6, 1, 1)
    out = regard.decode(q, cache, a)
    assert regard.check(q[0], k[:, held], v[:, held], out[0])
    with pytest.raises(ValueError):
        cache.gather(a, 100, 110)


def test_failed_calls_change_nothing():
    cache, (a,) = filled([5])
    with pytest.raises(MemoryError, match="page"):
        cache.append(a, *tokens(1, 2000))
    assert cache.length(a) == 5
    with pytest.raises(ValueError, match="k"):
        cache.append(a, tokens(1, 3)[0][:, :, :30], tokens(1, 3)[1])
    with pytest.raises(ValueError, match="sequence"):
        cache.append(a + 100, *tokens(1, 1))
    assert cache.length(a) == 5
    with pytest.raises(ValueError, match="page_tokens"):
        regard.KVCache(kv_heads=2, k_head_size=32, pages=4, page_tokens=15)
    with pytest.raises(ValueError, match="k_type: 'int9' is none of f32, f16"):
        regard.KVCache(kv_heads=2, k_head_size=32, pages=4, k_type="int9")


def test_threads_share_a_cache():
    cache, sequences = filled([64, 64])
    q = queries(8, 2, 1)
    expected = regard.decode(q, cache, sequences)
    wrong = []

    def read():
        for _ in range(50):
            if not np.array_equal(regard.decode(q, cache, sequences), expected):
                wrong.append("decode")

    def write(seed):
        mine = cache.add()
        for t in range(50):
            cache.append(mine, *tokens(seed, 1))
            if cache.length(mine) != t + 1:
                wrong.append("length")
        cache.remove(mine)

    workers = [threading.Thread(target=read) for _ in range(2)]
    workers += [threading.Thread(target=write, args=(n,)) for n in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not wrong


def test_out_and_half_types():
    cache, sequences = filled([20, 33])
    q = queries(2, 2, 1, dtype=np.float16)
    out = regard.decode(q, cache, sequences)
    assert out.dtype == np.float16
    wide = regard.decode(q, cache, sequences, out_dtype="f32")
    assert wide.dtype == np.float32
    memory = np.empty((2, 4, 1, 32), np.float32)
    assert regard.decode(q, cache, sequences, out=memory) is memory
    np.testing.assert_array_equal(memory, wide)
    with pytest.raises(TypeError, match="cache: ndarray is no regard.KVCache"):
        regard.decode(q, q, sequences)
    with pytest.raises(ValueError, match="kv_len"):
        regard.decode(q, cache, sequences, kv_len=[1, 1])


def test_sentences_name_what_has_a_wrong_type():
    cache, sequences = filled([20])
    k, v = tokens(0, 5)
    q = queries(1, 1, 1)
    calls = [
        ("sequence: 0.5 is no integer", lambda: cache.append(0.5, k, v)),
        ("sequence: None is no integer", lambda: cache.length(None)),
        ("length: 'a' is no integer", lambda: cache.trim(sequences[0], "a")),
        ("k: 'NoneType' is no array", lambda: cache.append(sequences[0], None, v)),
        ("begin: 'a' is no integer", lambda: cache.gather(sequences[0], "a")),
        ("cache: NoneType is no regard.KVCache", lambda: regard.decode(q, None, sequences)),
        ("sequences: 'NoneType' is no array", lambda: regard.decode(q, cache, None)),
        ("q: None is no array", lambda: regard.decode(None, cache, sequences)),
    ]
    for sentence, call in calls:
        with pytest.raises(TypeError, match=sentence):
            call()
    with pytest.raises(ValueError, match="sequence: 1180591620717411303424 does not fit 64 bits"):
        cache.append(2**70, k, v)
    assert cache.length(sequences[0]) == 20
    cache.append(sequences[0], k, v, layout=None)
    assert cache.length(sequences[0]) == 25


def test_gather_into_arrays_agrees_with_what_else_is_said():
    cache, sequences = filled([20])
    k, v = cache.gather(sequences[0], 3, 8)
    out = [np.empty_like(k), np.empty_like(v)]
    got = cache.gather(sequences[0], 3, 8, out=out, out_dtype="f32")
    assert got[0] is out[0] and np.array_equal(out[0], k) and np.array_equal(out[1], v)
    with pytest.raises(ValueError, match="end: 9 from begin 3 differs from the 5 tokens of out"):
        cache.gather(sequences[0], 3, 9, out=out)
    with pytest.raises(ValueError, match="out_dtype: f16 differs from out's f32"):
        cache.gather(sequences[0], 3, out=out, out_dtype="f16")
