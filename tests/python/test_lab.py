"""The labs: recorded numbers of the NumPy programs, the three facts, and blocked against plain."""

from __future__ import annotations

import pathlib

import numpy as np
import pytest

import regard
from regard import lab

DATA = pathlib.Path(__file__).resolve().parents[2] / "data"


@pytest.fixture(scope="module")
def shipped():
    return dict(np.load(DATA / "lab.npz"))


@pytest.fixture(scope="module")
def blocked():
    return dict(np.load(DATA / "blocked.npz"))


def random_lab(seed, tokens, d_model, d_head):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((tokens, d_model))
    w = [rng.standard_normal((d_model, d_head)) / np.sqrt(d_model) for _ in range(3)]
    return x, *w


def test_recorded_numbers(shipped):
    out, weights = lab.causal_attention(*(shipped[n] for n in ("x", "wq", "wk", "wv")))
    np.testing.assert_allclose(out, shipped["out"], rtol=0, atol=1e-12)
    np.testing.assert_allclose(weights, shipped["weights"], rtol=0, atol=1e-12)
    edited, _ = lab.causal_attention(shipped["x_edited"],
                                     *(shipped[n] for n in ("wq", "wk", "wv")))
    np.testing.assert_allclose(edited, shipped["out_edited"], rtol=0, atol=1e-12)


@pytest.mark.parametrize("seed,tokens,d_model,d_head",
                         [(0, 6, 16, 8), (1, 1, 3, 2), (2, 37, 40, 59), (3, 300, 24, 64)])
def test_rows_are_weighted_averages(seed, tokens, d_model, d_head):
    x, wq, wk, wv = random_lab(seed, tokens, d_model, d_head)
    out, weights = lab.causal_attention(x, wq, wk, wv)
    assert weights.shape == (tokens, tokens)
    assert np.abs(weights.sum(axis=1) - 1).max() <= 1e-12
    assert weights.min() >= 0
    assert np.all(np.triu(weights, 1) == 0)
    # Sums of rows' errors: tokens terms of about 1 ulp of values of a few units.
    np.testing.assert_allclose(out, weights @ (x @ wv), rtol=0, atol=1e-13)


@pytest.mark.parametrize("tokens", [2, 6, 33, 130])
def test_future_does_not_leak(tokens):
    x, wq, wk, wv = random_lab(4, tokens, 16, 8)
    edited = x.copy()
    edited[-1] += 10
    before, _ = lab.causal_attention(x, wq, wk, wv)
    # The products x w of unchanged rows have to be the same bits for this to say anything.
    np.testing.assert_array_equal((edited @ wq)[:-1], (x @ wq)[:-1])
    after, _ = lab.causal_attention(edited, wq, wk, wv)
    np.testing.assert_array_equal(after[:-1], before[:-1])
    assert np.abs(after[-1] - before[-1]).max() > 0


def test_scale_keeps_the_softmax_from_saturating(shipped):
    wide = [shipped[n] for n in ("xb", "wq_b", "wk_b", "wv_b")]
    scaled = float(lab.entropy(lab.causal_attention(*wide)[1][-1]))
    unscaled = float(lab.entropy(lab.causal_attention(*wide, scale=False)[1][-1]))
    assert scaled > 1.5
    assert unscaled < scaled / 2
    assert scaled == pytest.approx(float(shipped["entropy_scaled"]), abs=1e-12)
    assert unscaled == pytest.approx(float(shipped["entropy_unscaled"]), abs=1e-12)


def test_type_follows_the_input(shipped):
    args = [shipped[n].astype(np.float32) for n in ("x", "wq", "wk", "wv")]
    out, weights = lab.causal_attention(*args)
    assert out.dtype == weights.dtype == np.float32
    np.testing.assert_allclose(out, shipped["out"], rtol=1e-4, atol=1e-4)


def test_recorded_numbers_of_the_blocked_program(blocked):
    q, k, v = (blocked[n] for n in "qkv")
    assert np.abs(lab.block_attention(q, k, v, 4) - blocked["block_out"]).max() <= 1e-7
    assert np.abs(lab.plain_attention(q, k, v) - blocked["out"]).max() <= 1e-7
    engine = regard.attention(q[:, None], k[:, None], v[:, None], scale=1.0)[:, 0]
    assert np.abs(engine - blocked["out"]).max() <= 1e-7


@pytest.mark.parametrize("block", [1, 2, 3, 5, 16, 37, 64])
@pytest.mark.parametrize("batch,sq,skv,d,dv", [((1,), 10, 10, 16, 16), ((), 5, 13, 32, 32),
                                               ((3, 2), 9, 17, 16, 24), ((2,), 37, 61, 32, 40)])
def test_blocked_equals_plain(batch, sq, skv, d, dv, block):
    rng = np.random.default_rng(5)
    q, k, v = (rng.standard_normal((*batch, *shape)) for shape in ((sq, d), (skv, d), (skv, dv)))
    out = lab.block_attention(q, k, v, block)
    assert out.shape == (*batch, sq, dv)
    assert np.abs(out - lab.plain_attention(q, k, v)).max() <= 1e-7


def test_growing_scores_move_the_maximum_at_every_tile():
    q = np.ones((1, 4, 1))
    k = np.arange(0.0, 900.0, 30.0).reshape(1, 30, 1)
    v = np.arange(30.0).reshape(1, 30, 1)
    out = lab.block_attention(q, k, v, 4)
    assert np.abs(out - lab.plain_attention(q, k, v)).max() <= 1e-7
    assert np.all(np.isfinite(out))


def test_without_keys_rows_are_zero():
    out = lab.block_attention(np.ones((2, 3, 4)), np.ones((2, 0, 4)), np.ones((2, 0, 5)), 4)
    assert out.shape == (2, 3, 5) and not out.any()


def test_sentences():
    x, wq, wk, wv = random_lab(6, 4, 5, 3)
    with pytest.raises(ValueError, match="wk: 4 rows where x has 5 columns"):
        lab.causal_attention(x, wq, wk[:4], wv)
    with pytest.raises(ValueError, match="wk: 2 columns where wq has 3"):
        lab.causal_attention(x, wq, wk[:, :2], wv)
    with pytest.raises(ValueError, match="x: shape .* has 3 axes where 2 are needed"):
        lab.causal_attention(x[None], wq, wk, wv)
    with pytest.raises(ValueError, match="block: 0 is below 1"):
        lab.block_attention(x, x, x, 0)
    with pytest.raises(ValueError, match="does not fit q"):
        lab.block_attention(x, x[:, :4], x, 2)
    with pytest.raises(ValueError, match="does not fit k"):
        lab.block_attention(x, x, x[:3], 2)
