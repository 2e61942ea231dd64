"""Types of the extension module; its docstrings stand here for editors."""
from typing import Any, Literal, overload

import numpy.typing as npt
from typing_extensions import Unpack

from ._arrays import Array, ArrayT, FloatType, OutT
from ._options import (
    Causal,
    Integers,
    KVType,
    Layout,
    Options,
    Path,
    Precision,
    Stage,
    Statistics,
)
from ._results import Result

__version__: str

class _More(Options, total=False):
    """Options of `attention` that its results depend on in no type."""

    layout: Layout | None
    rows: Integers | None
    weights_stage: Stage | None

class _Everything(_More, total=False):
    out: Array | None
    out_dtype: FloatType | None
    return_lse: bool | None
    return_weights: bool | None
    stats: Statistics | None

class Explanation:
    """How a call would be served; str() is a page of text."""

    @property
    def path(self) -> str:
        """The loop: "direct", "tiles" or "decode"."""
    @property
    def path_reason(self) -> str:
        """Why this loop."""
    @property
    def unit(self) -> str:
        """What multiplies q and k: "fma", "dot", "tile" or "emulated tiles"."""
    @property
    def isa(self) -> str:
        """Instruction set in use; the environment variable REGARD_ISA pins one."""
    @property
    def isa_reason(self) -> str:
        """Why this one."""
    @property
    def threads(self) -> int:
        """Threads that the call would use."""
    @property
    def rows_per_tile(self) -> int:
        """Query rows computed together, lanes included."""
    @property
    def keys_per_tile(self) -> int:
        """Keys computed together."""
    @property
    def keys_per_block(self) -> int:
        """Keys between two visits of the accumulators."""
    @property
    def rows_per_item(self) -> int:
        """Query rows of one work item."""
    @property
    def main_items(self) -> int:
        """Work items of all rows."""
    @property
    def weights_items(self) -> int:
        """Work items of a pass of its own for the weights of chosen rows."""
    @property
    def mass_items(self) -> int:
        """Work items of the pass for key_mass."""
    @property
    def tiles_visited(self) -> int:
        """Tiles that the main items compute."""
    @property
    def tiles_total(self) -> int:
        """Tiles if every row saw every key."""
    @property
    def scratch_bytes(self) -> int:
        """Bytes of scratch during the call."""
    @property
    def passes(self) -> float:
        """Score tiles computed for each one visited: 1, and 1 more for each second pass that
        weights or statistics ask for.
        """
    @property
    def score_reason(self) -> str:
        """Which form of the scores runs, and why."""
    @property
    def input_reason(self) -> str:
        """How K and V are read: in place, or copied block by block."""

@overload
def attention(
    q: ArrayT,
    k: Array,
    v: Array,
    *,
    scale: float | None = None,
    causal: Causal | None = None,
    q_offset: Integers | None = None,
    window: int | tuple[int, int] | None = None,
    softcap: float | None = None,
    bias: Array | None = None,
    mask: Array | None = None,
    alibi_slopes: Array | None = None,
    sinks: Array | None = None,
    q_len: Integers | None = None,
    kv_len: Integers | None = None,
    precision: Precision | None = "default",
    path: Path | None = "auto",
    threads: int | None = None,
    layout: Layout | None = "bhsd",
    out: None = None,
    out_dtype: None = None,
    return_lse: Literal[False] | None = False,
    return_weights: Literal[False] | None = False,
    rows: Integers | None = None,
    weights_stage: Stage | None = "softmax",
    stats: None = None,
) -> ArrayT:
    """Exact attention: softmax(scale q k' + bias) v, in memory that grows with the lengths alone.

    q (B, Hq, Sq, D), k (B, Hkv, Skv, D) and v (B, Hkv, Skv, Dv) are arrays of one float type, f64,
    f32, f16 or bf16: NumPy's, other buffers, or what speaks DLPack on the CPU (torch, JAX). They are
    read in place at any strides, negative and 0 included. Of rank 3 they are (H, S, D), of rank 2
    (S, D); with layout="bshd" (B, S, H, D), (S, H, D) and (S, D). Query head h reads KV head
    floor(h Hkv / Hq). A row that sees no key gives 0.

    scale: factor on q.k; default 1/sqrt(D).
    causal: "top_left" (row 0 sees key 0 alone), "bottom_right" (the last row sees every key), "none";
        True where Sq = Skv, or with q_offset, means "top_left".
    q_offset: position of row 0, one int or one a batch entry; replaces the offset of `causal`.
    window: (left, right) keys seen around a row's own position, -1 unlimited; one int n, at least 1,
        is (n - 1, 0), the last n keys, the row's own included.
    softcap: a score s becomes softcap tanh(s / softcap); 0 is off.
    bias: float, added to the scores; broadcast against (B, Hq, Sq, Skv); only -inf hides a key.
    mask: bool, True where the row sees the key; broadcast likewise.
    alibi_slopes: (Hq) or (B, Hq); -slope |position - key| is added.
    sinks: (Hq), one more logit in the denominator of each head, of value 0.
    q_len, kv_len: rows and keys of each batch entry that exist; rows past the end give 0.
    precision: "high" keeps the weights of half types in f32.
    path: "auto", "direct", "tiles" or "decode".
    threads: at most as many as OMP_NUM_THREADS or the CPUs of this process; default all. Calls on
        tensors run on PyTorch's threads, torch.get_num_threads() of them.
    out: an array to write to, of the shape, rank and layout that the result has; it is returned.
    out_dtype: type of out; default that of q.
    return_lse: also the natural logarithm of each row's sum of exponentials (B, Hq, Sq).
    return_weights: also the weights (B, Hq, Sq, Skv), or those of `rows` in their order. With
        weights_stage="scaled", "capped" or "biased" the scores on the way to them.
    stats: some of {"entropy", "top_keys", "key_mass"}, or True for all; {"top_keys": 8} says how many
        (default 5). They cost a second pass, in linear memory.

    Returns out, of the kind, rank and layout of q; where more is asked for, a Result with .out, .lse,
    .weights and .stats. LSE, weights and statistics are f32 (f64 for f64) and (B, H, ...) in every
    layout. Ctrl-C stops the call within about a tenth of a second.

    Raises ValueError for shapes, types and options that disagree, TypeError for what is no array,
    NotImplementedError for what this version cannot serve, MemoryError. `out` is then untouched.

    Source: docs/math.md; Vaswani et al. 2017, section 3.2.1; Milakov and Gimelshein 2018 and
    Dao et al. 2022 for the sums block by block.
    """
@overload
def attention(
    q: Array,
    k: Array,
    v: Array,
    *,
    out: OutT,
    out_dtype: FloatType | None = None,
    return_lse: Literal[False] | None = False,
    return_weights: Literal[False] | None = False,
    stats: None = None,
    **options: Unpack[_More],
) -> OutT: ...
@overload
def attention(
    q: npt.NDArray[Any],
    k: Array,
    v: Array,
    *,
    out: None = None,
    out_dtype: FloatType,
    return_lse: Literal[False] | None = False,
    return_weights: Literal[False] | None = False,
    stats: None = None,
    **options: Unpack[_More],
) -> npt.NDArray[Any]: ...
@overload
def attention(
    q: ArrayT,
    k: Array,
    v: Array,
    *,
    out: None = None,
    out_dtype: FloatType,
    return_lse: Literal[False] | None = False,
    return_weights: Literal[False] | None = False,
    stats: None = None,
    **options: Unpack[_More],
) -> ArrayT: ...
@overload
def attention(
    q: ArrayT,
    k: Array,
    v: Array,
    *,
    out: Array | None = None,
    out_dtype: FloatType | None = None,
    return_lse: Literal[True],
    return_weights: bool | None = False,
    stats: Statistics | None = None,
    **options: Unpack[_More],
) -> Result[ArrayT]: ...
@overload
def attention(
    q: ArrayT,
    k: Array,
    v: Array,
    *,
    out: Array | None = None,
    out_dtype: FloatType | None = None,
    return_lse: bool | None = False,
    return_weights: Literal[True],
    stats: Statistics | None = None,
    **options: Unpack[_More],
) -> Result[ArrayT]: ...
@overload
def attention(
    q: ArrayT,
    k: Array,
    v: Array,
    *,
    out: Array | None = None,
    out_dtype: FloatType | None = None,
    return_lse: bool | None = False,
    return_weights: bool | None = False,
    stats: Statistics,
    **options: Unpack[_More],
) -> Result[ArrayT]: ...
@overload
def attention(
    q: Array,
    k: Array,
    v: Array,
    *,
    out: Array | None = None,
    out_dtype: FloatType | None = None,
    return_lse: bool | None = False,
    return_weights: bool | None = False,
    stats: Statistics | None = None,
    **options: Unpack[_More],
) -> Any: ...
def explain(q: Array, k: Array, v: Array, **options: Unpack[_Everything]) -> Explanation:
    """How `attention` would serve the same arguments: an Explanation, whose str is a page of text.

    Takes every argument of `attention`, reads no element and raises what `attention` would.
    """

# What the functions of the package are made of; options are a dict of keyword arguments.
def attention_varlen(
    q: Array,
    k: Array,
    v: Array,
    q_starts: Integers,
    kv_starts: Integers,
    options: dict[str, Any],
) -> Any: ...
def decode(
    q: Array,
    cache: KVCache,
    sequences: Integers,
    starts: Integers | None,
    parents: Integers | None,
    options: dict[str, Any],
) -> Any: ...
def merge(
    outs: list[Any],
    lses: list[Any],
    given: tuple[Array | None, Array | None, Array | None],
    layout: str,
    out_dtype: FloatType | None,
) -> tuple[Any, Any]: ...
def check(
    q: Array,
    k: Array,
    v: Array,
    results: tuple[Array, Array | None, Array | None],
    sample: tuple[int, int, int, bool],
    options: dict[str, Any],
) -> tuple[Any, ...]: ...
def oracle_attention(
    q: Array, k: Array, v: Array, options: dict[str, Any]
) -> tuple[Any, Any, Any]: ...
def report_kv(
    q: Array,
    k: Array,
    v: Array,
    stored: tuple[Any, Any],
    sample: tuple[int, int],
    options: dict[str, Any],
) -> tuple[Any, ...]: ...

class KVCache:
    """Keys and values of running sequences, in pages of one pool.

    Args:
        kv_heads: Hkv. k_head_size: D. v_head_size: Dv; absent: D.
        pages: of the pool, all sequences together; memory is touched when tokens come.
        k_type, v_type: f32, f16, bf16, fp8_e4m3, fp8_e5m2, int8, int8_32, int4_32, q8_0 or q4_0;
            v_type absent: k_type. docs/kv-cache.md says what each costs in bytes and accuracy.
        page_tokens: tokens of a page, a multiple of 16; 16 to 256, or as many as the longest sequence
            will have: the cache is then contiguous.
        window: -1, everything is held; else a ring that holds the first keep_first and the last
            `window` tokens of each sequence.
        spare: tokens before the window that a ring keeps, so that `trim` can go back by so many.

    Raises:
        ValueError: options that contradict themselves. MemoryError: the system refuses the pool.

    Several threads may use one cache: `decode`, `gather` and numbers run at once, calls that change it
    alone. A call that fails leaves it as it was. Source: include/regard/kv_cache.h.
    """

    def __init__(
        self,
        kv_heads: int,
        k_head_size: int,
        v_head_size: int | None = None,
        *,
        pages: int,
        k_type: KVType = "f16",
        v_type: KVType | None = None,
        page_tokens: int = 64,
        window: int = -1,
        keep_first: int = 0,
        spare: int = 0,
    ) -> None: ...
    def add(self) -> int:
        """A new sequence without tokens: its number."""
    def fork(self, sequence: int) -> int:
        """A new sequence with the same tokens, shared until one of both is written: its number."""
    def remove(self, sequence: int) -> None:
        """Forgets a sequence and frees its pages."""
    def append(
        self, sequence: int, k: Array, v: Array, *, layout: Layout | None = "bhsd"
    ) -> None:
        """Appends T tokens behind the others.

        Args:
            k: (Hkv, T, D), v: (Hkv, T, Dv), any float types and strides; with layout "bshd" (T, Hkv, D).
                A leading axis of size 1 is allowed, and 2-D (T, D) is one head.

        Numbers are rounded once, to nearest; quantised blocks take the least scale that holds their
        largest number.

        Raises:
            ValueError: no such sequence, or shapes that disagree. MemoryError: too few free pages.
        """
    def trim(self, sequence: int, length: int) -> None:
        """Keeps the first `length` tokens. ValueError where a ring has dropped what would be held."""
    @overload
    def gather(
        self,
        sequence: int,
        begin: int = 0,
        end: int | None = None,
        *,
        out_dtype: FloatType | None = None,
        layout: Layout | None = "bhsd",
        out: None = None,
    ) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """Tokens begin to end - 1 as `decode` reads them.

        Args:
            end: absent: the sequence's length.
            out_dtype: float64, float32 (absent), float16 or bfloat16; f32 is exact for every type.
            out: a pair of arrays (k, v) to write to instead of new ones, of any kind and float type; they
                then say how many tokens.

        Returns:
            (k, v): NumPy arrays (Hkv, T, D) and (Hkv, T, Dv), with layout "bshd" (T, Hkv, D); or `out`.

        Raises:
            ValueError: tokens that are not there, or that a ring has dropped.
        """
    @overload
    def gather(
        self,
        sequence: int,
        begin: int = 0,
        end: int | None = None,
        *,
        out_dtype: FloatType | None = None,
        layout: Layout | None = "bhsd",
        out: tuple[OutT, OutT],
    ) -> tuple[OutT, OutT]: ...
    def length(self, sequence: int) -> int:
        """Tokens appended and not trimmed, dropped ones included."""
    def held_from(self, sequence: int) -> int:
        """The first token from keep_first on that is held."""
    @property
    def k_type(self) -> KVType:
        """What K is stored as."""
    @property
    def v_type(self) -> KVType:
        """What V is stored as."""
    @property
    def kv_heads(self) -> int:
        """Hkv"""
    @property
    def k_head_size(self) -> int:
        """D"""
    @property
    def v_head_size(self) -> int:
        """Dv"""
    @property
    def page_tokens(self) -> int:
        """Tokens of a page."""
    @property
    def pages(self) -> int:
        """Pages of the pool."""
    @property
    def window(self) -> int:
        """Of a ring; -1: all is held."""
    @property
    def keep_first(self) -> int:
        """First tokens that a ring holds beside its window."""
    @property
    def spare(self) -> int:
        """Tokens before the window that a ring keeps."""
    @property
    def free_pages(self) -> int:
        """Pages that no sequence holds."""
    @property
    def bytes_used(self) -> int:
        """Bytes of pages in use, scales and padding included; shared ones count once."""
    @property
    def bytes_reserved(self) -> int:
        """Bytes of the whole pool."""

def machine() -> tuple[
    str, str, str, tuple[str, ...], tuple[str, ...], int, str, str
]: ...
def torch_load(tensor: Any, parameter: Any, empty_like: Any, /) -> None:
    """For regard.torch, once: torch.Tensor, torch.nn.Parameter and torch.empty_like."""

def torch_attention(
    query: Any,
    key: Any,
    value: Any,
    attn_mask: Any,
    out: Any,
    is_causal: bool,
    scale: float | None,
    enable_gqa: bool,
    gradients: bool,
    /,
) -> Any:
    """For regard.torch: the output, or None where the quick way does not serve."""
