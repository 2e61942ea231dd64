"""Is my kernel right? Its result is judged row by row by a derived bound, against an f64 oracle.

The kernel below aligns its causal mask to the top left; asked for bottom right, it fails, and the
report names what it does instead. Prints both reports.
"""

from __future__ import annotations

import numpy as np

import regard


def my_kernel(q: np.ndarray, k: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Causal attention as one would first write it, in f32."""
    s = q @ k.swapaxes(-1, -2) / np.sqrt(np.float32(q.shape[-1]))
    s = np.where(np.tri(*s.shape[-2:], dtype=np.bool_), s, -np.inf)
    p = np.exp(s - s.max(axis=-1, keepdims=True))
    return np.asarray(p @ v / p.sum(axis=-1, keepdims=True))


def main() -> None:
    rng = np.random.default_rng(1)
    q = rng.standard_normal((2, 4, 20, 32), dtype=np.float32)
    k, v = rng.standard_normal((2, 2, 4, 50, 32), dtype=np.float32)
    out = my_kernel(q, k, v)

    report = regard.check(q, k, v, out, causal="top_left")
    print(report)
    assert report.passed

    report = regard.check(q, k, v, out, causal="bottom_right", worst=2)
    print(report)
    assert report.convention is not None and report.convention.name == "causal=top_left"


if __name__ == "__main__":
    main()
