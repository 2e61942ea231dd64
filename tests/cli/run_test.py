"""`regard run`: formats, ranks, layouts and options, against attention from its definition."""
import unittest
import zipfile

import support
from support import Array, attention, largest_difference, read_npy, read_npz

HEADS, KV_HEADS, SQ, SKV, D, DV = 4, 2, 5, 9, 6, 3


def inputs(dtype="f4"):
    return {"q": Array.normal(1, (HEADS, SQ, D), dtype),
            "k": Array.normal(2, (KV_HEADS, SKV, D), dtype),
            "v": Array.normal(3, (KV_HEADS, SKV, DV), dtype)}


class Run(support.Case):
    def setUp(self):
        super().setUp()
        self.arrays = inputs()
        self.files = []
        for name, array in self.arrays.items():
            support.write_npy(self.path(name + ".npy"), array)
            self.files.append(name + ".npy")

    def expect(self, path, expected, allowed=1e-6):
        self.assertLess(largest_difference(read_npy(self.path(path)), expected), allowed)

    def test_three_npy_files(self):
        text = self.regard("run", *self.files, "-o", "out.npy")
        self.assertEqual(text, "out.npy: out (4, 5, 3) f32\n")
        self.expect("out.npy", attention(**self.arrays)[0])
        self.assert_no_leftovers("out.npy", *self.files)

    def test_one_file_of_each_kind_gives_the_same_bits(self):
        self.regard("run", *self.files, "-o", "out.npy")
        support.write_npz(self.path("stored.npz"), **self.arrays)
        support.write_npz(self.path("deflated.npz"), zipfile.ZIP_DEFLATED, **self.arrays)
        support.write_safetensors(self.path("all.safetensors"), pad=Array((1,), [0.0]),
                                  **self.arrays)
        for name in ["stored.npz", "deflated.npz", "all.safetensors"]:
            self.regard("run", name, "-o", "again.npy")
            self.assertEqual(read_npy(self.path("again.npy")).bytes(),
                             read_npy(self.path("out.npy")).bytes())

    def test_names(self):
        renamed = {"query": self.arrays["q"], "k": self.arrays["k"], "value": self.arrays["v"]}
        support.write_npz(self.path("named.npz"), **renamed)
        self.assertIn("named.npz: holds no array named 'q' but query, k, value",
                      self.regard("run", "named.npz", "-o", "out.npy", code=2))
        self.regard("run", "named.npz", "--names", "q=query,v=value", "-o", "out.npy")
        self.expect("out.npy", attention(**self.arrays)[0])

    def test_f64(self):
        arrays = inputs("f8")
        support.write_npz(self.path("f64.npz"), **arrays)
        self.regard("run", "f64.npz", "-o", "out.npy")
        self.expect("out.npy", attention(**arrays)[0], 1e-14)

    def test_rank_4_and_rank_2(self):
        expected = attention(**self.arrays)[0]
        batched = {n: a.reshaped(1, *a.shape) for n, a in self.arrays.items()}
        support.write_npz(self.path("rank4.npz"), **batched)
        self.regard("run", "rank4.npz", "-o", "out.npz", "--return-lse")
        results = read_npz(self.path("out.npz"))
        self.assertEqual(results["lse"].shape, (1, HEADS, SQ))
        self.assertLess(largest_difference(results["out"], expected.reshaped(1, HEADS, SQ, DV)),
                        1e-6)
        single = {n: Array(a.shape[1:], a.values[:a.shape[1] * a.shape[2]])
                  for n, a in self.arrays.items()}
        support.write_npz(self.path("rank2.npz"), **single)
        self.regard("run", "rank2.npz", "-o", "out2.npz", "--return-lse", "--return-weights")
        results = read_npz(self.path("out2.npz"))
        self.assertEqual([results[n].shape for n in ("out", "lse", "weights")],
                         [(SQ, DV), (SQ,), (SQ, SKV)])
        self.assertLess(largest_difference(
            results["out"], Array((SQ, DV), expected.values[:SQ * DV])), 1e-6)

    def test_bshd_in_and_out(self):
        expected = attention(**self.arrays)[0]
        for batch in [False, True]:
            axes = (1, 2) if batch else (0, 1)
            swapped = {}
            for name, array in self.arrays.items():
                array = array.reshaped(1, *array.shape) if batch else array
                swapped[name] = array.swapped(*axes)
            support.write_npz(self.path("bshd.npz"), **swapped)
            self.regard("run", "bshd.npz", "--layout", "bshd", "-o", "out.npy")
            whole = expected.reshaped(1, *expected.shape) if batch else expected
            self.expect("out.npy", whole.swapped(*axes))

    def test_lse_and_weights_beside_out(self):
        _, lse, weights = attention(**self.arrays)
        self.regard("run", *self.files, "-o", "r.npy", "--return-lse", "--return-weights")
        self.expect("r_lse.npy", lse)
        self.expect("r_weights.npy", weights)
        self.assert_no_leftovers("r.npy", "r_lse.npy", "r_weights.npy", *self.files)

    def test_everything_in_one_npz(self):
        out, lse, weights = attention(**self.arrays)
        self.regard("run", *self.files, "-o", "r.npz", "--return-lse", "--return-weights",
                    "--rows", "4,0,4")
        results = read_npz(self.path("r.npz"))
        self.assertEqual(sorted(results), ["lse", "out", "weights"])
        self.assertLess(largest_difference(results["out"], out), 1e-6)
        self.assertLess(largest_difference(results["lse"], lse), 1e-6)
        chosen = [x for h in range(HEADS) for row in (4, 0, 4)
                  for x in weights.values[(h * SQ + row) * SKV:][:SKV]]
        self.assertLess(largest_difference(results["weights"], Array((HEADS, 3, SKV), chosen)),
                        1e-6)

    def test_options_change_what_they_should(self):
        for words, settings in [
                (["--causal", "top_left"], {"offset": 0}),
                (["--causal", "bottom_right"], {"offset": SKV - SQ}),
                (["--causal", "top_left", "--q-offset", "-2"], {"offset": -2}),
                (["--causal", "bottom_right", "--q-offset", "1"], {"offset": 1}),
                (["--scale", "-0.25"], {"scale": -0.25}),
                (["--scale", "0"], {"scale": 0}),
                (["--causal", "none"], {})]:
            self.regard("run", *self.files, "-o", "o.npz", "--return-lse", *words)
            results = read_npz(self.path("o.npz"))
            out, lse, _ = attention(**self.arrays, **settings)
            self.assertLess(largest_difference(results["out"], out), 1e-6, words)
            self.assertLess(largest_difference(results["lse"], lse), 1e-6, words)

    def test_threads_and_path_do_not_change_bits(self):
        self.regard("run", *self.files, "-o", "a.npy", "--threads", "1")
        self.regard("run", *self.files, "-o", "b.npy", "--threads", "2", "--path", "direct")
        with open(self.path("a.npy"), "rb") as a, open(self.path("b.npy"), "rb") as b:
            self.assertEqual(a.read(), b.read())

    def test_explain_alone_writes_nothing(self):
        text = self.regard("run", *self.files, "--explain", "--causal", "bottom_right")
        for name in ["path", "unit", "isa", "scores", "k and v", "tiles", "visited", "threads",
                     "items", "scratch"]:
            self.assertRegex(text, rf"(?m)^{name} +\S")
        self.assert_no_leftovers(*self.files)
        both = self.regard("run", *self.files, "--explain", "-o", "out.npy")
        self.assertIn("out.npy: out", both)

    def test_paths_that_do_not_serve_the_type(self):
        self.assertIn("path: tiles take bf16, and q is f32", self.regard(
            "run", *self.files, "-o", "out.npy", "--path", "tiles", code=2))
        self.assert_no_leftovers(*self.files)

    def test_disagreements_name_both_values(self):
        support.write_npy(self.path("short.npy"), Array.normal(4, (KV_HEADS, SKV, D + 1)))
        self.assertIn("k: head size 7 differs from q's 6", self.regard(
            "run", "q.npy", "short.npy", "v.npy", "-o", "out.npy", code=2))
        support.write_npy(self.path("flat.npy"), Array.normal(4, (SKV, D)))
        self.assertIn("k: rank 2 differs from q's 3", self.regard(
            "run", "q.npy", "flat.npy", "v.npy", "-o", "out.npy", code=2))
        support.write_npy(self.path("line.npy"), Array.normal(4, (SKV,)))
        self.assertIn("q: rank 1", self.regard(
            "run", "line.npy", "k.npy", "v.npy", "-o", "out.npy", code=2))
        self.assertIn("2 input files", self.regard("run", "q.npy", "k.npy", "--explain", code=2))
        self.assertIn("holds one array", self.regard("run", "q.npy", "--explain", code=2))
        self.assertIn("rows: row 5 is not in [0, 5)", self.regard(
            "run", *self.files, "-o", "o.npy", "--return-weights", "--rows", "5", code=2))

    def test_no_rows_at_all(self):
        support.write_npz(self.path("none.npz"), q=Array((2, 0, 4), []), k=Array((2, 0, 4), []),
                          v=Array((2, 0, 4), []))
        self.regard("run", "none.npz", "-o", "out.npy")
        self.assertEqual(read_npy(self.path("out.npy")).shape, (2, 0, 4))


if __name__ == "__main__":
    unittest.main()
