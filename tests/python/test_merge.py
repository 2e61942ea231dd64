"""Parts of the keys, attended to apart and put together."""

from __future__ import annotations

import numpy as np
import pytest

import regard


def problem(seed=0, b=2, hq=4, hkv=2, sq=5, skv=40, d=16, dtype=np.float32):
    rng = np.random.default_rng(seed)
    shapes = ((b, hq, sq, d), (b, hkv, skv, d), (b, hkv, skv, d))
    return tuple(rng.standard_normal(shape).astype(dtype) for shape in shapes)


def split(q, k, v, borders, **options):
    return [regard.attention(q, k[:, :, a:b], v[:, :, a:b], return_lse=True, **options)
            for a, b in zip(borders, borders[1:])]


@pytest.mark.parametrize("dtype,eps", [(np.float64, 2.0**-53), (np.float32, 2.0**-24)])
def test_merged_parts_are_the_whole(dtype, eps):
    q, k, v = problem(dtype=dtype)
    whole = regard.attention(q, k, v, return_lse=True)
    merged = regard.merge(split(q, k, v, [0, 7, 7, 32, 40]))
    assert merged.out.dtype == merged.lse.dtype == dtype
    # Weights here change by at most some |lse| eps, the scores' own errors by less than 30 eps.
    np.testing.assert_allclose(merged.out, whole.out, rtol=0, atol=64 * eps)
    np.testing.assert_allclose(merged.lse, whole.lse, rtol=0, atol=64 * eps)


def test_pairs_ranks_and_layouts():
    q, k, v = problem()
    found = split(q, k, v, [0, 20, 40])
    merged = regard.merge(found)
    pairs = regard.merge([(part.out, part.lse) for part in found])
    np.testing.assert_array_equal(pairs.out, merged.out)
    np.testing.assert_array_equal(pairs.lse, merged.lse)
    one = regard.merge([(part.out[0, 0], part.lse[0, 0]) for part in found])
    np.testing.assert_array_equal(one.out, merged.out[0, 0])
    turned = [a.swapaxes(1, 2) for a in (q, k, v)]
    bshd = [regard.attention(turned[0], turned[1][:, a:b], turned[2][:, a:b], return_lse=True,
                             layout="bshd") for a, b in ((0, 20), (20, 40))]
    np.testing.assert_array_equal(regard.merge(bshd, layout="bshd").out,
                                  merged.out.swapaxes(1, 2))


def test_sinks_enter_once():
    q, k, v = problem(dtype=np.float64)
    sinks = np.array([0.5, -1.0, 2.0, -np.inf])
    whole = regard.attention(q, k, v, sinks=sinks, return_lse=True)
    merged = regard.merge(split(q, k, v, [0, 11, 40]), sinks=sinks)
    np.testing.assert_allclose(merged.out, whole.out, rtol=0, atol=1e-14)
    np.testing.assert_allclose(merged.lse, whole.lse, rtol=0, atol=1e-14)


def test_empty_parts_bring_nothing():
    q, k, v = problem()
    part = regard.attention(q, k, v, return_lse=True)
    rubbish = (np.full_like(part.out, np.nan), np.full_like(part.lse, -np.inf))
    merged = regard.merge([rubbish, part, rubbish])
    np.testing.assert_array_equal(merged.out, part.out)
    np.testing.assert_array_equal(merged.lse, part.lse)
    nothing = regard.merge([rubbish, rubbish])
    assert not nothing.out.any() and np.all(nothing.lse == -np.inf)


def test_out_may_be_that_of_a_part():
    q, k, v = problem()
    found = split(q, k, v, [0, 20, 40])
    expected = regard.merge(found)
    merged = regard.merge(found, out=found[0].out)
    assert merged.out is found[0].out
    np.testing.assert_array_equal(found[0].out, expected.out)


def test_sentences():
    q, k, v = problem()
    found = split(q, k, v, [0, 20, 40])
    with pytest.raises(ValueError, match=r"parts\[1\].lse: shape"):
        regard.merge([(found[0].out, found[0].lse), (found[1].out, found[1].lse[:, :3])])
    with pytest.raises(ValueError, match=r"parts\[1\].out: rank 3 of shape .* where 4 is needed"):
        regard.merge([found[0], (found[1].out[0], found[1].lse[0])])
    with pytest.raises(ValueError, match="out_dtype: f64 differs from out's f32"):
        regard.merge(found, out=found[0].out, out_dtype="f64")
    with pytest.raises(ValueError, match="parts"):
        regard.merge([])
    with pytest.raises(TypeError, match="parts"):
        regard.merge([found[0].out])
