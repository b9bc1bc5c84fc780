"""The paper's future work: a first phase of RR chooses the second phase's parameters.

The best pairs under a guarantee are one of two mechanisms, plain RR or one corner
(docs/theory-jrr.md, Theorem 10a), so all a first phase can decide is which of the two. Phases of
different people are in jrr.planning.two_phases, with any deck and for surveys.

Here everybody answers twice, by RR at a part of ε and then with the rest; the two ε add up. That is
not quite unbiased: the weights of the two answers come from the first one, so they are correlated
with it (a fifth of a standard error at n = 10,000, 25% ones, ε = 0.1, half of it for the first
phase). Errors here include that bias.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from jrr._base import checks
from jrr.estimation.moments import Floats
from jrr.mechanisms.base import Mechanism
from jrr.mechanisms.dealt import DRR
from jrr.mechanisms.joint import JRR
from jrr.mechanisms.request import Request
from jrr.mechanisms.rr import RR
from jrr.mechanisms.simulation import simulate
from jrr.planning.two_phases import plan_two_phases
from jrr.research.paper.figure import Context, Row, figure
from jrr.research.paper.settings import COLLUDERS, EPSILON, Case, N, optimal_pairs, theory


@dataclass(frozen=True)
class TwoPhase:
    """Estimated numbers of ones over simulated surveys, and the guarantee kept."""

    estimates: Floats
    epsilon: float  # view `cards`, all answers of a person together

    def mse(self, ones: int) -> tuple[float, float]:
        """Mean squared error and its standard error."""
        squared = (self.estimates - ones) ** 2
        return float(squared.mean()), float(squared.std(ddof=1) / np.sqrt(len(squared)))


def by_budget(case: Case, share: float, runs: int, rng: np.random.Generator) -> TwoPhase:
    """Everybody answers twice; the two estimates are weighted by their variances."""
    share = checks.real("share", share, "in (0, 1)", 0.0, 1.0, open_low=True, open_high=True)
    first = RR(epsilon=share * case.epsilon)
    options = _options(case.n, (1 - share) * case.epsilon, case.colluders)
    rough = simulate(first, case.counts, runs, rng)[:, 1]
    fine = [simulate(option, case.counts, runs, rng)[:, 1] for option in options]
    first_variance = float(first.variance(case.counts)[1])
    estimates = np.empty(runs)
    for run in range(runs):
        share_of_ones = min(1.0, max(0.0, rough[run] / case.n))
        second = _choice(options, case.n, share_of_ones)
        later = fine[options.index(second)][run]
        variance = _variance(second, case.n, share_of_ones)
        weight = first_variance / (first_variance + variance)
        estimates[run] = weight * later + (1 - weight) * rough[run]
    used = max(m.epsilon("cards", case.colluders) for m in options)
    return TwoPhase(estimates, first.epsilon() + used)


def _options(n: int, epsilon: float, colluders: int) -> list[Mechanism]:
    """RR, and the corner: the best JRR where everybody agrees."""
    m = min(colluders, n - 1)
    return [RR(epsilon=epsilon), optimal_pairs(n, epsilon, m, 0.0)]


def _choice(options: list[Mechanism], n: int, share: float) -> Mechanism:
    return min(options, key=lambda option: _variance(option, n, min(1.0, max(0.0, share))))


def _variance(mechanism: Mechanism, n: int, share: float) -> float:
    return float(mechanism.variance((n * (1 - share), n * share))[1])


@figure(steps=16)
def two_phase(context: Context) -> Iterator[Row]:
    """Two-phase estimation.

    With few colluders one phase of JRR is better. With 1% of a million people colluding the best
    JRR for an unknown frequency is RR, and a first phase of 2% of the people makes rare answers far
    more accurate. DRR needs no first phase at all. Splitting the budget is worse than RR near 1/2
    and biases a little.
    """
    for n, colluders in ((N, COLLUDERS), (1_000_000, 10_000)):
        rr = RR(epsilon=EPSILON)
        joint = JRR.best(Request(n, EPSILON, colluders))
        dealt = DRR.best(Request(n, EPSILON, colluders))
        phases = plan_two_phases(n, EPSILON, colluders, math.inf, lost=0.0)
        for share in (0.0, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5):
            case = Case(n, round(share * n), EPSILON, colluders)
            plain = theory(rr, case)
            split = by_budget(case, 0.3, context.runs, context.rng)
            budget, error = split.mse(case.ones)
            ways = {
                "RR": (plain, 0.0),
                "JRR, one phase": (theory(joint, case), 0.0),
                "two phases of JRR: 2% of the people first": ((n * phases.stderr(share)) ** 2, 0.0),
                "two phases of JRR: 30% of the budget first": (budget, error),
                "DRR, one phase": (theory(dealt, case), 0.0),
            }
            context.step(1)
            for way, (mse, mse_error) in ways.items():
                yield {
                    "n": n,
                    "colluders": colluders,
                    "frequency": share,
                    "way": way,
                    "mse": mse,
                    "mse_stderr": mse_error,
                    "over_rr": mse / plain,
                }
