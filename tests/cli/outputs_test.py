"""What `regard run` can give: statistics, scores on the way to weights, out of every type."""
import math
import subprocess
import unittest

import support
from support import Array, attention, largest_difference, read_npy, read_npz

HEADS, KV_HEADS, SQ, SKV, D, DV = 4, 2, 5, 9, 6, 3


def inputs(dtype="f4"):
    return {"q": Array.normal(1, (HEADS, SQ, D), dtype),
            "k": Array.normal(2, (KV_HEADS, SKV, D), dtype),
            "v": Array.normal(3, (KV_HEADS, SKV, DV), dtype)}


def rows_of(array):
    width = array.shape[-1]
    return [array.values[n:n + width] for n in range(0, len(array.values), width)]


class Statistics(support.Case):
    def setUp(self):
        super().setUp()
        support.write_npz(self.path("f64.npz"), **inputs("f8"))

    def test_they_are_those_of_the_weights(self):
        self.regard("run", "f64.npz", "-o", "r.npz", "--causal", "top_left", "--q-offset", "-1",
                    "--return-weights", "--stats", "--top", "3")
        results = read_npz(self.path("r.npz"))
        self.assertEqual(sorted(results), ["entropy", "key_mass", "out", "top_keys",
                                           "top_weights", "weights"])
        weights = rows_of(results["weights"])
        entropy = [-sum(p * math.log(p) for p in row if p > 0) for row in weights]
        self.assertLess(largest_difference(results["entropy"], Array((HEADS, SQ), entropy)), 1e-13)
        mass = [sum(weights[h * SQ + i][j] for i in range(SQ))
                for h in range(HEADS) for j in range(SKV)]
        self.assertLess(largest_difference(results["key_mass"], Array((HEADS, SKV), mass)), 1e-13)
        self.assertEqual(results["top_keys"].dtype, "i8")
        self.assertEqual(results["top_keys"].shape, (HEADS, SQ, 3))
        self.assertEqual(results["top_weights"].shape, (HEADS, SQ, 3))
        for row, keys, top in zip(weights, rows_of(results["top_keys"]),
                                  rows_of(results["top_weights"])):
            order = sorted((j for j in range(SKV) if row[j] > 0), key=lambda j: -row[j])[:3]
            missing = 3 - len(order)
            self.assertEqual(keys, order + [-1] * missing)
            for got, want in zip(top, [row[j] for j in order] + [0.0] * missing):
                self.assertAlmostEqual(got, want, delta=1e-14)

    def test_five_beside_out_without_words(self):
        self.regard("run", "f64.npz", "-o", "r.npy", "--stats")
        self.assert_no_leftovers("f64.npz", "r.npy", "r_entropy.npy", "r_key_mass.npy",
                                 "r_top_keys.npy", "r_top_weights.npy")
        self.assertEqual(read_npy(self.path("r_top_keys.npy")).shape, (HEADS, SQ, 5))
        self.assertEqual(read_npy(self.path("r_entropy.npy")).shape, (HEADS, SQ))
        self.assertEqual(read_npy(self.path("r_key_mass.npy")).shape, (HEADS, SKV))

    def test_more_than_the_library_serves(self):
        for top in ["0", "-1", "2000"]:
            self.assertIn(f"top_weights: {top} top keys are not in [1, ", self.regard(
                "run", "f64.npz", "-o", "r.npy", "--stats", "--top", top, code=2))
        self.assertIn("--top: it belongs to the statistics",
                      self.regard("run", "f64.npz", "-o", "r.npy", "--top", "3", code=2))


class Stages(support.Case):
    def test_scores_on_their_way(self):
        arrays = inputs("f8")
        bias = Array.normal(4, (SQ, SKV), "f8")
        support.write_npz(self.path("in.npz"), **arrays, bias=bias)
        scaled = []
        for h in range(HEADS):
            for i in range(SQ):
                for j in range(SKV):
                    q = arrays["q"].values[(h * SQ + i) * D:][:D]
                    k = arrays["k"].values[(h * KV_HEADS // HEADS * SKV + j) * D:][:D]
                    scaled.append(0.5 * sum(a * b for a, b in zip(q, k)))
        capped = [2 * math.tanh(s / 2) for s in scaled]
        biased = [s + bias.values[n % (SQ * SKV)] for n, s in enumerate(capped)]
        hidden = [n % SKV > n // SKV % SQ for n in range(len(scaled))]
        softmax = []
        for n in range(0, len(biased), SKV):
            e = [0 if hide else math.exp(s)
                 for s, hide in zip(biased[n:n + SKV], hidden[n:n + SKV])]
            softmax += [x / sum(e) for x in e]
        for stage, expected in [("scaled", scaled), ("capped", capped), ("biased", biased),
                                ("softmax", softmax)]:
            self.regard("run", "in.npz", "-o", "r.npz", "--return-weights", "--weights-stage",
                        stage, "--scale", "0.5", "--softcap", "2", "--bias", "in.npz", "--causal",
                        "top_left")
            none = 0.0 if stage == "softmax" else -math.inf
            wanted = [none if hide else x for x, hide in zip(expected, hidden)]
            weights = read_npz(self.path("r.npz"))["weights"]
            self.assertLess(largest_difference(weights, Array((HEADS, SQ, SKV), wanted)), 1e-13,
                            stage)

    def test_a_stage_of_nothing(self):
        support.write_npz(self.path("in.npz"), **inputs())
        self.assertIn("--weights-stage: it says what the weights are; add --return-weights",
                      self.regard("run", "in.npz", "-o", "r.npy", "--weights-stage", "scaled",
                                  code=2))


class Types(support.Case):
    def test_out_in_every_type(self):
        # `own` is rounded to the type of the inputs, out to its own.
        for dtype, own_step in [("f4", 2 ** -24), ("f8", 2 ** -53)]:
            arrays = inputs(dtype)
            support.write_npz(self.path("in.npz"), **arrays)
            self.regard("run", "in.npz", "-o", "own.npy")
            own = read_npy(self.path("own.npy"))
            for name, code, half_step in [("f32", "f4", 2 ** -24), ("f64", "f8", 2 ** -53),
                                          ("f16", "f2", 2 ** -11), ("bf16", "V2", 2 ** -8)]:
                self.regard("run", "in.npz", "-o", "out.npy", "--out-dtype", name)
                out = read_npy(self.path("out.npy"))
                self.assertEqual(out.dtype, code)
                for got, want in zip(out.values, own.values):
                    self.assertLessEqual(abs(got - want), (half_step + own_step) * abs(want), name)

    def test_half_inputs(self):
        for code, name, step in [("f2", "f16", 2 ** -10), ("V2", "bf16", 2 ** -7)]:
            arrays = {n: a.rounded(code) for n, a in inputs().items()}
            support.write_npz(self.path("half.npz"), **arrays)
            support.write_safetensors(self.path("half.safetensors"), **arrays)
            text = self.regard("run", "half.npz", "-o", "out.npz", "--return-lse")
            self.assertIn(f"out (4, 5, 3) {name}", text)
            results = read_npz(self.path("out.npz"))
            self.assertEqual(results["out"].dtype, code)
            self.assertEqual(results["lse"].dtype, "f4")
            out, lse, _ = attention(**arrays)
            largest = max(map(abs, arrays["v"].values))
            self.assertLess(largest_difference(results["out"], out), 2 * step * largest)
            self.assertLess(largest_difference(results["lse"], lse), 1e-5)
            self.regard("run", "half.safetensors", "-o", "again.npz", "--return-lse")
            again = read_npz(self.path("again.npz"))
            self.assertEqual(again["out"].bytes(), results["out"].bytes())

    def test_inputs_of_two_types(self):
        arrays = inputs()
        arrays["k"] = arrays["k"].rounded("f2")
        support.write_npz(self.path("two.npz"), **arrays)
        self.assertIn("k: dtype f16 differs from q's f32",
                      self.regard("run", "two.npz", "-o", "out.npy", code=2))


class Places(support.Case):
    def setUp(self):
        super().setUp()
        support.write_npz(self.path("in.npz"), **inputs())

    def test_a_dash_is_standard_output(self):
        self.regard("run", "in.npz", "-o", "out.npy")
        with open(self.path("out.npy"), "rb") as file:
            expected = file.read()
        for name in ["-", "/dev/stdout"]:
            done = subprocess.run([support.PROGRAM, "run", "in.npz", "-o", name], cwd=self.folder,
                                  capture_output=True, timeout=60, check=False)
            self.assertEqual((done.returncode, done.stdout, done.stderr), (0, expected, b""))
            for words in [["--return-lse"], ["--stats"], ["--explain"]]:
                self.assertIn(f"-o: '{name}' takes out and nothing else",
                              self.regard("run", "in.npz", "-o", name, *words, code=2))
        self.assert_no_leftovers("in.npz", "out.npy")


if __name__ == "__main__":
    unittest.main()
