"""A year of daily reports by the same devices, with a permanent response that they remember.

    python -m benchmarks.year

20,000 devices, of which two in a hundred draw their value anew each day; ε = 2 remembered, ε = 1
fresh in every round: plain RR and masked cards. Writes build/year.json and build/year.png.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np

import jrr
from benchmarks import by_epsilon

DEVICES, DAYS = 20_000, 365
PERMANENT, FRESH = 2.0, 1.0
FEWEST_HELD = 0.85  # a year is one draw of what is remembered: its days share an error


def truth(rng: np.random.Generator) -> Any:
    """Values by day and device: from 10% to about 20%, with a jump in the middle of the year."""
    values = np.empty((DAYS, DEVICES), np.int64)
    values[0] = rng.random(DEVICES) < 0.1
    for day in range(1, DAYS):
        share = 0.1 + 0.1 * day / DAYS + (0.1 if DAYS // 2 < day < DAYS // 2 + 60 else 0.0)
        changes = rng.random(DEVICES) < 0.02
        values[day] = np.where(changes, rng.random(DEVICES) < share, values[day - 1])
    return values


def series(daily: jrr.Longitudinal, values: Any, rng: np.random.Generator) -> Any:
    memory = daily.remember(DEVICES, rng)
    tallies = []
    for held in values:
        cards = daily.deal(rng)
        tally = daily.fresh.tally(daily.respond(held, memory, cards, rng))
        if cards is not None:
            told = daily.fresh.announce(cards, rng=rng)
            tally = daily.fresh.settle(tally, announced=told)
        tallies.append(tally)
    return daily.series(tallies)


def measure() -> tuple[dict[str, Any], Any]:
    rng = np.random.default_rng(3)
    values = truth(rng)
    shares = values.mean(axis=1)
    permanent = jrr.RR(epsilon=PERMANENT)
    found, drawn = [], {}
    for name, fresh in (
        ("RR", jrr.RR(epsilon=FRESH)),
        ("MRR, announced sums", jrr.MRR.for_epsilon(FRESH, n=DEVICES, announced=True)),
    ):
        daily = jrr.Longitudinal(fresh, permanent)
        year = series(daily, values, rng)
        low, high = (ends[:, 1] for ends in year.interval())
        found.append(
            {
                "mechanism": name,
                "held": float(np.mean((low <= shares) & (shares <= high))),
                "mean_stderr": float(year.stderr[:, 1].mean()),
                "epsilon": daily.guarantees(DAYS),
            }
        )
        drawn[name] = (year.frequencies[:, 1], low, high)
    return {"devices": DEVICES, "days": DAYS, "results": found}, (shares, drawn)


def draw(shares: Any, drawn: Any, path: Path) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(9, 3.4), sharey=True, layout="constrained")
    days = np.arange(DAYS)
    for one, (name, (share, low, high)) in zip(axes, drawn.items(), strict=True):
        one.fill_between(days, 100 * low, 100 * high, alpha=0.3, label="95% intervals")
        one.plot(days, 100 * share, linewidth=0.8, label="estimates")
        one.plot(days, 100 * shares, color="black", linewidth=1.2, label="truth")
        one.set(title=f"fresh: {name}", xlabel="day")
        one.grid(alpha=0.3)
    axes[0].set_ylabel("share, %")
    axes[0].legend(fontsize=8)
    figure.savefig(path, dpi=150)


def run() -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Measure, keep and draw; the document, and whether the intervals hold."""
    document, (shares, drawn) = measure()
    draw(shares, drawn, by_epsilon.keep("year", document))
    return document, [
        {
            "what": f"{found['mechanism']}: share of 95% intervals that hold over a year",
            "ratio": found["held"],
            "at_least": FEWEST_HELD,
            "kept": found["held"] >= FEWEST_HELD,
        }
        for found in document["results"]
    ]


if __name__ == "__main__":
    print(json.dumps(run()[0]))
