"""Ready calls over cached keys, several layers each, all layers of the same numbers."""
import ctypes

import numpy as np
import torch
from torch.nn.functional import scaled_dot_product_attention

import pytorch as torch_library
import regard_library
from problem import STORAGE, Problem, aligned, as_f64
from regard_library import Outputs, Status, Tensor

KV_TYPES = {"f32": 0, "bf16": 2}


class CacheOptions(ctypes.Structure):
    """regard_kv_cache_options"""
    _fields_ = [("struct_size", ctypes.c_size_t), ("k_type", ctypes.c_int32),
                ("v_type", ctypes.c_int32)] + [
        (name, ctypes.c_int64) for name in ("kv_heads", "k_head_size", "v_head_size",
                                            "page_tokens", "pages", "window", "keep_first",
                                            "spare")]


class Sequences(ctypes.Structure):
    """regard_kv_sequences"""
    _fields_ = [("cache", ctypes.c_void_p), ("count", ctypes.c_int64),
                ("numbers", ctypes.POINTER(ctypes.c_int64))]


class Regard:
    """A contiguous KvCache, a sequence a layer."""
    name = "regard_decode"

    def __init__(self, problem: Problem, layers: int):
        case = problem.case
        self.library = regard_library.load()
        self.library.regard_kv_cache_free.argtypes = [ctypes.c_void_p]
        self.status = Status()
        kv_type = KV_TYPES[case.dtype]
        options = CacheOptions(ctypes.sizeof(CacheOptions), kv_type, kv_type, case.kv_heads,
                               case.head_dim, case.head_dim, case.length, layers, 0, 0, 0)
        self.cache = ctypes.c_void_p()
        self.check(self.library.regard_kv_cache_new(
            ctypes.byref(options), ctypes.byref(self.cache), ctypes.byref(self.status)))
        k, v = (Tensor.view(array, case.dtype) for array in (problem.k, problem.v))
        self.numbers = [ctypes.c_int64() for _ in range(layers)]
        for number in self.numbers:
            self.check(self.library.regard_kv_cache_add(
                self.cache, ctypes.byref(number), ctypes.byref(self.status)))
            self.check(self.library.regard_kv_cache_append(
                self.cache, number, ctypes.byref(k), ctypes.byref(v), ctypes.byref(self.status)))
        self.q_array = problem.q
        self.q = Tensor.view(problem.q, case.dtype)
        self.out = aligned(problem.q.shape, STORAGE[case.dtype])
        self.outputs = Outputs(ctypes.sizeof(Outputs), Tensor.view(self.out, case.dtype))
        self.context = ctypes.c_void_p(self.library.regard_context_new(problem.threads))
        self.sequences = [Sequences(self.cache.value, 1, ctypes.pointer(number))
                          for number in self.numbers]

    def __del__(self):
        self.library.regard_context_free(self.context)
        self.library.regard_kv_cache_free(self.cache)

    def check(self, code: int) -> None:
        """Raises the sentence of a failure."""
        if code:
            raise RuntimeError(self.status.message.decode())

    def run(self, layer: int) -> None:
        """Timed."""
        self.check(self.library.regard_decode(
            self.context, ctypes.byref(self.q), ctypes.byref(self.sequences[layer]), None,
            ctypes.byref(self.outputs), None, ctypes.byref(self.status)))

    def answer(self, layer: int) -> np.ndarray:
        """(Hq, D)"""
        self.run(layer)
        return as_f64(self.out)[0, :, 0]


class PyTorch:
    """Tensors of keys and values, a pair a layer."""

    def __init__(self, name: str, q: torch.Tensor, layers: list, **more: bool):
        self.name, self.q, self.layers, self.more = name, q, layers, more

    def run(self, layer: int) -> torch.Tensor:
        """Timed."""
        k, v = self.layers[layer]
        return scaled_dot_product_attention(self.q, k, v, **self.more)

    def answer(self, layer: int) -> np.ndarray:
        """(Hq, D)"""
        out = as_f64(torch_library.stored(self.run(layer)))
        return out.reshape(-1, out.shape[-1])


def pytorch(problem: Problem, layers: int) -> list[PyTorch]:
    """Its own way to share heads, and rows of a group as if they were of one head."""
    case = problem.case
    torch.set_num_threads(problem.threads)
    torch.set_float32_matmul_precision("highest")
    torch.inference_mode().__enter__()
    q, k, v = (torch_library.tensor(array, case.dtype) for array in problem.arrays)
    memory = [(k.clone(), v.clone()) for _ in range(layers)]
    rows = q.reshape(1, case.kv_heads, case.heads // case.kv_heads, case.head_dim)
    return [PyTorch("PyTorch, enable_gqa", q, memory, enable_gqa=True),
            PyTorch("PyTorch, rows of a group", rows, memory)]
