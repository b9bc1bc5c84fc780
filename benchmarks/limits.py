"""How near coins behind masks come to the best that any scheme could do.

`make bench ARGS=limits`. In no scheme that keeps the cap ε_d against dealer and collector together,
and ε against a collector that knows everybody else's answer and card, do n people have a smaller
variance than n - 1 with the best coin at the cap without any helper, and one with the best at ε
(docs/theory.md, Theorem 35). Several items are also compared with a coin for each, at the same
total. Variances are exact; nothing is drawn.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jrr
from benchmarks import best_alone
from benchmarks.child import ROOT
from jrr.estimation.masks import AnnouncedMasks
from jrr.mechanisms.request import DEALER_ABOVE, Request
from jrr.planning.blocks import plan_block
from jrr.planning.numbers import plan_number

EPSILONS = (0.1, 0.5, 1.0, 2.0, 4.0)
VALUES = (2, 3, 10, 20, 50, 100, 500, 1_000)
ITEMS = (3, 5, 8, 12, 15)
PEOPLE = (10_000, 100_000)
MOST = 1.05  # variance over the lower bound
# Noise of the sum, by the bound and cards having none of c, from which on it is added to that: the
# bound has half of what any noise added to a count has at this ε, less where several numbers move.
LARGE_NOISE = 0.01
# Variance over the least that masks can have: cards are given 2% of it, or 3% of c.
MOST_OF_MASKS = 1.055
ITEM_PEOPLE = 2_000
FREQUENCIES = (0.05, 0.1, 0.3, 0.5)
# Items, ε -> variance of a coin for each over that of the best block, as an independent reader
# computed it; errors speak of the population that people are a sample of.
SPLIT_OVER_BLOCK = {
    (3, 1.0): (3.8, 3.2, 2.4, 2.3),
    (5, 2.0): (7.0, 5.4, 3.5, 3.3),
    (8, 2.0): (11.0, 8.5, 5.3, 4.9),
    (8, 4.0): (12.0, 8.4, 4.8, 4.3),
    (15, 1.0): (17.0, 14.0, 9.9, 9.2),
}


def run() -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Everything, and whether the promises were kept."""
    rows = [
        row
        for n in PEOPLE
        for epsilon in EPSILONS
        for row in (
            *(_share(k, epsilon, n) for k in VALUES),
            _mean(epsilon, n),
            *(_together(d, epsilon, n) for d in ITEMS),
        )
    ]
    items = [
        _items(d, epsilon, frequency, expected)
        for (d, epsilon), row in SPLIT_OVER_BLOCK.items()
        for frequency, expected in zip(FREQUENCIES, row, strict=True)
    ]
    draw(rows, items, ROOT / "build" / "limits.png")
    results = []
    for row in rows:
        what = f"{row['task']}, ε = {row['epsilon']:g}, n = {row['n']:,}: variance / bound"
        noise = row["left"] if row["left"] > LARGE_NOISE else 0.0
        results.append(_promise(what, row["ratio"], MOST * (1 + noise)))
        results.append(_promise(f"{what} of masks", row["of_masks"], MOST_OF_MASKS))
    for row in items:
        what = f"{row['items']} items, ε = {row['epsilon']:g}, f = {row['frequency']}: "
        what += f"variance of {row['asked']} asked together / expected"
        results.append(_promise(what, row["expected"] / row["split_over_block"], MOST))
    return {"limits": rows, "items": items}, results


def _promise(what: str, ratio: float, most: float) -> dict[str, Any]:
    return {"what": what, "ratio": ratio, "at_most": most, "kept": ratio <= most}


def _row(
    task: str, request: Request, part: jrr.MRR, variance: float, alone: Sequence[float], **more: Any
) -> dict[str, Any]:
    """Beside the bound: of n - 1 people at the cap, and one at ε (`alone`, per person).

    `part` is what people who are asked this answer by, `request` says how many they are. The noise
    of their sum is told apart, and what would be left of it if cards had none of c.
    """
    (at_cap, at_epsilon), n, asked = alone, more["n"], request.n
    bound = ((n - 1) * at_cap + at_epsilon) / n**2
    noise, left = (
        AnnouncedMasks(part.card_rate, rate).variance_of(asked)
        / (float(part.moments.gain[-1]) * asked) ** 2
        for rate in (part.announced_rate, float(part.step))
    )
    about = {"task": task, "epsilon": request.epsilon, "variance": variance, "bound": bound}
    about |= {"ratio": variance / bound, "of_masks": variance / (variance - noise + left)}
    return about | {"noise": noise / bound, "left": left / bound} | more


def _share(k: int, epsilon: float, n: int) -> dict[str, Any]:
    """The share of one of k answers, all being as frequent (of two: one person in ten)."""
    frequency = 0.1 if k == 2 else 1 / k
    cap = epsilon + DEALER_ABOVE
    made = jrr.MRR.for_epsilon(epsilon, n=n, k=k, dealer_epsilon=cap, frequency=frequency)
    request = Request(n, epsilon, k=k, frequency=frequency)
    variance = request.expected_variance(made)
    alone = [best_alone.share(k, one, frequency) for one in (cap, epsilon)]
    return _row(f"{k} answers", request, made, variance, alone, n=n, coin=str(made.coin))


def _mean(epsilon: float, n: int) -> dict[str, Any]:
    """The mean of a number that is anywhere between two ends."""
    cap = epsilon + DEALER_ABOVE
    made = plan_number(n, epsilon, 0, 1, dealer_epsilon=cap, lost=0.0)
    alone = [best_alone.mean(one) for one in (cap, epsilon)]
    part = made.mechanism
    assert isinstance(part, jrr.MRR)
    variance = made.stderr() ** 2
    return _row("a mean", made.request, part, variance, alone, n=n, coin=str(part.coin))


def _together(d: int, epsilon: float, n: int) -> dict[str, Any]:
    """The share of yes of each of d items, half of the people saying yes."""
    cap = epsilon + DEALER_ABOVE
    made = plan_block(n, epsilon, [2] * d, frequency=0.5, dealer_epsilon=cap, lost=0.0)
    alone = [best_alone.items(d, one) for one in (cap, epsilon)]
    variance = made.stderr(0) ** 2
    return _row(f"{d} items", made.request, made.item(0), variance, alone, n=n, asked=made.asked)


def _items(d: int, epsilon: float, frequency: float, expected: float) -> dict[str, Any]:
    """A coin for each of d yes/no items beside one for all that are asked."""
    n, cap = ITEM_PEOPLE, epsilon + DEALER_ABOVE
    each = jrr.MRR.for_epsilon(epsilon / d, n=n, dealer_epsilon=cap / d, frequency=frequency)
    drawn = frequency * (1 - frequency) / n
    split = Request(n, epsilon, frequency=frequency).expected_variance(each) + drawn
    options: dict[str, Any] = {"frequency": frequency, "dealer_epsilon": cap, "lost": 0.0}
    block = plan_block(n, epsilon, [2] * d, **options)
    return {
        "items": d,
        "epsilon": epsilon,
        "frequency": frequency,
        "asked": block.asked,
        "split_variance": split,
        "block_variance": block.stderr(0) ** 2 + drawn,
        "split_over_block": split / (block.stderr(0) ** 2 + drawn),
        "expected": expected,
    }


def draw(rows: list[dict[str, Any]], items: list[dict[str, Any]], path: Path) -> None:
    """Ratios to the bound by ε, and what blocks gain."""
    from matplotlib.figure import Figure

    path.parent.mkdir(exist_ok=True)
    figure = Figure(figsize=(12, 4), layout="constrained")
    one, several, gains = figure.subplots(1, 3)
    tasks = list(dict.fromkeys(row["task"] for row in rows))
    for task in tasks:
        some = [row for row in rows if row["task"] == task and row["n"] == PEOPLE[0]]
        axes = several if "items" in task else one
        ratios = [row["ratio"] for row in some]
        axes.plot([row["epsilon"] for row in some], ratios, marker="o", markersize=4, label=task)
    for axes, title in ((one, "One question"), (several, "Yes-no items together")):
        axes.axhline(MOST, color="grey", linestyle=":", linewidth=1)
        axes.set(xscale="log", xlabel="ε (cap ε + 2)", ylabel="variance / lower bound")
        axes.set_title(f"{title}, {PEOPLE[0]:,} people")
        axes.set_xticks(EPSILONS, [f"{epsilon:g}" for epsilon in EPSILONS])
        axes.minorticks_off()
        axes.legend(fontsize=7)
    for d, epsilon in SPLIT_OVER_BLOCK:
        some = [row for row in items if (row["items"], row["epsilon"]) == (d, epsilon)]
        gained = [row["split_over_block"] for row in some]
        gains.plot(FREQUENCIES, gained, marker="o", label=f"{d} items, ε = {epsilon:g}")
    gains.set(yscale="log", xlabel="share of yes", ylabel="variance: a coin each / together")
    gains.set_yticks([2, 5, 10, 20], ["2", "5", "10", "20"])
    gains.minorticks_off()
    gains.set_title(f"What one coin gains, {ITEM_PEOPLE:,} people")
    gains.legend(fontsize=7)
    figure.savefig(path, dpi=110)
