"""Intervals where masks remain in the sum of reports: their law is known, so it is inverted.

Of one deck or announcement, with nobody else in the estimate, the sum of reports is two binomial
numbers and what masks leave over: a count of holders is kept where neither tail of that law is
smaller than half the error. Mixtures (people without a card, waves, weights, samples) take what
masks leave exactly and the rest as normal.
"""

import math
from collections.abc import Sequence
from statistics import NormalDist

import numpy as np
from scipy import special, stats

from jrr.estimation.contrasts import Component, Floats, Held, cumulants, masked_variance
from jrr.estimation.masks import NOTHING_KNOWN, WholeLaw

_DEVIATIONS = 12  # of binomial numbers, beyond which chances are left out
_POINTS = 600  # of a law of masks in a mixture
_FAR = 8.0  # standard deviations of it, within which points are set
_STEPS = 60  # of bisections

Pools = Sequence[Sequence[Component]]
_Range = tuple[Floats, Floats]


def masked_interval(pools: Pools, level: float) -> _Range:
    """Lower and upper ends, one per value; arguments as for `jrr.estimation.intervals.interval`."""
    parts = [part for some in pools for part in some]
    alone = parts[0] if len(parts) == 1 else None
    # Where a report tells more than yes or no, what is estimated is no count of holders.
    counted = alone is not None and bool((alone.moments.gain <= 1).all())
    if alone is not None and counted and not alone.weighted and alone.sampling is None:
        low, high = _exact_ends(alone, (1 - level) / 2)
        return alone.factor * low, alone.factor * high
    return _mixed_ends(pools, level)


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
        low, high = self._bracket(first, up)  # steps from `first`: not kept, kept
        while high - low > 1:
            middle = (low + high) // 2
            if self._tail(first + up * middle, self.observed, up) > self.error:
                high = middle
            else:
                low = middle
        return float(first + up * high)

    def _bracket(self, first: int, up: int) -> tuple[int, int]:
        """Counts about the end, from a guess and the noise; between them it is searched."""
        sd = math.sqrt(self.n * max(self.p * (1 - self.p), self.q * (1 - self.q)))
        sd = math.hypot(sd, math.sqrt(self.masks.variance)) / self.gain
        estimate = (self.observed - self.n * self.q) / self.gain
        z = NormalDist().inv_cdf(1 - self.error)
        guess = min(max(round((estimate - up * z * sd - first) * up), 0), self.n)
        reach = max(1, round(0.15 * sd))
        low, high = 0, self.n
        while low < guess - reach or guess + reach < high:
            below, above = max(low, guess - reach), min(high, guess + reach)
            if below > low:
                if self._tail(first + up * below, self.observed, up) > self.error:
                    high = below
                    guess = below
                    reach *= 3
                    continue
                low = below
            if above < high:
                if self._tail(first + up * above, self.observed, up) > self.error:
                    high = above
                else:
                    low = above
                    guess = above
                    reach *= 3
                    continue
            break
        return low, high

    def _farthest(self, holders: int, up: int) -> int:
        """The farthest sum that is not too unlikely."""
        centre = round(holders * self.p + (self.n - holders) * self.q)
        reach = 2
        while self._tail(holders, centre + up * reach, up) > self.error:
            reach *= 2
        low, high = -reach, reach  # kept, not kept
        while self._tail(holders, centre + up * low, up) <= self.error:
            low *= 2
        while high - low > 1:
            middle = (low + high) // 2
            if self._tail(holders, centre + up * middle, up) > self.error:
                low = middle
            else:
                high = middle
        return centre + up * low

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
    reach = _DEVIATIONS * np.sqrt(n * p * (1 - p)) + 20
    low, high = max(0, int(n * p - reach)), min(n, int(n * p + reach) + 1)
    numbers = np.arange(low, high + 1)
    return WholeLaw(low, np.asarray(stats.binom.pmf(numbers, n, p), np.float64))


# Mixtures ----------------------------------------------------------------------------------


def _mixed_ends(pools: Pools, level: float) -> _Range:
    """Ends from the law of the error: what masks leave, and the rest as if it were normal."""
    held = [[Held(part.plausible, part.plausible_squares) for part in parts] for parts in pools]
    variance = np.broadcast_to(cumulants(pools, held).variance, pools[0][0].counts.shape)
    masked = sum((masked_variance(parts) for parts in pools), np.zeros(1))
    noise, back = np.unique(np.maximum(variance - masked, 1e-300), return_inverse=True)
    normal = np.sqrt(noise)
    errors, chances = np.zeros(1), np.ones(1)
    for parts in pools:
        more, weights, apart = _masks_of(parts)
        errors = (errors[:, None] + more).ravel()
        chances = (chances[:, None] * weights).ravel()
        errors, chances, more_apart = _thinned(errors, chances)
        normal = np.sqrt(normal**2 + apart + more_apart)
    estimate = sum((part.factor * part.counts for parts in pools for part in parts), np.zeros(1))
    reach = np.abs(errors).max() + NormalDist().inv_cdf(1 - (1 - level) / 4) * normal
    low, high = np.zeros_like(normal), reach.copy()
    for _ in range(_STEPS):  # the law is symmetric: one distance for both ends
        middle = (low + high) / 2
        tail = chances @ special.ndtr((errors[:, None] - middle) / normal)
        above = tail > (1 - level) / 2
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    return estimate - high[back], estimate + high[back]


def _masks_of(parts: Sequence[Component]) -> tuple[Floats, Floats, float]:
    """What masks add to the error of parts that share decks, in the shape of the largest part.

    As `_thinned`.
    """
    part = max(parts, key=lambda one: one.n)
    masks = part.moments.masks
    if masks is None:
        return np.zeros(1), np.ones(1), 0.0
    law = masks.law(part.n, part.decks, part.known or NOTHING_KNOWN)
    numbers, chances, apart = _thinned(law.numbers, law.chances)
    size = float(np.sqrt(masked_variance(parts).max()))
    own = float(np.sqrt(chances @ numbers**2 + apart))
    scale = size / own if own else 0.0
    return numbers * scale, chances, apart * scale**2


def _thinned(numbers: Floats, chances: Floats) -> tuple[Floats, Floats, float]:
    """The same law at no more than so many points, each the mean of those that it stands for.

    Returns:
        Numbers, chances, and the variance of numbers about the points that stand for them.
    """
    order = np.argsort(numbers)
    numbers, chances = numbers[order], chances[order]
    if len(numbers) <= _POINTS:
        return numbers, chances, 0.0
    far = _FAR * np.sqrt(chances @ numbers**2)  # what lies beyond is as good as one point
    low, high = max(numbers[0], -far), min(numbers[-1], far)
    edges = np.linspace(low, high, _POINTS + 1)[1:-1]
    bins = np.searchsorted(edges, numbers)
    weights = np.bincount(bins, chances, _POINTS).astype(np.float64, copy=False)
    kept = weights > 0
    centres = np.bincount(bins, chances * numbers, _POINTS)[kept] / weights[kept]
    apart = float(chances @ numbers**2 - weights[kept] @ centres**2)
    return centres, weights[kept], max(0.0, apart)
