"""regard on one thread, beside which more threads are set."""
import regard_library
from problem import Call, Problem

NAME = "regard, 1 thread"
version = regard_library.version


def prepare(problem: Problem) -> list[Call]:
    """One form."""
    return regard_library.prepare(problem, threads=1)
