"""Own noise: whole numbers that contributors add to their reports themselves, beside any masks.

It does not cancel: in a sum of m reports it has m times the variance of one. Where a number was
rounded to a whole number of steps by chance, that adds at most a quarter of a step's square.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy

from jrr.estimation.masks import (
    NOTHING_KNOWN,
    Floats,
    Known,
    MaskedSum,
    Masks,
    WholeLaw,
    laplace_law,
    laplace_variance,
    laplace_waves,
)

ROUNDING = 0.25  # the most variance that rounding a number by chance adds, in squares of a step
_REACH = 12.0  # standard deviations of a sum beyond which chances are left out
_LARGEST = 1 << 20  # places of a law that is computed place by place; wider sums are normal


@dataclass(frozen=True)
class OwnNoise(Masks):
    """Discrete Laplace noise in every report, beside the masks that are left.

    Attributes:
        rate: Pr[z] proportional to e^(-rate |z|).
        masks: from cards; None where there are none.
        rounded: whether numbers were rounded by chance, so that the most that this adds counts.
    """

    rate: float
    masks: Masks | None = None
    rounded: bool = False

    def with_rounding(self) -> "OwnNoise":
        """The same where numbers were rounded by chance."""
        return replace(self, rounded=True)

    @property
    def own(self) -> float:
        """The variance that each report adds by itself."""
        return laplace_variance(self.rate) + (ROUNDING if self.rounded else 0.0)

    @property
    def single(self) -> float:
        """The variance of one report."""
        return self.own + (0.0 if self.masks is None else self.masks.single)

    def card_law(self) -> WholeLaw:
        """The noise of one report, its mask included."""
        own = laplace_law(self.rate)
        if self.masks is None:
            return own
        mask = self.masks.card_law()
        return _sum_of(own, mask)

    def tie(self, decks: int) -> float:
        """Own noise is independent: only masks are tied."""
        return 0.0 if self.masks is None else self.masks.tie(decks)

    def variance(self, sums: Sequence[MaskedSum], decks: int) -> Floats:
        """That of every report's own noise, and of what masks leave."""
        left: Floats = np.zeros(1) if self.masks is None else self.masks.variance(sums, decks)
        for part in sums:
            left = left + part.factor**2 * part.squares * self.own
        return left

    def law(self, reports: int, decks: int, known: Known = NOTHING_KNOWN) -> WholeLaw:
        """Of own noise and masks together; in a normal shape where it is very wide."""
        deviation = math.sqrt(self.variance_of(reports, decks, known))
        reach = math.ceil(_REACH * deviation + 45 / self.rate)
        if 2 * reach > _LARGEST:
            return _normal_law(deviation)
        own = self._own_law(reports, reach)
        if self.masks is None:
            return own
        left = self.masks.law(reports, decks, known)
        return _sum_of(own, left)

    def _own_law(self, reports: int, reach: int) -> WholeLaw:
        """The law of the sum of so many independent numbers, by its characteristic function."""
        size = scipy.fft.next_fast_len(2 * reach + 1, real=True)
        theta, each = laplace_waves(size, self.rate)
        waves = -reports * each
        if self.rounded:  # many coins, as if they were normal
            waves -= reports * ROUNDING * theta**2 / 2
        chances = scipy.fft.fftshift(np.maximum(scipy.fft.irfft(np.exp(waves), size), 0.0))
        return WholeLaw(-(size // 2), chances / chances.sum())


def _sum_of(one: WholeLaw, other: WholeLaw) -> WholeLaw:
    """The law of the sum of two independent numbers."""
    from scipy import signal  # a second to load, and most commands do without

    chances = np.maximum(signal.fftconvolve(one.chances, other.chances), 0.0)
    return WholeLaw(one.first + other.first, chances / chances.sum())


def _normal_law(deviation: float) -> WholeLaw:
    step = math.ceil(deviation / 400)
    places = np.arange(-10 * 400, 10 * 400 + 1) * step
    shape = np.repeat(np.exp(-((places / deviation) ** 2) / 2), step)
    return WholeLaw(int(places[0]) - step // 2, shape / shape.sum())
