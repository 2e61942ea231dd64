"""The C that docs/how-to/use-from-c.md shows is the C of the example that is built and run."""
import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


class UseFromC(unittest.TestCase):
    def test_every_block_of_c_stands_in_the_example(self):
        document = (ROOT / "docs/how-to/use-from-c.md").read_text(encoding="utf-8")
        example = (ROOT / "examples/c/attention.c").read_text(encoding="utf-8")
        blocks = re.findall(r"(?ms)^```c\n(.*?)^```$", document)
        self.assertGreaterEqual(len(blocks), 2)
        for block in blocks:
            self.assertIn(block, example)


if __name__ == "__main__":
    unittest.main()
