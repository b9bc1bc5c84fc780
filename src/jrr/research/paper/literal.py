"""The paper's mechanism in its own words: secret pairs, shared signs, C_j, T_j, joint table.

No mechanism uses this; tests compare it with the card form. A positive ρ has no
card form (both members of a pair would share a sign) and exists here only, as a law.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jrr._base import checks, randomness
from jrr.errors import ArgumentError
from jrr.mechanisms.base import Rng


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
        """Theorem 2 as printed (too small for two or more colluders: docs/theory.md)."""
        n = checks.integer("n", n, 2)
        m = checks.integer("colluders", colluders, 0, n - 1)
        p, q, rho = self.p, self.q, self.rho
        p_max = max((1 - rho) * p, p + rho * q)
        p_min = min((1 - rho) * q, self._lie_after_lie)
        least = m * p_min + (n - m - 1) * q
        return math.log((m * p_max + (n - m - 1) * p) / least) if least > 0 else math.inf

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


def respond_in_pairs(values: ArrayLike, p: float, rho: float, rng: Rng = None) -> NDArray[np.uint8]:
    """Person by person as the paper says: pair up, R = ±1, draw C_j, T_j = [C_j + R_j > 0]."""
    x = checks.symbols("values", values, 2).astype(np.uint8)
    if len(x) % 2 or not len(x):
        raise ArgumentError(f"values must be an even number of contributors, got {len(x)}")
    source = randomness.source(rng)
    law = noise_law(p, rho)
    paired = randomness.shuffled(np.arange(len(x)), source)
    signs = np.where(_uniform(source, len(x) // 2) < 0.5, 1, -1)
    r = np.empty(len(x), int)
    r[paired[0::2]], r[paired[1::2]] = signs, -signs
    ends = np.cumsum(list(law.values()))[:-1]
    c = np.array(list(law))[np.searchsorted(ends, _uniform(source, len(x)), side="right")]
    truthful = c + r > 0
    return np.where(truthful, x, 1 - x).astype(np.uint8)


def _uniform(source: randomness.RandomSource, count: int) -> NDArray[np.float64]:
    return (source.words(count) >> np.uint64(11)).astype(np.float64) * 2.0**-53
