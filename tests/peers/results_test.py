"""What is kept, printed and returned."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import support

import table
from results import Figure, Results


def figure(library, **more):
    """Of 1e9 operations."""
    about = {"dtype": "f32", "shape": "1x1x8x8", "causal": False, "threads": 1, "form": "no mask",
             "operations": 1e9, "runs": 1, "rounds": 30}
    return Figure(library=library, **{**about, **more})


class Kept(unittest.TestCase):
    def test_the_better_of_several_runs_counts(self):
        results = Results()
        for best in (0.5, 0.2, 0.4):
            results.add(figure("regard", best=best))
        results.add(figure("regard", best=0.1, causal=True))
        self.assertEqual([(f.best, f.runs) for f in results.figures], [(0.2, 3), (0.1, 1)])

    def test_a_wrong_run_is_not_forgotten(self):
        for order in (1, -1):
            results = Results()
            for one in [figure("theirs", wrong=True), figure("theirs", best=0.1)][::order]:
                results.add(one)
            self.assertTrue(results.wrong)

    def test_json_and_back(self):
        results = Results("a CPU", {"regard": "1"}, [figure("regard", best=0.5)])
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "results.json")
            results.save(path)
            self.assertEqual(Results.load(path), results)

    def test_a_choice_of_rows(self):
        results = Results(figures=[figure("regard"), figure("regard", causal=True),
                                   figure("regard", dtype="f64")])
        self.assertEqual(len(results.only(["f32"], [], [False, True]).figures), 2)
        self.assertEqual(len(results.only([], ["1x1x8x8"], [False]).figures), 2)
        self.assertEqual(len(results.only([], ["1x1x9x8"], [False]).figures), 0)


class Table(unittest.TestCase):
    def test_rates_ratios_and_notes(self):
        results = Results("a CPU", {"regard": "1", "A": "2"}, [
            figure("regard", best=0.010), figure("A", best=0.020),
            figure("B", best=0.005, form="a dense mask"), figure("C", refused="no such type"),
            figure("D", wrong=True, error=7.0)])
        text = table.markdown(results)
        self.assertIn("| shape (BxHxSxD) | type | mask | threads | regard 1 | A 2 | B | C | D |\n",
                      text)
        self.assertIn("| 1x1x8x8 | f32 | plain | 1 | 100.0 | 50.0 (2.00) | 200.0* (0.50) | - "
                      "| wrong |\n", text)
        self.assertIn("- C: not f32, no such type\n", text)
        self.assertIn("- **wrong**: D, f32 1x1x8x8, no mask: an error of 7 times its tolerance\n",
                      text)


class Program(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "results.json")

    def compare(self, *words, code=0):
        done = subprocess.run([sys.executable, "-B", support.PEERS / "compare.py", *words],
                              text=True, capture_output=True, timeout=100, check=False)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def test_ours_alone(self):
        words = ["--peers", "", "--shape", "1x2x30x8", "--repeats", "1", "--json", self.path]
        text = self.compare(*words, "--cpu", "this one")
        for mask in ("plain", "causal"):
            self.assertRegex(text, rf"(?m)^\| 1x2x30x8 \| f32 \| {mask} \| 1 \| \d+\.\d \|$")
        self.compare(*words, "--plain")
        with open(self.path, encoding="utf-8") as file:
            kept = json.load(file)
        self.assertEqual([f["runs"] for f in kept["figures"]], [2, 1])
        self.assertEqual(kept["cpu"], "this one")
        shown = self.compare("--show", "--json", self.path, "--causal")
        self.assertIn("causal", shown)
        self.assertNotIn("plain", shown)

    def test_a_wrong_answer_is_code_1(self):
        wrong = Results("a CPU", {}, [figure("theirs", wrong=True, error=2.0)])
        wrong.save(pathlib.Path(self.path))
        self.assertIn("wrong", self.compare("--show", "--json", self.path, code=1))

    def test_bad_usage_is_code_2(self):
        for words in (["--shape", "8x8"], ["--show"], ["--threads", "0"], ["--threads", "10000"],
                      ["--peers", "no_such_library"], ["--plain", "--causal"]):
            self.assertIn("compare.py: ", self.compare(*words, code=2))


if __name__ == "__main__":
    unittest.main()
