"""The paper's mechanism in its own words: secret pairs, signs, C_j, T_j, joint table, search.

No survey uses this; tests compare it with the card form. A positive ρ exists here only: its pairs
share one card instead of holding opposite ones, so that lies add up instead of cancelling.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jrr._base import checks, randomness
from jrr.errors import ArgumentError
from jrr.mechanisms.base import Rng
from jrr.mechanisms.paper_search import paper_search


@dataclass(frozen=True)
class JointTable:
    """The paper's table of joint reporting probabilities of a pair, for any allowed ρ."""

    p: float  # probability of a truthful report
    rho: float  # correlation of the two truths

    def __post_init__(self) -> None:
        checks.real("p", self.p, "in (0.5, 1]", 0.5, 1.0, open_low=True)
        least = 1 - 1 / self.p
        checks.real("rho", self.rho, f"in {least!r}..1", least - 1e-12, 1.0)

    @property
    def q(self) -> float:
        """Probability of a lie."""
        return 1 - self.p

    def table(self) -> NDArray[np.float64]:
        """[[Pr[both true], Pr[true, lie]], [Pr[lie, true], Pr[both lie]]]."""
        p, q, tied = self.p, self.q, self.rho * self.p * self.q
        both_lie = q * self._lie_after_lie
        return np.array([[p * p + tied, p * q - tied], [p * q - tied, both_lie]])

    @property
    def _lie_after_lie(self) -> float:
        """Pr[lie | the other lies] = q + ρp, exactly 0 at the smallest ρ."""
        return self.q + self.rho * self.p if self.rho > 1 - 1 / self.p + 1e-12 else 0.0

    def epsilon(self, n: int, colluders: int) -> float:
        """Theorem 2 as printed (too small for two or more colluders: docs/errata.md)."""
        n = checks.integer("n", n, 2)
        m = checks.integer("colluders", colluders, 0, n - 1)
        p, q, rho = self.p, self.q, self.rho
        p_max = max((1 - rho) * p, p + rho * q)
        p_min = min((1 - rho) * q, self._lie_after_lie)
        least = m * p_min + (n - m - 1) * q
        return math.log((m * p_max + (n - m - 1) * p) / least) if least > 0 else math.inf

    def estimate(self, reports: ArrayLike) -> float:
        """Eq. (18): the estimated number of ones."""
        y = checks.symbols("reports", reports, 2)
        return float((y.sum() - len(y) * self.q) / (self.p - self.q))

    def variance(self, n: int, n1: float) -> float:
        """Theorem 3: variance of the estimated number of ones."""
        p, q = self.p, self.q
        tied = self.rho * ((2 * n1 - n) ** 2 - n) / (n - 1)
        return p * q / (p - q) ** 2 * (n + tied)


def noise_law(p: float, rho: float) -> dict[float, float]:
    """The law of C_j (the paper's Eq. C_j), for 1 - 1/p <= ρ <= 0."""
    table = JointTable(p, rho)
    if rho > 0:
        raise checks.refusal("rho", rho, "at most 0 (C_j would be imaginary)")
    lean = math.sqrt(-rho * p * table.q)
    return {1.5: p - lean, 0.5: lean, -0.5: lean, -1.5: table.q - lean}


def shared_card_law(p: float, rho: float) -> tuple[float, float, float]:
    """How a pair that shares one card has the correlation ρ, for 0 <= ρ <= 1.

    Returns:
        The chance of a plus card (it is p), and the chance of the truth with a plus and with a
        minus card (docs/theory-jrr.md, Corollary 1.3).
    """
    lean = math.sqrt(checks.real("rho", rho, "in 0..1", 0.0, 1.0))
    return p, p + (1 - p) * lean, p - p * lean


def respond_in_pairs(values: ArrayLike, p: float, rho: float, rng: Rng = None) -> NDArray[np.uint8]:
    """Person by person as the paper says: everybody is paired up by chance, then pairs report.

    For ρ <= 0 the paper's practical rule: R = ±1, draw C_j, T_j = [C_j + R_j > 0]. For ρ > 0 C_j
    would be imaginary; there both members of a pair get the same card, which gives the paper's
    joint table too.
    """
    x = checks.symbols("values", values, 2).astype(np.uint8)
    if len(x) % 2 or not len(x):
        raise ArgumentError(f"values must be an even number of contributors, got {len(x)}")
    JointTable(p, rho)  # refuses what is out of range
    source = randomness.source(rng)
    paired = randomness.shuffled(np.arange(len(x)), source)
    by_sign = _truths_of_shared_cards if rho > 0 else _truths_of_opposite_signs
    truthful = np.empty(len(x), bool)
    truthful[paired] = by_sign(len(x), p, rho, source)
    return np.where(truthful, x, 1 - x).astype(np.uint8)


def _truths_of_opposite_signs(
    n: int, p: float, rho: float, source: randomness.RandomSource
) -> NDArray[np.bool_]:
    """Who tells the truth, pair after pair, by the paper's rule."""
    law = noise_law(p, rho)
    r = np.empty(n, int)
    r[0::2] = np.where(_uniform(source, n // 2) < 0.5, 1, -1)
    r[1::2] = -r[0::2]
    ends = np.cumsum(list(law.values()))[:-1]
    c = np.array(list(law))[np.searchsorted(ends, _uniform(source, n), side="right")]
    truthful: NDArray[np.bool_] = c + r > 0
    return truthful


def _truths_of_shared_cards(
    n: int, p: float, rho: float, source: randomness.RandomSource
) -> NDArray[np.bool_]:
    """Who tells the truth, pair after pair, where a pair has one card."""
    plus, with_plus, with_minus = shared_card_law(p, rho)
    cards = np.repeat(_uniform(source, n // 2) < plus, 2)
    truthful: NDArray[np.bool_] = _uniform(source, n) < np.where(cards, with_plus, with_minus)
    return truthful


def algorithm1_as_printed(
    n: int, epsilon: float, colluders: int, step_p: float = 1e-4, step_rho: float = 1e-4
) -> JointTable:
    """What the paper's Algorithm 1 returns, a positive ρ included.

    A coarse grid of ρ can step over everything feasible below 0. `jrr.algorithm1` then refuses,
    because no deck of `JRR` has a positive ρ.

    Raises:
        ArgumentError: where the algorithm returns Null, or for arguments out of range.
    """
    return JointTable(*paper_search(n, epsilon, colluders, step_p, step_rho))


def _uniform(source: randomness.RandomSource, count: int) -> NDArray[np.float64]:
    return (source.words(count) >> np.uint64(11)).astype(np.float64) * 2.0**-53
