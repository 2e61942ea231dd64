"""Times calls in turns, so that what slows the machine slows all of them."""
import dataclasses
import gc
import statistics
import time
from collections.abc import Callable

SLOW_FACTOR = 2  # who takes longer than this times the quickest ...
SLOW_ROUNDS = 3  # ... takes part in so many rounds only: it could take most of the time
LEAST_SECONDS = 1.0  # short calls get more rounds than asked for, until this has passed ...
MOST_ROUNDS = 1000  # ... or so many are done
PAUSE_SECONDS = 0.005  # lets the waiting threads of the last library go to sleep


@dataclasses.dataclass(frozen=True)
class Times:
    """Seconds of one call, over `rounds` of them."""
    best: float
    median: float
    worst: float
    rounds: int

    @staticmethod
    def of(seconds: list[float]) -> "Times":
        """The figures of a list."""
        return Times(min(seconds), statistics.median(seconds), max(seconds), len(seconds))


def seconds_of(run: Callable[[], object]) -> float:
    """One call. Its result is dropped before the clock stops, as a library's memory counts too."""
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def best_of(run: Callable[[], object], count: int = 3) -> float:
    """The least of a few calls."""
    return min(seconds_of(run) for _ in range(count))


def in_turns(runs: dict[str, Callable[[], object]], rounds: int,
             pause: bool = False) -> dict[str, Times]:
    """At least `rounds` rounds, each of which calls everyone once. The first of `runs` is never
    left out."""
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    always = next(iter(runs))
    active = dict(runs)
    gc.disable()
    begin, done = time.perf_counter(), 0
    while done < rounds or (time.perf_counter() - begin < LEAST_SECONDS and done < MOST_ROUNDS):
        for name, run in active.items():
            if pause:
                time.sleep(PAUSE_SECONDS)
            seconds[name].append(seconds_of(run))
        done += 1
        if done == SLOW_ROUNDS:
            limit = SLOW_FACTOR * min(map(min, seconds.values()))
            active = {name: run for name, run in runs.items()
                      if name == always or min(seconds[name]) <= limit}
    gc.enable()
    return {name: Times.of(values) for name, values in seconds.items()}
