"""JAX: dot_product_attention, compiled for the CPU by XLA. Input in its own order (B, S, H, D)."""
import jax
import ml_dtypes
import numpy as np

from problem import Call, NotServed, Problem

NAME = "JAX"
REFUSED = {"f64": "its softmax is f32 for f64 input too",
           "f16": "its products of f16 summed in f32 are not there on CPUs"}
jax.config.update("jax_platforms", "cpu")
jax.config.update("jax_cpu_enable_async_dispatch", False)


def version() -> str:
    """Of the package."""
    return jax.__version__


def stored(out: jax.Array) -> np.ndarray:
    """The answer as (B, H, S, D)."""
    array = np.asarray(out).swapaxes(1, 2)
    return array.view(np.uint16) if array.dtype == ml_dtypes.bfloat16 else array


def prepare(problem: Problem) -> list[Call]:
    """One form; shared key heads are native to it."""
    case = problem.case
    if case.dtype in REFUSED:
        raise NotServed(REFUSED[case.dtype])
    element = {"bf16": ml_dtypes.bfloat16}.get(case.dtype, problem.q.dtype)
    q, k, v = (jax.device_put(np.ascontiguousarray(array.swapaxes(1, 2)).view(element))
               for array in problem.arrays)
    attention = jax.jit(lambda q, k, v: jax.nn.dot_product_attention(
        q, k, v, is_causal=case.causal, implementation="xla"))
    with jax.default_matmul_precision("highest" if case.dtype == "f32" else "default"):
        compiled = attention.lower(q, k, v).compile()
    return [Call("is_causal" if case.causal else "no mask",
                 lambda: compiled(q, k, v).block_until_ready(), stored)]
