"""Measures a grid of cases, row by row: prepare, check the answers, time in turns."""
import gc
import importlib
import re
import sys
from collections.abc import Iterator
from types import ModuleType

import reference
import regard_library
from measure import best_of, in_turns
from problem import Call, Case, NotServed, Problem, normal_problem
from results import Figure, Results

MAIN = ("1x8x1024x64", "1x8x1024x128", "1x4x4096x128", "1x1x16384x64")
GROUPED = ("1x32x2048x128", "1x32/8x2048x128")
SMALL = tuple(f"1x8x{length}x64" for length in (64, 128, 256))
GRID = {"f32": MAIN + SMALL + GROUPED, "f64": MAIN[:2], "bf16": MAIN + GROUPED, "f16": MAIN[:2]}
DEFAULT_DTYPES = ("f32", "f64", "bf16")


def cases(dtypes: list[str], shapes: list[str], masks: list[bool]) -> Iterator[Case]:
    """What is asked for, or for what is left open the default grid."""
    for dtype in dtypes or (["f32"] if shapes else DEFAULT_DTYPES):
        for shape in shapes or GRID[dtype]:
            for causal in masks:
                yield Case.parse(shape, dtype, causal)


def checked(problem: Problem, call: Call) -> float:
    """Its error; the input must not have changed either."""
    before = [array.copy() for array in problem.arrays]
    error = reference.worst_error(problem, call.answer(call.run()))
    changed = any((a != b).any() for a, b in zip(before, problem.arrays))
    return float("inf") if changed else error


def ready(library: ModuleType, problem: Problem) -> tuple[Figure, Call | None]:
    """A library's quickest form; none where an answer is wrong or the problem is not served."""
    case = problem.case
    about = dict(dtype=case.dtype, shape=case.shape, causal=case.causal, threads=problem.threads,
                 library=library.NAME, operations=case.operations)
    try:
        calls = library.prepare(problem)
    except NotServed as reason:
        return Figure(**about, refused=str(reason)), None
    errors = [checked(problem, call) for call in calls]
    for call, error in zip(calls, errors):
        if not error <= 1:
            return Figure(**about, form=call.form, error=error, wrong=True), None
    times = [best_of(call.run) for call in calls] if len(calls) > 1 else [0]
    index = times.index(min(times))
    return Figure(**about, form=calls[index].form, error=errors[index]), calls[index]


def measure_row(case: Case, libraries: list[ModuleType], threads: int,
                rounds: int) -> list[Figure]:
    """Figures of all libraries, ours first."""
    problem = normal_problem(case, threads)
    prepared = [ready(library, problem) for library in libraries]
    calls = {figure.library: call.run for figure, call in prepared if call}
    times = in_turns(calls, rounds, pause=threads > 1) if regard_library.NAME in calls else {}
    figures = []
    for figure, _ in prepared:
        timed = vars(times[figure.library]) if figure.library in times else {}
        figures.append(Figure(**{**vars(figure), **timed}))
    del prepared, calls
    gc.collect()
    return figures


def load_libraries(names: list[str]) -> list[ModuleType]:
    """Ours and the others."""
    return [regard_library, *(importlib.import_module(name) for name in names)]


def cpu_name() -> str:
    """As the system calls it."""
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        found = re.search(r"^(?:model name|CPU part)\s*:\s*(.+)$", file.read(), re.MULTILINE)
    return found[1] if found else "unknown CPU"


def measure(grid: list[Case], names: list[str], threads: int, rounds: int,
            results: Results) -> None:
    """Adds every row's figures to `results`, and says on stderr how far it is."""
    libraries = load_libraries(names)
    results.versions.update({library.NAME: library.version() for library in libraries})
    results.cpu = results.cpu or cpu_name()
    for case in grid:
        for figure in measure_row(case, libraries, threads, rounds):
            results.add(figure)
            spread = figure.worst / figure.best - 1 if figure.best else 0
            print(f"{case.dtype:<5}{case.shape:<18}{'causal' if case.causal else 'plain':<7}"
                  f"{figure.library:<18}{figure.rate:8.1f} GF/s  spread {100 * spread:4.0f}%  "
                  f"{figure.refused or ('WRONG ' if figure.wrong else '') + figure.form}",
                  file=sys.stderr, flush=True)
