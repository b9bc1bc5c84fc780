"""The coverage grid as a picture: what intervals miss, by what they may miss."""

from collections.abc import Sequence
from pathlib import Path

from benchmarks.interval_coverage.grid import (
    EPSILONS,
    LIMIT,
    Point,
    groups,
    latecomers,
    shares,
    waves,
    weighted,
)
from jrr.mechanisms.dealt import DRR
from jrr.mechanisms.joint import JRR
from jrr.mechanisms.rr import RR
from jrr.reporting.plots import new_figure, save

_LEVELS = (0.8, 0.95, 0.99, 0.999)
_COLOURS = {kind.name: kind.colour for kind in (RR, JRR, DRR)}


def draw_coverage(path: str | Path, epsilons: Sequence[float] = EPSILONS) -> dict[str, float]:
    """Draw every point of the grid.

    Args:
        path: of the picture.
        epsilons: of the mechanisms.

    Returns:
        For each panel, by its title, the worst coverage of its level.
    """
    figure = new_figure(11.0, 6.5)
    panels = figure.subplots(2, 4, sharey=True).ravel()
    worst = {}
    for at, (axes, (title, level, points)) in enumerate(
        zip(panels, _panels(epsilons), strict=True)
    ):
        sizes = sorted({sum(point.people) for point in points})
        for side, (name, colour) in enumerate(_COLOURS.items()):
            found = [point for point in points if point.mechanism.name == name]
            places = [sizes.index(sum(point.people)) + 0.22 * (side - 1) for point in found]
            missed = [point.missed[level] for point in found]
            axes.plot(places, missed, ".", color=colour, markersize=3, label=name)
        axes.axhline(1.0, color="black", linewidth=1)
        axes.axhline(LIMIT, color="black", linewidth=1, linestyle=":")
        axes.set_xticks(range(len(sizes)), [f"{size:,}" for size in sizes], fontsize=7)
        axes.set_ylim(0, 1.5)
        worst[title] = 1 - (1 - level) * max(point.missed[level] for point in points)
        axes.set_title(f"{title}\nworst {100 * worst[title]:.3f}%", fontsize=9)
        if at >= 4:
            axes.set_xlabel("people", fontsize=8)
    panels[0].legend(frameon=False, fontsize=8, markerscale=3, loc="upper left", ncols=3)
    figure.supylabel("missed, by what may be missed", fontsize=9)
    figure.suptitle(
        "Exact coverage: a point is a setting; at 1 its interval is just as sure as it says, "
        "below it surer",
        fontsize=10,
    )
    save(figure, path)
    return worst


def _panels(epsilons: Sequence[float]) -> list[tuple[str, float, list[Point]]]:
    single = list(shares(epsilons=epsilons, levels=_LEVELS))
    rows = [(f"a share, {100 * level:g}%", level, single) for level in _LEVELS]
    two = (
        ("two waves, 95%", waves(epsilons=epsilons, levels=(0.95,))),
        ("two groups of a deck, 95%", groups(epsilons=epsilons, levels=(0.95,))),
        ("with and without a card, 95%", latecomers(epsilons=epsilons, levels=(0.95,))),
        ("unequal weights, 95%", weighted(epsilons=epsilons, levels=(0.95,))),
    )
    return rows + [(title, 0.95, list(points)) for title, points in two]
