"""`regard bench`: the grid, its JSON, the table of options, mistakes."""
import itertools
import json
import os
import re
import unittest

import support

TIME = r"[\d.]+ (?:s|ms|us)"
# least, median, spread, GF/s, peak, share, mark
SPEED = rf"({TIME}) +({TIME}) +([\d.]+)% +([\d.]+) +([\d.]+) +([\d.]+)%(\*?)$"


def seen_pairs(rows, keys, mask):
    """By definition, of one head."""
    offset = keys - rows if mask == "bottom_right" else 0
    left = right = -1
    if mask.startswith("window:"):
        left, right = map(int, mask.removeprefix("window:").split(","))
    def sees(i, j):
        position = i + offset
        if mask in ("causal", "bottom_right"):
            return j <= position
        return (left < 0 or position - left <= j) and (right < 0 or j <= position + right)
    return sum(sees(i, j) for i in range(rows) for j in range(keys))


class Grid(support.Case):
    def bench(self, *words, code=0):
        """The JSON of a small bench."""
        return json.loads(self.regard("bench", *words, "--repeats", "2", "--json", "-", code=code))

    def test_rows_are_all_combinations(self):
        shapes, masks = ["1x2x20x8", "2x4/2x9/30x16/5"], ["plain", "window:3,0", "bottom_right"]
        dtypes, threads = ["f64", "bf16"], [2, 1]
        rows = self.bench("--shape", ",".join(shapes), "--mask", "plain,window:3,0",
                          "--mask", "bottom_right", "--dtype", "f64", "--dtype", "bf16",
                          "--threads", "2,1")["rows"]
        self.assertEqual([(r["dtype"], r["threads"], r["shape"], r["mask"]) for r in rows],
                         list(itertools.product(dtypes, threads, shapes, masks)))

    def test_a_combination_is_measured_once(self):
        rows = self.bench("--shape", "1x1x8x8,1x1/1x8/8x8", "--mask", "plain,window:-1,-1,causal",
                          "--threads", "1,1")["rows"]
        self.assertEqual([(r["shape"], r["mask"]) for r in rows],
                         [("1x1x8x8", "plain"), ("1x1x8x8", "causal")])

    def test_without_a_mask_rows_are_plain_and_causal(self):
        self.assertEqual([r["mask"] for r in self.bench("--shape", "1x1x8x8")["rows"]],
                         ["plain", "causal"])

    def test_a_row_says_what_was_measured(self):
        found = self.bench("--shape", "1x2x33x16", "--dtype", "f32,f64,f16,bf16", "--runs", "2")
        version = self.regard("--version").split()[1]
        self.assertEqual((found["version"], found["repeats"], found["runs"]), (version, 2, 2))
        info = self.regard("info")
        self.assertRegex(info, rf"(?m)^isa +{found['isa']},")
        self.assertRegex(info, rf"(?m)^threads +{found['machine_threads']},")
        self.assertIn(found["cpu"], info)
        self.assertEqual(len(found["rows"]), 8)
        for row in found["rows"]:
            self.assertTrue(row["right"], row)
            self.assertLess(row["worst_units"], 1)
            self.assertIn(row["path"], ["direct", "tiles", "decode"])
            self.assertTrue(row["unit"])
            self.assertLessEqual(row["least_seconds"], row["median_seconds"])
            self.assertLessEqual(row["median_seconds"], row["worst_seconds"])
            self.assertAlmostEqual(row["spread"], row["worst_seconds"] / row["least_seconds"] - 1)
            self.assertAlmostEqual(row["share"], row["gflops"] / row["peak_gflops"])
            self.assertEqual(row["steady"], row["peak_drift"] <= 0.05)
            self.assertNotIn("before", row)

    def test_operations_count_what_the_mask_leaves(self):
        depth, width, heads = 16, 5, 8
        masks = ["plain", "causal", "bottom_right", "window:3,0", "window:-1,2", "window:4,-1",
                 "window:0,0", "window:12,25", f"window:{2**63 - 1},{2**63 - 1}"]
        for rows, keys in [(9, 30), (30, 9), (1, 30), (30, 1)]:
            shape = f"2x4/2x{rows}/{keys}x{depth}/{width}"
            for row in self.bench("--shape", shape, "--mask", ",".join(masks))["rows"]:
                operations = row["gflops"] * 1e9 * row["least_seconds"]
                pairs = seen_pairs(rows, keys, row["mask"])
                self.assertAlmostEqual(operations, 2 * heads * pairs * (depth + width), delta=1e-3,
                                       msg=(shape, row["mask"]))

    def test_square_causal_counts_half(self):
        plain, causal = self.bench("--shape", "1x2x33x16")["rows"]
        operations = [r["gflops"] * 1e9 * r["least_seconds"] for r in (plain, causal)]
        self.assertAlmostEqual(operations[0], 4 * 2 * 33 * 33 * 16, delta=1e-3)
        self.assertAlmostEqual(operations[1], operations[0] / 2, delta=1e-3)

    def test_the_table_says_the_same(self):
        text = self.regard("bench", "--shape", "1x2x200x32,1x4/2x60/80x32", "--dtype", "f32,f64",
                           "--threads", "1,2", "--repeats", "3", "--json", "bench.json")
        with open(self.path("bench.json")) as file:
            rows = json.load(file)["rows"]
        self.assertEqual(re.findall(r"(?m)^(f\d\d), (\d) threads?, peak of (\w+)$", text),
                         [(d, t, "fma") for d in ("f32", "f64") for t in "12"])
        shown = re.findall(r"(?m)^(\d\S+) +(plain|causal) +" + SPEED, text)
        self.assertEqual(len(shown), len(rows), text)
        for row, (shape, mask, least, _, _, rate, peak, share, mark) in zip(rows, shown):
            self.assertEqual((shape, mask), (row["shape"], row["mask"]))
            number, unit = least.split()
            seconds = float(number) * {"s": 1, "ms": 1e-3, "us": 1e-6}[unit]
            self.assertAlmostEqual(seconds / row["least_seconds"], 1, delta=1e-3)
            self.assertAlmostEqual(float(rate), row["gflops"], delta=0.051)
            self.assertAlmostEqual(float(peak), row["peak_gflops"], delta=0.051)
            self.assertAlmostEqual(float(share), 100 * row["share"], delta=0.051)
            self.assertEqual(mark, "" if row["steady"] else "*")
        self.assertLessEqual(max(map(len, text.splitlines()[1:])), 80)
        self.assert_no_leftovers("bench.json")


class OptionCosts(support.Case):
    SMALL = ["bench", "options", "--shape", "2x3x200x24", "--repeats", "2"]

    def test_options_are_set_beside_the_call_without_them(self):
        table = json.loads(self.regard(*self.SMALL, "--json", "-"))
        self.assertEqual((table["shape"], table["threads"]), ("2x3x200x24", 1))
        names = [row["option"] for row in table["options"]]
        self.assertEqual(len(names), len(set(names)))
        for row in table["options"]:
            self.assertTrue(row["right"], row)
            self.assertLess(row["worst_units"], 1)
            self.assertAlmostEqual(row["ratio"], row["seconds"] / row["against_seconds"])
        limits = [row["limit"] for row in table["options"] if row["limit"] is not None]
        self.assertEqual(limits, [1.25, 1.3, 0.05, 2.5])

    def test_a_file_comes_beside_the_table(self):
        lines = self.regard(*self.SMALL, "--json", "options.json").splitlines()[3:]
        with open(self.path("options.json")) as file:
            rows = json.load(file)["options"]
        for row, line in zip(rows, lines, strict=True):
            self.assertRegex(line, re.escape(row["option"]) + r" +\d+\.\d\d  "
                             r"(plain|causal|plain, 8 S) +\d+\.\d{3}( +\d\.\d{3}(  over)?)?$")


class Mistakes(support.Case):
    def test_the_sentence_names_the_flag_and_the_value(self):
        for words, said in [
                (["--shape", "1x2x3"], "--shape: '1x2x3' is not BxHxSxD"),
                (["--shape", "1x0x3x4"], "--shape: '1x0x3x4' is not BxHxSxD"),
                (["--shape", "1x8x1kx64"], "--shape: '1k' is not a whole number"),
                (["--shape", "1/2x2x3x4"], "--shape: '1/2x2x3x4' is not BxHxSxD"),
                (["--shape", "1x2x3x4/5/6"], "--shape: '1x2x3x4/5/6' is not BxHxSxD"),
                (["--shape", "1x1x8x8,1x3/2x4x4"], "--shape: '1x3/2x4x4': 3 query heads are no "
                 "multiple of 2 KV heads"),
                (["--shape", "1x1x1/9999999999x9999"], "is larger than any memory"),
                (["--shape", "1x1x4294967296/1x1", "--mask", "window:1,1"],
                 "--shape: 1x1x4294967296/1x1 has an axis longer than 2147483647"),
                (["--mask", "causl"], "--mask: 'causl' is not one of plain, causal, bottom_right, "
                 "window:LEFT,RIGHT; did you mean causal?"),
                (["--mask", "plain,"], "--mask: '' is not one of"),
                (["--mask", "window:3"], "--mask: 'window:3' is not window:LEFT,RIGHT"),
                (["--mask", "window:3,4,5"], "--mask: 'window:3,4,5' is not window:LEFT,RIGHT"),
                (["--mask", "window:-2,0"], "--mask: 'window:-2,0' is not window:LEFT,RIGHT"),
                (["--mask", "3,0"], "--mask: '3' is not one of"),
                (["--mask", "plain", "surplus"], "'surplus' is neither 'options' nor 'decode'"),
                (["--dtype", "f23"], "--dtype: 'f23' is not one of f32, f64, f16, bf16"),
                (["--threads", "1,2000"], "--threads: 2000 is not in [0, 1024]"),
                (["--threads", "1,"], "--threads: '' is not a whole number"),
                (["--repeats", "0"], "--repeats: 0 is not in [1"),
                (["--runs", "0"], "--runs: 0 is not in [1"),
                (["--json", "absent/x.json"], "--json: absent/x.json: cannot be written"),
                (["--shape"], "--shape: its value is missing; it takes BxHxSxD,..."),
                (["optoins"], "'optoins' is neither 'options' nor 'decode', the other tables; "
                 "did you mean options?"),
                (["--kv", "int8"], "--kv: it belongs to 'bench decode'"),
                (["options", "--keys", "9"], "--keys: it belongs to 'bench decode'"),
                (["options", "--dtype", "f32"], "--dtype: 'bench options' is f32"),
                (["options", "--mask", "plain"], "--mask: 'bench options' has masks"),
                (["options", "--runs", "2"], "--runs: 'bench options' makes one run"),
                (["options", "--compare", "x"], "--compare: it belongs to 'bench' without"),
                (["options", "--threads", "1,2"], "takes one --shape and one --threads"),
                (["options", "--shape", "1x2/1x8x8"], "--shape: '1x2/1x8x8'")]:
            self.assertIn(said, self.regard("bench", *words, code=2))
        self.assertEqual(os.listdir(self.folder), [])


if __name__ == "__main__":
    unittest.main()
