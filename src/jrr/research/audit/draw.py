"""An audit as a picture: what is claimed, what was measured, what is certain."""

from collections.abc import Sequence
from pathlib import Path
from textwrap import fill

from jrr.reporting.plots import COLOURS, new_figure, save
from jrr.research.audit.verdict import Audit

_WIDTH = 100  # characters in a line


def draw_audits(audits: Sequence[Audit], path: str | Path) -> Path:
    """One row per audit: up to the lower bound, on to the measured ratio, beside the claim."""
    figure = new_figure(8.0, 1.9 + 0.75 * len(audits))
    axes = figure.subplots()
    finite = [
        number
        for audit in audits
        for number in (audit.lower_bound, audit.measured, audit.claimed)
        if number < float("inf")
    ]
    end = 1.15 * max(finite, default=1.0) or 1.0
    for row, result in enumerate(audits):
        colour = COLOURS["drr"] if result.violates else COLOURS["jrr"]
        certain, measured = min(result.lower_bound, end), min(result.measured, end)
        axes.barh(row, certain, 0.34, color=colour)
        axes.barh(row, max(0.0, measured - certain), 0.34, left=certain, color=colour, alpha=0.35)
        claimed = min(result.claimed, end)
        axes.plot([claimed, claimed], [row - 0.25, row + 0.25], "k", linewidth=2.5)
        numbers = f"at least {result.lower_bound:.3g}, measured {result.measured:.3g}"
        axes.annotate(
            f"{numbers}, claimed {result.claimed:.3g}",
            (0, row),
            xytext=(4, 0),
            textcoords="offset points",
            fontsize=7,
            va="center",
            color="white" if certain > end / 2 else "black",
        )
        axes.annotate(
            fill(f"{result.subject}: {result.verdict}", _WIDTH),
            (0, row - 0.25),
            xytext=(0, 2),
            textcoords="offset points",
            fontsize=7,
        )
    axes.set_yticks([])
    axes.set_ylim(len(audits) - 0.6, -0.75)
    axes.set_xlim(0, end)
    axes.set_title("A claimed ε, tried by experiment", fontsize=10)
    axes.set_xlabel("ε: certain lower bound (full), measured ratio (pale), claimed (black)")
    return save(figure, path)
