"""The view `everything`: how time and memory of a whole δ(ε) curve grow with the survey."""

import json
import subprocess
import sys

from benchmarks.child import ROOT
from benchmarks.timing import ratio

MOST_BYTES = 1_000_000_000
SIZES = (1_000, 10_000, 100_000)
_CHILD = """
import sys, json, time
import numpy as np
import jrr
from benchmarks import memory
from jrr.privacy.informed import loss_distribution
from jrr.mechanisms.rr import truth_probability

kind, n = sys.argv[1], int(sys.argv[2])
p = truth_probability(0.1, 2)
mechanism = jrr.JRR(n, p, s=1 - p) if kind == "JRR" else jrr.DRR(n, 2 * p - 1)
best = float("inf")
for _ in range(3):
    start = time.perf_counter()
    losses = loss_distribution(mechanism)
    curve = [losses.delta(float(epsilon)) for epsilon in np.linspace(0, 2, 1_000)]
    best = min(best, time.perf_counter() - start)
assert np.all(np.diff(curve) <= 1e-12)
print(json.dumps({"seconds": best, "peak_bytes": memory.peak()}))
"""


def growth() -> list[dict[str, object]]:
    """JRR exactly, DRR by its bound for all compositions; a thousand points of each curve."""
    results: list[dict[str, object]] = []
    for kind in ("JRR", "DRR"):
        measured = {n: _measured(kind, n) for n in SIZES}
        names = {n: f"{kind} curve, n = {n:,}" for n in SIZES}
        seconds = {names[n]: measured[n]["seconds"] for n in SIZES}
        small, middle, large = (names[n] for n in SIZES)
        results += [
            ratio(middle, small, seconds, at_most=100.0),
            ratio(large, small, seconds, at_most=1_000.0),
        ]
        for n in SIZES:
            peak = measured[n]["peak_bytes"]
            results.append(
                {
                    "what": f"{names[n]}: peak memory / {MOST_BYTES:,} bytes",
                    "peak_bytes": peak,
                    "ratio": peak / MOST_BYTES,
                    "at_most": 1.0,
                    "kept": peak <= MOST_BYTES,
                }
            )
    return results


def _measured(kind: str, n: int) -> dict[str, float]:
    """In a process of its own, so that its peak is its own."""
    done = subprocess.run(
        [sys.executable, "-c", _CHILD, kind, str(n)],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    answer: dict[str, float] = json.loads(done.stdout)
    return answer
