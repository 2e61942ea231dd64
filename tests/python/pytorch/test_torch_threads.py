"""Calls on tensors run on PyTorch's own threads."""
import os
import subprocess
import sys

import pytest
import regard
import torch

SETUP = """
import os, signal, regard, torch
torch.set_num_threads(2)
torch.ones(2000, 2000) @ torch.ones(2000, 2000)  # starts PyTorch's threads
q, k, v = torch.randn(3, 1, 8, 1024, 64)
def threads():
    return len(os.listdir("/proc/self/task"))
"""


def run(program: str) -> str:
    """What a program of its own prints after SETUP."""
    return subprocess.run([sys.executable, "-c", SETUP + program], capture_output=True, text=True,
                          check=True, timeout=100).stdout


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one CPU: no call takes two threads")
def test_no_threads_beside_torchs() -> None:
    """A second pool would compete for the cores with PyTorch's waiting threads."""
    program = """
before = threads()
assert regard.explain(q, k, v).threads == 2
tensors = regard.attention(q, k, v)
print(threads() - before)
arrays = regard.attention(q.numpy(), k.numpy(), v.numpy())
print(threads() - before, bool((tensors.numpy() == arrays).all()))
"""
    assert run(program) == "0\n1 True\n"


def test_a_forked_child_has_threads_of_its_own() -> None:
    """OpenMP runtimes do not survive fork: a child that waits for their threads never ends."""
    program = """
first = regard.attention(q, k, v).numpy()
child = os.fork()
if child == 0:
    signal.alarm(60)
    os._exit(0 if bool((regard.attention(q, k, v).numpy() == first).all()) else 1)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    assert run(program) == "0\n"


def test_as_many_as_torch_has() -> None:
    before = torch.get_num_threads()
    q = torch.zeros(1, 8, 1024, 64)
    try:
        torch.set_num_threads(1)
        assert regard.explain(q, q, q).threads == 1
        assert regard.explain(q, q, q, threads=2).threads == min(2, len(os.sched_getaffinity(0)))
    finally:
        torch.set_num_threads(before)
