"""What `regard.attention` gives where more than `out` is asked for."""
from typing import Any, NamedTuple


class Stats(NamedTuple):
    """Statistics of the weights, each None unless it was asked for.

    Shapes lose the axes that q lacks: B for rank 3, B and H for rank 2.
    """

    entropy: Any = None
    """(B, Hq, Sq): -sum p ln p over the keys, in nats; 0 for a row that sees no key."""
    top_weights: Any = None
    """(B, Hq, Sq, N): the N largest weights, falling; 0 where there is none."""
    top_keys: Any = None
    """(B, Hq, Sq, N), int64: their keys, of equal weights the lower first; -1 where none."""
    key_mass: Any = None
    """(B, Hq, Skv): the sum of each key's weights over all rows."""


class Result(NamedTuple):
    """Outputs of one call; what was not asked for is None."""

    out: Any
    """The rank, layout and kind of q, the last axis that of v."""
    lse: Any = None
    """(B, Hq, Sq): natural logarithm of the sum of exponentials, sinks included; -inf: empty."""
    weights: Any = None
    """(B, Hq, R, Skv), R being the number of `rows`, else Sq."""
    stats: Stats | None = None
