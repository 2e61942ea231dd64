"""Judges an answer: sampled rows in f64 from the definition, and what rounding may do to them.

The tolerance of a row is derived from the types. u is the unit roundoff of the elements, w that of
the sums (f32 for half types). n roundings of independent signs add up to about sqrt(n) of one;
LAMBDA times that is passed with a probability of 2 exp(-LAMBDA^2 / 2) = 3e-14 (Higham and Mary,
A new approach to probabilistic rounding error analysis, 2019). What is rounded, and so enters:

    the output                     u |o|
    weights in element type        u sqrt(sum_j p_j^2 v_j^2)
    scaled queries or scores in
    element type                   the same times s = max_j scale sqrt(sum_d q_d^2 k_jd^2)
    sums over keys and over D      w (sqrt(S) + s sqrt(D)) sum_j p_j |v_j|
"""
import numpy as np

from problem import Problem, as_f64

UNIT = {"f64": 2.0**-53, "f32": 2.0**-24, "f16": 2.0**-11, "bf16": 2.0**-8}
LAMBDA = 8
ROWS = 48


def sampled_rows(problem: Problem, count: int = ROWS, seed: int = 2) -> np.ndarray:
    """(count, 3) numbers b, h, i: the first and the last row, and `count` - 2 at random."""
    batch, heads, length, _ = problem.case.q_shape
    rows = np.random.default_rng(seed).integers((batch, heads, length), size=(count, 3))
    rows[0], rows[-1] = (0, 0, 0), (batch - 1, heads - 1, length - 1)
    return rows


def reference_row(problem: Problem, b: int, h: int, i: int) -> tuple[np.ndarray, np.ndarray]:
    """The row of the output and its tolerance, both (D,)."""
    case = problem.case
    kv_head = h * case.kv_heads // case.heads
    keys = i + 1 if case.causal else case.length
    q = as_f64(problem.q[b, h, i]) / np.sqrt(case.head_dim)
    k, v = as_f64(problem.k[b, kv_head, :keys]), as_f64(problem.v[b, kv_head, :keys])
    scores = k @ q
    p = np.exp(scores - scores.max())
    p /= p.sum()
    out = p @ v
    spread = np.sqrt((k**2 @ q**2).max())
    unit = UNIT[case.dtype]
    sums = UNIT["f64"] if case.dtype == "f64" else UNIT["f32"]
    return out, LAMBDA * (
        unit * (np.abs(out) + np.sqrt(p**2 @ v**2) * (1 + spread))
        + sums * (np.sqrt(keys) + spread * np.sqrt(case.head_dim)) * (p @ np.abs(v)))


def worst_error(problem: Problem, answer: np.ndarray) -> float:
    """The largest error of the sampled rows in units of its tolerance; above 1 is wrong. Infinite
    where the answer has another shape or is not finite."""
    if answer.shape != problem.case.q_shape:
        return float("inf")
    worst = 0.0
    for b, h, i in sampled_rows(problem):
        expected, tolerance = reference_row(problem, b, h, i)
        units = np.abs(as_f64(answer[b, h, i]) - expected) / tolerance
        worst = max(worst, float(np.nan_to_num(units, nan=np.inf).max()))
    return worst
