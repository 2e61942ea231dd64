"""The checker: anyone's attention result beside the oracle, row by row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from . import _core
from ._options import counts, truth

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._arrays import Array
    from ._options import Integers, Layout, Options, Stage


@dataclass(frozen=True)
class RowVerdict:
    """A row, and the element of it that is furthest off in units of its bound."""

    what: Literal["out", "lse", "weights"]
    b: int
    h: int
    i: int
    d: int
    """Column of out, or key of the weights; -1 for the LSE."""
    expected: float
    """The oracle's value."""
    actual: float
    error: float
    """abs(actual - expected); infinite where one of them alone is finite."""
    bound: float
    """What is allowed there."""
    units: float
    """error / bound; above 1 the row fails."""


@dataclass(frozen=True)
class Convention:
    """Another usual convention that a failing result follows."""

    name: str
    """In the words of the options: "causal=top_left"; of two: "scale=1, lse=base2"."""
    sentence: str
    rows_fitted: int
    """Rows that were tried, all of them within the bound."""


@dataclass(frozen=True)
class CheckReport:
    """What `regard.check` found; true where the result passed, text as `regard check` prints it."""

    passed: bool
    rows: int
    """Rows there are."""
    rows_checked: int
    rows_failed: int
    worst_units: float
    """The largest error in units of its bound."""
    rms_error: float
    """Over all finite elements of out that were checked."""
    worst: tuple[RowVerdict, ...]
    """The worst rows, worst first."""
    convention: Convention | None
    """Only where the result fails and follows one that is known."""

    def __bool__(self) -> bool:
        return self.passed

    def __str__(self) -> str:
        lines = [f"{'PASS' if self.passed else 'FAIL'}  {self.rows_checked} of {self.rows} rows "
                 f"checked, {self.rows_failed} outside the bound",
                 f"      worst error {self.worst_units:.3g} of its bound; rms error "
                 f"{self.rms_error:.3g}"]
        if self.convention:
            lines.append(f"      matches with {self.convention.name}: {self.convention.sentence}")
        elif not self.passed:
            lines.append("      matches no other convention that is known")
        if not self.passed:
            lines += [_line(row) for row in self.worst]
        return "\n".join(lines)


def _line(row: RowVerdict) -> str:
    place = {"out": f"column {row.d}", "lse": "lse", "weights": f"weight of key {row.d}"}[row.what]
    return (f"      b {row.b} h {row.h} i {row.i} {place}: {row.actual:.9g}, should be "
            f"{row.expected:.9g}; {row.units:.3g} of its bound")


def check(q: Array, k: Array, v: Array, out: Array, *, lse: Array | None = None,
          weights: Array | None = None, layout: Layout = "bhsd", rows: Integers | None = None,
          weights_stage: Stage = "softmax", sample: int = 0, seed: int = 0,
          worst: int = 5, find_convention: bool = True, **options: Unpack[Options]) -> CheckReport:
    """Judges an attention result, whoever computed it, by the f64 oracle and a derived bound.

    Every row is computed again with compensated sums. What each element may be off by follows from
    its row's own scores and values and from the types alone; nothing is tuned.

    Args:
        q, k, v, layout, options: what the result answers, as for `regard.attention`.
        out: (B, Hq, Sq, Dv), of the rank and layout of q, any float type. lse: (B, Hq, Sq), natural
            logarithm. weights: (B, Hq, R, Skv), of `rows` where given, at
            `weights_stage`. The last two may be absent.
        sample: how many rows over all heads are checked; 0: every one. seed: which ones.
        worst: how many of the worst rows the report keeps.
        find_convention: a result that fails is tried against the conventions that other kernels
            follow, one and two at a time.

    Returns:
        CheckReport; false where a row is outside its bound.

    Raises:
        ValueError, TypeError: what `regard.attention` refuses, and results of another shape.

    Source: include/regard/check.h; docs/numerics.md derives the bound.
    """
    find_convention = truth("find_convention", find_convention)
    sample, seed, worst = counts(sample=sample, seed=seed, worst=worst)
    given = {"layout": layout, "rows": rows, "weights_stage": weights_stage, **options}
    passed, there, checked, failed, units, rms, verdicts, convention = _core.check(
        q, k, v, (out, lse, weights), (sample, seed, worst, find_convention), given)
    return CheckReport(passed, there, checked, failed, units, rms,
                       tuple(RowVerdict(*verdict) for verdict in verdicts),
                       Convention(*convention) if convention else None)
