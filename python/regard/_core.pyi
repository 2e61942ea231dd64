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

# What the functions of the package are made of; options are a dict of keyword arguments.
def attention_varlen(
    q: _Array,
    k: _Array,
    v: _Array,
    q_starts: _Integers,
    kv_starts: _Integers,
    options: dict[str, Any],
) -> _Array | Result: ...
def decode(
    q: _Array,
    cache: KVCache,
    sequences: _Integers,
    starts: _Integers | None,
    parents: _Integers | None,
    options: dict[str, Any],
) -> _Array | Result: ...
def merge(
    outs: list[_Array],
    lses: list[_Array],
    given: tuple[_Array | None, _Array | None, _Array | None],
    layout: str,
    out_dtype: Any,
) -> tuple[_Array, _Array]: ...
def check(
    q: _Array,
    k: _Array,
    v: _Array,
    results: tuple[_Array, _Array | None, _Array | None],
    sample: tuple[int, int, int, bool],
    options: dict[str, Any],
) -> tuple[Any, ...]: ...
def oracle_attention(
    q: _Array, k: _Array, v: _Array, options: dict[str, Any]
) -> tuple[_Array, _Array | None, _Array | None]: ...
def report_kv(
    q: _Array,
    k: _Array,
    v: _Array,
    stored: tuple[Any, Any],
    sample: tuple[int, int],
    options: dict[str, Any],
) -> tuple[Any, ...]: ...

class KVCache:
    """Keys and values of running sequences, in pages of one pool."""

    def __init__(
        self,
        kv_heads: int,
        k_head_size: int,
        v_head_size: int | None = None,
        *,
        pages: int,
        k_type: str = "f16",
        v_type: str | None = None,
        page_tokens: int = 64,
        window: int = -1,
        keep_first: int = 0,
        spare: int = 0,
    ) -> None: ...
    def add(self) -> int: ...
    def fork(self, sequence: int) -> int: ...
    def remove(self, sequence: int) -> None: ...
    def append(
        self,
        sequence: int,
        k: _Array,
        v: _Array,
        *,
        layout: Literal["bhsd", "bshd"] | None = "bhsd",
    ) -> None: ...
    def trim(self, sequence: int, length: int) -> None: ...
    def gather(
        self,
        sequence: int,
        begin: int = 0,
        end: int | None = None,
        *,
        out_dtype: Any = None,
        layout: Literal["bhsd", "bshd"] | None = "bhsd",
        out: Sequence[_Array] | None = None,
    ) -> tuple[_Array, _Array]: ...
    def length(self, sequence: int) -> int: ...
    def held_from(self, sequence: int) -> int: ...
    @property
    def k_type(self) -> str: ...
    @property
    def v_type(self) -> str: ...
    @property
    def kv_heads(self) -> int: ...
    @property
    def k_head_size(self) -> int: ...
    @property
    def v_head_size(self) -> int: ...
    @property
    def page_tokens(self) -> int: ...
    @property
    def pages(self) -> int: ...
    @property
    def window(self) -> int: ...
    @property
    def keep_first(self) -> int: ...
    @property
    def spare(self) -> int: ...
    @property
    def free_pages(self) -> int: ...
    @property
    def bytes_used(self) -> int: ...
    @property
    def bytes_reserved(self) -> int: ...


def torch_load(tensor: Any, parameter: Any, empty_like: Any, /) -> None:
    """For regard.torch, once: torch.Tensor, torch.nn.Parameter and torch.empty_like."""


def torch_attention(query: Any, key: Any, value: Any, attn_mask: Any, out: Any, is_causal: bool,
                    scale: float | None, enable_gqa: bool, gradients: bool, /) -> Any:
    """For regard.torch: the output, or None where the quick way does not serve."""
