"""regard.attention against the definition and the shared cases: every option, layout and rank."""
import json
import pathlib
from typing import Any

import definition
import numpy as np
import pytest
import regard

CASES = json.loads((pathlib.Path(__file__).parent.parent / "cases/conformance.json").read_text())
SHAPES = [(1, 1, 1, 1, 1, 8, 8), (2, 4, 2, 7, 9, 16, 8), (1, 3, 1, 65, 200, 40, 33)]
OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "scale": {"scale": -0.3},
    "top_left": {"causal": "top_left"},
    "bottom_right": {"causal": "bottom_right"},
    "offset": {"causal": "top_left", "q_offset": 3},
    "window": {"window": (4, 2)},
    "softcap": {"softcap": 1.5},
}


def numbers(values: Any) -> np.ndarray:
    """f64 of nested lists in which infinities and NaN are words."""
    return np.asarray(values, dtype=object).astype(np.float64)


def random_inputs(shape: tuple[int, ...], dtype: str) -> tuple[np.ndarray, ...]:
    """q, k, v of (B, Hq, Hkv, Sq, Skv, D, Dv)."""
    batch, heads, kv_heads, sq, skv, d, dv = shape
    engine = np.random.default_rng(sum(shape))
    sizes = (batch, heads, sq, d), (batch, kv_heads, skv, d), (batch, kv_heads, skv, dv)
    return tuple(engine.standard_normal(size).astype(dtype) for size in sizes)


def assert_right(result: regard.Result, answer: definition.Answer, v: np.ndarray,
                 depth: int) -> None:
    """out, lse and weights are as near as arithmetic in their type allows."""
    dtype = v.dtype.name
    limit = definition.bound(answer, v, dtype, depth)
    compute = "float64" if dtype == "float64" else "float32"
    unit = definition.UNITS[compute] * (2 * (depth + 4) * max(answer.size, 1)
                                        + answer.weights.shape[-1] + 8)
    assert result.out.dtype == v.dtype and result.lse.dtype == compute
    np.testing.assert_allclose(result.out.astype(np.float64), answer.out, rtol=0, atol=limit)
    np.testing.assert_allclose(result.lse, answer.lse, rtol=4 * unit, atol=4 * unit)
    np.testing.assert_allclose(result.weights, answer.weights, rtol=0, atol=unit)


@pytest.mark.parametrize("case", CASES["cases"], ids=lambda case: case["name"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_shared_cases(case: dict[str, Any], dtype: str) -> None:
    q, k, v = (numbers(case[name]).astype(dtype) for name in "qkv")
    options = dict(case["options"])
    for name in ("bias", "sinks", "alibi_slopes"):
        if name in options:
            options[name] = numbers(options[name]).astype(dtype)
    if "mask" in options:
        options["mask"] = np.array(options["mask"])
    result = regard.attention(q, k, v, return_lse=True, return_weights=True, **options)
    tolerance = 1e-13 if dtype == "float64" else 1e-5  # scores are below 16, and few
    for name in case["expect"].keys() & {"out", "lse", "weights"}:
        np.testing.assert_allclose(getattr(result, name), numbers(case["expect"][name]),
                                   rtol=tolerance, atol=tolerance, err_msg=name)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name", OPTIONS)
@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
def test_agrees_with_the_definition(shape: tuple[int, ...], name: str, dtype: str) -> None:
    q, k, v = random_inputs(shape, dtype)
    result = regard.attention(q, k, v, return_lse=True, return_weights=True, **OPTIONS[name])
    assert_right(result, definition.attention(q, k, v, **OPTIONS[name]), v, q.shape[3])


@pytest.mark.parametrize("path", ["direct", "decode"])
def test_arrays_of_options(path: str) -> None:
    q, k, v = random_inputs((2, 4, 2, 6, 10, 16, 16), "float32")
    engine = np.random.default_rng(5)
    options = {
        "mask": engine.random((2, 1, 6, 10)) < 0.8,
        "bias": engine.standard_normal((4, 1, 10)).astype(np.float32),
        "alibi_slopes": np.array([0.5, 0.25, 0.125, 0.0625], np.float32),
        "sinks": np.array([0.5, -1, 2, -np.inf], np.float32),
        "causal": "bottom_right", "q_len": [4, 6], "kv_len": np.array([10, 7], np.int32),
    }
    result = regard.attention(q, k, v, path=path, return_lse=True, return_weights=True, **options)
    assert_right(result, definition.attention(q, k, v, **options), v, 16)


@pytest.mark.parametrize("rank", [2, 3, 4])
@pytest.mark.parametrize("layout", ["bhsd", "bshd"])
def test_ranks_and_layouts(rank: int, layout: str) -> None:
    heads, batch = (1 if rank == 2 else 3), (1 if rank < 4 else 2)
    whole = random_inputs((batch, heads, heads, 5, 7, 8, 6), "float64")
    answer = definition.attention(*whole)

    def laid_out(array: np.ndarray) -> np.ndarray:
        if layout == "bshd" and rank > 2:
            array = array.swapaxes(1, 2)
        return array[(0,) * (4 - rank)]

    result = regard.attention(*(laid_out(array) for array in whole), layout=layout,
                              return_lse=True, return_weights=True, stats=True)
    np.testing.assert_allclose(result.out, laid_out(answer.out), atol=1e-14)
    first = (0,) * (4 - rank)
    np.testing.assert_allclose(result.lse, answer.lse[first], atol=1e-14)
    np.testing.assert_allclose(result.weights, answer.weights[first], atol=1e-14)
    np.testing.assert_allclose(result.stats.key_mass, answer.weights.sum(2)[first], atol=1e-13)
    assert result.stats.top_keys.shape == answer.weights[first].shape[:-1] + (5,)


def test_statistics_are_those_of_the_weights() -> None:
    q, k, v = random_inputs((2, 2, 2, 9, 30, 16, 16), "float64")
    result = regard.attention(q, k, v, stats={"entropy": True, "top_keys": 3, "key_mass": True})
    weights = definition.attention(q, k, v).weights
    order = np.argsort(-weights, axis=3, kind="stable")[..., :3]
    assert result.lse is None and result.weights is None
    np.testing.assert_array_equal(result.stats.top_keys, order)
    np.testing.assert_allclose(result.stats.top_weights, np.take_along_axis(weights, order, 3),
                               atol=1e-14)
    np.testing.assert_allclose(result.stats.entropy, -(weights * np.log(weights)).sum(3),
                               atol=1e-13)
    only = regard.attention(q, k, v, stats=["entropy"]).stats
    assert only.top_keys is None and only.key_mass is None and only.entropy is not None


def test_weights_of_chosen_rows_and_stages() -> None:
    q, k, v = random_inputs((1, 2, 2, 8, 6, 16, 16), "float64")
    answer = definition.attention(q, k, v)
    result = regard.attention(q, k, v, return_weights=True, rows=np.array([5, 0, 5]))
    np.testing.assert_allclose(result.weights, answer.weights[:, :, [5, 0, 5]], atol=1e-14)
    scaled = regard.attention(q, k, v, return_weights=True, weights_stage="scaled", scale=0.5)
    np.testing.assert_allclose(scaled.weights, 0.5 * q @ k.swapaxes(2, 3), atol=1e-13)


def test_causal_true_and_windows_of_one_number() -> None:
    q, k, v = random_inputs((1, 2, 2, 6, 6, 8, 8), "float32")
    same = np.testing.assert_array_equal
    plain = regard.attention(q, k, v)
    same(regard.attention(q, k, v, causal=True), regard.attention(q, k, v, causal="top_left"))
    same(regard.attention(q, k, v, causal=np.True_), regard.attention(q, k, v, causal="top_left"))
    same(regard.attention(q, k, v, causal=False, scale=None, mask=None), plain)
    same(regard.attention(q, k, v, window=3), regard.attention(q, k, v, window=(2, 0)))


def test_axes_of_size_0() -> None:
    for sizes in ((0, 2, 2, 3, 4, 8, 8), (1, 2, 2, 0, 4, 8, 8), (1, 2, 2, 3, 0, 8, 8)):
        q, k, v = random_inputs(sizes, "float32")
        result = regard.attention(q, k, v, return_lse=True)
        assert not result.out.any() and np.all(result.lse == -np.inf)


def test_explain_says_what_would_run() -> None:
    q, k, v = random_inputs((1, 2, 2, 64, 64, 32, 32), "float32")
    explanation = regard.explain(q, k, v, causal=True, return_weights=True, path="direct")
    assert explanation.path == "direct" and explanation.threads >= 1
    assert explanation.tiles_visited < explanation.tiles_total
    assert "direct" in str(explanation)
