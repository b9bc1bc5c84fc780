"""Own noise of numbers that are told by a window (jrr.mechanisms.coins.window), beside any masks.

Whoever tells x of 0..s says a number of the window x..x+L-1 with the chance α, otherwise any of
0..s+L-1. That noise does not cancel: in a sum of m reports it has m times the variance of one. It
is largest for those at the two ends, and as large at one as at the other.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import scipy

from jrr.estimation.masks import NOTHING_KNOWN, Floats, Known, MaskedSum, Masks, WholeLaw

_REACH = 12.0  # standard deviations of a sum beyond which chances are left out
_LARGEST = 1 << 20  # places of a law that is computed place by place; wider sums are normal


@dataclass(frozen=True)
class WindowNoise(Masks):
    """What a window adds to every report of somebody at an end, beside the masks that are left.

    Attributes:
        steps: s: from one end to the other.
        width: L: numbers of the window.
        aimed: α: the chance that a number of the window is drawn on purpose.
        masks: from cards; None where there are none.
        rounded: whether people may be between the ends, rounded by chance to a step, so that the
            most that this adds counts.
    """

    steps: int
    width: int
    aimed: float
    masks: Masks | None = None
    rounded: bool = False
    of_numbers: ClassVar[bool] = True

    def with_rounding(self) -> "WindowNoise":
        """The same where numbers were rounded by chance."""
        return replace(self, rounded=True)

    @property
    def between(self) -> float:
        """κ: a number t of 0..1 has κ t(1-t) less variance than the ends, on this scale."""
        return (1 - self.aimed) / self.aimed

    def more(self, between: float, rounding: float | None = None) -> float:
        """What numbers of 0..1 add to the variance that the ends have, each, on their scale.

        Args:
            between: the mean of t(1-t).
            rounding: the mean variance of rounding to a step; None: anywhere between two.
        """
        if rounding is None:
            rounding = min(1 / (6 * self.steps**2), between)
        return rounding + self.between * (rounding - between)

    @property
    def own(self) -> float:
        """The variance that each report adds by itself."""
        window, anything = ((size**2 - 1) / 12 for size in (self.width, self.steps + self.width))
        far = self.aimed * (1 - self.aimed) * self.steps**2 / 4
        at_the_end = self.aimed * window + (1 - self.aimed) * anything + far
        if not self.rounded:
            return at_the_end
        # Beside an end, rounding may add more than being away from it takes.
        return at_the_end + (self.aimed * max(0.0, 1 - self.between * (self.steps - 1)) / 2) ** 2

    @property
    def single(self) -> float:
        """The variance of one report."""
        return self.own + (0.0 if self.masks is None else self.masks.single)

    def card_law(self) -> WholeLaw:
        """The noise of one report, its mask included."""
        own = self._own_law(1, math.ceil(_REACH * math.sqrt(self.own)))
        return own if self.masks is None else _sum_of(own, self.masks.card_law())

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
        reach = math.ceil(_REACH * deviation) + self.steps + self.width
        if 2 * reach > _LARGEST:
            return _normal_law(deviation)
        own = self._own_law(reports, reach)
        if self.masks is None:
            return own
        left = self.masks.law(reports, decks, known)
        return _sum_of(own, left)

    def _own_law(self, reports: int, reach: int) -> WholeLaw:
        """The law of the sum, by its characteristic function, half of the people at either end.

        Those at one end err as those at the other do, the other way round: together the absolute
        value of the characteristic function is left.
        """
        size = scipy.fft.next_fast_len(2 * reach + 1, real=True)
        chances = np.full(self.steps + self.width, (1 - self.aimed) / (self.steps + self.width))
        chances[: self.width] += self.aimed / self.width
        waves = reports * np.log(np.maximum(np.abs(scipy.fft.rfft(chances, size)), 1e-300))
        if self.rounded:  # many coins, as if they were normal
            more = self.own - replace(self, rounded=False).own
            waves -= reports * more * (2 * np.pi * np.arange(len(waves)) / size) ** 2 / 2
        found = scipy.fft.fftshift(np.maximum(scipy.fft.irfft(np.exp(waves), size), 0.0))
        return WholeLaw(-(size // 2), found / found.sum())


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
