#!/usr/bin/env python3
"""Attention of other libraries beside regard: in one process, in turns, answers checked first.

Without flags the default grid: f32, f64 and bf16, plain and causal. Exit code 0: fine, 1: an answer
was wrong, 2: bad usage or something that is not installed."""
import argparse
import os
import pathlib
import sys

from results import Results

LIBRARIES = ["pytorch", "onnx_runtime", "open_vino", "jax_cpu"]
# Read by the libraries' thread pools when they are loaded.
THREAD_VARIABLES = ["OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"]


def parsed(words: list[str] | None = None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shape", action="append", default=[], metavar="BxHxSxD",
                        help="this shape, f32 unless said; BxHq/HkvxSxD for grouped heads; "
                             "may be repeated")
    parser.add_argument("--dtype", action="append", default=[],
                        choices=["f32", "f64", "bf16", "f16"])
    masks = parser.add_mutually_exclusive_group()
    masks.add_argument("--plain", action="store_true", help="no causal rows")
    masks.add_argument("--causal", action="store_true", help="only causal rows")
    parser.add_argument("--threads", type=int, default=1, help="of every library; default 1")
    parser.add_argument("--repeats", type=int, default=30,
                        help="least number of rounds, default 30; who takes twice as long as the "
                             "quickest leaves after 3")
    parser.add_argument("--peers", default=",".join(LIBRARIES), metavar="NAMES",
                        help=f"some of {','.join(LIBRARIES)},one_thread; empty for none")
    parser.add_argument("--cpu", help="what to call the CPU in the table and the plot")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE",
                        help="keep the results there; with what an earlier run left there, the "
                             "better time counts")
    parser.add_argument("--show", action="store_true",
                        help="measure nothing: table and plot of what --json holds; --shape, "
                             "--dtype, --plain and --causal choose from it")
    parser.add_argument("--svg", type=pathlib.Path, metavar="FILE", help="draw the plot there")
    options = parser.parse_args(words)
    if options.threads < 1 or options.repeats < 1:
        parser.error("--threads and --repeats have to be at least 1")
    if options.threads > len(os.sched_getaffinity(0)):
        parser.error(f"--threads {options.threads}: there are fewer CPUs")
    if options.show and not options.json:
        parser.error("--show: give the results with --json")
    options.masks = [True] if options.causal else [False] if options.plain else [False, True]
    return options


def settle_threads(threads: int) -> None:
    """As many CPUs as threads, and thread pools of that size; before NumPy and the like load."""
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])
    for name in THREAD_VARIABLES:
        os.environ[name] = str(threads)


def measured(options: argparse.Namespace) -> "Results":
    """What --json holds, and unless --show what is measured now."""
    kept = Results()
    if options.json and (options.show or options.json.exists()):
        kept = Results.load(options.json)
    kept.cpu = options.cpu or kept.cpu
    if not options.show:
        import rows
        grid = list(rows.cases(options.dtype, options.shape, options.masks))
        rows.measure(grid, list(filter(None, options.peers.split(","))), options.threads,
                     options.repeats, kept)
        if options.json:
            kept.save(options.json)
    return kept.only(options.dtype, options.shape, options.masks)


def main() -> int:
    """The exit code."""
    options = parsed()
    settle_threads(options.threads)
    try:
        kept = measured(options)
        if options.svg:
            import plot
            plot.draw(kept, options.svg)
    except (OSError, ValueError) as error:
        print(f"compare.py: {error}", file=sys.stderr)
        return 2
    except ImportError as error:
        print(f"compare.py: {error}; bench/peers/setup installs what is needed", file=sys.stderr)
        return 2
    import table
    print(table.markdown(kept))
    return 1 if kept.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
