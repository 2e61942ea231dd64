"""Results as Markdown."""
from results import LIBRARY, Figure, Results

MASKED = "dense mask"


def row_name(case: tuple[str, str, bool, int]) -> list[str]:
    """The first cells of a row."""
    dtype, shape, causal, threads = case
    return [shape, dtype, "causal" if causal else "plain", str(threads)]


def cell(figure: Figure | None, ours: Figure | None) -> str:
    """GF/s, and for another library how many times as fast ours is."""
    if figure is None or figure.refused:
        return "-"
    if figure.wrong:
        return "wrong"
    rate = f"{figure.rate:.1f}" + ("*" if MASKED in figure.form else "")
    if ours is None or figure is ours or not ours.best:
        return rate
    return f"{rate} ({figure.best / ours.best:.2f})"


def line(cells: list[str]) -> str:
    """One line of a table."""
    return f"| {' | '.join(cells)} |"


def notes(results: Results) -> list[str]:
    """What each library was asked for, and why a cell is empty."""
    lines = []
    for name in results.libraries():
        figures = [figure for figure in results.figures if figure.library == name]
        forms = dict.fromkeys(figure.form for figure in figures if figure.best)
        refused = dict.fromkeys(f"not {figure.dtype}, {figure.refused}" for figure in figures
                                if figure.refused)
        if forms or refused:
            lines.append(f"- {name}: {'; '.join([*forms, *refused])}")
        lines += [f"- **wrong**: {name}, {figure.dtype} {figure.shape}, {figure.form}: an error "
                  f"of {figure.error:.3g} times its tolerance"
                  for figure in figures if figure.wrong]
    return lines


def markdown(results: Results) -> str:
    """The table with its heading and notes."""
    libraries = results.libraries()
    versions = [f"{name} {results.versions.get(name, '')}".strip() for name in libraries]
    text = [f"{results.cpu}. GF/s of the best time; in brackets how many times as long as "
            "regard the library takes.", "",
            line(["shape (BxHxSxD)", "type", "mask", "threads", *versions]),
            line(["---"] * (4 + len(libraries)))]
    for case, figures in results.rows().items():
        ours = figures.get(LIBRARY)
        text.append(line(row_name(case) + [cell(figures.get(name), ours) for name in libraries]))
    return "\n".join([*text, "", *notes(results), ""])
