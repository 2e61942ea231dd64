#!/usr/bin/env python3
"""Decode beside PyTorch: one row of each query head over cached keys, `regard_decode` over a
contiguous KvCache and scaled_dot_product_attention over tensors of the same numbers, in turns."""
import argparse
import pathlib
import sys

import compare

GIGA = 1e9
LAYERS_BEHIND = 4  # from RAM, layers of so many times the last-level cache lie between two uses


def parsed() -> argparse.Namespace:
    """The flags."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--heads", type=int, default=32)
    parser.add_argument("--kv-heads", type=int, default=8)
    parser.add_argument("--keys", type=int, default=8192)
    parser.add_argument("--head-size", type=int, default=128)
    parser.add_argument("--dtype", nargs="+", choices=("f32", "bf16"), default=["f32", "bf16"])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--repeats", type=int, default=10)
    options = parser.parse_args()
    if options.keys % 16:
        parser.error("--keys: a contiguous cache is a page of a multiple of 16")
    return options


def last_level() -> int:
    """Bytes of the largest cache as the system gives them, else 32 MiB."""
    sizes = pathlib.Path("/sys/devices/system/cpu/cpu0/cache").glob("index*/size")
    return max((int(size.read_text().rstrip("K\n")) << 10 for size in sizes), default=32 << 20)


def layer_count(layer_bytes: int, from_ram: bool) -> int:
    """Layers of each library."""
    return 1 - -LAYERS_BEHIND * last_level() // layer_bytes if from_ram else 1


def measure(options: argparse.Namespace, dtype: str, from_ram: bool) -> bool:
    """Prints a row for each way to call; false where an answer is wrong."""
    import numpy as np
    import cached
    import reference
    from measure import Times, seconds_of
    from problem import Case, Problem, normal_problem

    case = Case(1, options.heads, options.kv_heads, options.keys, options.head_size, dtype)
    whole = normal_problem(case, options.threads)
    problem = Problem(case, np.ascontiguousarray(whole.q[:, :, :1]), whole.k, whole.v,
                      options.threads)
    layer_bytes = problem.k.nbytes + problem.v.nbytes
    layers = layer_count(layer_bytes, from_ram)
    calls = [cached.Regard(problem, layers), *cached.pytorch(problem, layers)]
    expected = [reference.reference_row(problem, 0, h, 0) for h in range(options.heads)]
    for call in calls:
        answer = call.answer(0)
        error = max(np.abs(answer[h] - out).max() / bound.max()
                    for h, (out, bound) in enumerate(expected))
        if not error <= 1:
            print(f"{call.name}: WRONG, an error of {error:.3g} times its bound")
            return False
    seconds = [[] for _ in calls]
    for turn in range(options.repeats):
        for times, call in zip(seconds, calls):
            if not from_ram:
                call.run(0)
            times.append(seconds_of(lambda: call.run(turn % layers)))
    ours = min(seconds[0])
    for times, call in zip(map(Times.of, seconds), calls):
        print(f"{dtype:<6}{'ram' if from_ram else 'one layer':<11}{call.name:<28}"
              f"{1000 * times.best:8.3f} ms{100 * (times.worst / times.best - 1):6.0f}%"
              f"{layer_bytes / times.best / GIGA:7.1f} GB/s{times.best / ours:7.2f}", flush=True)
    return True


def main() -> int:
    """The exit code."""
    options = parsed()
    compare.settle_threads(options.threads)
    print(f"{options.heads}/{options.kv_heads} heads, {options.keys} keys, head size "
          f"{options.head_size}, {options.threads} thread(s): least time, spread, K and V per "
          "second, times of regard")
    right = [measure(options, dtype, from_ram) for dtype in options.dtype
             for from_ram in (False, True)]
    return 0 if all(right) else 1


if __name__ == "__main__":
    sys.exit(main())
