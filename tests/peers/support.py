"""Makes the modules of bench/peers importable; without NumPy the test is skipped."""
import pathlib
import sys
import types

try:
    import numpy as np
except ImportError:
    print("skipped: no NumPy here")
    sys.exit(77)

PEERS = pathlib.Path(__file__).resolve().parent.parent.parent / "bench" / "peers"
sys.path.insert(0, str(PEERS))

from problem import Call, as_f64, rounded_to  # noqa: E402


def attention(problem, scale=None, offset=0, shared=lambda h, group: h // group):
    """Attention in f64 from the definition, and the usual mistakes: another scale, a causal mask
    that is shifted, other key heads."""
    case = problem.case
    q, k, v = map(as_f64, problem.arrays)
    heads = [shared(h, case.heads // case.kv_heads) for h in range(case.heads)]
    k, v = k[:, heads], v[:, heads]
    scores = q @ k.swapaxes(-1, -2) * (case.head_dim ** -0.5 if scale is None else scale)
    if case.causal:
        rows, keys = np.indices((case.length, case.length))
        scores[..., keys > rows + offset] = -np.inf
    p = np.exp(scores - scores.max(-1, keepdims=True))
    return p / p.sum(-1, keepdims=True) @ v


def library(answer, name="theirs"):
    """A stand-in for a library that answers answer(problem)."""
    def prepare(problem):
        def run():
            return answer(problem)

        def stored(out):
            return rounded_to(out, problem.case.dtype)

        return [Call("no mask", run, stored)]

    return types.SimpleNamespace(NAME=name, version=lambda: "1", prepare=prepare)
