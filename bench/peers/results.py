"""Figures of one or more runs: kept as JSON, the better time of each counts."""
import dataclasses
import json
import pathlib

LIBRARY = "regard"


@dataclasses.dataclass(frozen=True)
class Figure:
    """One library on one case. Where `refused` says why, there are no times."""
    dtype: str
    shape: str
    causal: bool
    threads: int
    library: str
    form: str = ""
    operations: float = 0
    best: float = 0
    median: float = 0
    worst: float = 0
    rounds: int = 0
    runs: int = 1
    error: float = 0  # in units of its tolerance
    wrong: bool = False
    refused: str = ""

    @property
    def case(self) -> tuple[str, str, bool, int]:
        """The row it belongs to."""
        return self.dtype, self.shape, self.causal, self.threads

    @property
    def rate(self) -> float:
        """GF/s of the best time; 0 where there is none."""
        return self.operations / self.best / 1e9 if self.best else 0

    def better(self, other: "Figure") -> "Figure":
        """The quicker of two runs; a wrong one outlives a right one."""
        if self.wrong or other.wrong:
            return self if self.wrong else other
        first = self if not other.best or 0 < self.best <= other.best else other
        return dataclasses.replace(first, runs=self.runs + other.runs)


@dataclasses.dataclass
class Results:
    """Figures in the order of their first run, and what they were taken with."""
    cpu: str = ""
    versions: dict[str, str] = dataclasses.field(default_factory=dict)
    figures: list[Figure] = dataclasses.field(default_factory=list)

    def add(self, figure: Figure) -> None:
        """One more run of a library on a case."""
        for index, known in enumerate(self.figures):
            if (known.case, known.library) == (figure.case, figure.library):
                self.figures[index] = known.better(figure)
                return
        self.figures.append(figure)

    def rows(self) -> dict[tuple[str, str, bool, int], dict[str, Figure]]:
        """Figures by case and library."""
        rows: dict[tuple[str, str, bool, int], dict[str, Figure]] = {}
        for figure in self.figures:
            rows.setdefault(figure.case, {})[figure.library] = figure
        return rows

    def libraries(self) -> list[str]:
        """Ours first, the others in the order they came."""
        return list(dict.fromkeys([LIBRARY, *(figure.library for figure in self.figures)]))

    def only(self, dtypes: list[str], shapes: list[str], masks: list[bool]) -> "Results":
        """Those of some types, shapes and masks; an empty list takes all."""
        return dataclasses.replace(self, figures=[
            figure for figure in self.figures
            if (not dtypes or figure.dtype in dtypes) and (not shapes or figure.shape in shapes)
            and figure.causal in masks])

    @property
    def wrong(self) -> bool:
        """Somebody's answer was."""
        return any(figure.wrong for figure in self.figures)

    def save(self, path: pathlib.Path) -> None:
        """As JSON."""
        text = json.dumps(dataclasses.asdict(self), indent=1)
        path.write_text(text + "\n", encoding="utf-8")

    @staticmethod
    def load(path: pathlib.Path) -> "Results":
        """What `save` wrote."""
        stored = json.loads(path.read_text(encoding="utf-8"))
        figures = [Figure(**figure) for figure in stored.pop("figures")]
        return Results(figures=figures, **stored)
