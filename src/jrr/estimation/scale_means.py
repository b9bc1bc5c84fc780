"""The mean of a scale: answers that stand for numbers, each told by its own share.

Shares of one question hang together: a report that marks one answer marks no other. So the error of
their weighted sum is computed from what one report may mark at once (docs/theory-uses.md, Theorem
A9), not from the errors of the shares.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from jrr._base import checks
from jrr._base.shown import Row, Shown
from jrr.errors import ArgumentError
from jrr.estimation.contrasts import Component, Held, cumulants, masked_variance
from jrr.estimation.estimates import Estimate, quantile
from jrr.estimation.moments import Floats


@dataclass(frozen=True, eq=False, kw_only=True)
class ScaleMean(Shown):
    """The mean of a scale among those who answered it; made by `scale_mean`.

    Attributes:
        mean: unbiased, so that it may leave the scale.
        stderr: its standard error, at the estimate.
        n: people who reported.
        population: whom the error speaks of, as for `Estimate.for_population`.
        drawn: the part of its standard error that comes from drawing people.
    """

    mean: float
    stderr: float
    n: int
    population: str
    drawn: float = 0.0

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """A confidence interval, by the normal law.

        Args:
            level: how often such an interval holds the true mean, in (0, 1).
        """
        reach = quantile(level) * self.stderr
        return self.mean - reach, self.mean + reach

    def minus(self, other: "ScaleMean", *, shared: int = 0) -> "ScaleMean":
        """This mean minus that of other people, or of another wave.

        Args:
            other: of the same question; the cards in it have another sum.
            shared: how many people may be in both; where means speak of a population, the noise of
                drawing them is counted for the worst correlation, as by `jrr.difference`.
        """
        shares = shared / max(other.n, 1), shared / max(self.n, 1)
        drawn = [one.drawn**2 * s for one, s in zip((self, other), shares, strict=True)]
        error = math.sqrt(self.stderr**2 + other.stderr**2 + sum(drawn))
        return ScaleMean(
            mean=self.mean - other.mean,
            stderr=error,
            n=self.n + other.n,
            population=self.population,
        )

    shown_value = "mean"
    shown_heading = "Mean of {0.n:,} reports"

    def to_rows(self, level: float = 0.95) -> list[Row]:
        """One row: mean, stderr, low, high."""
        low, high = self.interval(level)
        return [{"mean": self.mean, "stderr": self.stderr, "low": low, "high": high}]

    def to_dict(self, level: float = 0.95) -> dict[str, Any]:
        """A result document: mean, stderr, interval, n, population.

        Args:
            level: of the interval.
        """
        ends = {"interval": list(self.interval(level)), "n": self.n}
        return {"mean": self.mean, "stderr": self.stderr} | ends | {"population": self.population}


def scale_mean(
    estimate: Estimate, numbers: Sequence[float | None], marks: int | None = 1
) -> ScaleMean:
    """The mean of the numbers that answers stand for, among those who gave a number.

    Args:
        estimate: of all answers.
        numbers: what each answer stands for; None: it is no number ("prefer not to say").
        marks: how many answers a report without its mask marks, whatever is held (1: it tells one);
            None: each is marked by chance on its own.

    Raises:
        ArgumentError: as many numbers as answers were not given, or nobody gave one.

    Example:
        >>> import jrr
        >>> m = jrr.RR(k=3, epsilon=3.0)
        >>> mood = m.estimate(m.respond([0, 1, 1, 2] * 500, rng=jrr.SeededRandom(7)))
        >>> low, high = scale_mean(mood, [1, 2, 3]).interval()
        >>> low < 2 < high
        True
    """
    shares = estimate.frequencies
    if len(numbers) != len(shares):
        raise checks.refusal("numbers", list(numbers), f"one for each of {len(shares)} answers")
    held = [number for number in numbers if number is not None]
    if not held:
        raise checks.refusal("numbers", list(numbers), "at least one number")
    middle = (min(held) + max(held)) / 2
    counted = np.array([number is not None for number in numbers])
    apart = np.array([0.0 if number is None else number - middle for number in numbers])
    answered = 1.0 if counted.all() else float(shares[counted].sum())
    if not answered > 0:
        raise ArgumentError(
            f"estimate must say that more than 0% gave a number, got {answered:.0%}"
        )
    mean = float(apart @ shares) / answered
    # Of a ratio: its slope in each share.
    slopes = apart if counted.all() else np.where(counted, (apart - mean) / answered, 0.0)
    variances = [_variances(part, slopes, marks) for part in estimate.parts]
    told, drawn = (sum(column) for column in zip(*variances, strict=True))
    return ScaleMean(
        mean=middle + mean,
        stderr=math.sqrt(told + drawn),
        n=estimate.n,
        population=estimate.population,
        drawn=math.sqrt(drawn),
    )


def _variances(part: Component, slopes: Floats, marks: int | None) -> tuple[float, float]:
    """Of a weighted sum of the shares of one kind of people: of their reports, of drawing them."""
    m = part.moments
    share = part.plausible / max(part.plausible.sum(), 1e-300)
    tied = bool(m.pair_weight(part.decks))
    masks = float(masked_variance([part]).max() * moved_by_masks(slopes))
    if m.p.size > 1 or tied:
        own = _at_most(part, slopes)
    else:
        per_person = variance_of_report(float(m.p[0]), float(m.q[0]), slopes, marks)
        own = part.squares * float(share @ per_person) * (part.factor / float(m.gain[0])) ** 2
    if part.sampling is None:
        return own + masks, 0.0
    spread = float(share @ slopes**2 - (share @ slopes) ** 2)
    left = float(np.max(part.sampling.left)) * part.sampling.second
    return own + masks, part.factor**2 * part.squares * max(spread, 0.0) * left


def variance_of_report(p: float, q: float, weights: Floats, marks: int | None) -> Floats:
    """The variance of the weights that one report marks, by what is held.

    Args:
        p: how likely it marks the answer that is held.
        q: how likely it marks another one.
        weights: of the answers, in the last axis.
        marks: how many answers it marks; None: each by chance on its own.
    """
    others = weights.sum(axis=-1, keepdims=True) - weights
    squares = (weights**2).sum(axis=-1, keepdims=True) - weights**2
    alone: Floats = weights**2 * p * (1 - p) + squares * q * (1 - q)
    if marks is None:
        return alone
    # Beside the one that is held any others are marked, so that every two of them are alike.
    k = weights.shape[-1]
    with_held = p * (marks - 1) / (k - 1)
    two = p * (marks - 1) * (marks - 2) + (1 - p) * marks * (marks - 1)
    of_two = two / ((k - 1) * (k - 2)) if k > 2 else 0.0
    ties = 2 * weights * others * (with_held - p * q) + (others**2 - squares) * (of_two - q * q)
    found: Floats = np.maximum(alone + ties, 0.0)
    return found


def moved_by_masks(weights: Floats) -> Floats:
    """How many times the variance that masks leave in one share is in a weighted sum of shares.

    Every share has a mask of its own; but of two answers there is one, which moves both.
    """
    if weights.shape[-1] == 2:
        apart: Floats = (weights[..., 1] - weights[..., 0]) ** 2
        return apart
    squares: Floats = (weights**2).sum(axis=-1)
    return squares


def _at_most(part: Component, slopes: Floats) -> float:
    """Where it is not known how shares hang together: as if all errors added up."""
    held = [[Held(part.plausible, part.plausible_squares)]]
    found = cumulants([[replace(part, sampling=None)]], held, masks=False)
    errors = np.sqrt(np.maximum(found.variance, 0.0))
    return float(np.sum(np.abs(slopes) * errors)) ** 2
