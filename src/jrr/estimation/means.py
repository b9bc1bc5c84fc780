"""MeanEstimate: mean and sum of a bounded number, with standard errors and intervals.

What is estimated is a share: how far on the way from the lowest number to the highest people are
on average. Numbers were rounded by chance before they were perturbed, which is noise that nobody
can see; the most that it can be is counted (docs/theory.md, section on numbers).
"""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from jrr._base import checks
from jrr._base.shown import Row, Shown, ShownDocument
from jrr.estimation.contrasts import Sampling
from jrr.estimation.differences import Difference, difference
from jrr.estimation.estimates import Estimate, Population
from jrr.estimation.own_noise import WindowNoise


@dataclass(frozen=True, eq=False, repr=False)
class MeanEstimate(ShownDocument):
    """The mean of a number, and its sum; unbiased, so that they may leave what is possible.

    Made by `Numbers.estimate`.

    Attributes:
        low: the lowest number possible.
        high: the highest.
        share: how far on the way from low to high people are on average: its share of 1.
        cases: what the truth lies between: errors and intervals are the widest of them.
        steps: how finely numbers were told.

    Example:
        >>> import jrr
        >>> age = jrr.Numbers(0, 100, jrr.RR(epsilon=1.0))
        >>> reports = age.respond([20, 30, 40] * 1000, rng=jrr.SeededRandom(7))
        >>> estimate = age.estimate(reports)
        >>> low, high = estimate.interval(0.9)
        >>> low < 30 < high
        True
    """

    low: float
    high: float
    share: Estimate
    cases: tuple[Estimate, ...]
    steps: int = 1

    @classmethod
    def of(cls, low: float, high: float, share: Estimate, steps: int) -> "MeanEstimate":
        """From an estimated share.

        Args:
            low: the least number.
            high: the largest.
            share: the estimated share of the way from low to high.
            steps: how finely numbers were told; 1: by a coin for two values.
        """
        if steps > 1:
            rounded = share if _covers_rounding(share.sampling) else _with_rounding(share)
            return cls(low, high, share, (rounded,), steps)
        # A rounded bit varies as a yes or no of a person drawn at random; of given people it
        # varies less, which with some cards is more noise in all, and with others less.
        drawn = Estimate(share.strata, Sampling())
        if _covers_rounding(share.sampling):
            return cls(low, high, share, (drawn,))
        return cls(low, high, share, (Estimate(share.strata), drawn))

    @property
    def n(self) -> int:
        """Contributors who reported."""
        return self.share.n

    @property
    def population(self) -> Population:
        """Whom errors and intervals speak of: the respondents, or those they are a sample of."""
        return self.share.population

    @property
    def people(self) -> float:
        """How many people the sum is of, or what they weigh; infinite for no end of them."""
        if self.share.sampling is None:
            return self.share.weight
        return self.share.sampling.size

    @property
    def mean(self) -> float:
        """The mean of the number."""
        return self._number(float(self.share.frequencies[1]))

    @property
    def stderr(self) -> float:
        """Standard error of the mean: the largest that it can be at this mean."""
        return (self.high - self.low) * max(float(case.stderr[1]) for case in self.cases)

    @property
    def sum(self) -> float:
        """The sum of the number over `people`; not a number where there is no end of them."""
        return self.mean * self.people if math.isfinite(self.people) else math.nan

    @property
    def sum_stderr(self) -> float:
        """Standard error of the sum."""
        return self.stderr * self.people if math.isfinite(self.people) else math.nan

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """A confidence interval of the mean.

        Args:
            level: how often such an interval holds the true mean, at least.

        Returns:
            Lower and upper end.

        Raises:
            ArgumentError: where level is not in (0, 1).
        """
        level = checks.level(level)
        ends = np.array([[end[1] for end in case.interval(level)] for case in self.cases])
        # Sums of whole numbers lie one apart: half of that more, so that none is left out.
        gains = [float(part.moments.gain[0]) for part in self.share.strata if part.n]
        more = 0.5 / (min(gains) * self.share.weight) if self.steps > 1 else 0.0
        low, high = float(ends[:, 0].min()) - more, float(ends[:, 1].max()) + more
        return self._number(low), self._number(high)

    def sum_interval(self, level: float = 0.95) -> tuple[float, float]:
        """A confidence interval of the sum; arguments as for `interval`.

        Args:
            level: the chance with which an interval holds.
        """
        low, high = self.interval(level)
        if not math.isfinite(self.people):
            return math.nan, math.nan
        return low * self.people, high * self.people

    shown_value = "mean"
    shown_heading = "Mean of {0.n:,} reports"

    def to_rows(self, level: float = 0.95) -> list[Row]:
        """One row: mean, stderr, low, high, sum, sum_stderr."""
        low, high = self.interval(level)
        ends = {"mean": self.mean, "stderr": self.stderr, "low": low, "high": high}
        return [ends | {"sum": self.sum, "sum_stderr": self.sum_stderr}]

    def minus(self, other: "MeanEstimate", *, same_deck: bool, shared: int = 0) -> "MeanDifference":
        """This mean minus that of a disjoint group or of another wave.

        Args:
            other: the estimate to subtract, of the same question.
            same_deck: True for groups of one survey, as for `jrr.difference`.
            shared: how many people may be in both, as for `jrr.difference`.

        Returns:
            The difference, with its standard error and intervals.

        Raises:
            ArgumentError: for numbers of another range, or as `jrr.difference` does.

        Example:
            >>> import jrr
            >>> age, rng = jrr.Numbers(0, 100, jrr.RR(epsilon=2.0)), jrr.SeededRandom(7)
            >>> old, young = (age.estimate(age.respond([x] * 900, rng=rng)) for x in (60, 20))
            >>> low, high = old.minus(young, same_deck=False).interval()
            >>> low < 40 < high
            True
        """
        if (self.low, self.high) != (other.low, other.high):
            allowed = f"an estimate of a number in {self.low:g}..{self.high:g}"
            raise checks.refusal("other", other, allowed)
        pairs = zip(self.cases, other.cases, strict=True)
        both = 0 if self.share.sampling is None else shared  # numbers are rounded anew each time
        gaps = tuple(difference(a, b, same_deck=same_deck, shared=both) for a, b in pairs)
        return MeanDifference(self.high - self.low, gaps)

    def to_dict(self, level: float = 0.95) -> dict[str, Any]:
        """A result document: plain numbers, with the intervals of one level.

        Args:
            level: of the intervals.

        Returns:
            low, high, n, effective_n, mean, stderr, interval, sum, sum_stderr, sum_interval,
            level, population, population_size. There is no sum over a population without end.
        """
        bounded = math.isfinite(self.people)
        return {
            "low": self.low,
            "high": self.high,
            "n": self.n,
            "effective_n": self.share.effective_n,
            "mean": self.mean,
            "stderr": self.stderr,
            "interval": list(self.interval(level)),
            "sum": self.sum if bounded else None,
            "sum_stderr": self.sum_stderr if bounded else None,
            "sum_interval": list(self.sum_interval(level)) if bounded else None,
            "level": level,
            "population": self.population,
            "population_size": self.share.population_size,
        }

    def __repr__(self) -> str:
        low, high = self.interval()
        return f"MeanEstimate(n={self.n}, 95%: {self.mean:.6g} [{low:.6g}, {high:.6g}])"

    def _number(self, share: float) -> float:
        return self.low + (self.high - self.low) * share


@dataclass(frozen=True, eq=False)
class MeanDifference(Shown):
    """One mean minus another; made by `MeanEstimate.minus`.

    Attributes:
        width: from the lowest number possible to the highest.
        cases: what the truth lies between, as differences of shares.
    """

    width: float
    cases: tuple[Difference, ...]

    @property
    def difference(self) -> float:
        """The first mean minus the second."""
        return self.width * float(self.cases[0].frequencies[1])

    @property
    def stderr(self) -> float:
        """Its standard error, the largest that it can be at these means."""
        return self.width * max(float(case.stderr[1]) for case in self.cases)

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """A confidence interval; as for `MeanEstimate.interval`.

        Args:
            level: the chance with which an interval holds.
        """
        ends = np.array([[end[1] for end in case.interval(level)] for case in self.cases])
        return self.width * float(ends[:, 0].min()), self.width * float(ends[:, 1].max())

    shown_value = "difference"
    shown_heading = "Difference of means, the first minus the second"

    def to_rows(self, level: float = 0.95) -> list[Row]:
        """One row: difference, stderr, low, high."""
        low, high = self.interval(level)
        ends = {"low": low, "high": high}
        return [{"difference": self.difference, "stderr": self.stderr} | ends]

    def to_dict(self, level: float = 0.95) -> dict[str, Any]:
        """A result document: difference, stderr, interval.

        Args:
            level: the chance with which an interval holds.
        """
        return {
            "difference": self.difference,
            "stderr": self.stderr,
            "interval": list(self.interval(level)),
        }


def _covers_rounding(sampling: Sampling | None) -> bool:
    """Whether the noise of drawing people, at its most, already counts that of rounding.

    A number that is drawn and rounded varies by at most m(1-m) in all, m being its mean. Of people
    who are given, or drawn from so many, that bound would be too small or too large.
    """
    return sampling is not None and math.isinf(sampling.size)


def _with_rounding(share: Estimate) -> Estimate:
    """The same with the most that rounding to steps can add to the noise of every report."""
    strata = []
    for stratum in share.strata:
        noise = stratum.moments.masks
        assert isinstance(noise, WindowNoise)  # what tells steps has own noise
        moments = replace(stratum.moments, masks=noise.with_rounding())
        strata.append(replace(stratum, moments=moments))
    return Estimate(strata, share.sampling)
