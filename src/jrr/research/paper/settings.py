"""One experimental setting of the paper, the mechanisms compared in it, and its two metrics."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from jrr.errors import JrrError
from jrr.estimation.moments import Floats
from jrr.mechanisms.base import Mechanism
from jrr.mechanisms.dealt import DRR
from jrr.mechanisms.joint import JRR
from jrr.mechanisms.request import Request
from jrr.mechanisms.rr import RR
from jrr.mechanisms.shifts import truth_probability
from jrr.mechanisms.simulation import simulate
from jrr.planning.algorithm1 import algorithm1

# The paper's table of default settings.
N, FREQUENCY, EPSILON, COLLUDERS, STEP = 10_000, 0.1, 0.1, 5, 1e-4

RR_LINE, PAPER_LINE, OPTIMAL_LINE, DRR_LINE = "RR", "JRR (paper)", "JRR (optimal pairs)", "DRR"
MASKED = "MRR, sums announced"  # what surveys use unless told otherwise
LINES = (RR_LINE, PAPER_LINE, OPTIMAL_LINE, DRR_LINE)


@dataclass(frozen=True)
class Case:
    """A survey to be simulated."""

    n: int
    ones: int
    epsilon: float
    colluders: int = COLLUDERS
    step: float | None = STEP  # Δp = Δρ of Algorithm 1; None: p = P(ε), ρ = 1 - 1/p, infeasible

    @property
    def counts(self) -> tuple[int, int]:
        """(zeros, ones)."""
        return (self.n - self.ones, self.ones)

    def mechanisms(self) -> Iterator[tuple[str, Mechanism]]:
        """Those that exist in this setting, in the order of LINES."""
        frequency = self.ones / self.n
        yield RR_LINE, RR(epsilon=self.epsilon)
        paper = paper_jrr(self.n, self.epsilon, self.colluders, self.step)
        if paper is not None:
            yield PAPER_LINE, paper
        yield OPTIMAL_LINE, optimal_pairs(self.n, self.epsilon, self.colluders, frequency)
        yield DRR_LINE, _best_drr(self.n, self.epsilon, self.colluders)


@lru_cache(maxsize=4096)
def paper_jrr(n: int, epsilon: float, colluders: int, step: float | None) -> JRR | None:
    """The paper's JRR; None where its search returns Null."""
    if step is None:
        p = truth_probability(epsilon, 2)
        return JRR(n, p, s=1 - p)
    try:
        return algorithm1(n, epsilon, colluders, step, step)
    except JrrError:
        return None


@lru_cache(maxsize=4096)
def optimal_pairs(
    n: int, epsilon: float, colluders: int, frequency: float | None = None, cap: float | None = None
) -> Mechanism:
    """The best that the paper's pairs can do: as many plus as minus cards, or plain RR."""
    return JRR.best_even(Request(n, epsilon, colluders, 2, cap, frequency))


@lru_cache(maxsize=4096)
def _best_drr(n: int, epsilon: float, colluders: int) -> Mechanism:
    return DRR.best(Request(n, epsilon, colluders))


def theory(mechanism: Mechanism, case: Case) -> float:
    """The expected MSE: both values' variances are the same."""
    return float(np.mean(mechanism.variance(case.counts)))


def errors(
    mechanism: Mechanism, case: Case, runs: int, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Squared error and relative error (the paper's MSE and ARE before averaging), per run.

    A value that nobody holds has no relative error and is left out of the average.
    """
    off = simulate(mechanism, case.counts, runs, rng) - np.asarray(case.counts)
    held = np.asarray(case.counts) > 0
    squared: Floats = np.mean(off**2, axis=1)
    relative: Floats = np.mean(np.abs(off[:, held]) / np.asarray(case.counts)[held], axis=1)
    return squared, relative


def expected_relative(mechanism: Mechanism, case: Case) -> float:
    """The ARE of a normal error with the exact variance: an approximation, not the exact ARE."""
    held = [count for count in case.counts if count]
    return math.sqrt(2 / math.pi * theory(mechanism, case)) * float(np.mean([1 / h for h in held]))


def relative_increase(n: int, mechanism: Mechanism, rr: RR) -> float:
    """RI: how much larger a mechanism's MSE is than RR's at n1/n = 1/2, as a share."""
    half = (n - n // 2, n // 2)
    return float(mechanism.variance(half)[1] / rr.variance(half)[1]) - 1


def underperforming_range(n: int, mechanism: Mechanism, rr: RR) -> float:
    """R: the width of the frequencies around 1/2 at which the MSE exceeds RR's."""
    a, b, c = (float(part[0]) for part in mechanism.moments.quadratic(n, 1))
    bound = float(rr.variance((n, 0))[1])
    # JRR's variance is a concave parabola in n1, highest at n/2.
    excess = b * b - 4 * c * (a - bound)
    if c == 0:
        return 1.0 if a > bound else 0.0
    return min(1.0, math.sqrt(max(0.0, excess)) / (-c * n)) if excess > 0 else 0.0
