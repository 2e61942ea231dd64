"""Reports on stored K and V: the measures are what oracle and cache say they are."""

from __future__ import annotations

import numpy as np
import pytest

import regard


def problem(seed=0, hq=4, hkv=2, sq=6, skv=40, d=32):
    rng = np.random.default_rng(seed)
    shapes = ((1, hq, sq, d), (1, hkv, skv, d), (1, hkv, skv, d))
    return tuple(rng.standard_normal(shape).astype(np.float32) for shape in shapes)


def cached(k, v, **types):
    cache = regard.KVCache(kv_heads=2, k_head_size=32, pages=4, **types)
    sequence = cache.add()
    cache.append(sequence, k, v)
    return cache, sequence


def entropy(p):
    return -np.sum(p * np.log(p), axis=-1)


def test_measures_are_those_of_the_oracle():
    q, k, v = problem()
    report = regard.report_kv(q, k, v, ("int8", "int4_32"))
    cache, sequence = cached(k, v, k_type="int8", v_type="int4_32")
    held_k, held_v = (a[None] for a in cache.gather(sequence))
    given = regard.oracle.attention(q, k, v, return_weights=True)
    stored = regard.oracle.attention(q, held_k, held_v, return_weights=True)
    error = (np.linalg.norm(stored.out - given.out, axis=-1) / np.linalg.norm(given.out, axis=-1))
    np.testing.assert_allclose(report.rows["out_error"], error.ravel(), rtol=1e-9)
    moved = np.abs(stored.weights - given.weights).sum(axis=-1) / 2
    np.testing.assert_allclose(report.rows["weight_moved"], moved.ravel(), rtol=1e-9)
    change = entropy(stored.weights) - entropy(given.weights)
    np.testing.assert_allclose(report.rows["entropy_change"], change.ravel(), rtol=0, atol=1e-12)
    assert list(report.rows["h"]) == [h for h in range(4) for _ in range(6)]
    assert len(report.heads) == 4 and report.all.rows == 24
    assert report.all.rms_out_error == pytest.approx(np.sqrt(np.mean(error**2)), rel=1e-9)
    worst = report.all.out_error
    assert worst.value == pytest.approx(error.max()) == error[worst.b, worst.h, worst.i]
    assert str(report).startswith("24 rows: out_error ")


def test_a_cache_says_the_same_as_its_types():
    q, k, v = problem()
    cache, sequence = cached(k, v, k_type="q8_0")
    by_cache = regard.report_kv(q, k, v, cache=cache, sequences=sequence)
    np.testing.assert_array_equal(by_cache.rows, regard.report_kv(q, k, v, "q8_0").rows)


def test_f32_costs_nothing_and_samples_are_samples():
    q, k, v = problem()
    report = regard.report_kv(q, k, v, "f32", sample=5, causal="bottom_right")
    assert len(report.rows) == report.all.rows == 5
    assert not report.rows["out_error"].any() and report.all.weight_moved.value == 0


def test_sentences():
    q, k, v = problem()
    with pytest.raises(TypeError, match="either types or a cache"):
        regard.report_kv(q, k, v)
    with pytest.raises(ValueError, match="types: 'int9' is none of f32, "):
        regard.report_kv(q, k, v, "int9")
    with pytest.raises(TypeError, match="sequences: a cache is given"):
        regard.report_kv(q, k, v, cache=cached(k, v)[0])
    with pytest.raises(ValueError, match="sample: -1 is below 0"):
        regard.report_kv(q, k, v, "int8", sample=-1)
    with pytest.raises(TypeError, match="sample: 1.5 is no integer"):
        regard.report_kv(q, k, v, "int8", sample=1.5)
    with pytest.raises(TypeError, match="types: 5 is neither a name nor a pair"):
        regard.report_kv(q, k, v, 5)
    with pytest.raises(TypeError, match="cache: str is no regard.KVCache"):
        regard.report_kv(q, k, v, cache="int8", sequences=[0])
    with pytest.raises(TypeError, match="neither a name nor a pair"):
        regard.report_kv(q, k, v, ("f16", "f16", "f16"))
