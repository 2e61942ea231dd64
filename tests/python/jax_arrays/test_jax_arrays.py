"""JAX arrays in and out: what comes back, what is copied, what is refused."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from packages import needed
from test_kinds import run_all

import regard

jax = needed("jax")
jnp = jax.numpy


def normal(*shape: int) -> jax.Array:
    return jax.random.normal(jax.random.key(len(shape)), shape)


def test_every_call_gives_jax_arrays() -> None:
    expected = run_all(np.asarray)
    for name, array in run_all(jnp.asarray).items():
        wanted = np.ndarray if name.startswith("oracle") else jax.Array  # JAX has no f64 by default
        assert isinstance(array, wanted), name
        np.testing.assert_array_equal(np.asarray(array), expected[name], err_msg=name)


MEMORY = """
import resource, jax, jax.numpy as jnp, regard
keys, depth = 262144, 64
q = jnp.ones((1, 1, 8, depth))
k, v = (jnp.ones((1, 1, keys, depth)).block_until_ready() for _ in range(2))
regard.attention(q, k[:, :, :8], v[:, :, :8])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
regard.attention(q, k, v)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024)
"""


def test_no_copies() -> None:
    """Of K or V one would be 64 MiB."""
    run = subprocess.run([sys.executable, "-c", MEMORY], capture_output=True, text=True, check=True)
    assert int(run.stdout) < 8 * 2**20, run.stdout


def test_what_is_still_being_computed_is_waited_for() -> None:
    square = jnp.full((1500, 1500), 1 / 1500)
    slow = jax.jit(lambda x: (x @ x @ x @ x @ x)[:64, :64].reshape(1, 1, 64, 64))
    expected = np.asarray(regard.attention(*[jnp.asarray(np.asarray(slow(square)))] * 3))
    np.testing.assert_array_equal(regard.attention(*[slow(square)] * 3), expected)


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_arrays_of_jax_are_never_written(dtype: str) -> None:
    q = normal(1, 2, 5, 16).astype(dtype)
    out = jnp.zeros_like(q)
    with pytest.raises(TypeError, match="out: this 'jaxlib.*' gives no writable memory"):
        regard.attention(q, q, q, out=out)
    assert not out.any()
    memory = np.empty(q.shape, np.asarray(q).dtype)
    assert regard.attention(q, q, q, out=memory) is memory
    np.testing.assert_array_equal(memory, np.asarray(regard.attention(q, q, q)))


def test_tracers_are_refused_and_callbacks_serve() -> None:
    q = normal(2, 3, 5, 16)
    with pytest.raises(TypeError, match="Tracer' gives no memory of the CPU"):
        jax.jit(lambda x: regard.attention(x, x, x))(q)
    with pytest.raises(TypeError, match="Tracer' gives no memory of the CPU"):
        jax.grad(lambda x: regard.attention(x, x, x).sum())(q)

    @jax.jit
    def twice(x: jax.Array) -> jax.Array:
        shape = jax.ShapeDtypeStruct(x.shape, x.dtype)
        return 2 * jax.pure_callback(lambda y: regard.attention(y, y, y), shape, x)

    np.testing.assert_array_equal(twice(q), 2 * regard.attention(q, q, q))
