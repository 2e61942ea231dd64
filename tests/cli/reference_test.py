"""The examples, grids and sentences of docs/reference.md, run; its C++ and its names, compared."""
import math
import os
import re
import unittest

import support
from support import Array, read_npz, write_npy

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
OUTPUTS = {"out": [], "lse": ["--return-lse"], "weights": ["--return-weights"],
           "entropy": ["--stats"], "top_weights": ["--stats"], "top_keys": ["--stats"],
           "key_mass": ["--stats"]}


def read(*path):
    with open(os.path.join(ROOT, *path), encoding="utf-8") as file:
        return file.read()


PAGE = read("docs", "reference.md")


def blocks(kind):
    return re.findall(rf"(?ms)^```{kind}\n(.*?)^```$", PAGE)


def number(text):
    return math.log(int(text[2:])) if text.startswith("ln") else float(text)


def array_of(text, dtype="f8"):
    """"1 0|0 1" as an Array: of rank 1 where there is one row."""
    rows = [[number(x) for x in row.split()] for row in text.split("|")]
    shape = [len(rows), len(rows[0])] if len(rows) > 1 else [len(rows[0])]
    values = [x for row in rows for x in row]
    return Array(shape, map(bool, values) if dtype == "b1" else values, dtype)


class Reference(support.Case):
    def write_inputs(self, sq, skv):
        write_npy(self.path("q.npy"), Array((sq, 1), [1] * sq, "f8"))
        write_npy(self.path("k.npy"), Array((skv, 1), [math.log(j + 1) for j in range(skv)], "f8"))
        write_npy(self.path("v.npy"), Array((skv, 1), [6 * (j + 1) for j in range(skv)], "f8"))

    def write_file(self, name, text):
        write_npy(self.path(name), array_of(text, "b1" if name.startswith("mask") else "f8"))

    def run_call(self, words, code=0):
        return self.regard("run", "q.npy", "k.npy", "v.npy", "-o", "out.npz", *words, code=code)

    def parse(self, block):
        """Files are written; words of the command line and the other lines are left."""
        words, rest = [], []
        for line in block.splitlines():
            name, is_file, text = line.partition(".npy = ")
            if is_file:
                self.write_file(name + ".npy", text)
            elif line.startswith("--"):
                words += line.split()
            else:
                rest.append(line)
        return words, rest

    def expect_shown(self, shown, actual, where):
        """Every digit that the page shows is right."""
        shown = shown.replace("|", " ").split()
        self.assertEqual(len(shown), len(actual.values), where)
        for text, value in zip(shown, actual.values):
            if math.isinf(value):
                self.assertEqual(float(text), value, where)
                continue
            digits = len(text.partition(".")[2])
            self.assertAlmostEqual(float(text), value, delta=0.5 * 10 ** -digits + 1e-12,
                                   msg=where)

    def test_examples(self):
        self.assertGreater(len(blocks("example")), 12)
        for block in blocks("example"):
            self.write_inputs(3, 3)
            words, lines = self.parse(block)
            results = dict(line.split(None, 1) for line in lines)
            extra = {word for name in results for word in OUTPUTS[name]}
            self.run_call([*words, *extra])
            arrays = read_npz(self.path("out.npz"))
            for name, shown in results.items():
                self.expect_shown(shown, arrays[name], block)

    def test_sentences_of_errors(self):
        self.assertGreater(len(blocks("error")), 6)
        for block in blocks("error"):
            self.write_inputs(3, 3)
            words, (sentence,) = self.parse(block)
            if "--rows" in words:
                words.append("--return-weights")
            self.assertEqual(self.run_call(words, code=2), f"regard run: {sentence}\n")

    def seen(self, caption, sq, skv):
        """The grid of a caption, whose masks stand where their file would."""
        words = []
        for name, value in re.findall(r"(--[a-z-]+) ((?:[^-]|-\d)+)", caption):
            if name == "--mask":
                self.write_file("mask.npy", value.strip())
                value = "mask.npy"
            words += [name, value.strip()]
        self.run_call([*words, "--return-weights"])
        weights = read_npz(self.path("out.npz"))["weights"].values
        return [" ".join("x" if x > 0 else "." for x in weights[i * skv:(i + 1) * skv])
                for i in range(sq)]

    def test_grids(self):
        count = 0
        for block in blocks("grid"):
            size, captions, *lines = block.splitlines()
            sq, skv = map(int, re.fullmatch(r"Sq (\d+), Skv (\d+)", size).groups())
            self.write_inputs(sq, skv)
            columns = zip(*(re.split(r" {2,}", line) for line in lines))
            for caption, column in zip(re.split(r" {2,}", captions), columns, strict=True):
                self.assertEqual(self.seen(caption, sq, skv), list(column), caption)
                count += 1
        self.assertGreater(count, 12)


class Names(unittest.TestCase):
    def test_cpp_stands_in_a_test_that_is_run(self):
        code = read("tests", "api", "reference_test.cpp")
        self.assertEqual(len(blocks("cpp")), 4)
        for block in blocks("cpp"):
            self.assertIn(block, code)

    def test_every_name_of_c_is_declared(self):
        header = "".join(read("include", "regard", file) for file in ("regard.h", "regard_kv.h"))
        for name in set(re.findall(r"\b(?:regard|REGARD)_[A-Za-z0-9_]+", PAGE)):
            self.assertRegex(header, rf"\b{name}\b")
        for name in re.findall(r"regard_options_set_\w+", header):
            self.assertIn(f"{name}(", PAGE)

    def test_every_option_and_output_is_here(self):
        for file, struct in [("options.h", "Options"), ("attention.h", "Outputs")]:
            body = re.search(rf"(?ms)^struct {struct} {{$(.*?)^}};$",
                             read("include", "regard", file)).group(1)
            body = re.sub(r"//.*", "", body)
            names = re.findall(r"(\w+)(?: = [\w:]+|{})?;", body)
            self.assertGreater(len(names), 6)
            for name in names:
                self.assertRegex(PAGE, rf"(?m)^#+ .*\b{name}\b|`{name}`", name)


if __name__ == "__main__":
    unittest.main()
