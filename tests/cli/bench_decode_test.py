"""`regard bench decode`: its grid, what it counts, its table, mistakes."""
import itertools
import json
import unittest

import support

# Bytes of a row of 64 elements, scales included: docs/kv-cache.md.
ROW_BYTES = {"f32": 256, "f16": 128, "bf16": 128, "fp8_e4m3": 64, "fp8_e5m2": 64, "int8": 68,
             "int8_32": 68, "int4_32": 36, "q8_0": 68, "q4_0": 36}
SMALL = ["--memory", "cache", "--kv-heads", "2", "--keys", "100", "--head-size", "64",
         "--repeats", "2"]


class Decode(support.Case):
    def bench(self, *words):
        return json.loads(self.regard("bench", "decode", *SMALL, *words, "--json", "-"))["rows"]

    def test_rows_are_all_combinations(self):
        rows = self.bench("--kv", "f16,int8", "--kv", "q4_0", "--rows", "1,3", "--threads", "1,2",
                          "--page-tokens", "contiguous,16")
        self.assertEqual([(r["threads"], r["page_tokens"], r["kv"], r["rows"]) for r in rows],
                         list(itertools.product([1, 2], [0, 16], ["f16", "int8", "q4_0"], [1, 3])))

    def test_every_type_is_right_and_counts_its_bytes(self):
        rows = self.bench("--kv", ",".join(ROW_BYTES), "--page-tokens", "16")
        for row in rows:
            self.assertTrue(row["right"], row)
            self.assertLess(row["worst_units"], 1)
            self.assertEqual(row["bytes"], 2 * 2 * 100 * ROW_BYTES[row["kv"]])
            self.assertAlmostEqual(row["gigabytes_per_second"] * 1e9 * row["least_seconds"],
                                   row["bytes"], delta=1e-6 * row["bytes"])
            self.assertAlmostEqual(row["share"], row["read_least_seconds"] / row["least_seconds"])
            self.assertAlmostEqual(row["spread"],
                                   row["worst_seconds"] / row["least_seconds"] - 1)
            self.assertLessEqual(row["least_seconds"], row["median_seconds"])
            self.assertLessEqual(row["median_seconds"], row["worst_seconds"])
        self.assertEqual([row["kv"] for row in rows], list(ROW_BYTES))

    def test_k_and_v_may_differ(self):
        row, = self.bench("--kv", "f16/q4_0")
        self.assertEqual((row["kv"], row["bytes"]), ("f16/q4_0", 2 * 100 * (128 + 36)))
        self.assertTrue(row["right"], row)

    def test_queries_of_every_type(self):
        types = ["--kv", "f32,bf16", "--q-dtype", "f32,f16,bf16", "--rows", "2"]
        words = ["--kv-heads", "2", "--keys", "90", "--prefix", "64", "--sequences", "2",
                 "--repeats", "2", *types]
        shared = json.loads(self.regard("bench", "decode", *words, "--json", "-"))["rows"]
        for rows in [self.bench(*types), shared]:
            self.assertEqual([(row["kv"], row["q_dtype"]) for row in rows],
                             list(itertools.product(["f32", "bf16"], ["f32", "f16", "bf16"])))
            for row in rows:
                self.assertTrue(row["right"], row)

    def test_layers_from_ram_are_more_than_four_times_the_last_cache(self):
        row, = self.bench("--memory", "ram", "--keys", "2048")[1:]
        self.assertEqual(row["memory"], "ram")
        self.assertGreaterEqual((row["layers"] - 1) * row["bytes"], 4 << 20)
        self.assertEqual(self.bench()[0]["layers"], 1)

    def test_a_prefix_is_shared(self):
        words = ["--kv-heads", "2", "--keys", "150", "--head-size", "64", "--prefix", "100",
                 "--sequences", "3", "--rows", "1,4", "--repeats", "2"]
        rows = json.loads(self.regard("bench", "decode", *words, "--json", "-"))["rows"]
        self.assertEqual([(r["rows"], r["prefix"], r["sequences"], r["page_tokens"])
                          for r in rows], [(1, 100, 3, 64), (4, 100, 3, 64)])
        for row in rows:
            self.assertTrue(row["right"], row)
            self.assertAlmostEqual(row["gain"],
                                   row["apart_least_seconds"] / row["least_seconds"])

    def test_table_shows_what_the_json_holds(self):
        lines = self.regard("bench", "decode", *SMALL, "--kv", "f32,bf16", "--json",
                            "x.json").splitlines()
        with open(self.path("x.json")) as file:
            rows = json.load(file)["rows"]
        self.assertEqual(lines[2].split(), ["kv", "q", "rows", "page", "threads", "memory", "least",
                                            "spread", "GB/s", "read", "share"])
        self.assertEqual(len(lines), 3 + len(rows))
        for line, row in zip(lines[3:], rows):
            words = line.split()
            self.assertEqual(words[:6], [row["kv"], "f32", "1", "contiguous", "1",
                                         "cache"])
            self.assertEqual(words[-3:], [f"{row['gigabytes_per_second']:.1f}",
                                          f"{row['read_gigabytes_per_second']:.1f}",
                                          f"{100 * row['share']:.1f}%"])

    def test_its_help_is_a_page_of_its_own(self):
        own, other = self.regard("bench", "decode", "--help"), self.regard("bench", "--help")
        self.assertEqual(own, self.regard("help", "bench", "decode"))
        for flag in ["--kv ", "--rows ", "--prefix ", "--repeats ", "--threads ", "--json "]:
            self.assertIn(flag, own)
        for kv_type in ROW_BYTES:
            self.assertRegex(own, rf"\b{kv_type}\b")
        for flag in ["--shape ", "--mask ", "--dtype ", "--runs ", "--compare "]:
            self.assertNotIn(flag, own)
            self.assertIn(flag, other)
        self.assertNotIn("--kv ", other)
        self.assertIn("'regard bench decode --help' has its flags", other)
        self.assertLess(max(map(len, own.splitlines())), 101)

    def test_mistakes(self):
        for words, said in [
                (["--kv", "int9"], "--kv: 'int9' is not one of f32, f16"),
                (["--kv", "f16/int9"], "--kv: 'int9' is not one of f32, f16"),
                (["--kv", "f16/f16/f16"], "--kv: 'f16/f16/f16' is 3 types"),
                (["--q-dtype", "f64"], "--q-dtype: 'f64' is not one of f32, f16, bf16"),
                (["--rows", "0"], "--rows: 0 is below 1"),
                (["--keys", "0"], "--keys: 0 is below 1"),
                (["--keys", str(2**62)], "--keys: 4611686018427387904 is more than 2147483647"),
                (["--head-size", str(2**61)],
                 "--head-size: 2305843009213693952 is more than 2147483647"),
                (["--kv-heads", str(2**62)], "--kv-heads: 4611686018427387904 is more than"),
                (["--rows", str(2**62)], "--rows: 4611686018427387904 is more than 2147483647"),
                (["--keys", str(2**31 - 1), "--head-size", str(2**31 - 1)],
                 "--keys: 2147483647 of 1.374e+11 bytes each take more than 7.206e+16"),
                (["--rows", str(2**31 - 1), "--head-size", str(2**28)],
                 "--rows: 2147483647 of 8.59e+09 bytes each take more than 7.206e+16"),
                (["--page-tokens", "17"], "page_tokens: 17"),
                (["--page-tokens", "0"], "--page-tokens: 0 is below 1"),
                (["--memory", "disk"], "--memory: 'disk' is not one of ram, cache"),
                (["--kv", "q8_0", "--head-size", "40"], "head_size"),
                (["--sequences", "2"], "--sequences: it belongs to --prefix"),
                (["--prefix", "9", "--keys", "9"], "--prefix: 9 is not below the 9 of --keys"),
                (["--shape", "1x1x8x8"], "--shape: 'bench decode' has flags of its own")]:
            self.assertIn(said, self.regard("bench", "decode", *words, code=2))


if __name__ == "__main__":
    unittest.main()
