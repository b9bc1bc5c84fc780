"""What all mechanisms share that tell a number in whole steps, with noise of their own."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from jrr._base import checks
from jrr.estimation.moments import Floats, Moments
from jrr.estimation.own_noise import OwnNoise
from jrr.mechanisms.base import Ints, Mechanism, Reports, Rng


class InSteps(Mechanism):
    """A number in whole steps; its two values are the two ends."""

    def respond_one(self, value: int, card: Any = None, rng: Rng = None) -> int:
        """One report: a whole number."""
        value = checks.symbol("value", value, 2)
        cards = None if card is None else np.array([card])
        report = int(self.respond_steps([value * self.steps], cards, rng)[0])
        return self._marked(report, card)

    def respond(
        self, values: ArrayLike, cards: ArrayLike | None = None, rng: Rng = None
    ) -> Reports:
        """Perturbed reports of the two ends; of several people."""
        ends = checks.symbols("values", values, 2).astype(np.int64) * self.steps
        return self.respond_steps(ends, cards, rng)

    def _support(self, reports: Reports) -> tuple[int, ...]:
        """Steps of all reports, towards the lower end and towards the upper."""
        total = int(reports.sum(dtype=np.int64))
        return self.steps * len(reports) - total, total

    def _weighted_support(self, reports: Reports, weights: Floats) -> Floats:
        total = float(weights @ reports.astype(np.float64))
        return np.array([self.steps * float(weights.sum()) - total, total])


def noisy_moments(
    steps: int, noise: OwnNoise, deck: int | None = None, cardless: Moments | None = None
) -> Moments:
    """Moments of reports that count in steps: nobody lies, and noise is all that is added."""
    made = Moments.same_for_all(
        p=1.0, q=0.0, gain=float(steps), deck=deck, exclusive=True, masks=noise, cardless=cardless
    )
    return replace(made, cardless=made) if cardless is None else made


def noise_sums(rate: float, count: int, runs: int, rng: np.random.Generator) -> Ints:
    """Sums of `count` numbers of discrete Laplace noise, for simulations."""
    if not count:
        return np.zeros(runs, np.int64)
    up, down = rng.negative_binomial(count, -math.expm1(-rate), (2, runs))
    sums: Ints = (up - down).astype(np.int64)
    return sums
