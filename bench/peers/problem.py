"""One attention problem: its shape and its input, the same memory for every library."""
import dataclasses
import re
from collections.abc import Callable

import numpy as np

# Elements as NumPy holds them; it has no bf16, whose bits are kept as integers.
STORAGE = {"f64": np.float64, "f32": np.float32, "f16": np.float16, "bf16": np.uint16}
SHAPE = re.compile(r"(\d+)x(\d+)(?:/(\d+))?x(\d+)x(\d+)")
CACHE_LINE_BYTES = 64


@dataclasses.dataclass(frozen=True)
class Case:
    """What is measured: a row of the table."""
    batch: int
    heads: int
    kv_heads: int
    length: int
    head_dim: int
    dtype: str = "f32"
    causal: bool = False

    @staticmethod
    def parse(text: str, dtype: str = "f32", causal: bool = False) -> "Case":
        """From "BxHxSxD", or "BxHq/HkvxSxD" where query heads share key heads."""
        match = SHAPE.fullmatch(text)
        if not match:
            raise ValueError(f"'{text}' is neither BxHxSxD nor BxHq/HkvxSxD")
        batch, heads, kv_heads, length, head_dim = (int(n or match[2]) for n in match.groups())
        case = Case(batch, heads, kv_heads, length, head_dim, dtype, causal)
        if min(case.q_shape + case.kv_shape) < 1 or heads % kv_heads:
            raise ValueError(f"'{text}': lengths must be at least 1, and Hq a multiple of Hkv")
        return case

    @property
    def shape(self) -> str:
        """As `parse` reads it."""
        shared = f"/{self.kv_heads}" if self.kv_heads != self.heads else ""
        return f"{self.batch}x{self.heads}{shared}x{self.length}x{self.head_dim}"

    @property
    def q_shape(self) -> tuple[int, ...]:
        """Of queries and of the output, (B, Hq, S, D)."""
        return (self.batch, self.heads, self.length, self.head_dim)

    @property
    def kv_shape(self) -> tuple[int, ...]:
        """Of keys and of values, (B, Hkv, S, D)."""
        return (self.batch, self.kv_heads, self.length, self.head_dim)

    @property
    def operations(self) -> float:
        """4 B Hq S S D, halved when causal, whatever is really computed."""
        return (2 if self.causal else 4) * float(np.prod(self.q_shape)) * self.length


@dataclasses.dataclass(frozen=True)
class Problem:
    """A case with its input in dense (B, H, S, D) memory."""
    case: Case
    q: np.ndarray
    k: np.ndarray
    v: np.ndarray
    threads: int = 1

    @property
    def arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """q, k and v as they are stored."""
        return self.q, self.k, self.v


@dataclasses.dataclass(frozen=True)
class Call:
    """A library ready to serve one problem. Only `run` is timed."""
    form: str  # in words: which function, which mask
    run: Callable[[], object]
    answer: Callable[[object], np.ndarray]  # what `run` returned, as (B, Hq, S, D) in STORAGE
    memory: object = None  # what `run` reads, where the library does not own it


class NotServed(Exception):
    """The library has no way to compute the problem; the sentence says what it lacks."""


def aligned(shape: tuple[int, ...], dtype: type) -> np.ndarray:
    """Uninitialised memory that starts on a cache line."""
    count = int(np.prod(shape)) * np.dtype(dtype).itemsize
    memory = np.empty(count + CACHE_LINE_BYTES, np.uint8)
    start = -memory.ctypes.data % CACHE_LINE_BYTES
    return memory[start:start + count].view(dtype).reshape(shape)


def rounded_to(values: np.ndarray, dtype: str) -> np.ndarray:
    """The nearest elements, as they are stored."""
    if dtype != "bf16":
        return values.astype(STORAGE[dtype])
    bits = values.astype(np.float32).view(np.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)


def as_f64(stored: np.ndarray) -> np.ndarray:
    """The numbers that stored elements mean."""
    if stored.dtype == np.uint16:
        stored = (stored.astype(np.uint32) << 16).view(np.float32)
    return stored.astype(np.float64)


def normal_problem(case: Case, threads: int = 1, seed: int = 1) -> Problem:
    """Normally distributed input."""
    generator = np.random.default_rng(seed)
    arrays = []
    for shape in (case.q_shape, case.kv_shape, case.kv_shape):
        array = aligned(shape, STORAGE[case.dtype])
        array[...] = rounded_to(generator.standard_normal(shape), case.dtype)
        arrays.append(array)
    return Problem(case, *arrays, threads)
