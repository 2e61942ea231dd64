"""The f64 oracle, and the checker: kernels of one's own are judged and their convention named."""

from __future__ import annotations

import pathlib

import definition
import numpy as np
import pytest

import regard

DATA = pathlib.Path(__file__).resolve().parents[2] / "data"


def problem(seed=0, b=2, hq=4, hkv=2, sq=7, skv=11, d=8, dv=6, dtype=np.float32):
    rng = np.random.default_rng(seed)
    shapes = ((b, hq, sq, d), (b, hkv, skv, d), (b, hkv, skv, dv))
    return tuple(rng.standard_normal(shape).astype(dtype) for shape in shapes)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
@pytest.mark.parametrize("causal", ["none", "top_left", "bottom_right"])
def test_oracle_is_the_definition(dtype, causal):
    q, k, v = problem(dtype=dtype)
    answer = definition.attention(q, k, v, causal=causal)
    got = regard.oracle.attention(q, k, v, causal=causal, return_lse=True, return_weights=True)
    assert got.out.dtype == got.lse.dtype == got.weights.dtype == np.float64
    # By the definition in f64 a score of 8 terms errs by some 10 eps, and so do its weights.
    np.testing.assert_allclose(got.out, answer.out, rtol=0, atol=1e-14)
    np.testing.assert_allclose(got.lse, answer.lse, rtol=0, atol=1e-14)
    np.testing.assert_allclose(got.weights, answer.weights, rtol=0, atol=1e-14)


def test_out_alone_and_chosen_rows():
    q, k, v = problem()
    out = regard.oracle.attention(q, k, v, causal="bottom_right")
    assert isinstance(out, np.ndarray) and out.shape == (2, 4, 7, 6)
    some = regard.oracle.attention(q, k, v, causal="bottom_right", rows=[6, 0, 6], return_lse=True)
    np.testing.assert_array_equal(some.out, out[:, :, [6, 0, 6]])
    assert some.lse.shape == (2, 4, 3)


def test_ranks_and_layouts():
    q, k, v = problem()
    out = regard.oracle.attention(q, k, v)
    np.testing.assert_array_equal(regard.oracle.attention(q[0], k[0], v[0]), out[0])
    np.testing.assert_array_equal(regard.oracle.attention(q[0, 0], k[0, 0], v[0, 0]), out[0, 0])
    turned = [a.swapaxes(1, 2) for a in (q, k, v)]
    np.testing.assert_array_equal(regard.oracle.attention(*turned, layout="bshd"),
                                  out.swapaxes(1, 2))


def test_oracle_takes_lengths_no_memory_could_hold_scores_of():
    q, k, v = problem(b=1, hq=1, hkv=1, sq=100_000, skv=100_000, d=4, dv=4)
    got = regard.oracle.attention(q, k, v, causal="top_left", rows=[99_999])
    s = 0.5 * k[0, 0].astype(np.float64) @ q[0, 0, -1].astype(np.float64)
    p = np.exp(s - s.max())
    np.testing.assert_allclose(got[0, 0, 0], p @ v[0, 0] / p.sum(), rtol=0, atol=1e-13)


def test_oracle_refuses_what_attention_refuses():
    q, k, v = problem()
    with pytest.raises(ValueError) as ours:
        regard.attention(q, k[..., :5], v)
    with pytest.raises(ValueError) as oracle:
        regard.oracle.attention(q, k[..., :5], v)
    assert str(oracle.value) == str(ours.value)
    with pytest.raises(ValueError, match="rows: row 7 is not in"):
        regard.oracle.attention(q, k, v, rows=[7])


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
def test_the_engine_passes_its_check(dtype):
    q, k, v = problem(dtype=dtype)
    got = regard.attention(q, k, v, causal="top_left", return_lse=True, return_weights=True)
    report = regard.check(q, k, v, got.out, lse=got.lse, weights=got.weights, causal="top_left")
    assert report.passed and bool(report)
    assert report.rows_checked == 2 * 4 * 7 and report.rows_failed == 0
    assert report.worst_units <= 1 and report.convention is None
    assert str(report).startswith("PASS  56 of 56 rows checked, 0 outside the bound\n")


def test_a_wrong_element_is_found():
    q, k, v = problem()
    out = regard.attention(q, k, v)
    out[1, 2, 3, 4] += 0.01
    report = regard.check(q, k, v, out)
    assert not report.passed and not report
    assert report.rows_failed == 1 and report.convention is None
    worst = report.worst[0]
    assert (worst.what, worst.b, worst.h, worst.i, worst.d) == ("out", 1, 2, 3, 4)
    assert worst.actual == pytest.approx(float(out[1, 2, 3, 4]))
    assert worst.error == pytest.approx(0.01, rel=1e-3) and worst.units > 1
    assert worst.error / worst.bound == pytest.approx(worst.units)
    assert str(report).startswith("FAIL  56 of 56 rows checked, 1 outside the bound\n")


@pytest.mark.parametrize("asked,theirs,name", [
    ({"causal": "bottom_right"}, {"causal": "top_left"}, "causal=top_left"),
    ({"causal": "top_left"}, {"causal": "bottom_right"}, "causal=bottom_right"),
    ({}, {"scale": 1.0}, "scale=1"),
])
def test_conventions_are_named(asked, theirs, name):
    q, k, v = problem(sq=7, skv=11)
    out = definition.attention(q, k, v, **theirs).out.astype(np.float32)
    report = regard.check(q, k, v, out, **asked)
    assert not report.passed
    assert report.convention.name == name
    assert report.convention.sentence and report.convention.rows_fitted > 0
    assert f"matches with {name}: " in str(report)
    assert regard.check(q, k, v, out, find_convention=False, **asked).convention is None


def test_base_2_is_named():
    q, k, v = problem()
    answer = definition.attention(q, k, v)
    report = regard.check(q, k, v, answer.out.astype("f4"),
                          lse=(answer.lse / np.log(2)).astype("f4"))
    assert report.convention.name == "lse=base2"
    assert report.worst[0].what == "lse" and report.worst[0].d == -1


def test_samples_and_worst_rows():
    q, k, v = problem()
    out = definition.attention(q, k, v, scale=1.0).out
    report = regard.check(q, k, v, out, sample=10, seed=3, worst=2)
    assert report.rows_checked == 10 and len(report.worst) == 2
    again = regard.check(q, k, v, out, sample=10, seed=3, worst=2)
    assert [w.i for w in again.worst] == [w.i for w in report.worst]


def test_numbers_below_0_are_named():
    q, k, v = problem()
    for name in ("sample", "seed", "worst"):
        with pytest.raises(ValueError, match=f"{name}: -1 is below 0"):
            regard.check(q, k, v, q, **{name: -1})


@pytest.mark.parametrize("number, error", [(1.5, TypeError), ("a", TypeError), (None, TypeError),
                                           (2**70, ValueError)])
def test_what_is_no_count_is_named(number, error):
    q, k, v = problem()
    for name in ("sample", "seed", "worst"):
        with pytest.raises(error, match=f"^{name}: "):
            regard.check(q, k, v, q, **{name: number})
    assert regard.check(q, k, v, regard.attention(q, k, v), sample=np.int8(3), find_convention=1)


def test_layout_of_what_is_judged():
    q, k, v = (a.swapaxes(1, 2) for a in problem())
    out = regard.attention(q, k, v, layout="bshd")
    assert regard.check(q, k, v, out, layout="bshd").passed
    with pytest.raises(ValueError, match="out"):
        regard.check(q, k, v, out[:, :5], layout="bshd")


def test_real_model():
    data = np.load(DATA / "minilm_layer0.npz")
    q, k, v = (data[name] for name in "qkv")
    assert regard.check(q, k, v, regard.attention(q, k, v)).passed


def test_check_takes_no_option_that_it_would_not_heed():
    q, k, v = problem()
    with pytest.raises(TypeError, match=r"check\(\) got an unexpected .* 'return_lse'"):
        regard.check(q, k, v, q, return_lse=True)
