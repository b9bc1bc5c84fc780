"""Pictures of the figures' rows, in one common style; a function bears the name of its figure."""

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from jrr.reporting.plots import COLOURS, new_figure
from jrr.research.paper.figure import Row
from jrr.research.paper.settings import DRR_LINE, LINES, MASKED, OPTIMAL_LINE, PAPER_LINE, RR_LINE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Lines often coincide. Wide and pale below, narrow and broken above: then all of them are seen.
_STYLE: dict[str, dict[str, Any]] = {
    RR_LINE: {"color": COLOURS["rr"], "linestyle": "-", "linewidth": 4, "alpha": 0.45},
    PAPER_LINE: {"color": COLOURS["jrr"], "linestyle": "-", "linewidth": 1.8},
    OPTIMAL_LINE: {"color": "#08306b", "linestyle": (0, (4, 2)), "linewidth": 1.5},
    DRR_LINE: {"color": COLOURS["drr"], "linestyle": (0, (1, 1.5)), "linewidth": 2},
}
# The same mechanism has the same colour in every figure.
_NAMED = {
    **dict.fromkeys(("RR", "rr"), COLOURS["rr"]),
    **dict.fromkeys(("JRR", "jrr", "JRR, one phase", "JRR, any deck"), COLOURS["jrr"]),
    **dict.fromkeys(("DRR", "drr", "DRR, one phase"), COLOURS["drr"]),
    **dict.fromkeys(("JRR, pairs", "JRR, pairs, tuned to the frequency"), "#08306b"),
    "JRR, any deck, tuned to the frequency": COLOURS["jrr"],
    "JRR, any deck, frequency unknown": "#6baed6",
    **dict.fromkeys(("sue", "sue-joint", "sue-dealt"), COLOURS["sue"]),
    **dict.fromkeys(("oue", "oue-joint", "oue-dealt"), "#a6761d"),
    **dict.fromkeys(("olh", "olh-joint"), COLOURS["olh"]),
    "ss": COLOURS["ss"],
    **dict.fromkeys(("mrr", MASKED), COLOURS["mrr"]),
    "two phases of JRR: 2% of the people first": "#66a61e",
    "two phases of JRR: 30% of the budget first": "#e7298a",
}
_SHARES = (0.01, 0.1, 1.0)
# DRR has no place here: it is never worse, so its R is 0 and its RI negative (see the CSV).
_VERSIONS: dict[str, dict[str, Any]] = {
    "as drawn": {
        "label": "as the paper drew it: breaks its own constraint",
        **{"color": "#7f7f7f", "linestyle": ":", "linewidth": 2},
    },
    "equal epsilon": {
        "label": "the paper's Algorithm 1 at the same ε",
        **{"color": COLOURS["jrr"], "linestyle": "-", "linewidth": 1.5},
    },
    "optimal pairs": {
        "label": "optimal pairs at the same ε",
        **{"color": "#08306b", "linestyle": (0, (4, 2)), "linewidth": 1.5},
    },
}
# Of several lines in one picture every next one is narrower and broken otherwise. Dashes and gaps
# are in points, whatever the width, so that narrow lines have dashes that can be seen.
_WIDTHS = (5.0, 3.0, 2.6, 2.2, 2.0, 1.8, 1.8, 1.6, 1.6, 1.6)
_DASHES: tuple[tuple[float, ...], ...] = ((), (12, 6), (), (3, 4), (14, 4, 3, 4), (7, 5))
_COUPLED: dict[str, tuple[float, ...]] = {"joint": (14, 4, 3, 4), "dealt": (3, 4)}
_MARKERS = "oDs^vPX*<>dp"  # of different shapes, where lines coincide
_PALETTE = ("#7f7f7f", "#1f77b4", "#08306b", "#d95f02", "#66a61e", "#7570b3", "#e7298a", "#a6761d")


def figure1(rows: Sequence[Row]) -> "Figure":
    """Grouped bars of MSE per data set, one panel per ε; dots are simulated."""
    figure, panels = _panels(sorted({row["epsilon"] for row in rows}), "ε = {:g}")
    for epsilon, axes in panels:
        names = list(dict.fromkeys(row["data"] for row in rows))
        for offset, line in enumerate(LINES):
            picked = _pick(rows, epsilon=epsilon, mechanism=line)
            at = [names.index(row["data"]) + 0.2 * (offset - 1.5) for row in picked]
            heights = [row["mse_theory"] for row in picked]
            axes.bar(at, heights, 0.18, color=_STYLE[line]["color"], label=line)
            axes.plot(at, [row["mse_simulated"] for row in picked], "k.", markersize=4)
        axes.set_yscale("log")
        axes.set_xticks(range(len(names)), names, fontsize=7)
        axes.set_ylabel("MSE")
    return _legend(figure)


def figure2(rows: Sequence[Row]) -> "Figure":
    """Percentiles of ARE, a panel per data set and ε."""
    keys = [(e, d) for e in _values(rows, "epsilon") for d in _values(rows, "data")]
    figure, panels = _panels(keys, "{1}, ε = {0:g}", columns=4)
    for (epsilon, data), axes in panels:
        picked = _pick(rows, epsilon=epsilon, data=data)
        _paper_lines(axes, picked, "are", "percentile")
        _logarithmic(axes, "x", (row["are"] for row in picked))
        _label_axes(axes, "ARE", "percentile")
    return _legend(figure)


def figure3(rows: Sequence[Row]) -> "Figure":
    """MSE (lines theory, dots simulated) and ARE (simulated) against ε."""
    return _mse_and_are(rows, "n", "n = {:,}", "epsilon", "ε")


def figure4(rows: Sequence[Row]) -> "Figure":
    """MSE and ARE against n."""
    return _mse_and_are(rows, "epsilon", "ε = {:g}", "n", "n")


def figure5(rows: Sequence[Row]) -> "Figure":
    """MSE against M."""
    return _theory_and_dots(rows, ["n"], "n = {0:,}", "colluders", "M", symlog=True)


def figure6(rows: Sequence[Row]) -> "Figure":
    """MSE against the frequency."""
    shared = [{**row, "share": row["ones"] / row["n"]} for row in rows]
    return _theory_and_dots(shared, ["epsilon", "n"], "ε = {0:g}, n = {1:,}", "share", "n₁/n")


def figure7(rows: Sequence[Row]) -> "Figure":
    """RI and R against ε in both versions."""
    return _underperformance(rows, "epsilon", "n", "n = {:,}", "ε", logarithmic=True)


def figure8(rows: Sequence[Row]) -> "Figure":
    """RI and R against n in both versions."""
    return _underperformance(rows, "n", "epsilon", "ε = {:g}", "n", logarithmic=False)


def frequency(rows: Sequence[Row]) -> "Figure":
    """Standard error against frequency."""
    keys = list(dict.fromkeys((row["epsilon"], row["dealer_epsilon"]) for row in rows))
    figure, panels = _panels(keys, "ε = {0:g}; cap on the dealer: {1}", columns=2)
    for (epsilon, cap), axes in panels:
        _lines(axes, _pick(rows, epsilon=epsilon, dealer_epsilon=cap), "frequency", "stderr")
        _label_axes(axes, "true frequency", "standard error", from_zero=True)
    return _legend(figure)


def trust(rows: Sequence[Row]) -> "Figure":
    """Standard error against the cap on the dealer."""
    figure, panels = _panels(_values(rows, "epsilon"), "ε = {:g}")
    for epsilon, axes in panels:
        picked = [row for row in _pick(rows, epsilon=epsilon) if row["dealer_epsilon"] != "inf"]
        _lines(axes, picked, "dealer_epsilon", "stderr")
        caps = sorted({row["dealer_epsilon"] for row in picked})
        beyond = caps[-1] + 0.15 * (caps[-1] - caps[0])
        free = [row for row in _pick(rows, epsilon=epsilon) if row["dealer_epsilon"] == "inf"]
        for place, row in enumerate(free):  # side by side, because some are equally high
            at = beyond + 0.05 * (place - len(free) / 2) * (caps[-1] - caps[0])
            axes.plot(at, row["stderr"], "D", color=_NAMED[row["mechanism"]], markersize=6)
        shown = list(range(round(caps[0]), round(caps[-1]) + 1, 2))
        axes.set_xticks([*shown, beyond], [*map(str, shown), "no cap"])
        across = "cap on ε of dealer and collector together"
        _label_axes(axes, across, "standard error", from_zero=True)
    return _legend(figure)


def dropout(rows: Sequence[Row]) -> "Figure":
    """Standard error against drop-out."""
    figure, panels = _panels([""], "n = 10,000 cards, ε = 0.1, 10% yes")
    for _, axes in panels:
        _lines(axes, rows, "dropped", "stderr_theory")
        for name in _values(rows, "mechanism"):
            colour, picked = _NAMED[name], _pick(rows, mechanism=name)
            dots = [row["stderr_simulated"] for row in picked]
            axes.plot([row["dropped"] for row in picked], dots, ".", color=colour)
        _label_axes(axes, "share that never reports", "standard error", from_zero=True)
    return _legend(figure)


def domain(rows: Sequence[Row]) -> "Figure":
    """Standard error against k, without cards above, with cards below."""
    keys = [(c, e) for c in ("no", "yes") for e in _values(rows, "epsilon")]
    titles = {"no": "without cards", "yes": "with cards"}
    figure, panels = _panels(keys, "", columns=2)
    for (cards, epsilon), axes in panels:
        heights = [row["stderr"] for row in rows if cards in (row["cards"], "yes")]
        picked = _pick(rows, cards=cards, epsilon=epsilon)
        if cards == "yes":  # what no cards at all would do
            picked = _pick(rows, mechanism="rr", epsilon=epsilon) + picked
        _lines(axes, picked, "k", "stderr", hollow=True)
        axes.set_xscale("log", base=2)
        _logarithmic(axes, "y", heights)
        axes.set_ylim(min(heights) / 1.3, max(heights) * 1.3)
        axes.set_title(f"{titles[cards]}; ε = {epsilon:g}, n = 20,000", fontsize=9)
        _label_axes(axes, "values k", "standard error")
    return _legend(figure)


def step(rows: Sequence[Row]) -> "Figure":
    """MSE of Algorithm 1 against Δp."""
    figure, panels = _panels(_values(rows, "frequency"), "n₁/n = {:g}")
    for frequency, axes in panels:
        picked = _pick(rows, frequency=frequency)
        steps = [row["step"] for row in picked]
        over = [row["mse_over_rr"] for row in picked]
        best = [row["optimum_over_rr"] for row in picked]
        axes.plot(steps, over, color=COLOURS["jrr"], label="Algorithm 1")
        axes.plot(steps, best, color="#08306b", linestyle="--", label="optimal pairs")
        axes.axhline(1, color=COLOURS["rr"], label="RR")
        axes.set_xscale("log")
        axes.set_yscale("log")
        _label_axes(axes, "Δp", "MSE / MSE of RR")
    return _legend(figure)


def two_phase(rows: Sequence[Row]) -> "Figure":
    """MSE of every way against the frequency."""
    named = [{**row, "mechanism": row["way"]} for row in rows]
    keys = list(dict.fromkeys((row["n"], row["colluders"]) for row in rows))
    figure, panels = _panels(keys, "n = {0:,}, M = {1:,}, ε = 0.1")
    for (n, colluders), axes in panels:
        _lines(axes, _pick(named, n=n, colluders=colluders), "frequency", "over_rr", marker=".")
        _label_axes(axes, "true frequency", "MSE / MSE of RR", from_zero=True)
    return _legend(figure)


def groups(rows: Sequence[Row]) -> "Figure":
    """MSE as a share of RR's against the size of groups, at each group's own ε."""
    figure, panels = _panels(_values(rows, "kind"), "{}; n = 240, 10% yes, M = 1")
    for kind, axes in panels:
        picked = sorted(_pick(rows, kind=kind), key=lambda row: row["group"])
        column = {name: [row[name] for row in picked] for name in picked[0]}
        sizes, pairs, stderr = (
            column[name] for name in ("group", "best_pairs_over_rr", "over_rr_stderr")
        )
        axes.axhline(1, color=COLOURS["rr"], linewidth=3, alpha=0.45, label="RR at the same ε")
        # Above the other line, which it coincides with in one panel.
        label = "optimal pairs at the same ε"
        axes.plot(sizes, pairs, "--", color="#08306b", zorder=3, label=label)
        label = "these groups, theory of one deck"
        axes.plot(sizes, column["over_rr_theory"], color=COLOURS["jrr"], label=label)
        axes.errorbar(
            sizes,
            column["over_rr_simulated"],
            yerr=[2 * error for error in stderr],
            fmt="k.",
            label="simulated in groups, ± 2 standard errors",
        )
        axes.set_xscale("log", base=2)
        named = [f"{row['group']}\n{row['epsilon_cards']:.2g}" for row in picked]
        axes.set_xticks(sizes, named, fontsize=7)
        axes.minorticks_off()
        axes.set_ylim(0, 1.2)
        _label_axes(axes, "people per group, and their ε (view cards)", "MSE / MSE of RR")
    return _legend(figure)


# -- shared pieces -------------------------------------------------------------------------


def _mse_and_are(rows: Sequence[Row], key: str, title: str, x: str, label: str) -> "Figure":
    """A column per panel key, a row per share and metric. ARE has no exact theory: simulated."""
    panels_of = _values(rows, key)
    lines = [(metric, share) for metric in ("mse", "are") for share in _SHARES]
    figure = new_figure(4.2 * len(panels_of), 2.5 * len(lines))
    grid = figure.subplots(len(lines), len(panels_of), squeeze=False, sharex=True)
    for (metric, share), across in zip(lines, grid, strict=True):
        for value, axes in zip(panels_of, across, strict=True):
            here = [
                row
                for row in _pick(rows, **{key: value})
                if row.get("share", row["ones"] / row["n"]) == share
            ]
            simulated = f"{metric}_simulated"
            _paper_lines(axes, here, x, "mse_theory" if metric == "mse" else simulated, simulated)
            for row in here:
                if not row["ones"]:
                    hollow = {
                        "color": _STYLE[row["mechanism"]]["color"],
                        "markerfacecolor": "white",
                    }
                    axes.plot(row[x], row[simulated], "o", **hollow)
            axes.set_xscale("log")
            _logarithmic(axes, "y", (row[simulated] for row in here))
            axes.set_title(f"{title.format(value)}, n₁/n = {share:g}", fontsize=9)
        across[0].set_ylabel("MSE" if metric == "mse" else "ARE (simulated)")
    for axes in grid[-1]:
        axes.set_xlabel(label)
    return _legend(figure)


def _logarithmic(axes: "Axes", which: str, values: Iterable[float]) -> None:
    """A logarithmic axis; where there are zeros they get a place below the smallest number."""
    numbers = [value for value in values if value == value]
    above = [value for value in numbers if value > 0]
    scale = getattr(axes, f"set_{which}scale")
    if above and len(above) < len(numbers):
        scale("symlog", linthresh=min(above))
        # Powers of ten but for smaller ones, so near to 0 that one number would cover the other.
        powers = range(math.ceil(math.log10(min(above))), math.ceil(math.log10(max(above))) + 1)
        getattr(axes, f"set_{which}ticks")([0, *(10.0**power for power in powers)])
    else:
        scale("log")


def _theory_and_dots(
    rows: Sequence[Row], keys: list[str], title: str, x: str, label: str, *, symlog: bool = False
) -> "Figure":
    values = list(dict.fromkeys(tuple(row[key] for key in keys) for row in rows))
    figure, panels = _panels(values, title, columns=3)
    for value, axes in panels:
        picked = _pick(rows, **dict(zip(keys, value, strict=True)))
        _paper_lines(axes, picked, x, "mse_theory", "mse_simulated")
        if symlog:
            axes.set_xscale("symlog")
            _logarithmic(axes, "y", (row["mse_theory"] for row in rows))
        _label_axes(axes, label, "MSE", from_zero=not symlog)
    return _legend(figure)


def _underperformance(
    rows: Sequence[Row], x: str, key: str, title: str, label: str, *, logarithmic: bool
) -> "Figure":
    keys = [(metric, value) for metric in ("ri", "r") for value in _values(rows, key)]
    figure, panels = _panels(keys, "{0}, {1}", columns=3)
    names = {"ri": "RI: excess of MSE over RR's\nat n₁/n = 1/2", "r": "R: share of frequencies"}
    for (metric, value), axes in panels:
        axes.set_title(title.format(value), fontsize=9)
        for version, style in _VERSIONS.items():
            picked = _pick(rows, version=version, **{key: value})
            axes.plot([row[x] for row in picked], [row[metric] for row in picked], **style)
        shown = [row[metric] for row in rows if row["version"] in _VERSIONS]
        _logarithmic(axes, "y", shown)
        axes.set_ylim(-0.2 * min(v for v in shown if v > 0), 2 * max(v for v in shown if v == v))
        if logarithmic:
            axes.set_xscale("log")
        else:
            ends = [row[x] for row in rows]
            at = [round(step * max(ends) / 4) for step in range(1, 5)]
            axes.set_xticks(at, [f"{tick:,}" for tick in at])
        _label_axes(axes, label, names[metric])
    return _legend(figure)


def _paper_lines(
    axes: "Axes", rows: Sequence[Row], x: str, y: str, simulated: str | None = None
) -> None:
    """A line for each mechanism that the paper's figures compare, and dots where simulated."""
    for line, style in _STYLE.items():
        picked = _pick(rows, mechanism=line)
        at = [row[x] for row in picked]
        axes.plot(at, [row[y] for row in picked], label=line, **style)
        if simulated is not None:
            dots = [row[simulated] for row in picked]
            axes.plot(at, dots, ".", color=style["color"], markersize=4)


def _label_axes(axes: "Axes", across: str, up: str, *, from_zero: bool = False) -> None:
    axes.set_xlabel(across)
    axes.set_ylabel(up)
    if from_zero:
        axes.set_ylim(bottom=0)


def _panels(
    keys: Sequence[Any], title: str, columns: int = 4
) -> tuple["Figure", list[tuple[Any, "Axes"]]]:
    columns = min(columns, len(keys))
    lines = -(-len(keys) // columns)
    figure = new_figure(4.0 * columns + 0.5, 3.2 * lines + 0.6)
    grid = figure.subplots(lines, columns, squeeze=False).ravel()
    panels = []
    for key, axes in zip(keys, grid, strict=False):
        parts = key if isinstance(key, tuple) else (key,)
        shown = tuple("none" if part == "" else part for part in parts)
        axes.set_title(title.format(*shown), fontsize=9)
        panels.append((key, axes))
    for axes in grid[len(keys) :]:
        axes.set_visible(False)
    return figure, panels


def _lines(
    axes: "Axes", rows: Sequence[Row], x: str, y: str, marker: str = "", *, hollow: bool = False
) -> None:
    """A line for each mechanism; hollow: with markers of its own shape, as lines coincide."""
    for place, name in enumerate(_values(rows, "mechanism")):
        colour = _NAMED.get(name, _PALETTE[place % len(_PALETTE)])
        picked = _pick(rows, mechanism=name)
        width = _WIDTHS[min(place, len(_WIDTHS) - 1)]
        dashes = _COUPLED.get(name.rpartition("-")[2], _DASHES[place % len(_DASHES)])
        axes.plot(
            [row[x] for row in picked],
            [row[y] for row in picked],
            color=colour,
            label=_label(name),
            marker=_MARKERS[place % len(_MARKERS)] if hollow else marker or None,
            markersize=7 if hollow else None,
            markevery=(place % 5, 5) if hollow else None,  # no two lines have theirs at one place
            markerfacecolor="white" if hollow else None,
            linewidth=width,
            linestyle=(0, tuple(length / width for length in dashes)) if dashes else "-",
            alpha=0.45 if place == 0 else 1.0,
        )


def _label(name: str) -> str:
    """A name for legends: families of plans are known by short words."""
    family, _, coupling = name.partition("-")
    if name == "mrr":
        return MASKED
    if family not in COLOURS:
        return name
    return family.upper() + (f", {coupling} cards" if coupling else "")


def _legend(figure: "Figure") -> "Figure":
    entries: dict[str, Any] = {}
    for axes in figure.axes:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            entries.setdefault(label, handle)
    figure.legend(
        list(entries.values()),
        list(entries),
        loc="outside lower center",
        ncols=max(1, min(4, len(entries), int(figure.get_figwidth() / 2.3))),
        frameon=False,
        fontsize=8,
        handlelength=4.5,  # long enough for the longest dashes
    )
    return figure


def _pick(rows: Iterable[Row], **wanted: Any) -> list[Row]:
    return [row for row in rows if all(row[key] == value for key, value in wanted.items())]


def _values(rows: Sequence[Row], key: str) -> list[Any]:
    return list(dict.fromkeys(row[key] for row in rows))
