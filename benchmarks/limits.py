"""How near coins behind masks come to the best that any scheme could do.

`make bench ARGS=limits`. No scheme in which the collector learns at most ε, and dealer and
collector together at most the cap, has a smaller variance than the best coin at the cap without any
helper, nor than the best central mechanism at ε (docs/theory.md, Theorem 35). Several items are
compared with a coin for each, at the same total. Variances are exact; nothing is drawn.
"""

import math
from pathlib import Path
from typing import Any

import jrr
from benchmarks.child import ROOT
from jrr.mechanisms.request import DEALER_ABOVE, Request
from jrr.planning.blocks import plan_block

EPSILONS = (0.1, 0.5, 1.0, 2.0, 4.0)
VALUES = (2, 3, 10, 20, 50, 100, 500, 1_000)
PEOPLE = (10_000, 100_000)
MOST = 1.05  # variance over the lower bound
MOST_WITH_NOISE = (
    1.45  # at ε = 0.1 and 10,000 people the noise of the sum is as large as the coin's
)
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
    shares = [_share(k, epsilon, n) for k in VALUES for epsilon in EPSILONS for n in PEOPLE]
    items = [
        _items(d, epsilon, frequency, expected)
        for (d, epsilon), row in SPLIT_OVER_BLOCK.items()
        for frequency, expected in zip(FREQUENCIES, row, strict=True)
    ]
    draw(shares, items, ROOT / "build" / "limits.png")
    results = [
        {
            "what": f"k = {row['k']}, ε = {row['epsilon']}, n = {row['n']:,}: variance / bound",
            "ratio": row["ratio"],
            "at_most": row["at_most"],
            "kept": row["ratio"] <= row["at_most"],
        }
        for row in shares
    ] + [
        {
            "what": f"{row['items']} items, ε = {row['epsilon']}, f = {row['frequency']}: "
            f"variance of {row['asked']} asked together / expected",
            "ratio": row["expected"] / row["split_over_block"],
            "at_most": MOST,
            "kept": row["expected"] / row["split_over_block"] <= MOST,
        }
        for row in items
    ]
    return {"shares": shares, "items": items}, results


def _share(k: int, epsilon: float, n: int) -> dict[str, Any]:
    """The share of one of k answers, all being as frequent (of two: one person in ten)."""
    frequency = 0.1 if k == 2 else 1 / k
    cap = epsilon + DEALER_ABOVE
    made = jrr.MRR.for_epsilon(epsilon, n=n, k=k, dealer_epsilon=cap, frequency=frequency)
    variance = Request(n, epsilon, k=k, frequency=frequency).expected_variance(made)
    bound = max(best_alone(k, cap, frequency), best_central(k, epsilon) / n) / n
    hard = epsilon < 0.5 and n < 100_000
    return {
        "k": k,
        "epsilon": epsilon,
        "n": n,
        "coin": str(made.coin),
        "variance": variance,
        "bound": bound,
        "ratio": variance / bound,
        "at_most": MOST_WITH_NOISE if hard else MOST + 0.01 * (epsilon < 0.5),
    }


def best_alone(k: int, epsilon: float, frequency: float) -> float:
    """The variance per person of the best coin without a helper: sets of the best size."""
    found = []
    for size in range(1, k):
        p = 1 / (1 + (k - size) / size * math.exp(-epsilon))
        q = (size - p) / (k - 1)
        spread = frequency * p * (1 - p) + (1 - frequency) * q * (1 - q)
        found.append(spread / (p - q) ** 2)
    return min(found)


def best_central(k: int, epsilon: float) -> float:
    """The variance of a count with two-sided geometric noise; of k > 2 counts two change."""
    ratio = math.exp(-epsilon if k == 2 else -epsilon / 2)
    return 2 * ratio / (1 - ratio) ** 2


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


def draw(shares: list[dict[str, Any]], items: list[dict[str, Any]], path: Path) -> None:
    """Ratios to the bound by ε, and what blocks gain."""
    from matplotlib.figure import Figure

    path.parent.mkdir(exist_ok=True)
    figure = Figure(figsize=(10, 4), layout="constrained")
    left, right = figure.subplots(1, 2)
    for k in VALUES:
        rows = [row for row in shares if row["k"] == k and row["n"] == PEOPLE[0]]
        left.plot(EPSILONS, [row["ratio"] for row in rows], marker="o", label=f"{k} answers")
    left.axhline(MOST, color="grey", linestyle=":", linewidth=1)
    left.set(xscale="log", xlabel="ε (cap ε + 2)", ylabel="variance / lower bound")
    left.set_title(f"One question, {PEOPLE[0]:,} people")
    left.set_xticks(EPSILONS, [f"{epsilon:g}" for epsilon in EPSILONS])
    left.minorticks_off()
    left.legend(fontsize=7)
    for d, epsilon in SPLIT_OVER_BLOCK:
        rows = [row for row in items if (row["items"], row["epsilon"]) == (d, epsilon)]
        gains = [row["split_over_block"] for row in rows]
        right.plot(FREQUENCIES, gains, marker="o", label=f"{d} items, ε = {epsilon:g}")
    right.set(yscale="log", xlabel="share of yes", ylabel="variance: a coin each / together")
    right.set_yticks([2, 5, 10, 20], ["2", "5", "10", "20"])
    right.minorticks_off()
    right.set_title(f"Several items, {ITEM_PEOPLE:,} people")
    right.legend(fontsize=7)
    figure.savefig(path, dpi=110)
