"""The picture of a demonstration: estimates with their intervals, side by side."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from jrr.mechanisms.registry import families
from jrr.reporting.plots import COLOURS, new_figure, save
from jrr.research.demo import DemoSurvey

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def draw_survey(survey: DemoSurvey, path: str | Path, level: float = 0.95) -> Path:
    """Estimates with their intervals beside the truth, and their standard errors."""
    figure = new_figure(8.0, 3.4)
    left, right = figure.subplots(1, 2, width_ratios=[3, 2])
    names = list(survey.outcomes)
    _draw_intervals(left, survey, names, level)
    errors = {name: 100 * float(survey.outcomes[name].estimate.stderr[1]) for name in names}
    _draw_errors(right, errors)
    request = survey.outcomes[names[0]].plan.request
    figure.suptitle(
        f"{survey.n:,} people, {100 * survey.truth:.3g}% yes, ε = {request.epsilon:g} in the view "
        f"cards, {request.colluders} colluders",
        fontsize=10,
    )
    figures = ", ".join(f"{name} {error:.6g}" for name, error in errors.items())
    return save(figure, path, f"standard errors in points: {figures}")


def _draw_intervals(axes: "Axes", survey: DemoSurvey, names: Sequence[str], level: float) -> None:
    for row, name in enumerate(names):
        estimate = survey.outcomes[name].estimate
        low, high = estimate.interval(level)
        middle = 100 * float(estimate.frequencies[1])
        axes.errorbar(
            middle,
            row,
            xerr=[[middle - 100 * float(low[1])], [100 * float(high[1]) - middle]],
            fmt="o",
            color=COLOURS[name],
            capsize=4,
            linewidth=2,
        )
    axes.axvline(100 * survey.truth, color="black", linewidth=1, linestyle=":")
    axes.annotate(
        "truth",
        (100 * survey.truth, -0.45),
        ha="left",
        fontsize=8,
        textcoords="offset points",
        xytext=(4, 0),
    )
    axes.set_yticks(range(len(names)), [_label(name) for name in names], fontsize=8)
    axes.set_ylim(len(names) - 0.5, -0.6)
    axes.set_xlabel(f"estimated yes (%), {level:.0%} interval")


def _draw_errors(axes: "Axes", errors: Mapping[str, float]) -> None:
    names = list(errors)
    bars = axes.barh(
        range(len(names)), list(errors.values()), color=[COLOURS[name] for name in names]
    )
    axes.bar_label(bars, fmt="%.2f", fontsize=8, padding=3)
    axes.set_yticks([])
    axes.set_ylim(len(names) - 0.5, -0.6)
    axes.set_xlim(0, 1.2 * max(errors.values()))
    axes.set_xlabel("standard error (points)")


def _label(key: str) -> str:
    return f"{key.upper()}: {families()[key].caption}"
