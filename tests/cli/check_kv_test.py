"""`regard check --kv`: what storing K and V in fewer bits does, beside the definition in Python."""
import json
import math
import os
import re
import unittest

import support
from support import Array, attention

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
HEADS, KV_HEADS, ROWS, KEYS, D, DV = 4, 2, 5, 20, 32, 64
REPORTED = ("out_error", "logit_shift", "entropy_change", "weight_moved")


def entropy(weights):
    return -sum(p * math.log(p) for p in weights if p > 0)


class CheckKv(support.Case):
    def setUp(self):
        super().setUp()
        self.arrays = {"q": Array.normal(1, (HEADS, ROWS, D)),
                       "k": Array.normal(2, (KV_HEADS, KEYS, D)),
                       "v": Array.normal(3, (KV_HEADS, KEYS, DV))}
        support.write_npz(self.path("qkv.npz"), **self.arrays)

    def report(self, *words, code=0):
        return self.regard("check", "qkv.npz", *words, code=code)

    def reports(self, *words):
        return json.loads(self.report("--json", *words))["reports"]

    def expected(self, dtype):
        """The four numbers of every row, with K and V rounded to a half type."""
        # The file holds f32 numbers, and those are rounded.
        exact = {n: support.parse_npy(a.npy()) for n, a in self.arrays.items()}
        stored = {**exact, **{n: exact[n].rounded(dtype) for n in "kv"}}
        scored = {**exact, "k": Array((KV_HEADS, KEYS, D), [
            s - e for s, e in zip(stored["k"].values, exact["k"].values)])}
        offset = KEYS - ROWS
        (out, _, p), (out2, _, p2) = attention(**exact, offset=offset), attention(**stored,
                                                                                   offset=offset)
        for h in range(HEADS):
            for i in range(ROWS):
                row = h * ROWS + i
                o, o2 = (a.values[row * DV:][:DV] for a in (out, out2))
                w, w2 = (a.values[row * KEYS:][:KEYS] for a in (p, p2))
                query = scored["q"].values[row * D:][:D]
                shifts = []
                for j in range(i + offset + 1):
                    key = scored["k"].values[(h * KV_HEADS // HEADS * KEYS + j) * D:][:D]
                    shifts.append(abs(sum(a * b for a, b in zip(query, key)) / math.sqrt(D)))
                yield (h, i), (math.dist(o, o2) / math.hypot(*o), max(shifts),
                               entropy(w2) - entropy(w),
                               sum(abs(a - b) for a, b in zip(w, w2)) / 2)

    def test_every_row_follows_the_definition(self):
        for name, dtype in (("f16", "f2"), ("bf16", "V2")):
            words = ("--kv", name, "--causal", "bottom_right", "--worst", "100")
            found, = self.reports(*words)
            self.assertEqual((found["k_type"], found["v_type"]), (name, name))
            self.assertEqual(found["bytes"], 2 * (D + DV))
            rows = {(r["h"], r["i"]): r for r in found["worst_rows"]}
            self.assertEqual(len(rows), HEADS * ROWS)
            errors = [r["out_error"] for r in found["worst_rows"]]
            self.assertEqual(errors, sorted(errors, reverse=True))
            for place, numbers in self.expected(dtype):
                self.assertEqual(rows[place]["visible"], place[1] + KEYS - ROWS + 1)
                for key, number in zip(REPORTED, numbers):
                    self.assertAlmostEqual(rows[place][key], number, delta=1e-12)

    def test_heads_and_all(self):
        found, = self.reports("--kv", "q4_0", "--worst", "100")
        self.assertEqual([h["h"] for h in found["heads"]], list(range(HEADS)))
        for summary in (*found["heads"], found["all"]):
            rows = [r for r in found["worst_rows"] if summary["h"] in (-1, r["h"])]
            self.assertEqual(summary["rows"], len(rows))
            squares = sum(r["out_error"] ** 2 for r in rows)
            self.assertAlmostEqual(summary["rms_out_error"], math.sqrt(squares / len(rows)))
            for key in REPORTED:
                worst = max(rows, key=lambda r, key=key: abs(r[key]))
                self.assertEqual(summary[key], {"value": worst[key],
                                                **{x: worst[x] for x in "bhi"}})

    def test_a_table_of_one_type(self):
        lines = self.report("--kv", "int8", "--worst", "2").splitlines()
        self.assertEqual(lines[0], "K int8, V int8: 104 bytes a token and KV head, as given 384")
        self.assertEqual(lines[3].split()[:4], ["b", "h", "rows", "rms"])
        found, = self.reports("--kv", "int8")
        for h, line in enumerate(lines[4:4 + HEADS]):
            head = found["heads"][h]
            words = line.split()
            self.assertEqual(words[:3], ["0", str(h), str(ROWS)])
            self.assertEqual(words[3], f"{head['rms_out_error']:.3g}")
            self.assertEqual(words[4:6], [f"{head['out_error']['value']:.3g}",
                                          str(head["out_error"]["i"])])
        self.assertTrue(lines[4 + HEADS].startswith(" all"))
        self.assertEqual(lines[6 + HEADS], "worst rows")
        self.assertEqual(len(lines), 10 + HEADS)

    def test_a_table_of_several(self):
        lines = self.report("--kv", "f32,int8", "--kv", "int8/q4_0").splitlines()
        rows = [line.split() for line in lines[4:]]
        self.assertEqual([row[:3] for row in rows], [["f32", "f32", "384"], ["int8", "int8", "104"],
                                                     ["int8", "q4_0", "72"]])
        self.assertEqual(rows[0][3:], ["0"] * 6)
        self.assertEqual(rows[1][5:], rows[2][5:])  # weights depend on K alone
        self.assertLess(float(rows[1][3]), float(rows[2][3]))
        self.assertEqual(len(self.reports("--kv", "f32,int8")), 2)

    def test_the_table_of_the_documentation(self):
        with open(os.path.join(ROOT, "docs", "kv-cache.md"), encoding="utf-8") as file:
            page = file.read().partition("## What a type costs in accuracy")[2]
        table = re.findall(r"(?m)^\| `(\w+)` \| `(\w+)` \| (\d+) \| (.*) \|$", page)
        self.assertGreater(len(table), 10)
        types = ",".join(f"{k}/{v}" for k, v, *_ in table)
        layers = [json.loads(self.regard("check", os.path.join(ROOT, "data", name), "--kv", types,
                                         "--json"))["reports"]
                  for name in ("minilm_layer0.npz", "minilm_layer4.npz")]
        for (k, v, size, cells), *reports in zip(table, *layers, strict=True):
            self.assertEqual([str(report["bytes"]) for report in reports], [size] * 2)
            sums = [report["all"] for report in reports]
            rows = [[all_["rms_out_error"] for all_ in sums],
                    *([all_[key]["value"] for all_ in sums] for key in REPORTED)]
            shown = [[float(x) for x in cell.split(" / ")] for cell in cells.split(" | ")]
            # Columns stand in the order of the numbers, each to two digits.
            for pair, numbers in zip(shown, rows, strict=True):
                for text, number in zip(pair, numbers, strict=True):
                    self.assertAlmostEqual(text, number, delta=0.051 * abs(number), msg=f"{k} {v}")

    def test_a_sample(self):
        found, = self.reports("--kv", "int8", "--rows", "7", "--seed", "3", "--worst", "100")
        self.assertEqual(found["all"]["rows"], 7)
        self.assertEqual([found], self.reports("--kv", "int8", "--rows", "7", "--seed", "3",
                                               "--worst", "100"))

    def test_rows_that_are_left_out(self):
        text = self.report("--kv", "int8", "--causal", "top_left", "--q-offset", "-2")
        self.assertIn(f"{2 * HEADS} rows see no key and are left out", text)
        self.arrays["v"].values[0] = math.nan
        support.write_npz(self.path("qkv.npz"), **self.arrays)
        text = self.report("--kv", "int8")
        self.assertIn(f"{2 * ROWS} rows are not finite before storing and are left out", text)
        self.arrays["v"].values[0] = 1e6
        support.write_npz(self.path("qkv.npz"), **self.arrays)
        found, = self.reports("--kv", "f16")
        self.assertEqual(found["all"]["out_error"]["value"], "inf")

    def test_what_is_refused(self):
        for words, sentence in [
                (["--kv", "int9"], "--kv: 'int9' is not one of f32, f16, bf16, fp8_e4m3, fp8_e5m2, "
                 "int8, int8_32, int4_32, q8_0, q4_0; did you mean int8?"),
                (["--kv", "f32/f32/f32"], "--kv: 'f32/f32/f32' is 3 types; give one, or that of K "
                 "and that of V"),
                (["--kv", "int8,"], "--kv: '' is not one of "),
                (["--kv", "int8", "--lse", "lse.npy"], "--kv: given beside a result to judge"),
                (["--kv", "int8", "--rows", "-1"], "rows: -1 is below 0"),
                (["--kv", "int8", "--worst", "-1"], "--worst: -1 is below 0"),
                ([], "--out: missing; it names the result to judge (--kv TYPE needs none)")]:
            self.assertIn(sentence, self.report(*words, code=2))
        narrow = {n: Array.normal(1, (2, 3, 8)) for n in "qkv"}
        support.write_npz(self.path("qkv.npz"), **narrow)
        self.assertIn("k_head_size: 8 is not a multiple of 32, the block of int4_32",
                      self.report("--kv", "int4_32", code=2))


if __name__ == "__main__":
    unittest.main()
