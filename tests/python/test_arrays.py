"""What goes in and out: kinds of arrays, addresses, strides, memory."""
import ctypes
import subprocess
import sys

import definition
import ml_dtypes
import numpy as np
import pytest
import regard

ENGINE = np.random.default_rng(3)


def normal(*shape: int, dtype: object = np.float32) -> np.ndarray:
    return ENGINE.standard_normal(shape).astype(dtype)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, ml_dtypes.bfloat16])
def test_out_has_the_type_of_q(dtype: object) -> None:
    q, k, v = (normal(1, 2, n, 16, dtype=dtype) for n in (5, 40, 40))
    out = regard.attention(q, k, v)
    answer = definition.attention(q, k, v)
    assert type(out) is np.ndarray and out.dtype == dtype
    limit = definition.bound(answer, v, out.dtype.name, 16)
    np.testing.assert_allclose(out.astype(np.float64), answer.out, rtol=0, atol=limit)


@pytest.mark.parametrize("name", ["float64", "f32", np.float16, np.dtype("f8"),
                                  ml_dtypes.bfloat16, "bfloat16"])
def test_out_dtype(name: object) -> None:
    q = normal(1, 2, 5, 16)
    out = regard.attention(q, q, q, out_dtype=name)
    wanted = {"f32": np.float32, "bfloat16": ml_dtypes.bfloat16}
    assert out.dtype == np.dtype(wanted.get(name, name) if isinstance(name, str) else name)


def test_any_strides_give_the_same_bits() -> None:
    wide = normal(2, 30, 4, 48)
    dense = [np.ascontiguousarray(wide[:, ::-2, :, n:n + 16].swapaxes(1, 2)) for n in (0, 16, 32)]
    views = [wide[:, ::-2, :, n:n + 16].swapaxes(1, 2) for n in (0, 16, 32)]
    assert views[0].strides[2] < 0
    np.testing.assert_array_equal(regard.attention(*views), regard.attention(*dense))
    shared = np.broadcast_to(dense[1][:, :1], dense[1].shape)
    assert shared.strides[1] == 0
    np.testing.assert_array_equal(regard.attention(dense[0], shared, dense[2]),
                                  regard.attention(dense[0], shared.copy(), dense[2]))
    columns = np.asfortranarray(dense[0])
    np.testing.assert_array_equal(regard.attention(columns, dense[1], dense[2]),
                                  regard.attention(*dense))


def test_inputs_may_be_read_only_and_stay_as_they_are() -> None:
    q = normal(2, 5, 16)
    q.flags.writeable = False
    before = q.copy()
    regard.attention(q, q, q)
    np.testing.assert_array_equal(q, before)


def test_out_is_written_in_place() -> None:
    q = normal(1, 2, 5, 16)
    frame = np.full((1, 2, 7, 20), 7, np.float32)
    out = frame[:, :, 1:-1, 2:-2]
    address = out.ctypes.data
    given = regard.attention(q, q, q, out=out)
    assert given is out and out.ctypes.data == address
    np.testing.assert_array_equal(out, regard.attention(q, q, q))
    frame[:, :, 1:-1, 2:-2] = 7
    assert np.all(frame == 7)
    result = regard.attention(q, q, q, out=out, return_lse=True)
    assert result.out is out


def test_buffers_without_numpy() -> None:
    q = normal(3, 8)
    out = regard.attention(memoryview(q), memoryview(q), memoryview(q))
    np.testing.assert_array_equal(out, regard.attention(q, q, q))


def test_ctypes_arrays_say_no_strides() -> None:
    q = normal(3, 8)
    array = (ctypes.c_float * 8 * 3)(*(tuple(row) for row in q.tolist()))
    assert memoryview(array).shape == (3, 8)
    np.testing.assert_array_equal(regard.attention(array, array, array), regard.attention(q, q, q))


class Tensor:
    """An object that is known by DLPack alone, and whose namespace makes `Made`."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array

    def __dlpack__(self, **options: object) -> object:
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.array.__dlpack_device__()

    def __array_namespace__(self) -> object:
        return Namespace


class Namespace:
    """Part of the array API standard."""

    @staticmethod
    def from_dlpack(memory: object) -> Tensor:
        return Tensor(np.from_dlpack(memory))


def test_other_libraries_make_their_own_arrays() -> None:
    q = normal(1, 2, 5, 16)
    result = regard.attention(Tensor(q), Tensor(q), Tensor(q), return_lse=True)
    assert isinstance(result.out, Tensor) and isinstance(result.lse, Tensor)
    np.testing.assert_array_equal(result.out.array, regard.attention(q, q, q))
    mixed = regard.attention(q, Tensor(q), Tensor(q))
    assert type(mixed) is np.ndarray


class Exporter:
    """What DLPack says of it, whatever that is."""

    def __init__(self, given: object) -> None:
        self.given = given

    def __dlpack__(self) -> object:
        if isinstance(self.given, BaseException):
            raise self.given
        return self.given

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0


def test_a_dlpack_capsule_serves_once() -> None:
    q = normal(2, 5, 16)
    exporter = Exporter(q.__dlpack__())
    np.testing.assert_array_equal(regard.attention(q, q, exporter), regard.attention(q, q, q))
    with pytest.raises(TypeError, match="q: this 'Exporter' gives no memory of the CPU"):
        regard.attention(exporter, q, q)


@pytest.mark.parametrize("error", [KeyboardInterrupt(), RuntimeError("on fire")], ids=repr)
def test_errors_of_an_exporter_are_seen(error: BaseException) -> None:
    q = normal(2, 5, 16)
    with pytest.raises(type(error)) as raised:
        regard.attention(q, Exporter(error), q)
    assert raised.value is error
    with pytest.raises(TypeError, match="k: this 'Exporter' gives no memory of the CPU"):
        regard.attention(q, Exporter(BufferError("elsewhere")), q)


class Endless:
    """Asks itself for its memory."""

    def __dlpack__(self) -> object:
        return regard.attention(self, self, self)


def test_recursion_ends_as_python_s_does() -> None:
    with pytest.raises(RecursionError):
        regard.attention(Endless(), Endless(), Endless())


MEMORY = """
import resource, numpy as np, regard
rows, depth = 16384, 64
q = np.ones((1, 1, rows, depth), np.float32)
k, v = q.copy(), q.copy()
small = q[:, :, :8]
regard.attention(small, k[:, :, :8], v[:, :, :8])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
regard.attention(q, k, v, return_lse=True)
grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
outputs = rows * (depth + 1) * 4
print(grown - outputs)
"""


def test_memory_beside_inputs_and_outputs_is_small() -> None:
    """Scores would take 1 GiB, copies of the inputs 4 MiB each in turn."""
    run = subprocess.run([sys.executable, "-c", MEMORY], capture_output=True, text=True, check=True)
    assert int(run.stdout) < 3 * 2**20, run.stdout


def test_no_reference_is_kept() -> None:
    q = normal(1, 2, 5, 16)
    count = sys.getrefcount(q)
    for _ in range(3):
        regard.attention(q, q, q, return_lse=True)
        with pytest.raises(ValueError):
            regard.attention(q, q, q[:, :, :3])
        with pytest.raises(ValueError):
            regard.attention(q, q[:, :, :, :3], q)
    assert sys.getrefcount(q) == count
