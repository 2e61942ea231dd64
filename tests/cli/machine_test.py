"""`regard info`, `regard bench` and the tour."""
import json
import re
import unittest

import support


class Machine(support.Case):
    def test_info(self):
        text = self.regard("info")
        for name in ["version", "cpu", "isa", "compiled", "threads", "caches"]:
            self.assertRegex(text, rf"(?m)^{name} +\S")
        self.assertIn("generic", text)
        self.assertRegex(text, "started by (pthreadpool|std::thread)")

    def test_an_instruction_set_can_be_asked_for(self):
        for isa in support.isas_here(self):
            self.assertRegex(self.regard("info", env={"REGARD_ISA": isa}),
                             rf"(?m)^isa +{isa}, REGARD_ISA asks for it")

    def test_threads_of_the_environment(self):
        for text, threads in [("3", 3), ("4,2", 4)]:
            self.assertRegex(self.regard("info", env={"OMP_NUM_THREADS": text}),
                             rf"(?m)^threads +{threads}, from OMP_NUM_THREADS;")
        for text in ["", "0", "many"]:
            self.assertRegex(self.regard("info", env={"OMP_NUM_THREADS": text}),
                             r"(?m)^threads +\d+, from the CPUs this process may run on;")


class Bench(support.Case):
    def test_rates_and_share(self):
        for dtype in ["f32", "f64"]:
            text = self.regard("bench", "--shape", "1x2x200x32", "--dtype", dtype, "--repeats", "3")
            rows = re.findall(r"(?m)^1x2x200x32 +(causal)? +([\d.]+) +([\d.]+) +([\d.]+)% +"
                              r"([\d.]+) +([\d.]+)%$", text)
            self.assertEqual([row[0] for row in rows], ["", "causal"])
            for _, best, median, _, peak, share in rows:
                self.assertGreaterEqual(float(best), float(median))
                # Each is rounded to a tenth before it is divided here.
                best, peak = float(best), float(peak)
                rounding = 0.1 + 100 * 0.05 * (1 / peak + best / peak ** 2)
                self.assertAlmostEqual(float(share), 100 * best / peak, delta=rounding)

    def test_threads(self):
        self.assertIn("2 threads", self.regard("bench", "--shape", "1x2x100x32", "--threads", "2",
                                               "--repeats", "1"))

    def test_options_are_set_beside_the_call_without_them(self):
        small = ["bench", "options", "--shape", "2x3x200x24", "--repeats", "2"]
        table = json.loads(self.regard(*small, "--json"))
        self.assertEqual((table["shape"], table["threads"]), ("2x3x200x24", 1))
        names = [row["option"] for row in table["options"]]
        self.assertEqual(len(names), len(set(names)))
        for row in table["options"]:
            self.assertTrue(row["right"], row)
            self.assertLess(row["worst_units"], 1)
            self.assertAlmostEqual(row["ratio"], row["seconds"] / row["against_seconds"])
        limits = [row["limit"] for row in table["options"] if row["limit"] is not None]
        self.assertEqual(limits, [1.25, 1.3, 0.05, 2.5])
        lines = self.regard(*small).splitlines()[3:]
        for name, line in zip(names, lines, strict=True):
            self.assertRegex(line, re.escape(name) + r" +\d+\.\d\d  (plain|causal|plain, 8 S) +"
                             r"\d+\.\d{3}( +\d\.\d{3}(  over)?)?$")


class Tour(support.Case):
    def test_it_shows_the_main_job_and_passes(self):
        text = self.regard("demo")
        for part in ["2.68 and 0.00 of 3.47", "blocked attention", "layer 0: all 516 rows agree",
                     "layer 4: all 516 rows agree", "what a word reads most", "lighthouse",
                     "GF/s", "multiply-add peak"]:
            self.assertIn(part, text)
        self.assertNotIn("FAIL", text)
        self.assertRegex(text.splitlines()[-1], r"^all \d+ checks passed")


if __name__ == "__main__":
    unittest.main()
