"""A call takes the threads it says."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

PROGRAM = """
import os
import numpy as np
import regard

q = np.ones((4, 512, 32), np.float32)
before = len(os.listdir("/proc/self/task"))
regard.attention(q, q, q, threads=1)
alone = len(os.listdir("/proc/self/task"))
regard.attention(q, q, q)
print(alone - before, len(os.listdir("/proc/self/task")) - before)
"""


@pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="counts threads in /proc")
def test_threads_are_made_when_a_call_needs_them() -> None:
    settings = {**os.environ, "OMP_NUM_THREADS": "3", "OPENBLAS_NUM_THREADS": "1"}
    made = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=settings, check=True, capture_output=True, text=True
    ).stdout
    assert made.split() == ["0", "2"]
