"""Pictures of plans and results. Needs the extra [plots]; draws to files, never to screens."""

import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np

from jrr._base.files import replace_whole
from jrr.errors import ArgumentError, needed
from jrr.estimation.estimates import Estimate
from jrr.estimation.means import MeanEstimate
from jrr.mechanisms.informed_search import losses_of_everything
from jrr.mechanisms.registry import families
from jrr.planning.lost_cards import lost_cards
from jrr.planning.plans import Plan
from jrr.reporting.numerals import intervals_in_words

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = {key: family.colour for key, family in families().items()}
_MOST_GROUPS = 10  # marks in one row of a picture


def draw_plan(plan: Plan, path: str | Path) -> Path:
    """Standard error against the true frequency for every mechanism of the comparison."""
    figure, axes = new_axes(7.2, 4.4)
    frequencies = [float(f) for f in np.linspace(0, 1, 101)]
    drawn: dict[tuple[float, ...], str] = {}
    for row in plan.compare(frequencies):
        if row.mechanism is not None:
            errors = [100 * row.stderr[f] for f in frequencies]
            style = row.family.line if row.kept else "--"
            label = f"{row.name} ({row.note})" if row.note else row.name
            same = drawn.setdefault(tuple(errors), row.name)
            if same != row.name:  # it lies under the other one: the legend says so
                label = f"{row.name}: as {same}"
            axes.plot(
                [100 * f for f in frequencies],
                errors,
                style,
                color=row.family.colour,
                label=label,
                linewidth=2,
            )
    request = plan.request
    axes.set_ylim(bottom=0)
    cap = "none" if request.dealer_epsilon is None else f"ε = {request.dealer_epsilon:g}"
    label_axes(
        axes,
        "true frequency (%)",
        "standard error (percentage points)",
        f"n = {request.n:,}, ε = {request.epsilon:g} in the view {plan.view}, "
        f"{request.colluders} colluders; dealer cap: {cap}",
    )
    return save(figure, path)


def draw_lost_cards(plan: Plan, path: str | Path) -> Path:
    """Expected standard error against the share of cards that are lost."""
    figure, axes = new_axes(7.2, 4.4)
    shares = [float(share) for share in np.linspace(0, 0.3, 31)]
    rows = lost_cards(plan, shares)
    colours = {family.label: family.colour for family in families().values()}
    for name in rows[0].stderr:
        announced = name.endswith("announced")
        axes.plot(
            [100 * share for share in shares],
            [100 * row.stderr[name] for row in rows],
            "--" if announced else "-",
            color=colours.get(name, colours["MRR"]),
            label=name,
            linewidth=2,
        )
    request = plan.request
    axes.set_ylim(bottom=0)
    label_axes(
        axes,
        "cards that were dealt and never reported with (%)",
        "expected standard error (percentage points)",
        f"{request.n:,} cards, ε = {request.epsilon:g}, each planned for "
        f"{100 * request.lost:g}% lost",
    )
    return save(figure, path)


def draw_losses(plan: Plan, path: str | Path) -> Path:
    """δ against ε in the view "everything", of every mechanism whose law is known."""
    figure, axes = new_axes(7.2, 4.4)
    asked, faint = plan.request.epsilon, 1e-12
    far = asked
    grid = [float(epsilon) for epsilon in np.linspace(0.5 * asked, 3 * asked + 0.1, 240)]
    for row in plan.compare([0.5]):
        if row.mechanism is None:
            continue
        losses = losses_of_everything(row.mechanism, plan.request.colluders)
        if losses is None:
            continue
        colour = row.family.colour
        high = [losses.delta(epsilon) for epsilon in grid]
        low = [losses.delta_low(epsilon) for epsilon in grid]
        axes.plot(grid, high, color=colour, linewidth=2, label=row.name)
        if low != high:
            axes.plot(grid, low, ":", color=colour, linewidth=1)
        far = max([far, *(e for e, delta in zip(grid, high, strict=True) if delta > faint)])
    axes.axvline(asked, color="black", linewidth=1, linestyle="--", label="ε asked for")
    axes.set_yscale("log")
    axes.set_ylim(faint, 1)
    axes.set_xlim(grid[0], 1.02 * far)
    label_axes(
        axes,
        "ε",
        "δ (dotted: is reached)",
        f"A collector who knows everybody else's answer and {plan.request.colluders} cards; "
        f"n = {plan.request.n:,}",
    )
    return save(figure, path)


def draw_estimate(
    names: Sequence[str],
    estimates: Mapping[str, Estimate],
    path: str | Path,
    level: float = 0.95,
    top: int = 20,
    question: str = "",
    *,
    simultaneous: bool = False,
) -> Path:
    """Shares with their intervals, one row per answer, one mark per group."""
    first = next(iter(estimates.values()))
    order = sorted(range(len(names)), key=lambda v: -first.frequencies[v])[:top]
    if len(names) <= top:
        order = list(range(len(names)))
    shown = dict(list(estimates.items())[:_MOST_GROUPS])
    step = 0.8 / len(shown)
    figure, axes = new_axes(7.2, 1.2 + (0.25 + 0.12 * len(shown)) * len(order))
    for number, (name, estimate) in enumerate(shown.items()):
        ends = estimate.interval(level, simultaneous=simultaneous)
        low, high = (100 * end[order] for end in ends)
        middle = 100 * estimate.frequencies[order]
        rows = np.arange(len(order)) + step * (number - (len(shown) - 1) / 2)
        axes.errorbar(
            middle,
            rows,
            xerr=[middle - low, high - middle],
            fmt="o",
            color=f"C{number}",
            markersize=4,
            capsize=3,
            label=f"{name} ({estimate.n:,})",
        )
    if len(shown) > 1:
        axes.legend(frameon=False, fontsize=8)
    meaning = intervals_in_words(first, level, simultaneous)
    left_out = len(shown) < len(estimates)
    note = f"the first {len(shown)} of {len(estimates)} groups" if left_out else ""
    _name_rows(axes, [names[v][:30] for v in order], f"estimated share (%)\n{meaning}")
    _title(axes, question, note)
    return save(figure, path)


def draw_means(
    means: Mapping[str, MeanEstimate], path: str | Path, level: float = 0.95, question: str = ""
) -> Path:
    """Means of a number with their intervals: everybody, whose name is empty, and each group."""
    shown = dict(list(means.items())[: 3 * _MOST_GROUPS])
    figure, axes = new_axes(7.2, 1.4 + 0.3 * len(shown))
    for row, mean in enumerate(shown.values()):
        low, high = mean.interval(level)
        error = [[mean.mean - low], [high - mean.mean]]
        axes.errorbar(mean.mean, row, xerr=error, fmt="o", color="C0", markersize=4, capsize=3)
    names = [f"{name[:30] or 'everybody'} ({mean.n:,})" for name, mean in shown.items()]
    meaning = intervals_in_words(next(iter(means.values())).share, level, simultaneous=False)
    _name_rows(axes, names, f"estimated mean\n{meaning}")
    left_out = len(shown) < len(means)
    _title(axes, question, f"the first {len(shown)} of {len(means)}" if left_out else "")
    return save(figure, path)


def draw_rows(rows: Sequence[Mapping[str, Any]], value: str, title: str, top: int = 40) -> "Figure":
    """One mark for each row of a result, with its interval where it has one.

    Args:
        rows: as `to_rows` of a result makes them.
        value: the column that is drawn.
        title: above the picture.
        top: the most rows that are drawn.
    """
    shown = list(rows)[:top]
    figure, axes = new_axes(7.2, 1.2 + 0.3 * len(shown))
    for at, row in enumerate(shown):
        middle = row[value]
        ends = ([[middle - row["low"]], [row["high"] - middle]]) if "low" in row else None
        axes.errorbar([middle], [at], xerr=ends, fmt="o", color="C0", markersize=4, capsize=3)
    _name_rows(axes, [_name_of(row, value) for row in shown], value)
    left_out = f"the first {len(shown)} of {len(rows)}" if len(shown) < len(rows) else ""
    _title(axes, title, left_out)
    return figure


def _name_of(row: Mapping[str, Any], value: str) -> str:
    """What stands before the column that is drawn, without true and false."""
    before = itertools.takewhile(lambda name: name != value, row)
    cells = (row[name] for name in before if not isinstance(row[name], bool))
    words = [f"{cell:g}" if isinstance(cell, float) else str(cell) for cell in cells]
    return " ".join(word for word in words if word)[:30]


def _name_rows(axes: "Axes", names: Sequence[str], across: str) -> None:
    """Rows from the top, and what stands below them."""
    axes.set_yticks(range(len(names)), names, fontsize=8)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.set_xlabel(across, fontsize=9)


def _title(axes: "Axes", *lines: str) -> None:
    axes.set_title("\n".join(fill(line, 90) for line in lines if line), fontsize=9)


def label_axes(axes: "Axes", across: str, up: str, title: str) -> None:
    """What stands beside and above a picture of lines, and its legend."""
    axes.set_xlabel(across)
    axes.set_ylabel(up)
    axes.set_title(title, fontsize=10)
    axes.legend(frameon=False, fontsize=8)


def new_figure(width: float, height: float) -> "Figure":
    """An empty figure that belongs to no screen."""
    with needed("pictures need", "plots"):
        from matplotlib.figure import Figure
    return Figure(figsize=(width, height), layout="constrained")


def new_axes(width: float, height: float) -> "tuple[Figure, Axes]":
    """The same with one picture in it."""
    figure = new_figure(width, height)
    return figure, figure.subplots()


def save(figure: "Figure", path: str | Path, description: str | None = None) -> Path:
    """Write the figure, whole or not at all; the kind follows from the name.

    Args:
        figure: what was drawn.
        path: where to.
        description: what a .png or .svg file says about itself, so that a program can read it.

    Returns:
        The path.

    Raises:
        ArgumentError: where the name ends in no kind of picture.
    """
    path = Path(path)
    for axes in figure.axes:
        axes.spines[["top", "right"]].set_visible(False)
    kinds = sorted(figure.canvas.get_supported_filetypes())
    if path.suffix[1:].lower() not in kinds:
        raise ArgumentError(f"path must end in one of {', '.join(kinds)}, got path={str(path)!r}")
    import matplotlib as mpl

    # The same figure gives the same file.
    with mpl.rc_context({"svg.hashsalt": "jrr"}):
        metadata: dict[str, str | None] = {"Date": None} if path.suffix == ".svg" else {}
        if description is not None and path.suffix in (".svg", ".png"):
            metadata["Description"] = description
        replace_whole(path, lambda partial: figure.savefig(partial, dpi=150, metadata=metadata))
    return path
