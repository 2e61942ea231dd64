"""`Any` stands beside the type of what is None where it was not asked for."""
from typing import Any, Generic, NamedTuple

from typing_extensions import TypeVar

_A = TypeVar("_A", default=Any)

class Stats(NamedTuple, Generic[_A]):
    entropy: _A | Any = None
    top_weights: _A | Any = None
    top_keys: _A | Any = None
    key_mass: _A | Any = None

class Result(NamedTuple, Generic[_A]):
    out: _A
    lse: _A | Any = None
    weights: _A | Any = None
    stats: Stats[_A] | Any = None
