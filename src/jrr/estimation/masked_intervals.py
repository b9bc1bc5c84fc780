"""Intervals where masks remain in the sum of reports: their law is known, so it is inverted.

Of one deck or announcement, with nobody else in the estimate, the sum of reports is two binomial
numbers and what masks leave over: a count of holders is kept where neither tail of that law is
smaller than half the error. Other contrasts (people without a card, waves, weights, samples) are
tested as those without masks, whose noise is then added (jrr.estimation.intervals).
"""

import bisect
import math
from collections.abc import Sequence
from statistics import NormalDist

import numpy as np

from jrr.estimation.contrasts import Component, Floats
from jrr.estimation.masks import NOTHING_KNOWN, WholeLaw

_DEVIATIONS = 12  # of binomial numbers, beyond which chances are left out

Pools = Sequence[Sequence[Component]]
_Range = tuple[Floats, Floats]


def invertible(pools: Pools) -> bool:
    """Whether there is one part, of people who weigh the same and are all that is asked about."""
    parts = [part for some in pools for part in some]
    alone = parts[0]
    return (
        len(parts) == 1
        and alone.moments.masks is not None
        and not alone.weighted
        and alone.weight == alone.n
        and alone.sampling is None
    )


def exact_interval(pools: Pools, level: float) -> _Range:
    """Lower and upper ends, one per value, where `invertible`; arguments as for `interval`."""
    alone = pools[0][0]
    # Of a number in steps nobody is a holder, and the law of the noise is the same for all.
    masks = alone.moments.masks
    in_steps = masks is not None and masks.of_numbers
    low, high = (_quantile_ends if in_steps else _exact_ends)(alone, (1 - level) / 2)
    return alone.factor * low, alone.factor * high


# One deck, everybody weighs the same -------------------------------------------------------


def _exact_ends(part: Component, error: float) -> _Range:
    """Ends of the counts of holders; values that are counted alike are looked at once."""
    if part.moments.p.size > 1:
        values, back = np.arange(len(part.counts)), np.arange(len(part.counts))
    else:
        _, values, back = np.unique(part.counts, return_index=True, return_inverse=True)
    sums = [_Sum(part, int(value), error) for value in values]
    low, high = (np.array([one.end(up) for one in sums])[back] for up in (1, -1))
    return low, high


def _quantile_ends(part: Component, error: float) -> _Range:
    """Ends of an estimate that the law of noise moves about, whatever the truth is."""
    masks = part.moments.masks
    assert masks is not None  # who calls has looked
    law = masks.law(part.n, part.decks, part.known or NOTHING_KNOWN)
    below = np.cumsum(law.chances)
    above = 1 - below + law.chances
    highest, lowest = law.numbers[above > error].max(), law.numbers[below > error].min()
    return part.counts - highest / part.moments.gain, part.counts - lowest / part.moments.gain


class _Sum:
    """The sum of reports, by the number of holders; up is the direction of a lower end."""

    def __init__(self, part: Component, value: int, error: float) -> None:
        moments = part.moments.some(slice(value, value + 1))
        assert moments.masks is not None  # who calls has looked
        self.p, self.q, self.gain = (float(a[0]) for a in (moments.p, moments.q, moments.gain))
        self.n, self.error = part.n, error
        self.observed = round(float(part.counts[value]) * self.gain + self.n * self.q)
        self.masks = moments.masks.law(part.n, part.decks, part.known or NOTHING_KNOWN)
        chances = self.masks.chances
        # above[i]: the chance of numbers from `first` + i on; below[i]: of those before it.
        self.above = np.append(np.cumsum(chances[::-1])[::-1], 0.0)
        self.below = np.insert(np.cumsum(chances), 0, 0.0)

    def end(self, up: int) -> float:
        """The lower end (up = 1): the least count at which so large a sum is not too unlikely.

        The upper end (up = -1) is the largest count at which so small a sum is not. Beyond what
        is possible the law moves on as it is at the end of it.
        """
        first, last = (0, self.n) if up > 0 else (self.n, 0)
        if self._tail(first, self.observed, up) > self.error:
            return first - (self._farthest(first, up) - self.observed) / self.gain
        if self._tail(last, self.observed, up) <= self.error:
            return last - (self._farthest(last, up) - self.observed) / self.gain

        def kept(step: int) -> bool:
            return self._tail(first + up * step, self.observed, up) > self.error

        # The first step from `first` on that is kept is searched from a guess outwards.
        sd = math.sqrt(self.n * max(self.p * (1 - self.p), self.q * (1 - self.q)))
        sd = math.hypot(sd, math.sqrt(self.masks.variance)) / self.gain
        estimate = (self.observed - self.n * self.q) / self.gain
        z = NormalDist().inv_cdf(1 - self.error)
        guess = min(max(round((estimate - up * z * sd - first) * up), 0), self.n)
        low, high, reach = guess, guess, max(1, round(0.15 * sd))
        while low > 0 and kept(low):
            low, high, reach = max(0, low - reach), low, 3 * reach
        while high < self.n and not kept(high):
            low, high, reach = high, min(self.n, high + reach), 3 * reach
        near = range(low + 1, high + 1)
        return float(first + up * near[bisect.bisect_left(near, True, key=kept)])

    def _farthest(self, holders: int, up: int) -> int:
        """The farthest sum that is not too unlikely."""
        centre = round(holders * self.p + (self.n - holders) * self.q)

        def lost(step: int) -> bool:
            return self._tail(holders, centre + up * step, up) <= self.error

        low, high = -2, 2
        while not lost(high):
            high *= 2
        while lost(low):
            low *= 2
        return centre + up * (low + bisect.bisect_left(range(low, high), True, key=lost) - 1)

    def _tail(self, holders: int, observed: int, up: int) -> float:
        """The chance of a sum at least (up = 1) or at most (up = -1) as large as this."""
        answers = _two_binomials(holders, self.p, self.n - holders, self.q)
        rest = observed - (answers.first + np.arange(len(answers.chances)))
        tails = self.above if up > 0 else self.below
        place = rest - self.masks.first + (0 if up > 0 else 1)
        at = np.clip(place, 0, len(tails) - 1).astype(np.intp)
        return float(answers.chances @ tails[at])


def _two_binomials(holders: int, p: float, others: int, q: float) -> WholeLaw:
    laws = [_binomial(holders, p), _binomial(others, q)]
    chances = np.convolve(laws[0].chances, laws[1].chances)
    return WholeLaw(laws[0].first + laws[1].first, chances)


def _binomial(n: int, p: float) -> WholeLaw:
    from scipy import stats  # a second to load, and most commands do without

    reach = _DEVIATIONS * np.sqrt(n * p * (1 - p)) + 20
    low, high = max(0, int(n * p - reach)), min(n, int(n * p + reach) + 1)
    numbers = np.arange(low, high + 1)
    return WholeLaw(low, np.asarray(stats.binom.pmf(numbers, n, p), np.float64))
