"""What a tree of ranges tells the collector: shares of ranges, quantiles, the whole histogram.

Least squares make the noisy shares of all levels agree (jrr.telemetry.consistency), and the weights
that they give to each share give the error of every sum.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from jrr._base import checks
from jrr.estimation.estimates import Estimate, quantile
from jrr.estimation.moments import Floats
from jrr.telemetry.consistency import consistent_leaves, weights_of
from jrr.telemetry.level_noise import NOISE, spread_of_values

if TYPE_CHECKING:
    from jrr.telemetry.ranges import RangeTree

_BLOCK = 1 << 21  # numbers at a time, where errors of many ranges are computed


@dataclass(frozen=True, eq=False)
class RangeEstimate:
    """How a number is distributed among those who reported. Made by `RangeTree.estimate`.

    Attributes:
        tree: how the number was asked for.
        levels: the estimate of each level.
    """

    tree: "RangeTree"
    levels: tuple[Estimate, ...]

    @property
    def n(self) -> int:
        """All who reported."""
        return sum(level.n for level in self.levels)

    @cached_property
    def _variances(self) -> list[float]:
        """Of each level the variance of a share, where all are alike: for least squares."""
        found = []
        for mechanism, level in zip(self.tree.mechanisms, self.levels, strict=True):
            even = np.full(mechanism.k, level.n / mechanism.k)
            of_counts = mechanism.moments.variance(even, level.n, mechanism.fewest_decks(level.n))
            found.append(max(float(np.mean(of_counts)) / level.n**2, 1e-18))
        return found

    @cached_property
    def frequencies(self) -> Floats:
        """The share of each bin, unbiased; all of them add up to 1."""
        shares = [level.frequencies for level in self.levels]
        return consistent_leaves(shares, self._variances, self.tree.branching)

    @cached_property
    def _plausible(self) -> Floats:
        """Shares that are possible, near the estimates: for variances."""
        kept: Floats = np.maximum(self.frequencies, 0.0)
        return kept / float(kept.sum())

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
        first, last = (self._edge(name, end) for name, end in (("low", low), ("high", high)))
        if first >= last:
            raise checks.refusal("high", high, f"above low={low!r}")
        weights = np.zeros((1, self.tree.bins))
        weights[0, first:last] = 1.0
        share = float(self.frequencies[first:last].sum())
        return share, float(self.sum_stderr(weights)[0])

    def share_interval(self, low: float, high: float, level: float = 0.95) -> tuple[float, float]:
        """An interval of the share of a range."""
        share, error = self.share(low, high)
        far = quantile(level) * error
        return share - far, share + far

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

        Perturbation, and that different people told different levels (docs/theory.md, section
        18); taken at the estimated shares.
        """
        rows = max(1, _BLOCK // self.tree.bins)
        blocks = [
            self._sum_variance(weights[at : at + rows]) for at in range(0, len(weights), rows)
        ]
        return np.sqrt(np.maximum(np.concatenate(blocks), 0.0))

    def _sum_variance(self, weights: Floats) -> Floats:
        by_level, _ = weights_of(weights, self._variances, self.tree.branching)
        shares = self._plausible
        people = self.n
        # All of these people reported: what they told at all levels together is no sample.
        result: Floats = -spread_of_values(weights, shares) / people
        for mechanism, level, own in zip(self.tree.mechanisms, self.levels, by_level, strict=True):
            held = shares.reshape(mechanism.k, -1).sum(axis=1)
            noise = NOISE[mechanism.name](mechanism, own, held, level.n)
            result = result + noise + spread_of_values(own, held) / level.n
        return result

    def quantile(self, q: float) -> float:
        """The number that a share q of people do not exceed, within its bin by interpolation."""
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
        """
        q = checks.real("q", q, "in 0..1", 0.0, 1.0)
        far = quantile(checks.level(level)) * self._cumulative_stderr
        total = self.cumulative()
        possible = total + far >= q
        possible[1:] &= (total - far)[:-1] <= q
        possible[-1] |= not possible.any()
        places = np.flatnonzero(possible)
        edges = self.tree.edges
        return float(edges[places[0]]), float(edges[places[-1] + 1])

    @cached_property
    def _cumulative_stderr(self) -> Floats:
        bins = self.tree.bins
        rows = max(1, _BLOCK // bins)
        found = []
        for at in range(0, bins, rows):
            ends = np.arange(at, min(bins, at + rows))
            found.append(self.sum_stderr((np.arange(bins) <= ends[:, None]).astype(np.float64)))
        return np.concatenate(found)

    def to_dict(self, level: float = 0.95, quantiles: Sequence[float] = ()) -> dict[str, Any]:
        """Plain numbers: bins with shares, and the quantiles asked for with intervals."""
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
