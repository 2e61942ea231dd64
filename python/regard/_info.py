"""What this machine is to the library."""

from __future__ import annotations

from typing import NamedTuple

from . import _core


class Info(NamedTuple):
    """What the library found; str() is a page of text."""

    version: str
    cpu: str
    """The model's name as the system gives it."""
    isa: str
    """The instruction set in use."""
    isa_reason: str
    isas: tuple[str, ...]
    """Those compiled in that this CPU runs, least demanding first."""
    isas_elsewhere: tuple[str, ...]
    """Those compiled in that it does not run."""
    threads: int
    """What a call takes unless `threads` says less; on tensors it is torch.get_num_threads()."""
    threads_reason: str
    threads_by: str
    """What starts them: "pthreadpool" or "std::thread"."""

    def __str__(self) -> str:
        isas = [*self.isas, *(f"{isa} (not on this CPU)" for isa in self.isas_elsewhere)]
        return "\n".join([
            f"version   {self.version}", f"cpu       {self.cpu}",
            f"isa       {self.isa}, {self.isa_reason}", f"compiled  {', '.join(isas)}",
            f"threads   {self.threads}, from {self.threads_reason}; started by {self.threads_by}"])


def info() -> Info:
    """Version, CPU, instruction sets and threads of this process.

    The environment variable REGARD_ISA pins an instruction set and OMP_NUM_THREADS sets the number
    of threads; both are read once, at the first call that needs them.

    Raises:
        ValueError: REGARD_ISA names what cannot run here. NotImplementedError: no compiled
            instruction set runs on this CPU.

    Source: include/regard/machine.h.
    """
    return Info(_core.__version__, *_core.machine())
