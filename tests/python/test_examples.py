"""Every Python example runs and prints what it is about."""

from __future__ import annotations

import pathlib
import subprocess
import sys

import pytest

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples" / "python"

PRINTS = {
    "numpy_five_lines.py": ["(1, 8, 256, 64)", "float32", "PASS  2048 of 2048 rows checked"],
    "check_my_kernel.py": ["PASS  160 of 160", "FAIL  160 of 160",
                           "matches with causal=top_left: "],
    "streaming_statistics.py": ["4096 tokens in", "row  4095: entropy", "most read: token"],
}


@pytest.mark.parametrize("name", PRINTS)
def test_example(name):
    run = subprocess.run([sys.executable, EXAMPLES / name], capture_output=True, text=True,
                         timeout=300, check=False)
    assert run.returncode == 0, run.stderr
    for words in PRINTS[name]:
        assert words in run.stdout


def test_five_lines_are_five():
    text = (EXAMPLES / "numpy_five_lines.py").read_text().splitlines()
    assert len([line for line in text if line and not line.startswith('"""')]) == 5
