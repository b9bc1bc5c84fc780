"""One picture per attack."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from jrr.planning.plans import uncapped_plan as plan
from jrr.privacy.cost_table import belief
from jrr.reporting.plots import COLOURS, label_axes, new_axes, new_figure, save
from jrr.research.attacks.cards import (
    block_epsilon,
    card_reuse,
    refusal_estimate,
    swap_bias,
    sybil_epsilon,
)
from jrr.research.attacks.catalogue import VERIFIED, Setting

Curves = Mapping[str, Sequence[float]]  # by mechanism


def draw_attacks(folder: str | Path, setting: Setting | None = None) -> list[Path]:
    """A PNG file per attack, in a folder that is made if it is not there.

    Args:
        folder: where the pictures go.
        setting: the survey that is attacked; None: that of `all_attacks`.
    """
    survey = setting or Setting()
    Path(folder).mkdir(parents=True, exist_ok=True)
    return [draw(survey, Path(folder) / f"attack-{name}.png") for name, draw in _DRAWN.items()]


def _reuse(setting: Setting, path: Path) -> Path:
    rounds = range(1, 7)
    curves = {
        name: [card_reuse(setting.mechanisms[name], r).one_card[1] for r in rounds]
        for name in ("JRR", "JRR capped", "DRR capped")
    }
    curves["RR"] = [setting.mechanisms["RR"].epsilon() for _ in rounds]
    title = "One card for all rounds: loss of one changed answer (view report; DRR uncapped: ∞)"
    return _curves(path, list(rounds), curves, "rounds with one card", "ε", title)


def _collusion(setting: Setting, path: Path) -> Path:
    caps = [float(cap) for cap in np.linspace(setting.epsilon, 5, 30)]
    figure = new_figure(8.0, 3.6)
    left, right = figure.subplots(1, 2)
    left.plot(caps, [100 * belief(cap) for cap in caps], color="black", linewidth=2)
    left.axhline(10, color="black", linewidth=1, linestyle=":")
    left.set_xlabel("cap on the dealer (ε, view dealer)")
    left.set_ylabel("what 10% likely can become (%)")
    alone = setting.mechanisms["RR"]
    base = float(alone.variance(_counts(setting))[1])
    for name in ("jrr", "drr"):
        shares = [_variance(setting, name, cap) / base for cap in caps]
        right.plot(caps, shares, color=COLOURS[name], linewidth=2, label=name.upper())
    right.set_ylim(0, 1.05)
    right.set_xlabel("cap on the dealer (ε, view dealer)")
    right.set_ylabel("variance, as a share of RR's")
    right.legend(frameon=False, fontsize=8)
    figure.suptitle("Dealer and collector together: what a cap bounds, and what it costs")
    return save(figure, path)


def _sybils(setting: Setting, path: Path) -> Path:
    shares = [float(share) for share in np.linspace(0, 0.6, 61)]
    curves = {
        name: [sybil_epsilon(setting.mechanisms[name], share) for share in shares]
        for name in ("JRR capped", "DRR capped", "JRR", "DRR")
    }
    percent = [100 * share for share in shares]
    title = f"Fake accounts are colluders (planned: {setting.colluders} of {setting.n:,})"
    return _curves(path, percent, curves, "fake accounts (%)", "ε, view cards", title)


def _blocks(setting: Setting, path: Path) -> Path:
    sizes = [2 * round(10**power / 2) for power in np.linspace(1.1, math.log10(setting.n), 60)]
    curves = {
        name: [block_epsilon(setting.mechanisms[name], b, setting.colluders) for b in sizes]
        for name in ("JRR capped", "DRR capped", "JRR", "DRR")
    }
    title = f"Small decks, {setting.colluders} colluders in the target's own"
    return _curves(path, sizes, curves, "cards in a deck", "ε, view cards", title, log=True)


def _refusals(setting: Setting, path: Path) -> Path:
    shares = [float(share) for share in np.linspace(0, 0.05, 26)]
    curves = {
        name: [
            100 * refusal_estimate(setting.mechanisms[name], setting.frequency, share)
            for share in shares
        ]
        for name in ("JRR", "DRR", "DRR capped")
    }
    percent = [100 * share for share in shares]
    title = f"Holders of card 1 (JRR: plus) who refuse; the truth is {100 * setting.frequency:g}%"
    return _curves(path, percent, curves, "of them refuse (%)", "expected estimate (%)", title)


def _liars(setting: Setting, path: Path) -> Path:
    numbers = list(range(0, setting.n // 20 + 1, setting.n // 200))
    each = {name: setting.reach(name) for name in ("RR", "JRR", "DRR", "OUE", "OLH", VERIFIED)}
    curves = {name: [100 * m * moved / setting.n for m in numbers] for name, moved in each.items()}
    title = f"Liars among {setting.n:,} contributors, ε = {setting.epsilon:g}"
    return _curves(path, numbers, curves, "liars", "bias (percentage points)", title)


def _one_liar(setting: Setting, path: Path) -> Path:
    """Masks let one person say more: on a logarithmic scale, against ε."""
    epsilons = [0.1, 0.2, 0.5, 1.0, 2.0, 4.0]
    surveys = [
        replace(setting, epsilon=epsilon, cap=epsilon + setting.cap - setting.epsilon)
        for epsilon in epsilons
    ]
    figure, axes = new_axes(7.2, 4.0)
    styles = {"RR": "-", "DRR": ":", "MRR closed": "-", "MRR announced": "--", VERIFIED: "-."}
    for name, style in styles.items():
        moved = [survey.reach(name) for survey in surveys]
        colour = COLOURS[name.split(" ")[0].lower()]
        axes.plot(epsilons, moved, style, color=colour, label=name, linewidth=2)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xticks(epsilons, [f"{epsilon:g}" for epsilon in epsilons])
    axes.minorticks_off()
    title = f"One liar among {setting.n:,} contributors"
    label_axes(axes, "ε", "people that one liar adds", title)
    return save(figure, path)


def _swaps(setting: Setting, path: Path) -> Path:
    numbers = list(range(0, setting.n // 50 + 1, setting.n // 500))
    each = {
        "DRR": swap_bias(setting.mechanisms["DRR"], setting.frequency, 1, 0),
        "DRR capped": swap_bias(setting.mechanisms["DRR capped"], setting.frequency, 1, 0),
        "JRR": swap_bias(setting.mechanisms["JRR"], setting.frequency, 1, -1),
    }
    curves = {name: [100 * m * bias / setting.n for m in numbers] for name, bias in each.items()}
    title = f"A dealer exchanges cards; {100 * setting.frequency:g}% hold the answer"
    return _curves(path, numbers, curves, "cards exchanged", "bias (percentage points)", title)


def _coercion(setting: Setting, path: Path) -> Path:
    names = ("RR", "JRR", "DRR", "JRR capped", "DRR capped")
    figure, axes = new_axes(7.2, 3.6)
    for shift, view, label in ((-0.2, "report", "names any card"), (0.2, "dealer", "proves it")):
        beliefs = [100 * belief(setting.mechanisms[name].epsilon(view)) for name in names]
        places = [at + shift for at in range(len(names))]
        colour = COLOURS["rr"] if view == "report" else COLOURS["drr"]
        bars = axes.bar(places, beliefs, 0.38, color=colour, label=f"{label} (view {view})")
        axes.bar_label(bars, fmt="%.0f", fontsize=8)
    axes.axhline(10, color="black", linewidth=1, linestyle=":")
    axes.set_xticks(range(len(names)), names)
    label_axes(axes, "", "what 10% likely can become (%)", "A coerced contributor who …")
    return save(figure, path)


_DRAWN: Mapping[str, Callable[[Setting, Path], Path]] = {
    "card-reuse": _reuse,
    "collusion": _collusion,
    "sybils": _sybils,
    "small-decks": _blocks,
    "refusal": _refusals,
    "poisoning": _liars,
    "one-liar": _one_liar,
    "swapped-cards": _swaps,
    "coercion": _coercion,
}


def _curves(
    path: Path,
    at: Sequence[float],
    curves: Curves,
    across: str,
    up: str,
    title: str,
    log: bool = False,
) -> Path:
    figure, axes = new_axes(7.2, 4.0)
    for name, heights in curves.items():
        style = "--" if name.endswith(("capped", "verified")) else "-"
        colour = COLOURS[name.split(" ")[0].lower()]
        finite = [math.nan if math.isinf(height) else height for height in heights]
        axes.plot(at, finite, style, color=colour, label=name, linewidth=2)
    if log:
        axes.set_xscale("log")
    label_axes(axes, across, up, title)
    return save(figure, path)


def _counts(setting: Setting) -> list[int]:
    ones = round(setting.n * setting.frequency)
    return [setting.n - ones, ones]


def _variance(setting: Setting, kind: str, cap: float) -> float:
    known = setting.frequency if kind == "jrr" else None
    chosen_plan = plan(
        setting.n, setting.epsilon, setting.colluders, 2, cap, mechanism=kind, frequency=known
    )
    return float(chosen_plan.mechanism.variance(_counts(setting))[1])
