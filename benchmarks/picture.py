"""The picture of the README: how long everybody takes, in multiples of bare numpy."""

from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from benchmarks.cases import SIZES

COLOURS = {
    "floor": "#7f7f7f",
    "ours": "#d95f02",
    "ours compiled": "#e7298a",
    "pure-ldp": "#9ecae1",
    "multi-freq-ldpy": "#1f77b4",
}
LABELS = {
    "floor": "bare numpy",
    "ours": "jrr",
    "ours compiled": "jrr with numba",
}


def draw(document: dict[str, Any], path: Path) -> Path:
    """Horizontal bars on a logarithmic scale, one group per case."""
    figure = Figure(figsize=(8.0, 5.0), layout="constrained")
    axes = figure.subplots()
    place = 0.0
    middles = []
    for bars in document["compared"].values():
        middles.append(place + (len(bars) - 1) / 2)
        for name, bar in bars.items():
            _bar(axes, place, name, bar["seconds"] / bars["floor"]["seconds"], bar["scaled"])
            place += 1
        place += 0.8
    axes.axvline(1, color="black", linewidth=1, linestyle=":")
    axes.set_xscale("log")
    axes.set_xlim(0.05, 1_000)
    axes.set_yticks(middles, list(document["compared"]))
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(place - 1.2, -0.7)
    axes.set_xlabel("time as a multiple of bare numpy's; shorter is better")
    axes.set_title(
        f"Privatise and aggregate {SIZES[-1]:,} answers at ε = {document['epsilon']:g}, "
        "everybody on one core",
        fontsize=10,
    )
    axes.spines[["top", "right"]].set_visible(False)
    figure.legend(
        handles=_handles(document), loc="outside lower center", ncols=3, frameon=False, fontsize=8
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)
    return path


def _bar(axes: Axes, place: float, name: str, times: float, scaled: bool) -> None:
    drawn = axes.barh(
        place,
        times,
        color=COLOURS[name],
        hatch="//" if scaled else None,
        edgecolor="white",
        height=0.9,
    )
    label = f"{times:.2g}" if times < 10 else f"{times:,.0f}"
    behind = {"facecolor": "white", "edgecolor": "none", "pad": 0.4}
    axes.bar_label(drawn, [label], fontsize=8, padding=3, bbox=behind)


def _handles(document: dict[str, Any]) -> list[Patch]:
    bars = [item for group in document["compared"].values() for item in group.items()]
    shown = {name for name, _ in bars}
    handles = [
        Patch(color=colour, label=LABELS.get(name) or f"{name} {document['peers'][name]}")
        for name, colour in COLOURS.items()
        if name in shown
    ]
    if any(bar["scaled"] for _, bar in bars):
        label = f"{SIZES[-1] // SIZES[0]} × the time for {SIZES[0]:,}"
        handles.append(Patch(facecolor="#c0c0c0", hatch="//", edgecolor="white", label=label))
    return handles
