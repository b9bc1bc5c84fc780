"""The picture of docs/scale.md: processor time by rows, for counting and for perturbing."""

from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

TITLES = {"count": "count, 1,000 groups", "perturb": "deal and perturb on Spark"}


def draw(results: list[dict[str, Any]], path: Path) -> Path:
    """A panel for counting and one for perturbing, both logarithmic, with a line of slope one."""
    figure = Figure(figsize=(8.5, 3.6), layout="constrained")
    panels = figure.subplots(1, 2)
    for axes, (part, title) in zip(panels, TITLES.items(), strict=True):
        lines: dict[str, list[tuple[int, float]]] = {}
        for row in results:
            what, _, name = row["what"].partition(", ")
            if what == part and "processor_seconds" in row:
                lines.setdefault(name, []).append((row["rows"], row["processor_seconds"]))
        for name, points in lines.items():
            points.sort()
            axes.plot(*zip(*points, strict=True), marker="o", label=name)
        if lines:
            last = max(max(points) for points in lines.values())
            rows = [1_000_000, last[0]]
            along = [last[1] * size / last[0] for size in rows]
            axes.plot(rows, along, ":", color="gray", label="as the number of rows")
        axes.set(xscale="log", yscale="log", xlabel="rows", title=title)
        axes.grid(alpha=0.3)
        axes.legend(fontsize=8)
    panels[0].set_ylabel("seconds of processor")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)
    return path
