"""Difference: one estimate's shares minus another's, for two groups or two waves."""

import json
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from jrr._base import checks
from jrr.errors import ArgumentError
from jrr.estimation.estimates import Estimate, Stratum, quantile
from jrr.estimation.moments import Floats


@dataclass(frozen=True, eq=False, kw_only=True)
class Difference:
    """Frequencies of one estimate minus those of another.

    Made by `jrr.difference`, which has an example.

    Attributes:
        frequencies: the difference of the shares, one per value.
        stderr: its standard error, one per value.
    """

    frequencies: Floats
    stderr: Floats
    _first: Estimate
    _second: Estimate
    _same_deck: bool

    def interval(self, level: float = 0.95) -> tuple[Floats, Floats]:
        """Confidence intervals of the differences, built from the two estimates' own ones.

        Distances from estimate to interval end add in squares (Zou and Donner's MOVER), and so
        does what sharing a deck may add at worst: see `difference`.

        Args:
            level: how often such an interval holds the true difference, in (0, 1).

        Returns:
            Lower and upper ends, one per value.

        Raises:
            ArgumentError: where level is not in (0, 1).
        """
        (low_a, high_a), (low_b, high_b) = self._first.interval(level), self._second.interval(level)
        a, b = self._first.frequencies, self._second.frequencies
        tied = 2 * quantile(level) ** 2 * self._worst_tie(level)
        return (
            self.frequencies - np.sqrt((a - low_a) ** 2 + (high_b - b) ** 2 + tied),
            self.frequencies + np.sqrt((high_a - a) ** 2 + (b - low_b) ** 2 + tied),
        )

    def to_dict(self, level: float = 0.95) -> dict[str, Any]:
        """A result document: plain numbers, with the intervals of one level.

        There is no way back from it; see `Estimate.to_dict`.

        Args:
            level: of the intervals.

        Returns:
            difference, stderr, interval.
        """
        low, high = self.interval(level)
        return {
            "difference": self.frequencies.tolist(),
            "stderr": self.stderr.tolist(),
            "interval": [[float(a), float(b)] for a, b in zip(low, high, strict=True)],
        }

    def to_json(self, level: float = 0.95) -> str:
        """The result document of `to_dict` as one line of JSON."""
        return json.dumps(self.to_dict(level), sort_keys=True)

    def _worst_tie(self, level: float) -> Floats:
        """The largest negative covariance, without its sign, that both intervals allow.

        Not the one at the estimates: a joint mechanism's is noisy where the error is large.
        """
        worst = np.zeros_like(self.frequencies)
        if self._same_deck:
            for a in self._first.strata:
                for b in self._second.strata:
                    leans_a, leans_b = _leans(self._first, a, level), _leans(self._second, b, level)
                    products = [x * y for x in leans_a for y in leans_b]
                    worst = worst + _tie(a, b) * np.maximum(np.max(products, axis=0), 0.0)
        share: Floats = worst / (self._first.weight * self._second.weight)
        return share


def difference(first: Estimate, second: Estimate, *, same_deck: bool) -> Difference:
    """Compare two disjoint groups or two waves.

    Two groups that drew from one deck are tied: the deck's noise cancels in their sum, not in
    their difference. Their covariance is negative for DRR, and for JRR where both groups lie on
    the same side of 1/2, so that the difference is less certain than two separate surveys would
    suggest.

    Args:
        first: the estimate to subtract from.
        second: the estimate to subtract.
        same_deck: True for groups of one survey, False for waves or groups with decks of their
            own.

    Returns:
        The first minus the second, with standard errors and intervals.

    Raises:
        ArgumentError: where the two have different numbers of values, or same_deck is True of
            estimates by two mechanisms.

    Example:
        >>> import jrr
        >>> m, rng = jrr.RR(k=2, p=0.75), jrr.SeededRandom(7)
        >>> north = m.estimate(m.respond([1] * 300 + [0] * 700, rng=rng))
        >>> south = m.estimate(m.respond([1] * 500 + [0] * 500, rng=rng))
        >>> gap = jrr.difference(south, north, same_deck=False)
        >>> gap.frequencies.round(3).tolist()
        [-0.19, 0.19]
        >>> gap.interval()[0].round(3).tolist()
        [-0.267, 0.113]
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
        for a in first.strata:
            for b in second.strata:
                covariance = covariance + _covariance(a, b)
        covariance = covariance / (first.weight * second.weight)
    variance = first.stderr**2 + second.stderr**2 - 2 * covariance
    return Difference(
        frequencies=first.frequencies - second.frequencies,
        stderr=np.sqrt(variance),
        _first=first,
        _second=second,
        _same_deck=same_deck,
    )


def _leans(estimate: Estimate, stratum: Stratum, level: float) -> tuple[Floats, Floats]:
    """Σd of a stratum at both ends of what its counts may be: with several strata, 0 and all."""
    low, high = np.zeros_like(estimate.counts), np.full_like(estimate.counts, stratum.weight)
    if len(estimate.strata) == 1:
        ends = (end * stratum.weight for end in estimate.interval(level))
        low, high = (np.clip(end, 0, stratum.weight) for end in ends)
    return stratum.moments.lean(low, stratum.weight), stratum.moments.lean(high, stratum.weight)


def _covariance(a: Stratum, b: Stratum) -> Floats:
    """Covariance of two estimated counts whose contributors share a deck."""
    lean_a = a.moments.lean(a.plausible, a.weight)
    lean_b = b.moments.lean(b.plausible, b.weight)
    return -_tie(a, b) * lean_a * lean_b


def _tie(a: Stratum, b: Stratum) -> Floats:
    """What two leans, multiplied, take from the covariance of two estimated counts."""
    if a.moments.deck is None or b.moments.deck is None:
        return np.zeros_like(a.counts)
    if not a.moments.same_as(b.moments):
        raise ArgumentError("same_deck=True must be said of estimates by one mechanism, got two")
    decks = max(a.decks, b.decks, math.ceil((a.n + b.n) / a.moments.deck))
    tie: Floats = a.moments.pair_weight(decks) / (a.moments.gain * b.moments.gain)
    return tie
