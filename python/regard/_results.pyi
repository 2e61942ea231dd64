"""What `regard.attention` gives where more than `out` is asked for.

`Any` stands beside the type of what is None where it was not asked for.
"""
from typing import Any, Generic, NamedTuple

from typing_extensions import TypeVar

_A = TypeVar("_A", default=Any)

class Stats(NamedTuple, Generic[_A]):
    """Statistics of the weights, each None unless it was asked for.

    Shapes lose the axes that q lacks: B for rank 3, B and H for rank 2.
    """

    entropy: _A | Any = None
    """(B, Hq, Sq): -sum p ln p over the keys, in nats; 0 for a row that sees no key."""
    top_weights: _A | Any = None
    """(B, Hq, Sq, N): the N largest weights, falling; 0 where there is none."""
    top_keys: _A | Any = None
    """(B, Hq, Sq, N), int64: their keys, of equal weights the lower first; -1 where none."""
    key_mass: _A | Any = None
    """(B, Hq, Skv): the sum of each key's weights over all rows."""

class Result(NamedTuple, Generic[_A]):
    """Outputs of one call; what was not asked for is None."""

    out: _A
    """The rank, layout and kind of q, the last axis that of v."""
    lse: _A | Any = None
    """(B, Hq, Sq): natural logarithm of the sum of exponentials, sinks included; -inf: empty."""
    weights: _A | Any = None
    """(B, Hq, R, Skv), R being the number of `rows`, else Sq."""
    stats: Stats[_A] | Any = None
