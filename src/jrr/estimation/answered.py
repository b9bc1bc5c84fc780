"""Shares among those who answered, where "prefer not to say" is one of the values."""

from typing import NamedTuple

from jrr._base import checks
from jrr.estimation.estimates import Estimate


class AnsweredShare(NamedTuple):
    """The share of one value among those who did not decline, and its interval."""

    share: float
    low: float
    high: float


def among_answered(
    estimate: Estimate, declined: int, level: float = 0.95
) -> dict[int, AnsweredShare]:
    """Shares among those who did not decline: a ratio of two estimates.

    An interval of the ratio holds wherever those of both shares hold, so each of the two gets
    half of the error: the level is kept or exceeded.

    Args:
        estimate: of all values, the declining one among them.
        declined: the value that means "prefer not to say".
        level: of the intervals, in (0, 1).

    Returns:
        Value -> share with its interval, for every other value. Empty where the reports do not
        exclude that everybody declined.

    Raises:
        ArgumentError: where declined is no value of the estimate, or level is not in (0, 1).

    Example:
        >>> import jrr
        >>> m = jrr.RR(k=3, epsilon=2.0)  # 0 no, 1 yes, 2 prefer not to say
        >>> reports = m.respond([0] * 500 + [1] * 300 + [2] * 200, rng=jrr.SeededRandom(7))
        >>> shares = among_answered(m.estimate(reports), declined=2)
        >>> round(shares[1].share, 3)
        0.364
    """
    level = checks.level(level)
    declined = checks.integer("declined", declined, 0, len(estimate.counts) - 1)
    low, high = estimate.interval((1 + level) / 2)
    if not high[declined] < 1:
        return {}
    frequencies = estimate.frequencies
    most, least = 1 - low[declined], 1 - high[declined]  # the share of those who answered
    return {
        value: AnsweredShare(
            share=float(frequencies[value] / (1 - frequencies[declined])),
            # An end below 0 moves away from 0 when the divisor shrinks.
            low=float(low[value] / (most if low[value] > 0 else least)),
            high=float(high[value] / (least if high[value] > 0 else most)),
        )
        for value in range(len(frequencies))
        if value != declined
    }
