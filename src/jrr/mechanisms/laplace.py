"""The Laplace mechanism in whole numbers: numbers in steps, plus noise that falls off evenly.

No cards, no dealer: what every other way to ask for a number is compared with (jrr.Numbers).
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jrr._base import checks, randomness
from jrr.errors import ArgumentError
from jrr.estimation.moments import Moments
from jrr.estimation.own_noise import OwnNoise
from jrr.mechanisms.base import Ints, Reports, Rng
from jrr.mechanisms.in_steps import InSteps, noise_sums, noisy_moments
from jrr.mechanisms.marked_arrays import MarkedReports
from jrr.mechanisms.report_formats import MaskedFormat
from jrr.mechanisms.request import Request
from jrr.mechanisms.whole_noise import discrete_laplace
from jrr.privacy.masked import masked_steps
from jrr.privacy.views import View

STEPS = 16  # so fine that rounding a number to them adds next to nothing to the noise
MOST_STEPS = 64
LEAST_RATE = 0.00125  # below it reports would not fit into 16 bits
_CLAMPED = 40.0  # reports are clamped where noise is that many times 1/rate: e^-40


@dataclass(frozen=True, init=False)
class Laplace(InSteps):
    """Discrete Laplace noise on a number in whole steps; its two values are the two ends.

    Args:
        epsilon: the privacy loss; the rate is then the largest that keeps it.
        steps: from the smallest number to the largest.
        rate: noise has Pr[z] proportional to e^(-rate |z|), in steps; instead of epsilon.

    Example:
        >>> m = Laplace(epsilon=1.0)
        >>> m.epsilon(), m.steps
        (1.0, 16)
    """

    steps: int
    rate: float
    k = 2  # the two ends
    name: ClassVar[str] = "Laplace"
    title: ClassVar[str] = "Laplace noise"
    parameters: ClassVar[tuple[str, ...]] = ("steps", "rate")
    colour: ClassVar[str] = "#a6761d"

    def __init__(
        self, epsilon: float | None = None, *, steps: int = STEPS, rate: float | None = None
    ) -> None:
        steps = checks.integer("steps", steps, 1, MOST_STEPS)
        checks.exactly_one(epsilon=epsilon, rate=rate)
        if rate is None:
            rate = rate_for("epsilon", epsilon, steps)
        object.__setattr__(self, "steps", steps)
        object.__setattr__(self, "rate", check_rate("rate", rate))

    @classmethod
    def best(cls, request: Request) -> Self:
        """At the whole budget, in as many of 16 steps as it allows."""
        return cls(request.budget, steps=max(1, min(STEPS, int(request.budget / LEAST_RATE))))

    @classmethod
    def _most_accurate(cls, request: Request, *, cards: bool) -> Self:
        return cls.best(request)

    # -- what it says of itself -------------------------------------------------------------

    @property
    def limit(self) -> int:
        """How far noise is counted: reports are brought into -limit..limit+steps."""
        return math.ceil(_CLAMPED / self.rate)

    @cached_property
    def moments(self) -> Moments:
        """First and second moments of the reports, which count in steps."""
        return noisy_moments(self.steps, OwnNoise(self.rate))

    @property
    def report_format(self) -> MaskedFormat:
        """A whole number of 16 bits."""
        return MaskedFormat(1, -self.limit, self.limit + self.steps, 2)

    def instructions(self) -> str:
        """What a contributor's device does, in one sentence."""
        return "The device adds a random number to yours and sends only the sum."

    # -- privacy ----------------------------------------------------------------------------

    def _epsilon(self, view: View, colluders: int) -> float:
        """There are no cards, so every view is that of the report alone."""
        return masked_steps(self.steps, Fraction(self.rate))

    # -- contributor ------------------------------------------------------------------------

    def deal(self, rng: Rng = None) -> None:
        """There are no cards."""
        return None

    def respond_steps(
        self, steps: ArrayLike, cards: ArrayLike | None = None, rng: Rng = None
    ) -> Reports:
        """Perturbed reports of whole numbers of steps."""
        if cards is not None:
            raise ArgumentError(f"cards must be None for {self.name}, which deals none")
        whole = checks.symbols("steps", steps, self.steps + 1).astype(np.int64)
        return MarkedReports.of(self.noisy(whole, randomness.source(rng)), carded=False)

    def noisy(self, whole: Ints, source: randomness.RandomSource) -> NDArray[np.int16]:
        """Numbers in 0..steps with noise, within what is reported."""
        out = np.empty(len(whole), np.int16)
        for start in range(0, len(whole), randomness.BLOCK):
            block = slice(start, start + randomness.BLOCK)
            noise = discrete_laplace(self.rate, len(out[block]), source)
            noise += whole[block]
            np.clip(noise, -self.limit, self.limit + self.steps, out=out[block], casting="unsafe")
        return out

    # -- collector --------------------------------------------------------------------------

    def _check_reports(self, reports: ArrayLike) -> Reports:
        return self.report_format.check(reports)

    def simulated_support(
        self, counts: Ints, runs: int, rng: np.random.Generator, *, with_cards: bool
    ) -> Ints:
        """Steps towards each end, one row per run."""
        told = self.steps * counts[1] + noise_sums(self.rate, int(counts.sum()), runs, rng)
        return np.stack((self.steps * counts.sum() - told, told), axis=1)


def check_rate(argument: str, rate: object) -> float:
    """A rate of noise whose reports fit into 16 bits."""
    allowed = f"at least {LEAST_RATE}, so that reports fit into 16 bits, and at most 700"
    return checks.real(argument, rate, allowed, LEAST_RATE, 700.0)


def rate_for(argument: str, epsilon: object, steps: int) -> float:
    """The largest rate at which `steps` steps lose no more than ε."""
    wanted = checks.epsilon(argument, epsilon)
    rate = wanted / steps
    if Fraction(rate) * steps > Fraction(wanted):
        rate = math.nextafter(rate, 0.0)
    if rate < LEAST_RATE:
        raise checks.refusal(
            argument, epsilon, f"at least {LEAST_RATE * steps:g} with steps={steps}"
        )
    return rate
