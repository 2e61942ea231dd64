"""Results as a picture: bars of GF/s, a panel for each type and mask."""
import pathlib

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Picture

from results import LIBRARY, Figure, Results

# Told apart by people who see few colours too (Okabe and Ito); ours is the dark one.
COLOURS = {LIBRARY: "#0072B2", "PyTorch": "#D55E00", "ONNX Runtime": "#E69F00",
           "OpenVINO": "#56B4E9", "JAX": "#009E73"}
OTHER = "#999999"
WIDE_SPACE = "\u2003"  # SVG joins usual ones
GROUP = 0.84  # of the distance between two shapes
Panel = dict[str, dict[str, Figure]]


def panels(results: Results) -> dict[tuple[str, bool], Panel]:
    """Figures by type and mask, then shape, then library; without shapes that have only ours."""
    found: dict[tuple[str, bool], Panel] = {}
    for (dtype, shape, causal, _), figures in results.rows().items():
        timed = {name: figure for name, figure in figures.items() if figure.best}
        if LIBRARY in timed and len(timed) > 1:
            found.setdefault((dtype, causal), {})[shape] = timed
    return found


def draw_panel(axes: Axes, panel: Panel, shapes: list[str], libraries: list[str]) -> None:
    """A group of bars for each shape, the first on top. A library that lacks a shape leaves a
    gap."""
    height = GROUP / len(libraries)
    for row, shape in enumerate(shapes):
        figures = panel.get(shape, {})
        for place, name in enumerate(libraries):
            if name not in figures:
                continue
            y = row + (place + 0.5) * height - GROUP / 2
            figure = figures[name]
            axes.barh(y, figure.rate, height * 0.9, color=COLOURS.get(name, OTHER))
            label = f"{figure.rate:.0f}"
            if name != LIBRARY:
                label += f"{WIDE_SPACE}{figure.best / figures[LIBRARY].best:.2f}×"
            axes.annotate(label, (figure.rate, y), (3, 0), textcoords="offset points",
                          va="center", fontsize=7, color="#333333",
                          weight="bold" if name == LIBRARY else "normal")
    axes.set_yticks(range(len(shapes)), shapes)
    axes.set_ylim(len(shapes) - 1 + 0.55, -0.55)
    axes.tick_params(length=0, labelsize=8)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.set_axisbelow(True)
    axes.grid(axis="x", color="#dddddd", linewidth=0.6)


def picture(results: Results) -> Picture:
    """The whole picture. Types are rows of panels, plain and causal its columns."""
    found = panels(results)
    if not found:
        raise ValueError("there is nothing to draw: no row has another library's time")
    dtypes = list(dict.fromkeys(dtype for dtype, _ in found))
    masks = sorted({causal for _, causal in found})
    shapes = {d: list(dict.fromkeys(shape for m in masks for shape in found.get((d, m), {})))
              for d in dtypes}
    libraries = {d: [name for name in results.libraries()
                     if any(name in figures for m in masks
                            for figures in found.get((d, m), {}).values())] for d in dtypes}
    bars = np.array([len(shapes[d]) * (len(libraries[d]) + 1) for d in dtypes])
    whole = Picture(figsize=(4.6 * len(masks) + 0.8, 0.145 * bars.sum() + 0.8 * len(bars) + 0.9),
                    layout="constrained", facecolor="white")
    grid = whole.subplots(len(dtypes), len(masks), squeeze=False, sharex="row", sharey="row",
                          height_ratios=bars)
    for row, dtype in enumerate(dtypes):
        for column, causal in enumerate(masks):
            axes = grid[row, column]
            draw_panel(axes, found.get((dtype, causal), {}), shapes[dtype], libraries[dtype])
            axes.set_title(f"{dtype}, {'causal' if causal else 'plain'}", loc="left", fontsize=10,
                           weight="bold")
            axes.set_xlabel("GF/s", fontsize=8)
            axes.margins(x=0.16)
    legend(whole, results, libraries)
    return whole


def legend(whole: Picture, results: Results, libraries: dict[str, list[str]]) -> None:
    """Who is who, and what was measured."""
    names = [name for name in results.libraries()
             if any(name in shown for shown in libraries.values())]
    patches = [matplotlib.patches.Patch(color=COLOURS.get(name, OTHER)) for name in names]
    labels = [f"{name} {results.versions.get(name, '')}".split("+")[0] for name in names]
    threads = max(threads for _, _, _, threads in results.rows())
    whole.suptitle(f"Attention on {results.cpu}, {threads} thread{'s' if threads > 1 else ''}\n"
                   "rows are B x H x S x D; n× is the time of the library over that of regard",
                   fontsize=10, x=0.01, ha="left")
    whole.legend(patches, labels, loc="outside lower center", ncols=len(names), frameon=False,
                 fontsize=9)


def draw(results: Results, path: pathlib.Path) -> None:
    """Writes the picture, SVG or what the name ends in. The same results give the same bytes."""
    settings = {"svg.fonttype": "none", "svg.hashsalt": LIBRARY, "font.family": "sans-serif",
                "font.sans-serif": ["DejaVu Sans", "Arial", "Helvetica", "sans-serif"]}
    with matplotlib.rc_context(settings):
        whole = picture(results)
        whole.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)
