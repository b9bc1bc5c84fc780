"""An audit as a picture: what is claimed, what was measured, what is certain."""

from collections.abc import Sequence
from pathlib import Path
from textwrap import fill

from jrr.reporting.plots import COLOURS, new_figure, save
from jrr.research.audit.verdict import Audit

_WIDTH = 110  # characters in a line


def draw_audits(audits: Sequence[Audit], path: str | Path) -> Path:
    """One row per audit: from the lower bound to the measured ratio, beside the claim."""
    figure = new_figure(8.0, 1.8 + 0.6 * len(audits))
    axes = figure.subplots()
    for row, result in enumerate(audits):
        colour = COLOURS["drr"] if result.violates else COLOURS["jrr"]
        right = min(result.measured, 2 * max(result.claimed, result.lower_bound))  # may be infinite
        axes.plot([result.lower_bound, right], [row, row], color=colour, linewidth=4)
        axes.plot(result.claimed, row, "k|", markersize=16)
        axes.annotate(
            fill(f"{result.subject}: {result.verdict}", _WIDTH),
            (0, row),
            xytext=(2, 10),
            textcoords="offset points",
            fontsize=7,
        )
    axes.set_yticks([])
    axes.set_ylim(len(audits) - 0.5, -0.8)
    axes.set_xlim(left=0)
    axes.set_title("A claimed ε, tried by experiment", fontsize=10)
    axes.set_xlabel("ε: lower bound to measured ratio (bar), claimed (black)")
    return save(figure, path)
