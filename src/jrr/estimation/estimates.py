"""Estimates with error bars (docs/theory.md, section on intervals).

The interval inverts a score test: it keeps every count x that the reports do not contradict,
|x̂ - x| <= z·sd(x) + half a report. The variance is taken at the hypothesised x, not at the
estimate, because a joint mechanism's variance depends strongly on the true frequency and an
estimate near 0 would understate it; half a report corrects for counting in whole numbers.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np

from jrr._base import checks
from jrr.errors import ArgumentError
from jrr.estimation.moments import Floats, Moments, Quadratic, Spread


@dataclass(frozen=True, eq=False)
class Part:
    """Contributors who are estimated on their own: those with a card, those without.

    Counts may be weighted: then holders of v have weight counts[v], whose squares add up to
    squares[v]. Everybody weighs 1 by default.
    """

    moments: Moments
    n: int
    counts: Floats  # estimated, unbiased
    decks: int
    weight: float = math.nan  # of everybody together; set to n where there are no weights
    weight_squares: float = math.nan
    squares: Floats | None = None  # estimated, unbiased

    def __post_init__(self) -> None:
        if self.squares is None:
            object.__setattr__(self, "weight", float(self.n))
            object.__setattr__(self, "weight_squares", float(self.n))

    @property
    def plausible(self) -> Floats:
        """The estimated counts brought into what is possible, for plugging into a variance."""
        within: Floats = np.clip(self.counts, 0.0, self.weight)
        return within

    @property
    def plausible_squares(self) -> Floats:
        """The same for the squares of the weights."""
        squares = self.counts if self.squares is None else self.squares
        within: Floats = np.clip(squares, 0.0, self.weight_squares)
        return within

    def spread(self) -> Spread:
        """Variance of the estimated count as a function of the true one."""
        return self.moments.spread(self.weight, self.weight_squares, self.decks)

    def variance(self) -> Floats:
        """Variance of the estimated count, taken at the estimate."""
        quadratic = self.spread().along(self.plausible_squares, np.zeros(1))
        return quadratic.at_least_0(self.plausible)


class Estimate:
    """Estimated counts and frequencies of every value; unbiased, so they may leave 0..1."""

    def __init__(self, parts: Sequence[Part]) -> None:
        self._parts = tuple(part for part in parts if part.n)
        if not self._parts:
            raise ArgumentError("reports must hold at least one report, got none")

    @property
    def n(self) -> int:
        """Contributors who reported."""
        return sum(part.n for part in self._parts)

    @property
    def weight(self) -> float:
        """What all contributors weigh together; n where no weights were given."""
        return sum(part.weight for part in self._parts)

    @property
    def counts(self) -> Floats:
        """How many hold each value, or what they weigh; with and without a card are added."""
        total: Floats = np.sum([part.counts for part in self._parts], axis=0)
        return total

    @property
    def frequencies(self) -> Floats:
        """The share that holds each value."""
        return self.counts / self.weight

    @property
    def count_stderr(self) -> Floats:
        """Standard errors of the counts, the variance taken at the estimate."""
        variances = [part.variance() for part in self._parts]
        error: Floats = np.sqrt(np.sum(variances, axis=0))
        return error

    @property
    def stderr(self) -> Floats:
        """Standard errors of the frequencies."""
        return self.count_stderr / self.weight

    def interval(self, level: float = 0.95) -> tuple[Floats, Floats]:
        """Lower and upper ends, one per value, of confidence intervals of the frequencies."""
        z = quantile(level)
        high = _upper_count(self._parts, z)
        # Everything is symmetric under "count those who do not hold v": reuse the upper end.
        low = self.weight - _upper_count([_complement(part) for part in self._parts], z)
        return low / self.weight, high / self.weight

    def _leans(self, part: Part, level: float) -> tuple[Floats, Floats]:
        """Σd of a part at both ends of what its counts may be; with several parts, of all."""
        low, high = np.zeros_like(self.counts), np.full_like(self.counts, part.weight)
        if len(self._parts) == 1:
            low, high = (np.clip(end * part.weight, 0, part.weight) for end in self.interval(level))
        return part.moments.lean(low, part.weight), part.moments.lean(high, part.weight)

    def to_dict(self, level: float = 0.95) -> dict[str, Any]:
        """Plain numbers, for JSON."""
        low, high = self.interval(level)
        return {
            "n": self.n,
            "weight": self.weight,
            "counts": self.counts.tolist(),
            "count_stderr": self.count_stderr.tolist(),
            "frequencies": self.frequencies.tolist(),
            "stderr": self.stderr.tolist(),
            "level": level,
            "interval": [[float(a), float(b)] for a, b in zip(low, high, strict=True)],
        }

    def __repr__(self) -> str:
        low, high = self.interval()
        rows = ", ".join(
            f"{v}: {f:.4f} [{a:.4f}, {b:.4f}]"
            for v, (f, a, b) in enumerate(zip(self.frequencies, low, high, strict=True))
        )
        return f"Estimate(n={self.n}, 95%: {rows})"


@dataclass(frozen=True, eq=False)
class Difference:
    """Frequencies of one estimate minus those of another."""

    frequencies: Floats
    stderr: Floats
    _first: Estimate
    _second: Estimate
    _same_deck: bool

    def interval(self, level: float = 0.95) -> tuple[Floats, Floats]:
        """Confidence intervals of the differences, built from the two estimates' own ones.

        Distances from estimate to interval end add in squares (Zou and Donner's MOVER), and so
        does what sharing a deck may add at worst: see `difference`.
        """
        (low_a, high_a), (low_b, high_b) = self._first.interval(level), self._second.interval(level)
        a, b = self._first.frequencies, self._second.frequencies
        tied = 2 * quantile(level) ** 2 * self._worst_tie(level)
        return (
            self.frequencies - np.sqrt((a - low_a) ** 2 + (high_b - b) ** 2 + tied),
            self.frequencies + np.sqrt((high_a - a) ** 2 + (b - low_b) ** 2 + tied),
        )

    def to_dict(self, level: float = 0.95) -> dict[str, Any]:
        """Plain numbers, for JSON."""
        low, high = self.interval(level)
        return {
            "difference": self.frequencies.tolist(),
            "stderr": self.stderr.tolist(),
            "interval": [[float(a), float(b)] for a, b in zip(low, high, strict=True)],
        }

    def _worst_tie(self, level: float) -> Floats:
        """The largest negative covariance, without its sign, that both intervals allow.

        Not the one at the estimates: a joint mechanism's is noisy where the error is large.
        """
        worst = np.zeros_like(self.frequencies)
        if self._same_deck:
            for a in self._first._parts:
                for b in self._second._parts:
                    leans_a, leans_b = self._first._leans(a, level), self._second._leans(b, level)
                    products = [x * y for x in leans_a for y in leans_b]
                    worst = worst + _tie(a, b) * np.maximum(np.max(products, axis=0), 0.0)
        share: Floats = worst / (self._first.weight * self._second.weight)
        return share


def difference(first: Estimate, second: Estimate, *, same_deck: bool) -> Difference:
    """Compare two disjoint groups or two waves.

    Two groups that drew from one deck are tied: the deck's noise cancels in their sum, not in
    their difference. Their covariance is negative for DRR, and for JRR where both groups lie on
    the same side of 1/2, so that the difference is less certain than two separate surveys would
    suggest. Say same_deck=True for groups of one survey, False for waves or groups with decks of
    their own.
    """
    for name, value in (("first", first), ("second", second)):
        if not isinstance(value, Estimate):
            raise checks.refusal(name, value, "an Estimate")
    if len(first.counts) != len(second.counts):
        raise ArgumentError(
            "first and second must have the same number of values, "
            f"got {len(first.counts)} and {len(second.counts)}"
        )
    covariance = np.zeros_like(first.counts)
    if same_deck:
        for a in first._parts:
            for b in second._parts:
                covariance = covariance + _covariance(a, b)
        covariance = covariance / (first.weight * second.weight)
    variance = first.stderr**2 + second.stderr**2 - 2 * covariance
    return Difference(
        first.frequencies - second.frequencies, np.sqrt(variance), first, second, same_deck
    )


def quantile(level: float) -> float:
    """How many standard errors a two-sided interval of this level reaches."""
    return NormalDist().inv_cdf(0.5 + checks.level(level) / 2)


def _covariance(a: Part, b: Part) -> Floats:
    """Covariance of two estimated counts whose contributors share a deck."""
    lean_a = a.moments.lean(a.plausible, a.weight)
    lean_b = b.moments.lean(b.plausible, b.weight)
    return -_tie(a, b) * lean_a * lean_b


def _tie(a: Part, b: Part) -> Floats:
    """What two leans, multiplied, take from the covariance of two estimated counts."""
    if a.moments.deck is None or b.moments.deck is None:
        return np.zeros_like(a.counts)
    if not a.moments.same_as(b.moments):
        raise ArgumentError("same_deck=True must be said of estimates by one mechanism, got two")
    decks = max(a.decks, b.decks, math.ceil((a.n + b.n) / a.moments.deck))
    tie: Floats = a.moments.pair_weight(decks) / (a.moments.gain * b.moments.gain)
    return tie


def _complement(part: Part) -> Part:
    """The same contributors, counted by not holding each value."""
    m = part.moments
    flipped = Moments(1 - m.q, 1 - m.p, m.gain, -m.lean_other, -m.lean_holder, m.deck, m.signed)
    squares = None if part.squares is None else part.weight_squares - part.squares
    counts = part.weight - part.counts
    return Part(flipped, part.n, counts, part.decks, part.weight, part.weight_squares, squares)


def _upper_count(parts: Sequence[Part], z: float) -> Floats:
    """The largest count that the score test does not reject."""
    n = sum(part.weight for part in parts)
    estimate = np.sum([part.counts for part in parts], axis=0)
    half = 0.5 / parts[0].moments.gain * sum(part.weight_squares for part in parts) / n
    anchor = np.sum([part.plausible for part in parts], axis=0)
    variance = _towards_all(parts, anchor, n)
    below = estimate + half + z * np.sqrt(variance.at_least_0(anchor))
    above = estimate + half + z * np.sqrt(variance.at_least_0(np.full_like(anchor, n)))
    # Inside [anchor, n]: the larger root of y² = z² V(centre + y), where x = centre + y.
    centre = estimate + half
    square = 1 - z**2 * variance.square
    linear = -(z**2) * (variance.linear + 2 * variance.square * centre)
    constant = -(z**2) * variance.at(centre)
    spread = np.sqrt(np.maximum(linear**2 - 4 * square * constant, 0.0))
    root = centre + (spread - linear) / (2 * square)
    inside = np.where((root >= anchor) & (root <= n), root, -math.inf)
    largest = np.maximum(
        np.maximum(np.where(below <= anchor, below, -math.inf), inside),
        np.where(above >= n, above, -math.inf),
    )
    # A root exactly at an end may round past it from both sides: then it is that end.
    return np.where(np.isfinite(largest), largest, np.clip(root, anchor, n))


def _towards_all(parts: Sequence[Part], anchor: Floats, n: float) -> Quadratic:
    """Variance of the total as a quadratic on [anchor, n].

    As the hypothesised total grows from the estimate to everybody, each part's count grows
    in a straight line from its own estimate to its own everybody.
    """
    constant, linear, square = (np.zeros_like(anchor) for _ in range(3))
    room = np.where(n > anchor, n - anchor, 1.0)
    for part in parts:
        slope = np.where(n > anchor, (part.weight - part.plausible) / room, 0.0)
        start = part.plausible - slope * anchor
        # The squares of the holders' weights grow along: y = y_start + y_slope X, X the total.
        y_slope = np.where(n > anchor, (part.weight_squares - part.plausible_squares) / room, 0.0)
        y_start = part.plausible_squares - y_slope * anchor
        a, b, c, held = part.spread()
        constant = constant + a + start * (b + c * start) + held * y_start
        linear = linear + slope * (b + 2 * c * start) + held * y_slope
        square = square + c * slope**2
    return Quadratic(constant, linear, square)
