"""regard.attention beside jax.nn.dot_product_attention, wherever both can say the same."""

from __future__ import annotations

from typing import Any

import definition
import numpy as np
import pytest
from packages import needed

import regard

jax = needed("jax")
jnp = jax.numpy

HEADS, HEAD_SIZE = 4, 32
LENGTHS = [(19, 19), (7, 23), (23, 7), (1, 40)]


def inputs(rows: int, keys: int, kv_heads: int = 2, dtype: str = "float32") -> list[jax.Array]:
    """q (2, rows, 4, 32), k and v (2, keys, kv_heads, 32)."""
    sizes = ((rows, HEADS), (keys, kv_heads), (keys, kv_heads))
    numbers = jax.random.split(jax.random.key(rows + 64 * keys), 3)
    return [jax.random.normal(number, (2, *size, HEAD_SIZE), dtype)
            for number, size in zip(numbers, sizes)]  # fmt: skip


def tolerance(given: list[jax.Array], options: dict[str, Any]) -> float:
    """Each may be off by the bound of the definition. JAX rounds weights to the element type, too:
    relatively by its unit, and a small one by half the smallest f16, 2^-25."""
    q, k, v = (np.asarray(x, np.float64).swapaxes(1, 2) for x in given)
    answer = definition.attention(q, k, v, **options)
    dtype = given[0].dtype.name
    weights = definition.UNITS[dtype] + k.shape[2] * 2.0**-25
    return 2 * definition.bound(answer, v, dtype, HEAD_SIZE) + weights * abs(v).max()


def reference(given: list[jax.Array], options: dict[str, Any]) -> jax.Array:
    """Compiled in one piece, which is faster; f16 JAX serves on the CPU piece by piece alone."""
    attention = lambda *x: jax.nn.dot_product_attention(*x, **options)  # noqa: E731
    return attention(*given) if given[0].dtype == "float16" else jax.jit(attention)(*given)


def agree(given: list[jax.Array], theirs: dict[str, Any], ours: dict[str, Any]) -> None:
    expected = reference(given, theirs)
    found = regard.attention(*given, layout="bshd", **ours)
    assert isinstance(found, jax.Array) and found.dtype == given[0].dtype
    difference = jnp.abs(found.astype("float32") - expected.astype("float32")).max()
    assert difference <= tolerance(given, ours)


@pytest.mark.parametrize("kv_heads", [4, 2, 1])
@pytest.mark.parametrize("lengths", LENGTHS, ids=str)
def test_grouped_heads(lengths: tuple[int, int], kv_heads: int) -> None:
    agree(inputs(*lengths, kv_heads), {}, {})


@pytest.mark.parametrize("lengths", LENGTHS, ids=str)
def test_causal_is_top_left(lengths: tuple[int, int]) -> None:
    agree(inputs(*lengths), {"is_causal": True}, {"causal": "top_left"})


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("lengths", [(19, 19), (7, 23)], ids=str)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_types(dtype: str, lengths: tuple[int, int], causal: bool) -> None:
    order = {"causal": "top_left"} if causal else {}
    agree(inputs(*lengths, dtype=dtype), {"is_causal": causal}, order)


def test_scale() -> None:
    agree(inputs(9, 30), {"scale": 0.3}, {"scale": 0.3})


@pytest.mark.parametrize("shape", [(2, HEADS, 7, 23), (1, HEADS, 7, 23), (2, 1, 1, 23)], ids=str)
@pytest.mark.parametrize("causal", [False, True])
def test_bias_and_mask(shape: tuple[int, ...], causal: bool) -> None:
    given = inputs(7, 23)
    order = {"causal": "top_left"} if causal else {}
    bias = jax.random.normal(jax.random.key(5), shape)
    agree(given, {"bias": bias, "is_causal": causal}, {"bias": bias, **order})
    mask = jax.random.uniform(jax.random.key(6), shape) < 0.7
    mask = mask.at[..., 0].set(True)  # a row that sees no key differs, see below
    agree(given, {"mask": mask, "is_causal": causal}, {"mask": mask, **order})
    both = {"bias": bias, "mask": mask}
    agree(given, {**both, "is_causal": causal}, {**both, **order})


@pytest.mark.parametrize("causal", [False, True])
def test_lengths(causal: bool) -> None:
    given = inputs(17, 23)
    q_len, kv_len = jnp.array([17, 5], jnp.int32), jnp.array([4, 23], jnp.int32)
    order = {"causal": "top_left"} if causal else {}
    theirs = {"query_seq_lengths": q_len, "key_value_seq_lengths": kv_len, "is_causal": causal}
    ours = {"q_len": q_len, "kv_len": kv_len, **order}
    agree(given, theirs, ours)
    assert not regard.attention(*given, layout="bshd", **ours)[1, 5:].any()  # with JAX, too
    agree(given, {"key_value_seq_lengths": kv_len}, {"kv_len": kv_len})


@pytest.mark.parametrize("window", [(3, 2), (0, 0), (5, 0), 4])
@pytest.mark.parametrize("lengths", [(19, 19), (7, 23)], ids=str)
@pytest.mark.parametrize("causal", [False, True])
def test_local_window(lengths: tuple[int, int], window: Any, causal: bool) -> None:
    """JAX's int counts on either side; regard's is the row itself and what is before it."""
    both_sides = window if isinstance(window, tuple) else (window, window)
    order = {"causal": "top_left"} if causal else {}
    theirs = {"local_window_size": window, "is_causal": causal}
    agree(inputs(*lengths), theirs, {"window": both_sides, **order})


def test_without_a_batch() -> None:
    q, k, v = (x[0] for x in inputs(7, 23))
    found = regard.attention(q, k, v, layout="bshd")
    assert found.shape == q.shape
    np.testing.assert_allclose(found, jax.nn.dot_product_attention(q, k, v), atol=1e-5)


def test_residual_is_the_lse() -> None:
    given = inputs(7, 23)
    _, residual = jax.nn.dot_product_attention(*given, is_causal=True, return_residual=True)
    lse = regard.attention(*given, layout="bshd", causal="top_left", return_lse=True).lse
    np.testing.assert_allclose(lse.swapaxes(1, 2), residual, atol=1e-5)


def test_a_row_that_sees_no_key() -> None:
    """JAX hides by a large negative score: the mean of all values. Here it is 0."""
    given = inputs(3, 5, kv_heads=HEADS)
    mask = jnp.ones((1, 1, 3, 5), bool).at[:, :, 1].set(False)
    theirs = jax.nn.dot_product_attention(*given, mask=mask)
    np.testing.assert_allclose(theirs[:, 1], given[2].mean(1), atol=1e-5)
    ours = regard.attention(*given, layout="bshd", mask=mask)
    assert not ours[:, 1].any()
    np.testing.assert_allclose(ours[:, ::2], theirs[:, ::2], atol=1e-5)
