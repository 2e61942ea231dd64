"""`regard bench --compare`: rows beside those of an earlier bench, and files that are none."""
import json
import re
import time
import unittest

import support

TIME = r"[\d.]+ (?:s|ms|us)"


class Compare(support.Case):
    SMALL = ["bench", "--repeats", "2", "--json", "-"]

    def setUp(self):
        super().setUp()
        self.old = json.loads(self.regard(*self.SMALL, "--shape", "1x2x20x8", "--dtype",
                                          "f32,f64"))

    def write(self, change=None):
        """old.json, after `change` of what was measured."""
        content = json.loads(json.dumps(self.old))
        if change:
            change(content)
        with open(self.path("old.json"), "w") as file:
            json.dump(content, file)
        return content["rows"]

    def test_without_a_grid_the_rows_of_the_file_are_measured(self):
        before = self.write()
        new = json.loads(self.regard("bench", "--compare", "old.json", "--json", "-"))
        self.assertEqual((new["repeats"], new["runs"]), (2, 1))
        names = ["shape", "mask", "dtype", "threads"]
        self.assertEqual([[r[n] for n in names] for r in new["rows"]],
                         [[r[n] for n in names] for r in before])
        for old, row in zip(before, new["rows"]):
            set_beside = row["before"]
            self.assertAlmostEqual(set_beside["least_seconds"], old["least_seconds"])
            self.assertAlmostEqual(set_beside["share"], old["share"])
            self.assertAlmostEqual(set_beside["time_ratio"],
                                   row["least_seconds"] / old["least_seconds"])
            self.assertAlmostEqual(set_beside["share_ratio"], row["share"] / old["share"])

    def test_rows_are_matched_by_what_they_measure(self):
        self.write()
        for words, matched in [(["--shape", "1x2x20x8"], [True, True]),
                               (["--shape", "1x2x20x8", "--mask", "causal"], [True]),
                               (["--shape", "1x2x20x8", "--mask", "window:1,1"], [False]),
                               (["--shape", "1x2x21x8"], [False, False]),
                               (["--shape", "1x2x20x8", "--dtype", "f16"], [False, False]),
                               (["--shape", "1x2x20x8", "--threads", "2"], [False, False])]:
            new = json.loads(self.regard(*self.SMALL, "--compare", "old.json", *words))
            self.assertEqual(["before" in r for r in new["rows"]], matched, words)

    def test_worse_rows_are_marked(self):
        def factors(time, peak):
            def change(content):
                for row in content["rows"]:
                    row["least_seconds"] *= time
                    row["peak_gflops"] *= peak
            return change
        # Factors far beyond what a busy machine does to these few microseconds.
        for change, verdict in [(factors(1e-3, 1), "slower"),
                                (factors(1e-3, 1e6), "slower, so is the peak"),
                                (factors(1e3, 1e-6), "smaller share"),
                                (factors(1e3, 1), "")]:
            self.write(change)
            words = ["bench", "--compare", "old.json"]
            new = json.loads(self.regard(*words, "--json", "-"))
            self.assertEqual({r["before"]["verdict"] for r in new["rows"]}, {verdict})
            text = self.regard(*words)
            ending = rf": {verdict}" if verdict else ""
            self.assertEqual(len(re.findall(
                rf"(?m)^  before +{TIME}  time x[\d.]+, share x[\d.]+{ending}$", text)), 4, text)
            self.assertIn(f"4 of 4 rows compared; {4 if verdict else 0} worse by more than 3%",
                          text)

    def test_shares_of_different_units_are_not_compared(self):
        self.write(lambda content: content["rows"][0].update(unit="abacus"))
        new = json.loads(self.regard("bench", "--compare", "old.json", "--json", "-"))
        self.assertIsNone(new["rows"][0]["before"]["share_ratio"])
        self.assertIsNotNone(new["rows"][1]["before"]["share_ratio"])

    def test_a_row_without_a_partner_says_so(self):
        self.write(lambda content: content["rows"][1].update(right=False))
        text = self.regard("bench", "--compare", "old.json")
        self.assertEqual(len(re.findall(r"(?m)^  before +-  no such row, or a wrong one$", text)),
                         1, text)
        self.assertIn("3 of 4 rows compared", text)

    def test_another_machine_is_named(self):
        self.write()
        self.assertNotIn("machines differ", self.regard("bench", "--compare", "old.json"))
        for name, value in [("cpu", "Abacus 3000"), ("isa", "beads"), ("machine_threads", 99)]:
            self.write(lambda content, n=name, v=value: content.update({n: v}))
            text = " ".join(self.regard("bench", "--compare", "old.json").split())
            self.assertIn("The machines differ, so look at shares: ", text)
            self.assertIn(str(value), text)

    def test_rows_of_any_size_cost_nothing_to_read(self):
        def change(content):
            rows = [{**content["rows"][0], "shape": "1x1x2147483647x1", "mask": f"window:{n},5"}
                    for n in range(1000)]
            content["rows"] += rows
        self.write(change)
        start = time.monotonic()
        text = self.regard("bench", "--compare", "old.json", "--shape", "1x2x20x8")
        self.assertLess(time.monotonic() - start, 30)  # a pass over the rows of one takes seconds
        self.assertIn("2 of 2 rows compared", text)

    def test_the_file_may_be_replaced(self):
        self.write()
        self.regard("bench", "--compare", "old.json", "--json", "old.json")
        with open(self.path("old.json")) as file:
            self.assertIn("before", json.load(file)["rows"][0])
        self.assert_no_leftovers("old.json")

    def test_bad_files(self):
        def sentence(content):
            with open(self.path("old.json"), "w") as file:
                file.write(content)
            return self.regard("bench", "--compare", "old.json", code=2)
        for content in ["", "no JSON", '{"rows": [', "[" * 100000]:
            self.assertIn("--compare: old.json: it is not JSON", sentence(content))
        for content in ["[]", "3", "null"]:
            self.assertIn("--compare: old.json: it is no object", sentence(content))
        self.assertIn("it has no 'rows'", sentence("{}"))
        self.assertIn("'rows' is no list", sentence('{"rows": {}}'))
        self.assertIn("cannot be opened",
                      self.regard("bench", "--compare", "absent.json", code=2))
        self.assertIn("is a directory", self.regard("bench", "--compare", ".", code=2))

    def test_bad_members(self):
        for name, value, said in [
                ("version", 3, "old.json: version is not text"),
                ("cpu", "\x1b[2J", "cpu: '\\x1b[2J' is too long or not printable"),
                ("isa", "x" * 1000, "isa: "),
                ("machine_threads", 0, "machine_threads is not a whole number in [1"),
                ("repeats", 2.5, "repeats is not a whole number"),
                ("runs", -1, "runs is not a whole number")]:
            self.write(lambda content, n=name, v=value: content.update({n: v}))
            self.assertIn(said, self.regard("bench", "--compare", "old.json", code=2))
        for name, value, said in [
                ("shape", "1x2x3", "old.json: row 2: shape: '1x2x3' is not BxHxSxD"),
                ("shape", "1x1x4294967296/1x1", "row 2: shape: 1x1x4294967296/1x1 has an axis"),
                ("shape", 3, "old.json: row 2: shape is not text"),
                ("mask", "causl", "row 2: mask: 'causl' is not one of plain"),
                ("mask", "plain,causal", "row 2: mask names more than one"),
                ("dtype", "f23", "row 2: dtype: 'f23' is not one of f32"),
                ("threads", 100000, "row 2: threads is not a whole number in [1, 1024]"),
                ("unit", None, "row 2: unit is not text"),
                ("right", 1, "row 2: right is neither true nor false"),
                ("least_seconds", 0, "row 2: least_seconds is not a number above 0"),
                ("peak_gflops", "fast", "row 2: peak_gflops is not a number above 0")]:
            self.write(lambda content, n=name, v=value: content["rows"][1].update({n: v}))
            self.assertIn(said, self.regard("bench", "--compare", "old.json", code=2))
        for name in self.old["rows"][0]:
            self.write(lambda content, n=name: content["rows"][1].pop(n))
            read = name in ["shape", "mask", "dtype", "threads", "path", "unit", "right",
                            "least_seconds", "peak_gflops"]
            text = self.regard("bench", "--compare", "old.json", code=2 if read else 0)
            if read:
                self.assertIn(f"row 2: it has no '{name}'", text)


if __name__ == "__main__":
    unittest.main()
