"""regard through its C interface. The structs of include/regard/regard.h are filled beforehand, so
that a call costs about a microsecond more than from C."""
import ctypes
import os
import pathlib
import weakref

import numpy as np

from problem import STORAGE, Call, Problem, aligned

NAME = "regard"
ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
LIBRARY = os.environ.get("REGARD_LIBRARY", ROOT / "build/peers/library/src/libregard.so")
DTYPES = {"f64": 0, "f32": 1, "f16": 2, "bf16": 3}
CAUSAL_TOP_LEFT = 1


class Tensor(ctypes.Structure):
    """regard_tensor"""
    _fields_ = [("data", ctypes.c_void_p), ("dtype", ctypes.c_int32),
                ("shape", ctypes.c_int64 * 4), ("strides", ctypes.c_int64 * 4)]

    @staticmethod
    def view(array: np.ndarray, dtype: str) -> "Tensor":
        """Of memory that has to outlive the tensor."""
        strides = (step // array.itemsize for step in array.strides)
        return Tensor(array.ctypes.data, DTYPES[dtype], tuple(array.shape), tuple(strides))


class Inputs(ctypes.Structure):
    """regard_inputs"""
    _fields_ = [(name, Tensor) for name in ("q", "k", "v")]


class Outputs(ctypes.Structure):
    """regard_outputs"""
    _fields_ = [("struct_size", ctypes.c_size_t)] + [
        (name, Tensor) for name in ("out", "lse", "weights", "entropy", "top_weights", "top_keys",
                                    "key_mass")]


class Status(ctypes.Structure):
    """regard_status"""
    _fields_ = [("code", ctypes.c_int32), ("message", ctypes.c_char * 512)]


def load() -> ctypes.CDLL:
    """The shared library, its functions declared."""
    library = ctypes.CDLL(str(LIBRARY))
    pointer = ctypes.c_void_p
    library.regard_version.restype = ctypes.c_char_p
    library.regard_context_new.restype = library.regard_options_new.restype = pointer
    library.regard_context_free.argtypes = library.regard_options_free.argtypes = [pointer]
    library.regard_options_set_causal.argtypes = [pointer, ctypes.c_int32]
    # forward is left undeclared: what it is given is converted already, which is quicker
    return library


class Forward:
    """One call, ready to be made again and again."""

    def __init__(self, problem: Problem, threads: int):
        case = problem.case
        self.library = load()
        self.inputs = Inputs(*(Tensor.view(array, case.dtype) for array in problem.arrays))
        self.out = aligned(case.q_shape, STORAGE[case.dtype])
        self.outputs = Outputs(ctypes.sizeof(Outputs), Tensor.view(self.out, case.dtype))
        self.status = Status()
        self.context = ctypes.c_void_p(self.library.regard_context_new(threads))
        self.options = ctypes.c_void_p(self.library.regard_options_new())
        if not self.context or not self.options:
            raise MemoryError("regard has no memory for a context or its options")
        if case.causal:
            self.library.regard_options_set_causal(self.options, CAUSAL_TOP_LEFT)
        self.forward = self.library.regard_forward
        weakref.finalize(self, self.library.regard_options_free, self.options)
        weakref.finalize(self, self.library.regard_context_free, self.context)
        self.arguments = (self.context, ctypes.byref(self.inputs), ctypes.byref(self.outputs),
                          self.options, ctypes.byref(self.status))

    def __call__(self) -> np.ndarray:
        if self.forward(*self.arguments):
            raise RuntimeError(self.status.message.decode())
        return self.out


def version() -> str:
    """Of the library in use."""
    return load().regard_version().decode()


def prepare(problem: Problem, threads: int = 0) -> list[Call]:
    """One form; `threads` instead of the problem's where given."""
    threads = threads or problem.threads
    form = f"C interface, {threads} thread{'s' if threads > 1 else ''}"
    return [Call(form, Forward(problem, threads), lambda out: out)]
