"""Recall of the most frequent pages of Kosarak, ours beside pure-ldp's, in one run.

    python -m benchmarks.heavy_hitters [kosarak_first100k.dat.gz]

Every click is a person with one string of 16 bits. Ours: local hashing (reports sent at once, no
cards) and masked cards (one group after the other; what the cards and coins leave of each group is
drawn from its exact law). Writes build/heavy_hitters.json and build/heavy_hitters.png.
"""

import argparse
import gzip
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import jrr
from benchmarks import by_epsilon, peers
from benchmarks.child import ROOT
from benchmarks.timing import ratio
from jrr.estimation.estimates import Estimate, Stratum
from jrr.telemetry.words import Symbols, places

BITS, TOP, KEEP = 16, 20, 40
WORDS = jrr.Words("01", BITS, fixed=True)
EPSILONS = (1.0, 2.0, 4.0)
RUNS = 10  # of ours
LEVELS = (11, BITS)  # without cards
HASHED, MASKED = "jrr, OLH, two levels", "jrr, MRR announced, three levels"
PUBLISHED = "PEM by its published variance, two levels"
SHARED = Path(os.environ.get("JRR_SHARED", ROOT.parent / "shared"))
KOSARAK = SHARED / "data" / "kosarak_first100k.dat.gz"
THEIRS = {"PEM, FLH, two levels": 1, "PEM, FLH, three levels": 1}  # pure-ldp's methods -> runs


def hashed(strings: list[str], epsilon: float, rng: np.random.Generator) -> tuple[str, ...]:
    search = jrr.HeavyHitters(WORDS, epsilon, KEEP, LEVELS)
    return search.find(search.respond(strings, rng), TOP).strings


def masked(rows: Symbols, epsilon: float, rng: np.random.Generator) -> tuple[str, ...]:
    search = jrr.PrefixSearch.start(WORDS, KEEP, candidates=1_024)
    groups = np.array_split(rng.permutation(len(rows)), len(search.levels))
    while search.found is None:
        group = groups[search.level]
        m = jrr.MRR.for_epsilon(epsilon, n=len(group), announced=True, k=search.k)
        held = np.bincount(places(search.prefixes, rows[group]), minlength=search.k)
        counts = jrr.simulate(m, held, 1, rng)[0]
        stratum = Stratum(moments=m.moments, n=len(group), counts=counts, decks=1)
        search = search.extended(Estimate([stratum]))
    return search.found.strings[:TOP]


def published(rows: Symbols, epsilon: float, rng: np.random.Generator) -> tuple[str, ...]:
    """PEM as it is published: normal noise of local hashing's variance, 4 n e^ε / (e^ε - 1)².

    The variance is from Wang, Blocki, Li and Jha (USENIX Security 2017), the search from Wang, Li
    and Jha (arXiv:1708.06674).
    """
    moments = jrr.OLH(1 << BITS, epsilon=epsilon).moments
    search = jrr.PrefixSearch.start(WORDS, KEEP, LEVELS)
    groups = np.array_split(rng.permutation(len(rows)), len(LEVELS))
    while search.found is None:
        group = groups[search.level]
        held = np.bincount(places(search.prefixes, rows[group]), minlength=search.k)[: search.k]
        spread = math.sqrt(4 * len(group) * math.exp(epsilon)) / (math.exp(epsilon) - 1)
        counts = held + rng.normal(0.0, spread, len(held))
        stratum = Stratum(moments=moments, n=len(group), counts=counts, decks=1)
        search = search.extended(Estimate([stratum]))
    return search.found.strings[:TOP]


def theirs(items: Path, method: str, epsilon: float, runs: int, python: Path) -> list[Any]:
    script = Path(__file__).with_name("heavy_hitters_peer.py")
    command = [python, "-W", "ignore", script, items, method, epsilon, runs, 1]
    done = subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def measure(data: Path) -> dict[str, Any]:
    with gzip.open(data, "rt") as lines:
        items = np.array([int(word) for line in lines for word in line.split()], np.uint32)
    ids, counts = np.unique(items, return_counts=True)
    order = np.argsort(-counts, kind="stable")[:TOP]
    wanted = {format(item, f"0{BITS}b") for item in ids[order].tolist()}
    text = {item: format(item, f"0{BITS}b") for item in ids.tolist()}
    strings = [text[item] for item in items.tolist()]
    rows = WORDS.symbols(strings)

    def recall(found: Any) -> float:
        return len(wanted & set(found[:TOP])) / TOP

    rng = np.random.default_rng(1)
    results: list[dict[str, Any]] = []
    notes: list[str] = []
    document = {
        "data": data.name,
        "people": len(items),
        "strings": len(ids),
        "top": TOP,
        "share_of_the_last": float(counts[order[-1]] / len(items)),
        "notes": notes,
        "results": results,
    }

    def add(method: str, epsilon: float, found: list[Any], seconds: float) -> None:
        recalls = [recall(one) for one in found]
        row = {"method": method, "epsilon": epsilon, "recall": float(np.mean(recalls))}
        results.append(row | {"recalls": recalls, "seconds_a_run": seconds})
        print(results[-1], file=sys.stderr, flush=True)
        by_epsilon.keep("heavy_hitters", document)  # runs take long: what was found stays

    for epsilon in EPSILONS:
        for name, method, given in (
            (HASHED, hashed, strings),
            (MASKED, masked, rows),
            (PUBLISHED, published, rows),
        ):
            began = time.process_time()
            found = [method(given, epsilon, rng) for _ in range(RUNS)]  # type: ignore[operator]
            add(name, epsilon, found, (time.process_time() - began) / RUNS)
    try:
        python = peers.python()
    except peers.NoPeersError as error:
        notes.append(f"SKIPPED pure-ldp: {error}")
        print(notes[0], file=sys.stderr)
    else:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "items.npy"
            np.save(path, items)
            for epsilon in EPSILONS:
                for method, runs in THEIRS.items():
                    answers = theirs(path, method, epsilon, runs, python)
                    seconds = float(np.mean([answer["seconds"] for answer in answers]))
                    found = [answer["found"] for answer in answers]
                    add(f"pure-ldp, {method}", epsilon, found, seconds)
    return document


def run(data: Path | None = None) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Measure, keep and draw; the document, and whether cards find as many as hashing does."""
    path = KOSARAK if data is None else data
    if not path.is_file():
        note = (
            f"skipped: {path.name} is not here; set JRR_SHARED to the folder above its data folder"
        )
        print(note, file=sys.stderr)
        return {"notes": [note], "results": []}, []
    document = measure(path)
    by_epsilon.draw(
        document["results"],
        by_epsilon.keep("heavy_hitters", document),
        value="recall",
        ylim=(0, 1.03),
        ylabel=f"share of the true top {TOP} that is found",
        title=f"Kosarak: {document['people']:,} clicks, {document['strings']:,} pages",
    )
    recalls = {(row["method"], row["epsilon"]): row["recall"] for row in document["results"]}
    return document, [
        ratio(
            f"recall of {HASHED}, ε = {epsilon:g}",
            f"of {MASKED}",
            {
                f"recall of {HASHED}, ε = {epsilon:g}": recalls[HASHED, epsilon],
                f"of {MASKED}": recalls[MASKED, epsilon],
            },
            at_most=1.0,
        )
        for epsilon in EPSILONS
    ]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="benchmarks.heavy_hitters")
    parser.add_argument("data", type=Path, nargs="?", help="a person's page ids on every line, .gz")
    print(json.dumps(run(parser.parse_args().data)[0]))
