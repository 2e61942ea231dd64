"""`regard check`: right results pass, wrong ones fail where they are wrong."""
import json
import unittest

import support
from support import Array, attention

HEADS, TOKENS, D = 3, 20, 8


class Check(support.Case):
    def setUp(self):
        super().setUp()
        self.arrays = {n: Array.normal(seed, (HEADS, TOKENS, D))
                       for seed, n in enumerate(("q", "k", "v"))}
        support.write_npz(self.path("qkv.npz"), **self.arrays)
        self.out, self.lse, _ = attention(**self.arrays)

    def judge(self, out, *words, code=0, lse=None):
        support.write_npy(self.path("theirs.npy"), out)
        if lse:
            support.write_npy(self.path("lse.npy"), lse)
            words = (*words, "--lse", "lse.npy")
        return self.regard("check", "qkv.npz", "--out", "theirs.npy", *words, code=code)

    def test_what_run_writes_passes(self):
        for words in [[], ["--causal", "top_left"], ["--scale", "0.7"],
                      ["--causal", "bottom_right", "--q-offset", "-3"]]:
            self.regard("run", "qkv.npz", "-o", "r.npz", "--return-lse", *words)
            text = self.regard("check", "qkv.npz", "--out", "r.npz", "--lse", "r.npz", *words)
            self.assertTrue(text.startswith("PASS  60 of 60 rows checked, 0 outside the bound"))

    def test_anyones_result_passes(self):
        self.assertIn("PASS", self.judge(self.out, lse=self.lse))

    def test_one_wrong_number_is_found(self):
        self.out.values[(1 * TOKENS + 7) * D + 5] += 0.5
        text = self.judge(self.out, code=1)
        self.assertTrue(text.startswith("FAIL  60 of 60 rows checked, 1 outside the bound"), text)
        self.assertIn("matches no other convention", text)
        worst = text.splitlines()[6].split()
        self.assertEqual(worst[:4], ["0", "1", "7", "5"])
        self.assertAlmostEqual(float(worst[5]) - float(worst[4]), 0.5, places=6)
        self.assertGreater(float(worst[8]), 1)

    def test_a_wrong_lse_is_found(self):
        self.lse.values[2 * TOKENS + 4] += 0.01
        worst = self.judge(self.out, code=1, lse=self.lse).splitlines()[6].split()
        self.assertEqual(worst[:4], ["0", "2", "4", "lse"])
        last_axis = Array((HEADS, TOKENS, 1), self.lse.values)
        self.assertIn("FAIL", self.judge(self.out, code=1, lse=last_axis))

    def test_other_conventions_are_named(self):
        text = self.judge(self.out, "--causal", "top_left", code=1)
        self.assertEqual(text.splitlines()[2].strip(), "matches with causal=none: "
                         "this kernel sees keys ahead of the row: it is not causal")
        text = self.judge(self.out, "--scale", "1", code=1)
        self.assertIn("matches with scale=default: ", text)
        swapped = Array(self.out.shape, self.out.swapped(0, 1).values)
        self.assertIn("matches with layout=out_bshd: ", self.judge(swapped, code=1))

    def test_json(self):
        verdict = json.loads(self.judge(self.out, "--json", lse=self.lse))
        self.assertTrue(verdict["passed"])
        self.assertEqual(verdict["rows_checked"], 60)
        self.assertIsNone(verdict["convention"])
        self.assertEqual(len(verdict["worst_rows"]), 5)
        for row in verdict["worst_rows"]:
            self.assertLessEqual(row["units"], 1)
            self.assertGreater(row["terms"]["weight_error"], 0)
        verdict = json.loads(self.judge(self.out, "--json", "--causal", "bottom_right", code=1))
        self.assertFalse(verdict["passed"])
        self.assertEqual(verdict["convention"]["name"], "causal=none")
        self.out.values[0] = float("inf")
        verdict = json.loads(self.judge(self.out, "--json", code=1))
        self.assertEqual(verdict["worst_rows"][0]["actual"], "inf")

    def test_weights_are_judged_too(self):
        self.regard("run", "qkv.npz", "-o", "r.npz", "--return-weights")
        words = ("check", "qkv.npz", "--out", "r.npz", "--weights", "r.npz")
        self.assertIn("PASS", self.regard(*words))
        text = self.regard(*words, "--softcap", "0.1", code=1)
        self.assertIn("matches with softcap=none: ", text)

    def test_not_a_number_fails(self):
        self.out.values[3] = float("nan")
        self.assertIn("FAIL", self.judge(self.out, code=1))

    def test_a_sample(self):
        text = self.judge(self.out, "--rows", "7", "--seed", "3", "--worst", "2")
        self.assertIn("7 of 60 rows checked", text)
        self.assertEqual(len(text.splitlines()), 7)
        self.assertEqual(text, self.judge(self.out, "--rows", "7", "--seed", "3", "--worst", "2"))

    def test_bshd(self):
        swapped = {n: a.swapped(0, 1) for n, a in self.arrays.items()}
        support.write_npz(self.path("qkv.npz"), **swapped)
        self.assertIn("PASS", self.judge(self.out.swapped(0, 1), "--layout", "bshd", lse=self.lse))

    def test_shapes_that_disagree(self):
        self.assertIn("out: shape", self.judge(Array.normal(1, (HEADS, TOKENS, D + 1)), code=2))
        self.assertIn("out: rank 2", self.judge(Array.normal(1, (TOKENS, D)), code=2))
        self.assertIn("rows: -1 is below 0", self.judge(self.out, "--rows", "-1", code=2))


if __name__ == "__main__":
    unittest.main()
