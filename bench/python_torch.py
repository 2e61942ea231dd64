#!/usr/bin/env python3
"""regard.torch beside torch's own scaled_dot_product_attention, eager calls from Python.

    python bench/python_torch.py            # one thread, f32 and bf16, as a table
    python bench/python_torch.py --quick    # the first ten shapes alone

Both see the same tensors in inference mode. Answers are compared before anything is timed. The two
are called in turns, and the least time of each counts. Exit code 1: an answer differs, the
smallest call takes more than 8 us, or torch was quicker from 1x8x64x64 up."""
import argparse
import gc
import sys
import time
from collections.abc import Callable

import torch
from torch.nn.functional import scaled_dot_product_attention as torch_attention

import regard
from regard.torch import scaled_dot_product_attention

SMALLEST = (1, 1, 16, 16, 32, False)
MOST_SMALLEST_US = 8.0
# Batch, heads, L, S, head size, causal; all but the first at least as large as 1x8x64x64.
SHAPES = (
    SMALLEST,
    (1, 8, 64, 64, 64, False), (1, 8, 64, 64, 64, True), (2, 8, 64, 64, 64, False),
    (1, 8, 65, 65, 64, False), (1, 8, 64, 64, 128, False), (1, 8, 64, 64, 80, True),
    (1, 8, 100, 100, 64, False), (8, 12, 43, 43, 32, False), (1, 8, 128, 128, 64, False),
    (1, 8, 128, 128, 64, True), (4, 8, 128, 128, 64, True), (1, 16, 128, 128, 96, False),
    (1, 8, 1, 1024, 64, False), (1, 8, 1, 4096, 128, False), (1, 8, 4, 1024, 64, False),
    (8, 8, 1, 512, 64, False), (1, 8, 16, 512, 64, False), (1, 8, 64, 512, 64, False),
    (1, 8, 512, 64, 64, False), (1, 8, 256, 256, 64, False), (1, 8, 256, 256, 64, True),
    (1, 12, 197, 197, 64, False), (2, 12, 256, 256, 32, False), (1, 8, 257, 257, 40, True),
    (1, 8, 512, 512, 64, False), (1, 8, 512, 512, 64, True), (1, 8, 512, 512, 128, True),
    (1, 8, 1024, 1024, 64, False), (1, 8, 1024, 1024, 64, True), (1, 4, 1024, 1024, 128, True),
)
# Two right answers, each within its own rounding: of sums in f32, of weights and result in bf16.
TOLERANCE = {torch.float32: 2e-5, torch.bfloat16: 2.0 ** -6}
SECONDS = 0.35  # for each shape and type, both together
LEAST_ROUNDS = 7
LEAST_TIMED = 50e-6  # shorter calls are timed several in a row


def seconds_of(call: Callable[[], torch.Tensor], count: int) -> float:
    """Of one of `count` calls in a row."""
    start = time.perf_counter()
    for _ in range(count):
        call()
    return (time.perf_counter() - start) / count


def least_times(calls: tuple[Callable[[], torch.Tensor], ...]) -> list[float]:
    """The least time of each, in turns."""
    first = [min(seconds_of(call, 1) for _ in range(3)) for call in calls]
    count = max(1, round(LEAST_TIMED / min(first)))
    best = first
    end, rounds = time.perf_counter() + SECONDS, 0
    gc.disable()
    while rounds < LEAST_ROUNDS or time.perf_counter() < end:
        best = [min(old, seconds_of(call, count)) for old, call in zip(best, calls)]
        rounds += 1
    gc.enable()
    return best


def measure(shape: tuple[int, int, int, int, int, bool], dtype: torch.dtype) -> list[float] | None:
    """Least seconds of regard and of torch; None where the answers differ."""
    batch, heads, rows, keys, d, causal = shape
    generator = torch.Generator().manual_seed(1)
    q, k, v = (torch.randn(batch, heads, s, d, generator=generator).to(dtype)
               for s in (rows, keys, keys))
    calls = (lambda: scaled_dot_product_attention(q, k, v, is_causal=causal),
             lambda: torch_attention(q, k, v, is_causal=causal))
    ours, theirs = (call().float() for call in calls)
    if not torch.allclose(ours, theirs, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype]):
        return None
    return least_times(calls)


def main() -> int:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="the first ten shapes alone")
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    torch.inference_mode().__enter__()
    print(f"{regard.info().cpu}, threads: {options.threads}, PyTorch "
          f"{torch.__version__.split('+')[0]}, regard {regard.__version__}\n")
    print("| shape | f32: regard, us | torch, us | torch / regard "
          "| bf16: regard, us | torch, us | torch / regard |\n|---|---|---|---|---|---|---|")
    failed = False
    for shape in SHAPES[:10] if options.quick else SHAPES:
        batch, heads, rows, keys, d, causal = shape
        length = f"{rows}" if rows == keys else f"{rows}:{keys}"
        cells = [f"{batch}x{heads}x{length}x{d}" + (" causal" if causal else "")]
        for dtype in (torch.float32, torch.bfloat16):
            times = measure(shape, dtype)
            if times is None:
                cells += ["wrong", "", ""]
                failed = True
                continue
            ours, theirs = (1e6 * t for t in times)
            failed |= ours > MOST_SMALLEST_US if shape == SMALLEST else ours > theirs
            cells += [f"{ours:.1f}", f"{theirs:.1f}", f"{theirs / ours:.2f}"]
        print("| " + " | ".join(cells) + " |", flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
