"""Runs the program, writes its inputs and reads its outputs with Python's standard library."""
import ast
import json
import math
import os
import random
import struct
import subprocess
import tempfile
import unittest
import zipfile

PROGRAM = os.environ["REGARD_PROGRAM"]
CODES = {"f4": "f", "f8": "d", "f2": "e", "V2": "H", "b1": "?", "i8": "q", "u1": "B"}
SAFETENSORS = {"f4": "F32", "f8": "F64", "f2": "F16", "V2": "BF16", "b1": "BOOL", "i8": "I64",
               "u1": "U8"}


class Case(unittest.TestCase):
    """A test in a folder of its own."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def regard(self, *words, code=0, env=None):
        """Output of a run that must end with `code`; the sentence on stderr if that is 2."""
        done = subprocess.run([PROGRAM, *words], cwd=self.folder, text=True, capture_output=True,
                              timeout=300, env={**os.environ, **(env or {})}, check=False)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        if code != 2:
            self.assertEqual(done.stderr, "")
            return done.stdout
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertTrue(done.stderr.startswith("regard"), done.stderr)
        return done.stderr

    def assert_no_leftovers(self, *expected):
        self.assertEqual(sorted(os.listdir(self.folder)), sorted(expected))


class Array:
    """A dense array: shape, numbers in C order, element type (V2 is bf16)."""

    def __init__(self, shape, values, dtype="f4"):
        self.shape, self.values, self.dtype = tuple(shape), list(values), dtype
        assert len(self.values) == math.prod(self.shape)

    @staticmethod
    def normal(seed, shape, dtype="f4"):
        generator = random.Random(seed)
        return Array(shape, [generator.gauss(0, 1) for _ in range(math.prod(shape))], dtype)

    def bytes(self):
        values = self.values
        if self.dtype == "V2":  # the upper half of an f32, which must be enough
            bits = [struct.unpack("<I", struct.pack("<f", x))[0] for x in values]
            assert all(x != x or b % 65536 == 0 for x, b in zip(values, bits))
            values = [b >> 16 for b in bits]
        return struct.pack(f"<{len(values)}{CODES[self.dtype]}", *values)

    def rounded(self, dtype):
        """The same numbers as f2 or V2, to nearest; every one is normal there."""
        bits = {"f2": 11, "V2": 8}[dtype]
        values = []
        for x in self.values:
            fraction, exponent = math.frexp(x)
            values.append(math.ldexp(round(math.ldexp(fraction, bits)), exponent - bits))
        return Array(self.shape, values, dtype)

    def npy(self, fortran_order=False):
        order = "|" if self.dtype in ("b1", "u1") else "<"
        header = repr({"descr": order + self.dtype, "fortran_order": fortran_order,
                       "shape": self.shape}).encode()
        header += b" " * (-(len(header) + 11) % 64) + b"\n"
        return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + self.bytes()

    def swapped(self, first, second):
        """The same numbers with two axes exchanged."""
        shape = list(self.shape)
        shape[first], shape[second] = shape[second], shape[first]
        values = []
        for flat in range(len(self.values)):
            index = []
            for length in reversed(shape):
                flat, at = divmod(flat, length)
                index.insert(0, at)
            index[first], index[second] = index[second], index[first]
            place = 0
            for length, at in zip(self.shape, index):
                place = place * length + at
            values.append(self.values[place])
        return Array(shape, values, self.dtype)

    def reshaped(self, *shape):
        return Array(shape, self.values, self.dtype)


def parse_npy(data):
    assert data[:6] == b"\x93NUMPY", data[:6]
    length, = struct.unpack("<H", data[8:10])
    header = ast.literal_eval(data[10:10 + length].decode())
    assert not header["fortran_order"]
    dtype = header["descr"][1:]
    body = data[10 + length:]
    size = struct.calcsize(CODES[dtype])
    values = struct.unpack(f"<{len(body) // size}{CODES[dtype]}", body)
    if dtype == "V2":
        values = [struct.unpack("<f", struct.pack("<I", bits << 16))[0] for bits in values]
    return Array(header["shape"], values, dtype)


def write_npy(path, array):
    with open(path, "wb") as file:
        file.write(array.npy())


def read_npy(path):
    with open(path, "rb") as file:
        return parse_npy(file.read())


def write_npz(path, compression=zipfile.ZIP_STORED, **arrays):
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, array in arrays.items():
            archive.writestr(name + ".npy", array.npy())


def read_npz(path):
    with zipfile.ZipFile(path) as archive:
        return {name[:-4]: parse_npy(archive.read(name)) for name in archive.namelist()}


def write_safetensors(path, **arrays):
    header, data = {}, b""
    for name, array in arrays.items():
        begin = len(data)
        data += array.bytes()
        header[name] = {"dtype": SAFETENSORS[array.dtype],
                        "shape": list(array.shape), "data_offsets": [begin, len(data)]}
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


def attention(q, k, v, scale=None, offset=None):
    """Attention of (H, S, D) arrays from its definition: out, lse and weights. Row i reads keys
    up to i + offset; None: all."""
    heads, sq, depth = q.shape
    kv_heads, skv, width = v.shape
    scale = 1 / math.sqrt(depth) if scale is None else scale
    out, lse, weights = [], [], []
    for h in range(heads):
        kv = h * kv_heads // heads
        for i in range(sq):
            visible = skv if offset is None else max(0, min(skv, i + offset + 1))
            row = q.values[(h * sq + i) * depth:][:depth]
            keys = [k.values[(kv * skv + j) * depth:][:depth] for j in range(visible)]
            scores = [scale * sum(a * b for a, b in zip(row, key)) for key in keys]
            top = max(scores, default=0.0)
            total = sum(math.exp(s - top) for s in scores)
            p = [math.exp(s - top) / total for s in scores]
            weights += p + [0.0] * (skv - visible)
            lse.append(top + math.log(total) if total else -math.inf)
            out += [sum(p[j] * v.values[(kv * skv + j) * width + c] for j in range(visible))
                    for c in range(width)]
    return (Array((heads, sq, width), out, q.dtype), Array((heads, sq), lse, q.dtype),
            Array((heads, sq, skv), weights, q.dtype))


def largest_difference(a, b):
    assert a.shape == b.shape, (a.shape, b.shape)
    return max((abs(x - y) if x != y else 0.0 for x, y in zip(a.values, b.values)), default=0.0)


def isas_here(case):
    """Instruction sets that `regard info` says run on this CPU."""
    line = next(x for x in case.regard("info").splitlines() if x.startswith("compiled"))
    names = line.removeprefix("compiled").split(",")
    return [name.strip() for name in names if "not on this CPU" not in name]
