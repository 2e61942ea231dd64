"""The C++ that README.md shows is the C++ of the example that is built and run."""
import os
import re
import unittest

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")


def read(*path):
    with open(os.path.join(ROOT, *path), encoding="utf-8") as file:
        return file.read()


class Readme(unittest.TestCase):
    def test_every_line_of_cpp_stands_in_the_example(self):
        blocks = re.findall(r"(?ms)^```cpp\n(.*?)^```$", read("README.md"))
        self.assertEqual(len(blocks), 1)
        example = read("examples", "cpp", "attention.cpp")
        for line in blocks[0].splitlines():
            self.assertIn(line, example.splitlines())
        self.assertIn(blocks[0], example)


if __name__ == "__main__":
    unittest.main()
