"""The labs: the numbers of the NumPy programs, and labs of one's own."""
import unittest

import support

TABLE = """\
[[1.    0.    0.    0.    0.    0.   ]
 [0.205 0.795 0.    0.    0.    0.   ]
 [0.795 0.135 0.07  0.    0.    0.   ]
 [0.145 0.192 0.37  0.293 0.    0.   ]
 [0.057 0.188 0.1   0.016 0.639 0.   ]
 [0.064 0.067 0.075 0.601 0.045 0.147]]
"""


class CausalLab(support.Case):
    def test_shipped_input_gives_the_recorded_numbers(self):
        text = self.regard("lab")
        self.assertIn(TABLE, text)
        self.assertIn("with it and without: 2.68 and 0.00 of 3.47", text)
        self.assertEqual(text.count("PASS"), 5)
        self.assertNotIn("FAIL", text)

    def test_every_isa_agrees(self):
        for isa in support.isas_here(self):
            self.assertIn(TABLE, self.regard("lab", env={"REGARD_ISA": isa}))
            self.assertNotIn("FAIL", self.regard("lab", "--blocked", env={"REGARD_ISA": isa}))

    def test_a_lab_of_ones_own(self):
        words = ["lab", "--seed", "7", "--tokens", "4", "--d-model", "5", "--d-head", "3"]
        text = self.regard(*words)
        self.assertIn("4 tokens, d_model 5, d_head 3, seed 7", text)
        self.assertIn("[[1.    0.    0.    0.   ]\n", text)
        self.assertEqual(text.count("PASS"), 4)
        self.assertEqual(text, self.regard(*words))
        self.assertNotEqual(text, self.regard(*words, "--seed", "8"))

    def test_long_tables_are_left_out(self):
        self.assertIn("40 x 40, too many to print", self.regard("lab", "--tokens", "40"))

    def test_without_the_scale(self):
        text = self.regard("lab", "--no-scale")
        self.assertIn("[0.002 0.002 0.003 0.975 0.001 0.018]]", text)
        self.assertEqual(text.count("PASS"), 4)

    def test_save_keeps_every_array(self):
        self.regard("lab", "--save", "lab.npz")
        self.assert_no_leftovers("lab.npz")
        arrays = support.read_npz(self.path("lab.npz"))
        for name, shape in [("x", (6, 16)), ("wq", (16, 8)), ("wk", (16, 8)), ("wv", (16, 8)),
                            ("q", (6, 8)), ("k", (6, 8)), ("v", (6, 8)), ("out", (6, 8)),
                            ("weights", (6, 6)), ("x_edited", (6, 16)), ("out_edited", (6, 8)),
                            ("xb", (32, 64)), ("wq_b", (64, 256))]:
            self.assertEqual(arrays[name].shape, shape)
            self.assertEqual(arrays[name].dtype, "f8")
        self.assertAlmostEqual(sum(arrays["weights"].values), 6, places=12)

    def test_saved_arrays_are_input_for_run(self):
        self.regard("lab", "--save", "lab.npz")
        self.regard("run", "lab.npz", "--causal", "top_left", "-o", "out.npy")
        saved = support.read_npz(self.path("lab.npz"))["out"]
        out = support.read_npy(self.path("out.npy"))
        self.assertLess(support.largest_difference(out, saved), 1e-14)


class BlockedLab(support.Case):
    def test_first_ten_values_of_both_forms(self):
        text = self.regard("lab", "--blocked")
        self.assertIn("(1, 8, 128), block 4", text)
        for name in ["plain  ", "blocked"]:
            self.assertIn(name + "   1.05974769  0.37754457 -0.34802028  0.16800223  0.21782238",
                          text)
        self.assertNotIn("FAIL", text)

    def test_sizes_that_numpy_refuses(self):
        text = self.regard("lab", "--blocked")
        rows = [line.split() for line in text.splitlines() if line.strip()[:1].isdigit()]
        sizes = [[int(word) for word in row[:6]] for row in rows if row[0] in "123"]
        sizes = [size for size in sizes if len(size) == 6]
        self.assertTrue(any(sq % block for _, sq, _, _, _, block in sizes))
        self.assertTrue(any(sq != skv for _, sq, skv, _, _, _ in sizes))
        self.assertTrue(any(batch == 3 for batch, *_ in sizes))
        self.assertTrue(any(d != dv for _, _, _, d, dv, _ in sizes))
        self.assertEqual({1, 64} - {size[5] for size in sizes}, set())
        self.assertEqual(text.count("PASS"), 2 + len(sizes))

    def test_any_block(self):
        for block in ["1", "3", "64", "1000000"]:
            text = self.regard("lab", "--blocked", "--block", block)
            self.assertIn(f"block {block},", text)
            self.assertNotIn("FAIL", text)


if __name__ == "__main__":
    unittest.main()
