"""Error of shares of ranges: trees without cards and with masked ones, flat histograms, pure-ldp's.

    python -m benchmarks.ranges

100,000 numbers of a Cauchy law in 4,096 bins; the root mean square error over 2,000 ranges with
random ends. Published: the bounds of Cormode, Kulkarni and Srivastava (VLDB 2019) for consistent
hierarchical histograms and for the Haar wavelet, V (B+1) log_B(r) log_B(D) / 2 averaged over the
same ranges of length r, and V log_2(D)² / 2, with V = 4 e^ε / (n (e^ε - 1)²). Writes
build/ranges.json and build/ranges.png.
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
from benchmarks import peers
from benchmarks.child import ROOT
from jrr.estimation.estimates import Estimate, Stratum

BINS, PEOPLE, RANGES, RUNS = 4096, 100_000, 2_000, 10
EPSILONS = (0.5, 1.0, 2.0)
BRANCHINGS = (4, 8, 16, 64)


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


def published(epsilon: float, ends: Any) -> dict[str, float]:
    one = 4 * math.exp(epsilon) / (PEOPLE * (math.exp(epsilon) - 1) ** 2)
    lengths = ends[:, 1] - ends[:, 0]
    tree = one * 5 / 2 * np.mean(np.maximum(np.log(lengths) / math.log(4), 1)) * math.log(BINS, 4)
    return {
        "bound: consistent tree, B = 4": math.sqrt(tree),
        "bound: Haar": math.sqrt(one * math.log2(BINS) ** 2 / 2),
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
        for name, bound in published(epsilon, ends).items():
            add(name, epsilon, [bound**2])
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


def draw(document: dict[str, Any], path: Path) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(8.5, 4), layout="constrained")
    for name in dict.fromkeys(row["method"] for row in document["results"]):
        if "B = 8" in name or "B = 64" in name:
            continue  # between the others
        rows = [row for row in document["results"] if row["method"] == name]
        line = ":" if name.startswith("bound") else "-" if name.startswith("jrr") else "--"
        points = [row["epsilon"] for row in rows], [100 * row["rmse"] for row in rows]
        axes.plot(*points, line, marker="o", label=name)
    axes.set(xscale="log", yscale="log", xticks=EPSILONS)
    axes.set_xticklabels([f"{epsilon:g}" for epsilon in EPSILONS])
    axes.minorticks_off()
    axes.set_xlabel("ε of the one report of a person")
    axes.set_ylabel("error of a range's share, points (root mean square)")
    axes.set_title(f"{document['people']:,} numbers, {document['bins']:,} bins", fontsize=11)
    axes.grid(alpha=0.3, which="both")
    axes.legend(fontsize=8, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    figure.savefig(path, dpi=150)


def main() -> None:
    document = measure()
    build = ROOT / "build"
    build.mkdir(exist_ok=True)
    (build / "ranges.json").write_text(json.dumps(document, indent=2) + "\n")
    draw(document, build / "ranges.png")
    print(json.dumps(document))


if __name__ == "__main__":
    main()
