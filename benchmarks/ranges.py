"""Error of shares of ranges: trees without cards and with masked ones, flat histograms, pure-ldp's.

    python -m benchmarks.ranges

100,000 numbers of a Cauchy law in 4,096 bins; the root mean square error over 2,000 ranges with
random ends. Beside them Haar wavelets, whose exact error is computed, and the bounds that are
published for both (benchmarks.range_bounds). Writes build/ranges.json and build/ranges.png.
"""

import json
import math
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import jrr
from benchmarks import by_epsilon, peers, range_bounds
from benchmarks.timing import ratio
from jrr.estimation.estimates import Estimate, Stratum

BINS, PEOPLE, RANGES, RUNS = 4096, 100_000, 2_000, 10
EPSILONS = (0.5, 1.0, 2.0)
BRANCHINGS = (4, 8, 16, 64)
BETWEEN = ("jrr, tree, B = 8", "jrr, tree, B = 64")  # the others, and not drawn


def numbers_and_ranges() -> tuple[Any, Any]:
    rng = np.random.default_rng(2019)
    drawn = 0.4 * BINS + BINS / 10 * rng.standard_cauchy(3 * PEOPLE)
    values = np.floor(drawn[(drawn >= 0) & (drawn < BINS)][:PEOPLE]).astype(np.int64)
    ends = np.sort(rng.integers(0, BINS + 1, (RANGES, 2)), axis=1)
    return values, ends[ends[:, 0] < ends[:, 1]]


def errors_of(frequencies: Any, truth: Any, ends: Any) -> float:
    off = np.concatenate(([0.0], np.cumsum(frequencies - truth)))
    return float(np.mean((off[ends[:, 1]] - off[ends[:, 0]]) ** 2))


def drawn(tree: jrr.RangeTree, values: Any, rng: np.random.Generator) -> Any:
    """One survey; what each level's group reports is drawn from its exact law."""
    groups = np.array_split(rng.permutation(len(values)), len(tree.mechanisms))
    levels = []
    for level, (m, group) in enumerate(zip(tree.mechanisms, groups, strict=True)):
        held = np.bincount(values[group] // (BINS // m.k), minlength=m.k)
        counts = jrr.simulate(m, held, 1, rng)[0]
        stratum = Stratum(moments=m.moments, n=len(group), counts=counts, decks=1)
        levels.append(Estimate([stratum]))
        assert levels[-1].n == len(group), level
    return tree.estimate(levels)


def others(epsilon: float, ends: Any) -> dict[str, float]:
    """Mean squared errors of methods that are computed, not run."""
    one = range_bounds.share_variance(epsilon, PEOPLE)
    return {
        "Haar, Hadamard response, exact": float(
            np.mean(range_bounds.haar_variance(ends, BINS, epsilon, PEOPLE))
        ),
        "bound: consistent tree, B = 4": one
        * float(np.mean(range_bounds.tree_bound(ends, BINS, 4))),
        "bound: Haar": one * range_bounds.haar_bound(BINS),
    }


def measure() -> dict[str, Any]:
    values, ends = numbers_and_ranges()
    truth = np.bincount(values, minlength=BINS) / PEOPLE
    rng = np.random.default_rng(1)
    results: list[dict[str, Any]] = []
    notes = []

    def add(method: str, epsilon: float, squares: list[float], **more: float) -> None:
        row = {"method": method, "epsilon": epsilon, "rmse": math.sqrt(np.mean(squares))}
        results.append(row | more)
        print(results[-1], file=sys.stderr, flush=True)

    indicator = np.array([(np.arange(BINS) >= a) & (np.arange(BINS) < b) for a, b in ends[:100]])
    for epsilon in EPSILONS:
        for branching in BRANCHINGS:
            for cards in ("none", "masked"):
                tree = jrr.RangeTree.for_epsilon(
                    0,
                    BINS,
                    bins=BINS,
                    epsilon=epsilon,
                    branching=branching,
                    cards=cards,
                    n=PEOPLE if cards == "masked" else None,
                )
                found = [drawn(tree, values, rng) for _ in range(RUNS)]
                stated = np.mean(found[0].sum_stderr(indicator.astype(np.float64)) ** 2)
                kind = "no cards" if cards == "none" else "MRR announced"
                add(
                    f"jrr, tree, B = {branching}, {kind}",
                    epsilon,
                    [errors_of(one.frequencies, truth, ends) for one in found],
                    stated_of_100_ranges=math.sqrt(stated),
                )
        flat = jrr.OLH(BINS, epsilon=epsilon)
        counts = np.bincount(values, minlength=BINS)
        shares = jrr.simulate(flat, counts, RUNS, rng) / PEOPLE
        add("jrr, flat, OLH", epsilon, [errors_of(one, truth, ends) for one in shares])
        for name, square in others(epsilon, ends).items():
            add(name, epsilon, [square])
    try:
        python = peers.python()
    except peers.NoPeersError as error:
        notes.append(f"SKIPPED pure-ldp: {error}")
        print(notes[0], file=sys.stderr)
    else:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "values.npy"
            np.save(path, values)
            script = Path(__file__).with_name("ranges_peer.py")
            for epsilon in EPSILONS:
                command = [python, "-W", "ignore", script, path, BINS, epsilon, 1, 1]
                done = subprocess.run(
                    list(map(str, command)), check=True, capture_output=True, text=True
                )
                found = [np.array(json.loads(line)) for line in done.stdout.splitlines()]
                squares = [errors_of(one / PEOPLE, truth, ends) for one in found]
                add("pure-ldp, flat, OUE", epsilon, squares)
    return {
        "people": PEOPLE,
        "bins": BINS,
        "ranges": len(ends),
        "runs": RUNS,
        "notes": notes,
        "results": results,
    }


def run() -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Measure, keep and draw; the document, and whether trees are within their bound."""
    document = measure()
    shown = [row for row in document["results"] if not row["method"].startswith(BETWEEN)]
    by_epsilon.draw(
        shown,
        by_epsilon.keep("ranges", document),
        value="rmse",
        scale=100,
        beside=True,
        yscale="log",
        ylabel="error of a range's share, points (root mean square)",
        title=f"{PEOPLE:,} numbers, {BINS:,} bins",
    )
    errors = {(row["method"], row["epsilon"]): row["rmse"] for row in document["results"]}
    tree, bound = "jrr, tree, B = 4, no cards", "bound: consistent tree, B = 4"
    return document, [
        ratio(
            f"{tree}, ε = {epsilon:g}",
            bound,
            {f"{tree}, ε = {epsilon:g}": errors[tree, epsilon], bound: errors[bound, epsilon]},
            at_most=1.0,
        )
        for epsilon in EPSILONS
    ]


if __name__ == "__main__":
    print(json.dumps(run()[0]))
