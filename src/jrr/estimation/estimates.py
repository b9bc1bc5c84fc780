"""Estimate: shares with standard errors and intervals (docs/theory.md, section on intervals).

The interval inverts a score test: it keeps every count x that the reports do not contradict,
|x̂ - x| <= z·sd(x) + half a report. The variance is taken at the hypothesised x, not at the
estimate, because a joint mechanism's variance depends strongly on the true frequency and an
estimate near 0 would understate it; half a report corrects for counting in whole numbers.
"""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Any

import numpy as np

from jrr._base import checks
from jrr._base.short_repr import MOST
from jrr.errors import ArgumentError
from jrr.estimation.moments import Floats, Moments, Quadratic, Spread


@dataclass(frozen=True, eq=False, kw_only=True)
class Stratum:
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
    """Estimated counts and frequencies of every value; unbiased, so they may leave 0..1.

    Made by `Mechanism.estimate`. `jrr.postprocess` has steps that bring shares into 0..1.

    Args:
        strata: contributors who are estimated apart, with a card and without; their counts add.

    Raises:
        ArgumentError: where nobody reported.

    Example:
        >>> import jrr
        >>> m = jrr.RR(k=2, p=0.75)
        >>> reports = m.respond([1] * 300 + [0] * 700, rng=jrr.SeededRandom(7))
        >>> estimate = m.estimate(reports)
        >>> estimate.frequencies.round(3).tolist()
        [0.688, 0.312]
        >>> low, high = estimate.interval(level=0.9)
        >>> bool(low[1] < 0.3 < high[1])
        True
    """

    def __init__(self, strata: Sequence[Stratum]) -> None:
        self.strata = tuple(stratum for stratum in strata if stratum.n)
        if not self.strata:
            raise ArgumentError("reports must hold at least one report, got none")

    @property
    def n(self) -> int:
        """Contributors who reported."""
        return sum(stratum.n for stratum in self.strata)

    @property
    def weight(self) -> float:
        """What all contributors weigh together; n where no weights were given."""
        return sum(stratum.weight for stratum in self.strata)

    @property
    def counts(self) -> Floats:
        """How many hold each value, or what they weigh; with and without a card are added."""
        total: Floats = np.sum([stratum.counts for stratum in self.strata], axis=0)
        return total

    @property
    def frequencies(self) -> Floats:
        """The share that holds each value."""
        return self.counts / self.weight

    @property
    def count_stderr(self) -> Floats:
        """Standard errors of the counts, the variance taken at the estimate."""
        variances = [stratum.variance() for stratum in self.strata]
        error: Floats = np.sqrt(np.sum(variances, axis=0))
        return error

    @property
    def stderr(self) -> Floats:
        """Standard errors of the frequencies."""
        return self.count_stderr / self.weight

    def interval(self, level: float = 0.95) -> tuple[Floats, Floats]:
        """Confidence intervals of the frequencies.

        They count the noise of perturbation, not that of choosing whom to ask.

        Args:
            level: how often such an interval holds the true share, in (0, 1).

        Returns:
            Lower and upper ends, one per value.

        Raises:
            ArgumentError: where level is not in (0, 1).

        Example:
            >>> import jrr
            >>> low, high = jrr.RR(k=2, p=0.75).estimate([0, 1, 1, 1] * 100).interval()
            >>> low.round(3).tolist(), high.round(3).tolist()
            ([-0.087, 0.913], [0.087, 1.087])
        """
        z = quantile(level)
        high = _upper_count(self.strata, z)
        # Everything is symmetric under "count those who do not hold v": reuse the upper end.
        low = self.weight - _upper_count([_complement(stratum) for stratum in self.strata], z)
        return low / self.weight, high / self.weight

    def to_dict(self, level: float = 0.95) -> dict[str, Any]:
        """A result document: plain numbers, with the intervals of one level.

        There is no way back from it, since it has no variances at other shares. What is kept
        for later is the tally (`Tally.to_json`), from which `Mechanism.estimate` makes the
        same estimate again.

        Args:
            level: of the intervals.

        Returns:
            n, weight, counts, count_stderr, frequencies, stderr, level, interval.
        """
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

    def to_json(self, level: float = 0.95) -> str:
        """The result document of `to_dict` as one line of JSON."""
        return json.dumps(self.to_dict(level), sort_keys=True)

    def __repr__(self) -> str:
        low, high = self.interval()
        shares = self.frequencies
        shown = len(shares) if len(shares) <= MOST else MOST // 2
        rows = ", ".join(
            f"{v}: {shares[v]:.4f} [{low[v]:.4f}, {high[v]:.4f}]" for v in range(shown)
        )
        more = f", ... {len(shares)} values" if shown < len(shares) else ""
        return f"Estimate(n={self.n}, 95%: {rows}{more})"


def quantile(level: float) -> float:
    """How many standard errors a two-sided interval of this level reaches.

    Raises:
        ArgumentError: where level is not in (0, 1).

    Example:
        >>> round(quantile(0.95), 2)
        1.96
    """
    return NormalDist().inv_cdf(0.5 + checks.level(level) / 2)


def _complement(stratum: Stratum) -> Stratum:
    """The same contributors, counted by not holding each value."""
    m = stratum.moments
    flipped = replace(m, p=1 - m.q, q=1 - m.p, lean_holder=-m.lean_other, lean_other=-m.lean_holder)
    squares = None if stratum.squares is None else stratum.weight_squares - stratum.squares
    counts = stratum.weight - stratum.counts
    return replace(stratum, moments=flipped, counts=counts, squares=squares)


def _upper_count(strata: Sequence[Stratum], z: float) -> Floats:
    """The largest count that the score test does not reject."""
    n = sum(stratum.weight for stratum in strata)
    estimate = np.sum([stratum.counts for stratum in strata], axis=0)
    half = 0.5 / strata[0].moments.gain * sum(stratum.weight_squares for stratum in strata) / n
    anchor = np.sum([stratum.plausible for stratum in strata], axis=0)
    variance = _towards_all(strata, anchor, n)
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


def _towards_all(strata: Sequence[Stratum], anchor: Floats, n: float) -> Quadratic:
    """Variance of the total as a quadratic on [anchor, n].

    As the hypothesised total grows from the estimate to everybody, each stratum's count grows
    in a straight line from its own estimate to its own everybody.
    """
    constant, linear, square = (np.zeros_like(anchor) for _ in range(3))
    room = np.where(n > anchor, n - anchor, 1.0)
    for stratum in strata:
        slope = np.where(n > anchor, (stratum.weight - stratum.plausible) / room, 0.0)
        start = stratum.plausible - slope * anchor
        # The squares of the holders' weights grow along: y = y_start + y_slope X, X the total.
        left = stratum.weight_squares - stratum.plausible_squares
        y_slope = np.where(n > anchor, left / room, 0.0)
        y_start = stratum.plausible_squares - y_slope * anchor
        a, b, c, held = stratum.spread()
        constant = constant + a + start * (b + c * start) + held * y_start
        linear = linear + slope * (b + 2 * c * start) + held * y_slope
        square = square + c * slope**2
    return Quadratic(constant, linear, square)
