"""Options of attention that come as files, against the stored right answers and one another."""
import json
import math
import os
import unittest

import support
from support import Array, read_npy, read_npz

HEADS, KV_HEADS, SQ, SKV, D, DV = 4, 2, 5, 9, 6, 3
IN_FILES = ["mask", "bias", "alibi_slopes", "sinks"]


def number(value):
    return float(value)  # "nan", "inf" and "-inf" too


def array_of(nested, dtype="f8"):
    """A nested list as an Array of its rank."""
    shape, level = [], nested
    while isinstance(level, list):
        shape.append(len(level))
        level = level[0] if level else None
    values = [nested]
    for _ in shape:
        values = [x for part in values for x in part]
    return Array(shape, map(bool if dtype == "b1" else number, values), dtype)


def flag(name):
    return "--" + name.replace("_", "-")


class Conformance(support.Case):
    """Every stored case, its arrays in one file and its options as a user would write them."""

    def words_of(self, case):
        arrays = {name: array_of(case[name]) for name in ("q", "k", "v")}
        words = []
        for name, value in case["options"].items():
            if name in IN_FILES:
                arrays[name] = array_of(value, "b1" if name == "mask" else "f8")
                words += [flag(name), "case.npz"]
            elif isinstance(value, list):
                words += [flag(name), ",".join(map(str, value))]
            else:
                words += [flag(name), str(value)]
        support.write_npz(self.path("case.npz"), **arrays)
        return words

    def expect_close(self, actual, expected, name):
        """As close as 64 roundings of the largest number: at most 12 keys and D = 59, and scores
        up to 20000 that are sums of exact products."""
        self.assertEqual(actual.shape, expected.shape, name)
        finite = [abs(x) for x in expected.values if math.isfinite(x)]
        allowed = 64 * 2 ** -52 * max([1, *finite])
        for got, want in zip(actual.values, expected.values):
            if math.isnan(want):
                self.assertFalse(math.isfinite(got), name)
            elif math.isinf(want):
                self.assertEqual(got, want, name)
            else:
                self.assertLessEqual(abs(got - want), allowed, name)

    def test_every_stored_case(self):
        with open(os.environ["REGARD_CASES"], encoding="utf-8") as file:
            cases = json.load(file)["cases"]
        self.assertGreater(len(cases), 50)
        for case in cases:
            with self.subTest(case["name"]):
                self.regard("run", "case.npz", "-o", "r.npz", "--return-lse", "--return-weights",
                            *self.words_of(case))
                results = read_npz(self.path("r.npz"))
                for name in {"out", "lse", "weights"} & case["expect"].keys():
                    self.expect_close(results[name], array_of(case["expect"][name]),
                                      case["name"] + " " + name)


class Files(support.Case):
    def setUp(self):
        super().setUp()
        self.arrays = {"q": Array.normal(1, (HEADS, SQ, D)),
                       "k": Array.normal(2, (KV_HEADS, SKV, D)),
                       "v": Array.normal(3, (KV_HEADS, SKV, DV)),
                       "mask": Array((SQ, SKV), [n % 3 > 0 for n in range(SQ * SKV)], "b1"),
                       "bias": Array.normal(4, (HEADS, 1, SKV)),
                       "alibi_slopes": Array((HEADS,), [0.5, 0.25, 0.125, 0]),
                       "sinks": Array((HEADS,), [0, 1, -1, -math.inf])}
        support.write_npz(self.path("all.npz"), **self.arrays)

    def out(self, *words):
        self.regard("run", "all.npz", "-o", "out.npy", *words)
        return read_npy(self.path("out.npy")).bytes()

    def refuse(self, *words):
        text = self.regard("run", "all.npz", "-o", "out.npy", *words, code=2)
        self.assertFalse(os.path.exists(self.path("out.npy")))
        return text

    def write(self, name, array):
        support.write_npy(self.path(name), array)

    def test_ways_to_name_an_array_give_the_same_bits(self):
        plain = self.out()
        for name in IN_FILES:
            expected = self.out(flag(name), "all.npz")
            self.assertNotEqual(expected, plain, name)
            self.write("one.npy", self.arrays[name])
            self.assertEqual(self.out(flag(name), "one.npy"), expected, name)
            support.write_npz(self.path("single.npz"), other=self.arrays[name])
            self.assertEqual(self.out(flag(name), "single.npz"), expected, name)
            support.write_safetensors(self.path("two.safetensors"), other=self.arrays[name],
                                      pad=Array((1,), [0.0]))
            self.assertEqual(self.out(flag(name), "other:two.safetensors"), expected, name)
            self.write("a:b.npy", self.arrays[name])
            self.assertEqual(self.out(flag(name), "a:b.npy"), expected, name)

    def test_masks_and_biases_are_aligned_to_the_last_axes(self):
        for name, dtype in [("mask", "b1"), ("bias", "f4")]:
            row = [n % 2 for n in range(SKV)]
            self.write("full.npy", Array((1, HEADS, SQ, SKV), row * HEADS * SQ, dtype))
            expected = self.out(flag(name), "full.npy")
            for shape in [(SKV,), (1, SKV), (1, 1, SKV), (1, 1, 1, SKV)]:
                self.write("row.npy", Array(shape, row, dtype))
                self.assertEqual(self.out(flag(name), "row.npy"), expected, (name, shape))
            # Rank 3 is (H, Sq, Skv), also where the inputs are (S, H, D).
            heads = [n // SKV % 2 or n % SKV > 3 for n in range(HEADS * SKV)]
            self.write("heads.npy", Array((HEADS, 1, SKV), heads, dtype))
            expected = self.out(flag(name), "heads.npy")
            bshd = {n: self.arrays[n].swapped(0, 1) for n in ("q", "k", "v")}
            support.write_npz(self.path("bshd.npz"), **bshd)
            self.regard("run", "bshd.npz", "--layout", "bshd", "-o", "out.npy", flag(name),
                        "heads.npy")
            self.assertEqual(read_npy(self.path("out.npy")).swapped(0, 1).bytes(), expected, name)

    def test_slopes_per_batch_entry(self):
        self.write("slopes.npy", Array((1, HEADS), self.arrays["alibi_slopes"].values))
        self.assertEqual(self.out("--alibi-slopes", "slopes.npy"),
                         self.out("--alibi-slopes", "all.npz"))

    def test_a_mask_is_bool(self):
        ones = [1] * SKV
        self.write("bytes.npy", Array((SKV,), ones, "u1"))
        self.assertEqual(self.refuse("--mask", "bytes.npy"), "regard run: mask: the elements in "
                         "bytes.npy are '|u1', not bool, '|b1'\n")
        support.write_npz(self.path("bytes.npz"), mask=Array((SKV,), ones, "u1"),
                          bias=Array((SKV,), ones))
        self.assertIn("mask: the elements in bytes.npz are '|u1', not bool, '|b1'",
                      self.refuse("--mask", "bytes.npz"))
        support.write_safetensors(self.path("b.safetensors"), m=Array((SKV,), ones, "u1"))
        self.assertIn("mask: the elements in b.safetensors are 'U8', not bool",
                      self.refuse("--mask", "m:b.safetensors"))
        for dtype, name in [("f4", "f32"), ("i8", "i64")]:
            self.write("numbers.npy", Array((SKV,), ones, dtype))
            self.assertIn(f"mask: dtype {name} is not bool", self.refuse("--mask", "numbers.npy"))
        self.assertIn("bias: the elements in bytes.npy are '|u1', not of a float type",
                      self.refuse("--bias", "bytes.npy"))
        self.write("bools.npy", Array((SKV,), ones, "b1"))
        self.assertIn("bias: dtype bool", self.refuse("--bias", "bools.npy"))

    def test_shapes_that_do_not_fit(self):
        for name, dtype in [("mask", "b1"), ("bias", "f4")]:
            self.write("short.npy", Array((SKV - 1,), [1] * (SKV - 1), dtype))
            self.assertIn(f"{name}: ", self.refuse(flag(name), "short.npy"))
            for shape in [(), (1, 1, 1, 1, 1)]:
                self.write("rank.npy", Array(shape, [1], dtype))
                self.assertIn(f"{name}: rank {len(shape)} of shape",
                              self.refuse(flag(name), "rank.npy"))
        self.write("heads.npy", Array((1, HEADS), [0] * HEADS))
        self.assertIn("sinks: rank 2 of shape (1, 4)", self.refuse("--sinks", "heads.npy"))
        self.write("few.npy", Array((HEADS - 1,), [0] * (HEADS - 1)))
        for name in ["sinks", "alibi_slopes"]:
            self.assertIn(f"{name}: ", self.refuse(flag(name), "few.npy"))

    def test_arrays_that_are_not_there(self):
        self.assertIn("absent.npy: ", self.refuse("--mask", "absent.npy"))
        self.assertIn("all.npz: holds no array named 'absent' but q, k, v, mask",
                      self.refuse("--mask", "absent:all.npz"))
        support.write_npz(self.path("two.npz"), a=Array((1,), [0]), b=Array((1,), [0]))
        self.assertIn("two.npz: holds no array named 'sinks' but a, b",
                      self.refuse("--sinks", "two.npz"))

    def test_values_the_library_refuses(self):
        for words, said in [(["--window", "-2,0"], "window: -2 is below -1"),
                            (["--softcap", "-1"], "softcap: -1 is not 0"),
                            (["--q-len", "6"], "q_len: 6 is not in [0, 5]"),
                            (["--kv-len", "1,2"], "kv_len: 2 numbers for a batch of 1")]:
            self.assertIn(said, self.refuse(*words))


if __name__ == "__main__":
    unittest.main()
