"""What a tree of ranges tells the collector: shares of ranges, quantiles, the whole histogram.

Least squares in two passes (Hay et al., 2010, here with other variances at each level) make parents
the sums of their children; backwards, the weight of each noisy share in a sum of leaves gives that
sum's error exactly. The root, everybody, is known to be 1.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from jrr._base import checks
from jrr._base.shown import Row, Shown, value_rows
from jrr.estimation.contrasts import Held, cumulants, masked_variance
from jrr.estimation.estimates import Estimate, Stratum, quantile
from jrr.estimation.moments import Floats
from jrr.estimation.scale_means import moved_by_masks, variance_of_report
from jrr.mechanisms.base import Mechanism

if TYPE_CHECKING:
    from jrr.telemetry.ranges import RangeTree


def own_weights(variances: Sequence[float], branching: int) -> list[float]:
    """Of each level: the weight of a node's own share, against the sum of its children."""
    weights = [1.0] * len(variances)  # leaves have no children
    below = variances[-1]
    for level in range(len(variances) - 2, -1, -1):
        own, children = 1 / variances[level], 1 / (branching * below)
        weights[level] = own / (own + children)
        below = 1 / (own + children)
    return weights


def consistent_leaves(
    shares: Sequence[Floats], variances: Sequence[float], branching: int
) -> Floats:
    """Shares of the leaves by least squares.

    Args:
        shares: of each level below the root, from the top; every node has `branching` children.
        variances: of a share of each level.
        branching: children of a node.
    """
    weights = own_weights(variances, branching)
    best = [shares[-1]]
    for own, weight in zip(shares[-2::-1], weights[-2::-1], strict=True):
        best.append(weight * own + (1 - weight) * best[-1].reshape(-1, branching).sum(axis=1))
    above: Floats = np.ones(1)
    for level in reversed(best):
        children = level.reshape(-1, branching)
        missing = (above - children.sum(axis=1)) / branching
        above = (children + missing[:, None]).ravel()
    return above


def weights_of(
    leaves: Floats, variances: Sequence[float], branching: int
) -> tuple[list[Floats], Floats]:
    """The weight of every noisy share in weighted sums of consistent leaves.

    Args:
        leaves: leaves[query, leaf]: the weights of the leaves, one row per sum.
        variances: of a share of each level.
        branching: children of a node.

    Returns:
        Of each level weights[query, node], and what the known root adds to each sum.
    """
    own = own_weights(variances, branching)
    direct = []
    above = leaves
    for _ in variances:
        children = above.reshape(len(leaves), -1, branching)
        mean = children.mean(axis=2)
        direct.append((children - mean[:, :, None]).reshape(len(leaves), -1))
        above = mean
    direct.reverse()
    found = []
    from_above: Floats = np.zeros((len(leaves), branching))
    for level, weight in enumerate(own):
        total = direct[level] + from_above
        found.append(weight * total)
        from_above = np.repeat((1 - weight) * total, branching, axis=1)
    return found, above[:, 0]


TAKEN = ("RR", "OUE", "OLH", "MRR")  # mechanisms of a tree, by name


class LevelNoise(NamedTuple):
    """What a level adds to the variances of weighted sums of its shares.

    Attributes:
        of_holders: [sum, value]: the variance of what the report of one holder of the value weighs.
        masks: [sum]: what masks add to the variance of the whole sum.
    """

    of_holders: Floats
    masks: Floats


def noise_of(mechanism: Mechanism, weights: Floats, people: Stratum) -> LevelNoise:
    """The noise of reports by one mechanism of those in TAKEN.

    What masks leave depends on how many decks and announcements there were; the level's own
    estimate knows that, and its errors are made of the same number.
    """
    of = mechanism.moments
    p, q, gain = (float(part[0]) for part in (of.p, of.q, of.gain))
    own = variance_of_report(p, q, weights, mechanism.marks) / gain**2
    if of.masks is None:
        return LevelNoise(own, np.zeros(len(weights)))
    of_one_share = float(masked_variance([people.part(1 / people.n)])[0])
    return LevelNoise(own, of_one_share * moved_by_masks(weights))


_MOST_ROWS = 32  # of a table of ranges
_BLOCK = 1 << 21  # numbers at a time, where errors of many ranges are computed


class SumNoise(NamedTuple):
    """How much weighted sums of the bins' shares vary, as far as the reports tell.

    Attributes:
        unbiased: estimates of the variances that are right on average, and may be too small.
        least: what the coins and masks of any people add to the variances.
        of_people: [sum, bin]: by how much a variance grows with the share of the bin.
    """

    unbiased: Floats
    least: Floats
    of_people: Floats

    @property
    def variance(self) -> Floats:
        """Estimated variances, never below what is possible."""
        return np.maximum(self.unbiased, self.least)


@dataclass(frozen=True, eq=False)
class RangeEstimate(Shown):
    """How a number is distributed among those who reported. Made by `RangeTree.estimate`.

    Attributes:
        tree: how the number was asked for.
        levels: the estimate of each level.
    """

    tree: "RangeTree"
    levels: tuple[Estimate, ...]

    def _heading(self) -> str:
        quartiles = ", ".join(f"{self.quantile(q):.4g}" for q in (0.25, 0.5, 0.75))
        return f"Shares of {self.n:,} reports by range; quartiles {quartiles}"

    def to_rows(self, level: float = 0.95) -> list[Row]:
        """A row for each of at most 32 ranges: share, stderr, low, high, and its ends."""
        bins = np.arange(self.tree.bins)
        of_bin = bins // -(-self.tree.bins // _MOST_ROWS)  # the range that each bin is in
        weights = (of_bin == np.arange(of_bin[-1] + 1)[:, None]).astype(np.float64)
        share = weights @ self.frequencies
        below, above = self._reaches(weights, level)
        start = self.tree.edges[:-1][np.diff(of_bin, prepend=-1) > 0]
        end = np.append(start[1:], self.tree.edges[-1])
        return value_rows(
            {
                "range": [f"{low:.6g} to {high:.6g}" for low, high in zip(start, end, strict=True)],
                "share": share,
                "stderr": self.sum_stderr(weights),
                "low": share - below,
                "high": share + above,
                "start": start,
                "end": end,
            }
        )

    @property
    def n(self) -> int:
        """All who reported."""
        return sum(level.n for level in self.levels)

    @cached_property
    def _variances(self) -> list[float]:
        """Of each level the variance of a share, where all are alike: for least squares."""
        found = []
        for mechanism, level in zip(self.tree.mechanisms, self.levels, strict=True):
            (people,) = level.strata
            even = np.full(mechanism.k, level.n / mechanism.k)
            law = cumulants([[people.part(1 / level.n)]], [[Held(even, even)]])
            found.append(max(float(np.mean(law.variance)), 1e-18))
        return found

    @cached_property
    def frequencies(self) -> Floats:
        """The share of each bin, unbiased; all of them add up to 1."""
        shares = [level.frequencies for level in self.levels]
        return consistent_leaves(shares, self._variances, self.tree.branching)

    def cumulative(self) -> Floats:
        """The share below the upper end of each bin; unbiased, so it may fall here and there."""
        return np.cumsum(self.frequencies)

    def share(self, low: float, high: float) -> tuple[float, float]:
        """The share of numbers in a range, its lower end included, and its standard error.

        Args:
            low: an end of a bin (`tree.edges`).
            high: another, above it.

        Raises:
            ArgumentError: for other numbers.
        """
        weights = self._range_weights(low, high)
        return float(weights[0] @ self.frequencies), float(self.sum_stderr(weights)[0])

    def share_interval(self, low: float, high: float, level: float = 0.95) -> tuple[float, float]:
        """An interval of the share of a range.

        It is longer than the standard error alone says where larger shares have more noise, as
        those of few people have: a value is left out only if the reports contradict it under its
        own noise too (docs/theory-uses.md, Theorem D2).

        Args:
            low: an end of a bin (`tree.edges`).
            high: another, above it.
            level: how often an interval holds the true share.
        """
        weights = self._range_weights(low, high)
        below, above = self._reaches(weights, level)
        share = float(weights[0] @ self.frequencies)
        return share - float(below[0]), share + float(above[0])

    def _range_weights(self, low: float, high: float) -> Floats:
        """1 for the bins of a range, 0 for the others, as the one row of an array."""
        first, last = (self._edge(name, end) for name, end in (("low", low), ("high", high)))
        if first >= last:
            raise checks.refusal("high", high, f"above low={low!r}")
        weights = np.zeros((1, self.tree.bins))
        weights[0, first:last] = 1.0
        return weights

    def _edge(self, name: str, end: object) -> int:
        number = checks.real(name, end, "a finite number")
        edges = self.tree.edges
        at = int(np.argmin(np.abs(edges - number)))
        if abs(edges[at] - number) > 1e-9 * (self.tree.high - self.tree.low):
            allowed = f"an end of a bin; the nearest is {edges[at]:.12g}"
            raise checks.refusal(name, end, allowed)
        return at

    def sum_stderr(self, weights: Floats) -> Floats:
        """Standard errors of weighted sums of the bins' shares: weights[sum, bin].

        Perturbation, and that different people told different levels (docs/theory-uses.md, Theorem
        D2): the square root of an unbiased estimate of the variance, which is taken to be at least
        what perturbation alone adds.

        Args:
            weights: a row per sum, a column per bin.
        """
        rows = max(1, _BLOCK // self.tree.bins)
        blocks = [
            self._sum_noise(weights[at : at + rows]).variance for at in range(0, len(weights), rows)
        ]
        return np.sqrt(np.concatenate(blocks))

    def _sum_noise(self, weights: Floats) -> SumNoise:
        """Estimated from shares as they are: to clip them at 0 would bias the variance."""
        by_level, _ = weights_of(weights, self._variances, self.tree.branching)
        shares, people = self.frequencies, self.n
        spread: Floats = np.zeros(len(weights))
        least: Floats = np.zeros(len(weights))
        # All of these people reported: what they told at all levels together is no sample.
        of_people: Floats = -(weights**2) / people
        for mechanism, level, own in zip(self.tree.mechanisms, self.levels, by_level, strict=True):
            held = shares.reshape(mechanism.k, -1).sum(axis=1)
            noise = noise_of(mechanism, own, level.strata[0])
            squares = noise.of_holders + own**2  # of what a holder's report weighs, on average
            square, mean = squares @ held + level.n * noise.masks, own @ level.frequencies
            spread += (square - mean**2) / max(level.n - 1, 1)
            least += noise.of_holders.min(axis=1) / level.n + noise.masks
            of_people += np.repeat(squares / level.n, self.tree.bins // mechanism.k, axis=1)
        together = (weights**2 @ shares - (weights @ shares) ** 2) / people
        return SumNoise(spread * (1 - 1 / people) - together, least, of_people)

    def _reaches(self, weights: Floats, level: float) -> tuple[Floats, Floats]:
        """How far the intervals of shares of ranges go below and above them.

        The noise of other values than the estimate is that if people moved into the range, or out
        of it, evenly; it counts where it is more than that of the estimate.

        Args:
            weights: [range, bin]: 1 for the bins of a range, 0 for the others.
            level: of the intervals.
        """
        noise = self._sum_noise(weights)
        far = quantile(level) ** 2
        inside, outside = weights.sum(axis=1), (1 - weights).sum(axis=1)
        within = (noise.of_people * weights).sum(axis=1) / np.maximum(inside, 1)
        beyond = (noise.of_people * (1 - weights)).sum(axis=1) / np.maximum(outside, 1)
        below, above = (
            far * more / 2 + np.sqrt((far * more / 2) ** 2 + far * noise.variance)
            for more in (np.maximum(beyond - within, 0.0), np.maximum(within - beyond, 0.0))
        )
        return below, above

    def quantile(self, q: float) -> float:
        """The number that a share q of people do not exceed, within its bin by interpolation.

        Args:
            q: in 0..1.
        """
        q = checks.real("q", q, "in 0..1", 0.0, 1.0)
        rising = np.maximum.accumulate(np.clip(self.cumulative(), 0.0, 1.0))
        at = min(int(np.searchsorted(rising, q)), self.tree.bins - 1)
        below = rising[at - 1] if at else 0.0
        inside = (q - below) / (rising[at] - below) if rising[at] > below else 1.0
        edges = self.tree.edges
        return float(edges[at] + min(max(inside, 0.0), 1.0) * (edges[at + 1] - edges[at]))

    def quantile_interval(self, q: float, level: float = 0.95) -> tuple[float, float]:
        """Ends of bins between which the quantile lies, with the chance `level` at least.

        A bin is left out if the reports contradict that a share q lies at or below its upper end,
        or that less than q lies below its lower end.

        Args:
            q: in 0..1.
            level: the chance with which an interval holds.
        """
        q = checks.real("q", q, "in 0..1", 0.0, 1.0)
        below, above = _cumulative_reaches(self, checks.level(level))
        total = self.cumulative()
        possible = total + above >= q
        possible[1:] &= (total - below)[:-1] <= q
        possible[-1] |= not possible.any()
        places = np.flatnonzero(possible)
        edges = self.tree.edges
        return float(edges[places[0]]), float(edges[places[-1] + 1])

    def to_dict(self, level: float = 0.95, quantiles: Sequence[float] = ()) -> dict[str, Any]:
        """Plain numbers: bins with shares, and the quantiles asked for with intervals.

        Args:
            level: the chance with which an interval holds.
            quantiles: those that are shown.
        """
        return {
            "n": self.n,
            "edges": self.tree.edges.tolist(),
            "frequencies": self.frequencies.tolist(),
            "level": level,
            "quantiles": [
                {
                    "q": q,
                    "quantile": self.quantile(q),
                    "interval": list(self.quantile_interval(q, level)),
                }
                for q in quantiles
            ],
        }


@lru_cache(maxsize=8)  # several quantiles need the same
def _cumulative_reaches(found: RangeEstimate, level: float) -> tuple[Floats, Floats]:
    """How far intervals go below and above the shares up to each bin."""
    bins = found.tree.bins
    rows = max(1, _BLOCK // bins)
    blocks = []
    for at in range(0, bins, rows):
        ends = np.arange(at, min(bins, at + rows))
        up_to = (np.arange(bins) <= ends[:, None]).astype(np.float64)
        blocks.append(found._reaches(up_to, level))
    below, above = (np.concatenate(side) for side in zip(*blocks, strict=True))
    return below, above
