"""Intervals: every value of a contrast that the reports do not contradict.

The value of a contrast does not say how holders of v split among its parts (with and without a
card, two waves). So a value is kept if it passes the test for any split that each part's own
reports allow (Berger and Boos): the noise is never computed from an estimate
(docs/theory-jrr.md, section on intervals).
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from jrr.estimation.contrasts import (
    Component,
    Cumulants,
    Floats,
    Held,
    Sampling,
    cumulants,
    masked_variance,
)

_SPENT = 0.02  # the share of the error that is spent on what each part may hold
_WAYS = {1: 1, 2: 9, 3: 7, 4: 5}  # by number of parts: how finely ways to hold v are tried
_POINTS, _ROUNDS = 17, 2  # of the search, and how often it is refined
_FEW = 5  # points where nothing but the distance changes, so that what is kept has one end
_AT_ONCE = 1 << 11  # values searched at a time, with one way each
_MANY = 1 << 8  # values beyond which equal counts are searched only once
_MASK_POINTS = 201  # of the law of what masks leave
_MASK_REACH = 10.0  # standard deviations of it, within which points are set
_UP_AND_DOWN = np.array([[1.0], [-1.0]])  # towards the upper end and towards the lower

Pools = Sequence[Sequence[Component]]
_Bools = NDArray[np.bool_]
_Range = tuple[Floats, Floats]  # the least and the most


def interval(pools: Pools, level: float) -> _Range:
    """Lower and upper ends, one per value, of an interval of this level.

    Args:
        pools: the parts of the contrast, by the cards they draw: parts of one pool share decks.
        level: how often the interval holds the true value of the contrast.
    """
    parts = _parts(pools)
    counts = np.array([part.counts for part in parts])
    columns = np.concatenate((counts, [part.held_squares for part in parts]))
    alike = all(part.moments.p.size == 1 and np.size(_left(part)) == 1 for part in parts)
    back: NDArray[np.intp] | slice = slice(None)
    if alike and columns.shape[1] > _MANY:
        columns, back = np.unique(columns, axis=1, return_inverse=True)
    found = []
    block = max(1, _AT_ONCE // _WAYS[len(parts)] ** max(1, len(parts) - 1))
    for start in range(0, columns.shape[1], block):
        some = slice(start, start + block)
        test = _Test(_narrowed(pools, columns[:, some], some), level)
        found.append(test.farthest_kept())
    high, low = np.concatenate(found, axis=1)[:, back].reshape(2, -1)
    return low, high


def kept(pools: Pools, values: Floats, level: float) -> _Bools:
    """Which of the values, one for each count, the reports do not contradict.

    The interval reaches from the smallest such value to the largest, so that its coverage is at
    least the chance that the true value is kept.
    """
    test = _Test(pools, level)
    both = test.excess(np.stack((values, values))[None]) <= test.z
    within: _Bools = both[0, 0] & both[0, 1]
    return within


def _quantile(level: float) -> float:
    return NormalDist().inv_cdf(0.5 + level / 2)


def _parts(pools: Pools) -> list[Component]:
    return [part for parts in pools for part in parts]


def _narrowed(pools: Pools, columns: Floats, some: slice) -> list[list[Component]]:
    """The same contrast for some of the values."""
    counts, squares = (iter(rows) for rows in np.split(columns, 2))
    return [
        [
            replace(
                part,
                counts=next(counts),
                held_squares=next(squares),
                moments=part.moments.some(some),
                sampling=_some_sampling(part, some),
                own_intervals={},
            )
            for part in parts
        ]
        for parts in pools
    ]


def _left(part: Component) -> Floats | float:
    return 1.0 if part.sampling is None else part.sampling.left


def _some_sampling(part: Component, some: slice) -> Sampling | None:
    left = _left(part)
    if part.sampling is None or not isinstance(left, np.ndarray):
        return part.sampling
    return replace(part.sampling, left=left[some])


class _Test:
    """The test of hypothesised values of a contrast against what was observed.

    Arrays of values have an axis for the two directions, away from the observation upwards and
    downwards, and one for the counts that were observed.
    """

    def __init__(self, pools: Pools, level: float) -> None:
        self.pools, self.parts = pools, _parts(pools)
        self.masks = _masks_of(pools)
        self.weighted = any(part.weighted for part in self.parts)
        nuisance = self.weighted or len(self.parts) > 1
        spent = _SPENT * (1 - level) if nuisance else 0.0
        self.z = _quantile(level + spent)
        self.z_of_squares = _quantile(1 - spent) if self.weighted else 0.0
        self.ranges = [self._range(part, spent / len(self.parts)) for part in self.parts]
        self.least, self.most = (sum(ends, np.zeros(1)) for ends in zip(*self.ranges, strict=True))
        self.observed = sum((part.factor * part.counts for part in self.parts), np.zeros(1))

    def _range(self, part: Component, spent: float) -> _Range:
        """What a part may add to the contrast, by its own reports: all, if it is the only one."""
        nobody = np.zeros_like(part.counts)
        if len(self.parts) == 1:
            ends = nobody, nobody + part.factor * part.weight
        else:
            alone = part.own_intervals.get(spent)
            if alone is None:
                alone = interval([[replace(part, factor=1.0)]], 1 - spent)
                part.own_intervals[spent] = alone
            low, high = (part.factor * np.clip(end, 0.0, part.weight) for end in alone)
            ends = low, high
        return np.minimum(*ends), np.maximum(*ends)

    def excess(self, values: Floats) -> Floats:
        """How far out the observation lies if a value is true, for the split that fits it best."""
        split = _ways(self.ranges, np.clip(values, self.least, self.most))
        away = _UP_AND_DOWN * (values - self.observed)
        law = self._law(split)
        third = -_UP_AND_DOWN * law.third
        if self.masks is None:
            z = standard_excess(away, law.variance, third, law.step, law.grain)
            least: Floats = z.min(axis=(0, 1))
            return least
        # What masks leave is added to the noise of the answers: a mixture over what it is.
        tail = np.zeros(np.broadcast_shapes(away.shape, np.shape(law.variance)))
        for mask, chance in zip(self.masks.numbers, self.masks.chances, strict=True):
            z = standard_excess(away + mask, law.variance, third, law.step, law.grain)
            tail += chance * scipy.special.ndtr(-z)
        likeliest = np.clip(tail.max(axis=(0, 1)), 1e-300, 1.0)
        mixed: Floats = -scipy.special.ndtri(likeliest)
        return mixed

    def _law(self, split: Sequence[Floats]) -> Cumulants:
        """The laws of ways to hold v, with one more axis in front for who the holders may be."""
        weights = [u / part.factor for u, part in zip(split, self.parts, strict=True)]
        ranges = [
            part.squares_within(held, self.z_of_squares)
            if part.weighted
            else (held * (part.squares / part.weight),) * 2
            for part, held in zip(self.parts, weights, strict=True)
        ]
        by_part = zip(*self._extremes, strict=True)
        squares = [
            np.stack([ends[at] for at in heavy])
            for ends, heavy in zip(ranges, by_part, strict=True)
        ]
        holders = iter([Held(w[None], s) for w, s in zip(weights, squares, strict=True)])
        by_pool = [[next(holders) for _ in parts] for parts in self.pools]
        if self.masks is None:
            return cumulants(self.pools, by_pool)
        law = cumulants(self.pools, by_pool, masks=False)
        return law._replace(variance=law.variance + self.masks.apart)

    @cached_property
    def _extremes(self) -> list[tuple[int, ...]]:
        """For each part whether its holders are light (0) or heavy (1), in some combinations."""
        light, heavy = (0,) * len(self.parts), (1,) * len(self.parts)
        if not self.weighted:
            return [light]
        signs = tuple(int(part.factor > 0) for part in self.parts)
        return sorted({light, heavy, signs, tuple(1 - sign for sign in signs)})

    def farthest_kept(self) -> Floats:
        """The largest and the smallest value that is kept; what was observed always is."""
        shape = (2, self.parts[0].counts.size)
        end = np.where(_UP_AND_DOWN > 0, self.most, self.least)
        start = np.broadcast_to(np.clip(self.observed, self.least, self.most), shape)
        observed = np.broadcast_to(self.observed, shape)
        # Beyond what is possible the law is that at the end of it.
        beyond = np.where(_UP_AND_DOWN * (observed - end) > 0, observed, end)
        line, few = (np.linspace(0, 1, points)[:, None, None] for points in (_POINTS, _FEW))
        grid = np.concatenate(
            (
                observed + (start - observed) * few,
                # Closer near the estimate, since nothing is known of the scale.
                start + (end - start) * line**3,
                beyond + _UP_AND_DOWN * self._reach() * few,
            )
        )
        away = np.maximum(_UP_AND_DOWN * (grid - observed), 0.0)
        near, far = np.zeros(shape), np.zeros(shape)
        for _ in range(1 + _ROUNDS):
            near, far, near_z, far_z = self._bracket(away)
            away = near + (far - near) * line
        with np.errstate(all="ignore"):
            share = (self.z - near_z) / (far_z - near_z)
        share = np.where(np.isfinite(share), np.clip(share, 0.0, 1.0), 0.5)
        return observed + _UP_AND_DOWN * (near + share * (far - near))

    def _reach(self) -> Floats:
        """A distance from the observation beyond which no value is kept."""
        law = self._law([np.where(_UP_AND_DOWN > 0, high, low) for low, high in self.ranges])
        far = 2 * (self.z + 1) * np.sqrt(law.variance) + (self.z**2 + 3) * law.step
        if self.masks is not None:
            far = far + np.abs(self.masks.numbers).max()
        reach: Floats = far.max(axis=0)
        return reach

    def _bracket(self, away: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """The last of rising distances that is kept, the next one, and how far out they are."""
        z = self.excess(self.observed + _UP_AND_DOWN * away)
        within = z <= self.z
        within[0] = True
        last = len(away) - 1 - np.argmax(within[::-1], axis=0)
        after = np.minimum(last + 1, len(away) - 1)
        near, near_z = (np.take_along_axis(a, last[None], 0)[0] for a in (away, z))
        far, far_z = (np.take_along_axis(a, after[None], 0)[0] for a in (away, z))
        return near, far, near_z, far_z


class _MaskLaw(NamedTuple):
    """What masks may leave in a contrast, at a few points, and its variance about them."""

    numbers: Floats
    chances: Floats
    apart: float


def _masks_of(pools: Pools) -> _MaskLaw | None:
    """What masks leave in all parts together; None where there are none."""
    whole = None
    for parts in pools:
        masks = parts[0].moments.masks
        if masks is None:
            continue
        # Without a common deck each part has noise of its own; of one deck it is that of the
        # whole, in the shape of the largest part.
        units = [parts] if masks.tie(1) > 0 else [[part] for part in parts]
        for unit in units:
            law = _masks_left(unit)
            whole = law if whole is None else _added(whole, law)
    return whole


def _masks_left(parts: Sequence[Component]) -> _MaskLaw:
    part = max(parts, key=lambda one: one.n)
    masks = part.moments.masks
    assert masks is not None  # who calls has looked
    law = masks.law(part.n, part.decks, *([] if part.known is None else [part.known]))
    scale = float(np.sqrt(masked_variance(parts).max() / law.variance)) if law.variance else 0.0
    return _thinned(law.numbers * scale, law.chances, 0.0)


def _added(first: _MaskLaw, second: _MaskLaw) -> _MaskLaw:
    numbers = (first.numbers[:, None] + second.numbers).ravel()
    chances = (first.chances[:, None] * second.chances).ravel()
    return _thinned(numbers, chances, first.apart + second.apart)


def _thinned(numbers: Floats, chances: Floats, apart: float) -> _MaskLaw:
    """The same law at a few points, each the mean of those that it stands for."""
    sd = float(np.sqrt(chances @ numbers**2))
    if len(numbers) <= _MASK_POINTS or sd == 0:
        return _MaskLaw(numbers, chances, apart)
    low, high = max(numbers.min(), -_MASK_REACH * sd), min(numbers.max(), _MASK_REACH * sd)
    bins = np.searchsorted(np.linspace(low, high, _MASK_POINTS + 1)[1:-1], numbers)
    weights = np.bincount(bins, chances, _MASK_POINTS).astype(np.float64, copy=False)
    kept = weights > 0
    centres = np.bincount(bins, chances * numbers, _MASK_POINTS)[kept] / weights[kept]
    within = max(0.0, sd**2 - float(weights[kept] @ centres**2))
    return _MaskLaw(centres, weights[kept], apart + within)


def _ways(ranges: Sequence[_Range], values: Floats) -> list[Floats]:
    """Ways to split each value among the parts, every part within its range.

    Returns:
        For each part what it gets, by way and value.
    """
    shares = np.linspace(0, 1, _WAYS[len(ranges)])
    grids = np.meshgrid(*[shares] * (len(ranges) - 1), indexing="ij")
    rest, split = values[None], []
    for at, (low, high) in enumerate(ranges[:-1]):
        others = [sum(ends, np.zeros(1)) for ends in zip(*ranges[at + 1 :], strict=True)]
        first, last = np.maximum(low, rest - others[1]), np.minimum(high, rest - others[0])
        own = first + grids[at].reshape(-1, *[1] * values.ndim) * (last - first)
        split.append(own)
        rest = rest - own
    return [*split, rest]


_MIDDLE = 1e-3  # nearer to the mean the quotient below is rounding errors; its limit is used


def standard_excess(
    excess: ArrayLike, variance: ArrayLike, third: ArrayLike, step: Floats, grain: Floats
) -> Floats:
    """The z such that the observation is exceeded or met with the chance that a normal exceeds z.

    Barndorff-Nielsen's r* with the continuity correction of Lugannani, Rice and Daniels.

    Args:
        excess: observation minus mean.
        variance: of the law, at least 0.
        third: the third cumulant of the law.
        step: how far one report moves the observation.
        grain: how far apart observations lie, not more than a step; 0 where they lie everywhere.

    Example:
        >>> one = np.ones(1)
        >>> z = standard_excess(1 - 0.025, 0.025, 0.025, one, one)  # Poisson(0.025) is 1 or more
        >>> round(float(z[0]), 2)  # a chance of 0.0247 lies at z = 1.97
        1.95
    """
    spread = np.asarray(variance) / step**2
    lean = np.clip(np.asarray(third) / step**3, -spread, spread)
    up, down = (spread + lean) / 2, (spread - lean) / 2  # means of the two Poisson counts
    beyond = (np.asarray(excess) - grain / 2) / step  # half a grain, for counting in grains
    value = beyond + lean
    with np.errstate(all="ignore"):  # where a law is degenerate, replaced below
        root = np.sqrt(value**2 + 4 * up * down)
        tilt = np.where(value >= 0, (value + root) / (2 * up), 2 * down / (root - value))
        point = np.log(tilt)
        cost = point * value - up * (tilt - 1) - down * (1 / tilt - 1)
        r = np.sign(point) * np.sqrt(2 * np.maximum(cost, 0.0))
        half = np.maximum(grain / step, 1e-9) / 2
        u = np.sinh(point * half) / half * np.sqrt(up * tilt + down / tilt)
        z = np.where(np.abs(r) < _MIDDLE, r + lean / spread**1.5 / 6, r + np.log(u / r) / r)
    z = np.where((up <= 0) & (value >= 0), np.inf, z)  # more than there can be
    z = np.where((down <= 0) & (value <= 0), -np.inf, z)  # less than there must be
    exact: Floats = np.where(spread > 0, z, np.where(beyond > 0, np.inf, -np.inf))
    return exact
