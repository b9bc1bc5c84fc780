"""A line for each method over ε, and where documents of measurements are kept."""

import json
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from benchmarks.child import ROOT

BUILD = ROOT / "build"


def keep(name: str, document: dict[str, Any]) -> Path:
    """Write build/NAME.json; the path of the picture beside it."""
    BUILD.mkdir(exist_ok=True)
    (BUILD / f"{name}.json").write_text(json.dumps(document, indent=2) + "\n")
    return BUILD / f"{name}.png"


def draw(
    rows: list[dict[str, Any]],
    path: Path,
    *,
    value: str,
    scale: float = 1.0,
    beside: bool = False,
    **axes_settings: Any,
) -> None:
    """Rows have a method, an ε and the value drawn; ours are whole lines, bounds are dotted.

    Args:
        rows: the measurements.
        path: of the picture.
        value: the field that is drawn.
        scale: what it is multiplied by.
        beside: whether the names of the lines stand beside the picture, not in it.
        axes_settings: what matplotlib's axes are to be set to.
    """
    figure = Figure(figsize=(8.5 if beside else 7, 4), layout="constrained")
    axes = figure.subplots()
    for name in dict.fromkeys(row["method"] for row in rows):
        mine = [row for row in rows if row["method"] == name]
        line = ":" if name.startswith("bound") else "-" if name.startswith("jrr") else "--"
        points = [row["epsilon"] for row in mine], [scale * row[value] for row in mine]
        axes.plot(*points, line, marker="o", label=name)
    epsilons = sorted({row["epsilon"] for row in rows})
    axes.set(xscale="log", xlabel="ε of the one report of a person", **axes_settings)
    axes.set_xticks(epsilons, [f"{epsilon:g}" for epsilon in epsilons])
    axes.minorticks_off()
    axes.title.set_fontsize(11)
    axes.grid(alpha=0.3)
    place: dict[str, Any] = {"loc": "lower right"}
    if beside:
        place = {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0)}
    axes.legend(fontsize=8, **place)
    figure.savefig(path, dpi=150)
