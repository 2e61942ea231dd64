"""Types of the extension module. Arrays are NumPy's or of any library that speaks DLPack."""
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from ._results import Result

__version__: str

_Array = Any
_Integers = int | Sequence[int] | _Array
_Causal = bool | Literal["none", "top_left", "bottom_right"]
_Stats = bool | str | Iterable[str] | Mapping[str, int | bool]
_Stage = Literal["softmax", "scaled", "capped", "biased"]

class Explanation:
    """How a call would be served; str() is a page of text."""

    @property
    def path(self) -> str: ...
    @property
    def path_reason(self) -> str: ...
    @property
    def unit(self) -> str: ...
    @property
    def isa(self) -> str: ...
    @property
    def isa_reason(self) -> str: ...
    @property
    def threads(self) -> int: ...
    @property
    def rows_per_tile(self) -> int: ...
    @property
    def keys_per_tile(self) -> int: ...
    @property
    def keys_per_block(self) -> int: ...
    @property
    def rows_per_item(self) -> int: ...
    @property
    def main_items(self) -> int: ...
    @property
    def weights_items(self) -> int: ...
    @property
    def mass_items(self) -> int: ...
    @property
    def tiles_visited(self) -> int: ...
    @property
    def tiles_total(self) -> int: ...
    @property
    def scratch_bytes(self) -> int: ...
    @property
    def passes(self) -> float: ...
    @property
    def score_reason(self) -> str: ...
    @property
    def input_reason(self) -> str: ...

def attention(
    q: _Array,
    k: _Array,
    v: _Array,
    *,
    scale: float | None = None,
    causal: _Causal | None = None,
    q_offset: _Integers | None = None,
    window: int | tuple[int, int] | None = None,
    softcap: float | None = None,
    bias: _Array | None = None,
    mask: _Array | None = None,
    alibi_slopes: _Array | None = None,
    sinks: _Array | None = None,
    q_len: _Integers | None = None,
    kv_len: _Integers | None = None,
    precision: Literal["default", "high"] | None = "default",
    path: Literal["auto", "direct", "tiles", "decode"] | None = "auto",
    threads: int | None = None,
    layout: Literal["bhsd", "bshd"] | None = "bhsd",
    out: _Array | None = None,
    out_dtype: Any = None,
    return_lse: bool | None = False,
    return_weights: bool | None = False,
    rows: _Integers | None = None,
    weights_stage: _Stage | None = "softmax",
    stats: _Stats | None = None,
) -> _Array | Result: ...
def explain(
    q: _Array,
    k: _Array,
    v: _Array,
    *,
    scale: float | None = None,
    causal: _Causal | None = None,
    q_offset: _Integers | None = None,
    window: int | tuple[int, int] | None = None,
    softcap: float | None = None,
    bias: _Array | None = None,
    mask: _Array | None = None,
    alibi_slopes: _Array | None = None,
    sinks: _Array | None = None,
    q_len: _Integers | None = None,
    kv_len: _Integers | None = None,
    precision: Literal["default", "high"] | None = "default",
    path: Literal["auto", "direct", "tiles", "decode"] | None = "auto",
    threads: int | None = None,
    layout: Literal["bhsd", "bshd"] | None = "bhsd",
    out: _Array | None = None,
    out_dtype: Any = None,
    return_lse: bool | None = False,
    return_weights: bool | None = False,
    rows: _Integers | None = None,
    weights_stage: _Stage | None = "softmax",
    stats: _Stats | None = None,
) -> Explanation: ...
