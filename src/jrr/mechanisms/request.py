"""What is asked of a mechanism before a survey, and the criterion by which two are compared."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

import numpy as np

from jrr._base import checks
from jrr.estimation.contrasts import Sampling
from jrr.estimation.moments import Moments

Frequency = float | tuple[float, float] | None


class Candidate(Protocol):
    """What is asked of a mechanism here."""

    @property
    def moments(self) -> Moments:
        """First and second moments of the reports."""

    def epsilon(self, view: str = "report", colluders: int = 0, delta: float = 0.0) -> float:
        """The privacy loss in a view."""


_Some = TypeVar("_Some", bound=Candidate)


@dataclass(frozen=True)
class Request:
    """What is asked of a plan."""

    n: int
    epsilon: float
    colluders: int = 0
    k: int = 2
    dealer_epsilon: float | None = None
    frequency: Frequency = None
    lost: float = 0.0  # the share of cards that are dealt and never reported with
    announced: bool = True  # whether a dealer of masks announces sums; False: a closed deck

    def __post_init__(self) -> None:
        cap = self.dealer_epsilon
        n = checks.deck_size(self.n)
        for name, value in (
            ("k", checks.domain(self.k)),
            ("n", n),
            ("epsilon", checks.epsilon("epsilon", self.epsilon)),
            ("colluders", checks.integer("colluders", self.colluders, 0, n - 1)),
            ("dealer_epsilon", None if cap is None else checks.epsilon("dealer_epsilon", cap)),
            ("frequency", _check_frequency(self.frequency)),
            ("lost", checks.real("lost", self.lost, "in [0, 1)", 0.0, 1.0, open_high=True)),
        ):
            object.__setattr__(self, name, value)

    @property
    def budget(self) -> float:
        """ε that every report must keep; a cap below it binds reports too."""
        cap = self.dealer_epsilon
        return self.epsilon if cap is None else min(self.epsilon, cap)

    @property
    def reporters(self) -> float:
        """How many are expected to report."""
        return self.n * (1 - self.lost)

    def allows(self, mechanism: Candidate) -> bool:
        """Whether the mechanism that would run keeps what was asked."""
        cap = self.dealer_epsilon
        return mechanism.epsilon("cards", self.colluders) <= self.budget and (
            cap is None or mechanism.epsilon("dealer") <= cap
        )

    def expected_variance(self, mechanism: Candidate) -> float:
        """The criterion: variance of an estimated frequency, averaged over the values.

        At the given frequency; at the worst one of a given interval; or, with none given, for
        k = 2 on average over all frequencies, for larger domains in the worst population.
        """
        return self.variance_of(mechanism.moments)

    def variance_of(self, moments: Moments) -> float:
        """The criterion for these moments."""
        # Averaged over the values: with an uneven deck they differ a little.
        n = self.reporters
        a, b, c = (float(np.mean(part)) for part in moments.quadratic(n, 1))
        b, c = b * n, c * n**2
        known = self.frequency
        if known is None and self.k > 2:
            known = 1 / self.k  # the worst population: variances are concave in the frequency
        if isinstance(known, tuple):
            low, high = known
            top = min(max(-b / (2 * c), low), high) if c < 0 else high
            return max(0.0, *(a + f * (b + f * c) for f in (low, high, top))) / n**2
        first, second = (1 / 2, 1 / 3) if known is None else (known, known**2)
        return max(0.0, a + first * b + second * c) / n**2

    def sampling_variance(self, sampling: Sampling) -> float:
        """By the same criterion: variance of the share among n people drawn at random."""
        known = self.frequency
        if known is None and self.k > 2:
            known = 1 / self.k
        if isinstance(known, tuple):
            known = min(max(0.5, known[0]), known[1])  # the worst: the nearest to 1/2
        spread = 1 / 6 if known is None else known * (1 - known)
        return spread * sampling.second / self.reporters


def least(candidates: Sequence[_Some], request: Request) -> _Some:
    """The candidate with the smallest expected variance; the first of equals."""
    return min(candidates, key=request.expected_variance)


def _check_frequency(frequency: object) -> Frequency:
    allowed = "a number in 0..1, an interval (low, high) in 0..1, or None"
    if frequency is None:
        return None
    if isinstance(frequency, tuple | list):
        if len(frequency) != 2:
            raise checks.refusal("frequency", frequency, allowed)
        low = checks.real("frequency", frequency[0], allowed, 0.0, 1.0)
        high = checks.real("frequency", frequency[1], allowed, 0.0, 1.0)
        if high < low:
            raise checks.refusal("frequency", frequency, allowed)
        return (low, high)
    return checks.real("frequency", frequency, allowed, 0.0, 1.0)
