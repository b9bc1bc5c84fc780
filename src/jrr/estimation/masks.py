"""Masks: the whole numbers that contributors add to their reports, and what they leave in a sum.

A collector adds up reports. The masks in that sum cancel in one of two ways (docs/theory.md,
section on MRR): the cards of a closed deck nearly add up to 0, or the dealer announces the sum of
the cards that were used, with noise. What is left is noise whose law is known.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import ClassVar, NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

Floats = NDArray[np.float64]
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(32)
_REACH = 12.0  # standard deviations of a sum of many masks beyond which chances are left out
_LARGEST = 1 << 21  # places of a law that is computed place by place; wider sums are normal


class Known(NamedTuple):
    """What the collector was told about masks besides the reports."""

    undealt: int = 0  # cards that nobody fetched, whose sum is known exactly
    announcements: int = 0  # noisy sums that have been taken off
    covered: int = 0  # reports that those sums are of
    squares: float = 0.0  # with weights: what the squares of those sums' weights add up to

    def scaled(self, weight: float) -> "Known":
        """The same where each of these sums is taken so many times."""
        return self._replace(squares=weight**2 * (self.squares or self.announcements))


NOTHING_KNOWN = Known()


class MaskedSum(NamedTuple):
    """A weighted sum of reports in which masks remain, as a part of a contrast."""

    factor: Floats  # by which it enters
    total: float  # the weights, added up; without weights the number of reports
    squares: float  # the same of their squares
    known: Known = NOTHING_KNOWN


class WholeLaw(NamedTuple):
    """Chances of whole numbers: of `first`, `first` + 1, ..."""

    first: int
    chances: Floats

    @property
    def numbers(self) -> Floats:
        """The numbers."""
        return np.arange(self.first, self.first + len(self.chances), dtype=np.float64)

    @property
    def variance(self) -> float:
        """The variance of a law whose mean is 0."""
        return float(self.chances @ self.numbers**2)


class Masks(ABC):
    """How masks are drawn, and so what is left of them."""

    of_numbers: ClassVar[bool] = False  # whether the own noise of numbers in steps is in it

    @property
    @abstractmethod
    def single(self) -> float:
        """The variance of one mask."""

    @abstractmethod
    def card_law(self) -> "WholeLaw":
        """The law of one mask."""

    @abstractmethod
    def tie(self, decks: int) -> float:
        """Minus the covariance of the masks of two random contributors, with `decks` decks."""

    def part(self, factor: Floats, total: float, squares: float, known: Known | None) -> MaskedSum:
        """A sum of reports that enters a contrast."""
        return MaskedSum(factor, total, squares, known or NOTHING_KNOWN)

    @abstractmethod
    def variance(self, sums: Sequence[MaskedSum], decks: int) -> Floats:
        """The variance that masks leave in a contrast of sums over disjoint contributors.

        Args:
            sums: the sums.
            decks: how many decks the cards came from; contributors are spread over them at random.
        """

    def variance_of(self, reports: float, decks: int = 1, known: Known = NOTHING_KNOWN) -> float:
        """The same in the sum of so many reports, in which everybody counts once."""
        return float(self.variance([MaskedSum(np.ones(1), reports, reports, known)], decks)[0])

    @abstractmethod
    def law(self, reports: int, decks: int, known: Known = NOTHING_KNOWN) -> WholeLaw:
        """The law of what masks leave in the sum of so many reports, as a whole number."""


@dataclass(frozen=True)
class ClosedMasks(Masks):
    """Cards of decks of n with Pr[z] proportional to exp(-a Σ|z_j| - b |Σ z_j|)."""

    n: int
    card_rate: float  # a
    total_rate: float  # b

    @cached_property
    def _variances(self) -> tuple[float, float]:
        return _deck_variances(self.n, self.card_rate, self.total_rate)

    @property
    def single(self) -> float:
        """The variance of one mask."""
        return self._variances[0]

    @property
    def total(self) -> float:
        """The variance of the sum of a whole deck."""
        return self._variances[1]

    def card_law(self) -> WholeLaw:
        """A card of its deck; of a very large one, which hardly ties single cards, on its own."""
        if _reach(self.n, self.card_rate, self.total_rate) > _LARGEST // 2:
            return laplace_law(self.card_rate)
        return _deck_law(self.n, 1, self.card_rate, self.total_rate)

    def tie(self, decks: int) -> float:
        """Minus the covariance of the masks of two random contributors."""
        return (self.single - self.total / self.n) / max(1, self.n * decks - 1)

    def variance(self, sums: Sequence[MaskedSum], decks: int) -> Floats:
        """Parts of decks: v for each mask, less what the deck ties together."""
        total, squares = np.zeros(1), np.zeros(1)
        for part in sums:
            total = total + part.factor * (part.total + part.known.undealt)
            squares = squares + part.factor**2 * (part.squares + part.known.undealt)
        left: Floats = self.single * squares - self.tie(decks) * (total**2 - squares)
        return np.maximum(left, 0.0)

    def law(self, reports: int, decks: int, known: Known = NOTHING_KNOWN) -> WholeLaw:
        """Of the cards that were reported or are known, evenly from each deck."""
        used = min(reports + known.undealt, self.n * decks)
        one = _deck_law(self.n, used // decks, self.card_rate, self.total_rate)
        if decks == 1:
            return one
        more = _deck_law(self.n, -(-used // decks), self.card_rate, self.total_rate)
        return _sum_of(one, decks - used % decks, more, used % decks)


@dataclass(frozen=True)
class AnnouncedMasks(Masks):
    """Independent cards; the dealer announces their sum with discrete Laplace noise."""

    card_rate: float  # a
    announced_rate: float  # e
    dealers: int = 1  # whose cards are added; each announces a sum

    @property
    def single(self) -> float:
        """The variance of one mask, which is a card from each dealer."""
        return self.dealers * laplace_variance(self.card_rate)

    def card_law(self) -> WholeLaw:
        """Discrete Laplace, or the sum of several."""
        one = laplace_law(self.card_rate)
        return _sum_of(one, self.dealers, one, 0)

    def tie(self, decks: int) -> float:
        """Cards are independent."""
        return 0.0

    def variance(self, sums: Sequence[MaskedSum], decks: int) -> Floats:
        """The noise of every announcement; one a deck and dealer, if none is told of."""
        one = laplace_variance(self.announced_rate)
        left: Floats = np.zeros(1)
        for part in sums:
            sums_off = part.known.squares or self._announcements(part.known, decks)
            left = left + part.factor**2 * sums_off * one
        return left

    def law(self, reports: int, decks: int, known: Known = NOTHING_KNOWN) -> WholeLaw:
        """The sum of the announcements' noise."""
        one = laplace_law(self.announced_rate)
        return _sum_of(one, self._announcements(known, decks), one, 0)

    def _announcements(self, known: Known, decks: int) -> int:
        return known.announcements or decks * self.dealers


def laplace_variance(rate: float) -> float:
    """The variance of discrete Laplace noise, Pr[z] proportional to e^(-rate |z|)."""
    return 1 / (2 * math.sinh(rate / 2) ** 2)


def laplace_law(rate: float) -> WholeLaw:
    """Discrete Laplace noise: Pr[z] proportional to e^(-rate |z|)."""
    reach = math.ceil(45 / rate)
    chances = np.exp(-rate * np.abs(np.arange(-reach, reach + 1)))
    return WholeLaw(-reach, chances / chances.sum())


@lru_cache(maxsize=4096)
def _deck_variances(n: int, a: float, b: float) -> tuple[float, float]:
    """Variance of one card and of the sum of all, as means over an angle.

    e^(-b |s|) is a mixture of cosines of s, under each of which cards are independent: hence the
    weight (cosh a - cos θ)^-n (cosh b - cos θ)^-1 on 0..π (docs/theory.md).
    """
    width = min(b, 2 * math.sinh(a / 2) / math.sqrt(n), 1.0)
    ends = [0.0]
    while ends[-1] < math.pi:
        ends.append(min(math.pi, max(width / 8, ends[-1] * 1.6)))
    low, high = np.array(ends[:-1])[:, None], np.array(ends[1:])[:, None]
    theta = ((low + high) / 2 + (high - low) / 2 * _NODES).ravel()
    size = ((high - low) / 2 * _WEIGHTS).ravel()
    half, cosine = 2 * np.sin(theta / 2) ** 2, np.cos(theta)
    of_card, of_total = (2 * math.sinh(rate / 2) ** 2 + half for rate in (a, b))
    logarithm = -n * np.log(of_card / of_card[0]) - np.log(of_total / of_total[0])
    weight = size * np.exp(logarithm - logarithm.max())
    sine2 = np.sin(theta) ** 2
    means = [
        float(weight @ (cosine / d - 2 * sine2 / d**2) / weight.sum()) for d in (of_card, of_total)
    ]
    return max(0.0, means[0]), max(0.0, means[1])


@lru_cache(maxsize=64)
def _deck_law(n: int, used: int, a: float, b: float) -> WholeLaw:
    """The law of the sum of `used` cards of a closed deck.

    Proportional to h_used(s) Σ_u h_rest(u) e^(-b|s+u|), where h_m is the law of a sum of m
    independent cards.
    """
    if used == 0:
        return WholeLaw(0, np.ones(1))
    reach = _reach(n, a, b)
    if 2 * reach > _LARGEST:
        return _wide_law(n, used, a, b)
    size = scipy.fft.next_fast_len(2 * reach + 1, real=True)
    own = np.maximum(_around(size, used, a), 0.0)
    rest = np.maximum(_around(size, n - used, a, b), 0.0)
    chances = scipy.fft.fftshift(own * rest)
    return _trimmed(WholeLaw(-(size // 2), chances / chances.sum()))


def _reach(n: int, a: float, b: float) -> int:
    """How far the sum of a deck can be from 0, but for chances that are left out."""
    return math.ceil(_REACH * math.sqrt(n * laplace_variance(a)) + 45 / a + 45 / b)


def _wide_law(n: int, used: int, a: float, b: float) -> WholeLaw:
    """The same for decks whose sum spans too many places to follow them all.

    Its two factors, the law of the cards in it and what the others and the closing make likely,
    are each exact where they span few places: few cards are far from normal, used or unused. Of
    so many cards that they span more, at least some thousands, a sum is normal.
    """
    own, rest = _own_reach(used, a), _own_reach(n - used, a) + math.ceil(45 / b)
    reach = min(own, rest)
    # Where both factors are smooth, not every place needs to be looked at.
    step = 1 if 2 * reach <= _LARGEST else -(-reach // (_LARGEST >> 3))
    reach = step * (reach // step)
    places = np.arange(-reach, reach + 1, step)
    weight = _cards_weight(used, a, places) + _others_weight(n - used, a, b, places)
    chances = np.exp(weight - weight.max())
    if step > 1:
        chances = np.interp(np.arange(-reach, reach + 1), places, chances)
    return _trimmed(WholeLaw(-reach, chances / chances.sum()))


def _own_reach(cards: int, a: float) -> int:
    """How far the sum of so many independent cards can be from 0, but for chances left out."""
    return math.ceil(_REACH * math.sqrt(cards * laplace_variance(a)) + 45 / a) if cards else 0


def _cards_weight(cards: int, a: float, places: NDArray[np.int64]) -> Floats:
    """The logarithm of the chance that so many independent cards add up to each place."""
    reach = _own_reach(cards, a)
    if 2 * reach > _LARGEST:
        return -(places**2) / (2 * cards * laplace_variance(a))
    size = scipy.fft.next_fast_len(2 * reach + 1, real=True)
    return _logarithm(_around(size, cards, a), places)


def _others_weight(cards: int, a: float, b: float, places: NDArray[np.int64]) -> Floats:
    """The logarithm of E[e^(-b |s + u|)] at each place s, u being the sum of so many cards."""
    if not cards:
        return -b * np.abs(places)
    reach = _own_reach(cards, a)
    if 2 * reach > _LARGEST:
        # Of a normal u with standard deviation d: a sum of two tails.
        deviation = math.sqrt(cards * laplace_variance(a))
        ends = [
            scipy.special.log_ndtr(sign * places / deviation - b * deviation) for sign in (1, -1)
        ]
        weight: Floats = np.logaddexp(ends[0] - b * places, ends[1] + b * places)
        return weight
    size = scipy.fft.next_fast_len(2 * (reach + math.ceil(45 / b)) + 1, real=True)
    return _logarithm(_around(size, cards, a, b), places)


def laplace_waves(size: int, rate: float) -> tuple[Floats, Floats]:
    """Angles θ around a circle, and minus ln E[e^(iθz)] of discrete Laplace noise z at each."""
    theta = 2 * np.pi * np.arange(size // 2 + 1) / size
    return theta, np.log1p(np.sin(theta / 2) ** 2 / math.sinh(rate / 2) ** 2)


def _around(size: int, cards: int, a: float, b: float | None = None) -> Floats:
    """Chances of a sum of independent cards around a circle; with b of E[e^(-b |s + sum|)]."""
    _, card = laplace_waves(size, a)
    waves = np.exp(-cards * card)
    if b is not None:
        numbers = np.arange(size)
        waves = waves * scipy.fft.rfft(np.exp(-b * np.minimum(numbers, size - numbers))).real
    found: Floats = scipy.fft.irfft(waves, size)
    return found


def _logarithm(chances: Floats, places: NDArray[np.int64]) -> Floats:
    """Of chances around a circle at places; nothing is left of what is beyond half of it."""
    inside = 2 * np.abs(places) < len(chances)
    found = np.where(inside, chances[np.where(inside, places, 0)], 0.0)
    return np.log(np.maximum(found, 1e-300))


def _trimmed(law: WholeLaw) -> WholeLaw:
    kept = np.flatnonzero(law.chances > 1e-18)
    first, last = int(kept[0]), int(kept[-1])
    return WholeLaw(law.first + first, law.chances[first : last + 1])


def _sum_of(one: WholeLaw, times: int, more: WholeLaw, others: int) -> WholeLaw:
    """The law of a sum of independent numbers, of two kinds."""
    if times == 1 and not others:
        return one
    width = times * (len(one.chances) - 1) + others * (len(more.chances) - 1) + 1
    size = scipy.fft.next_fast_len(width, real=True)
    waves = scipy.fft.rfft(one.chances, size) ** times
    if others:
        waves = waves * scipy.fft.rfft(more.chances, size) ** others
    chances = np.maximum(scipy.fft.irfft(waves, size)[:width], 0.0)
    return _trimmed(WholeLaw(times * one.first + others * more.first, chances / chances.sum()))
