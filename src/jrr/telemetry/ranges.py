"""RangeTree: how a number is distributed: shares of ranges, quantiles, the whole histogram.

The range of the number is cut into a few parts, these into as many again, down to narrow bins. Each
person tells, perturbed, the part of one level. Wide ranges are then sums of few shares instead of
many, and least squares make all levels agree (Cormode, Kulkarni and Srivastava, 2019).
Everybody reports once, so that the loss is that of one report.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from jrr._base import checks, randomness
from jrr.errors import ArgumentError
from jrr.estimation.estimates import Estimate, quantile
from jrr.estimation.moments import Floats
from jrr.estimation.tally import Tally
from jrr.mechanisms.base import Ints, Mechanism, Reports, Rng, checked_mechanism
from jrr.mechanisms.hashed import OLH
from jrr.mechanisms.masked import MRR
from jrr.mechanisms.numbers import NumberRange
from jrr.mechanisms.registry import from_dict
from jrr.mechanisms.rr import RR
from jrr.mechanisms.unary import OUE
from jrr.telemetry.consistency import consistent_leaves, weights_of

Cards = Literal["none", "masked"]
MOST_BINS = 1 << 16
_FEW = 256  # values up to which a report may be a bit for each
_BLOCK = 1 << 21  # numbers at a time, where errors of many ranges are computed
_FIELDS = {"low", "high", "branching", "mechanisms", "clip"}


@dataclass(frozen=True)
class RangeTree:
    """A number in low..high by ranges that are cut into `branching` equal parts at each level.

    Attributes:
        low: the lowest number possible; choose both ends without looking at the data.
        high: the highest.
        mechanisms: one for each level, of branching, branching², ... values: RR, OUE, OLH or MRR.
        branching: parts of a range, at least 3.
        clip: whether numbers beyond an end count as the end; otherwise they are refused.

    Raises:
        ArgumentError: for mechanisms of other numbers of values, or of other kinds.

    Example:
        >>> import jrr
        >>> tree = RangeTree.for_epsilon(0, 100, bins=64, epsilon=3.0)
        >>> numbers = [20.0] * 3000 + [40.0] * 5000 + [90.0] * 2000
        >>> found = tree.estimate(tree.respond(numbers, jrr.SeededRandom(1)))
        >>> low, high = found.quantile_interval(0.5)
        >>> low <= 40.0 <= high
        True
        >>> share, error = found.share(0, 50)
        >>> abs(share - 0.8) < 4 * error
        True
    """

    low: float
    high: float
    mechanisms: tuple[Mechanism, ...]
    branching: int = 4
    clip: bool = False

    def __post_init__(self) -> None:
        checked = NumberRange.checked(self.low, self.high, self.clip)
        for name, value in checked._asdict().items():
            object.__setattr__(self, name, value)
        branching = checks.integer("branching", self.branching, 3, MOST_BINS)
        object.__setattr__(self, "mechanisms", tuple(self.mechanisms))
        if not self.mechanisms:
            raise checks.refusal("mechanisms", self.mechanisms, "at least one")
        for level, mechanism in enumerate(self.mechanisms, 1):
            if checked_mechanism(mechanism).k != branching**level:
                allowed = f"of {branching}, {branching}², ... values"
                raise checks.refusal("mechanisms", mechanism, allowed)
            if mechanism.name not in _TOGETHER:
                raise checks.refusal("mechanisms", mechanism, f"of {', '.join(_TOGETHER)}")
            if mechanism.moments.signed is not None:
                raise checks.refusal("mechanisms", mechanism, "without a coupling")
        checks.integer("bins", self.bins, 1, MOST_BINS)

    @classmethod
    def for_epsilon(
        cls,
        low: float,
        high: float,
        *,
        bins: int,
        epsilon: float,
        branching: int = 4,
        cards: Cards | str = "none",
        n: int | None = None,
        clip: bool = False,
    ) -> "RangeTree":
        """The most accurate mechanism for each level.

        Args:
            low: the lowest number possible.
            high: the highest.
            bins: how many bins at least; it is a power of `branching`.
            epsilon: what a report may lose: without cards in every view, with masked ones against
                everybody who does not know the card (who does: ε + 2).
            branching: parts of a range.
            cards: "none", or "masked": each level's group is dealt cards of MRR, whose sum is
                announced at the end; up to 4,096 bins.
            n: people altogether, with cards: each level's group is their number by that of levels.
            clip: whether numbers beyond an end count as the end.
        """
        branching = checks.integer("branching", branching, 3, MOST_BINS)
        bins = checks.integer("bins", bins, 2, MOST_BINS)
        epsilon = checks.epsilon("epsilon", epsilon)
        depth = max(1, math.ceil(math.log(bins) / math.log(branching) - 1e-9))
        sizes = [branching**level for level in range(1, depth + 1)]
        if checks.one_of("cards", cards, ("none", "masked")) == "none":
            if n is not None:
                raise checks.refusal("n", n, "None without cards")
            return cls(low, high, tuple(_without_cards(k, epsilon) for k in sizes), branching, clip)
        group = -(-checks.integer("n", n, 2 * depth) // depth)
        made = tuple(MRR.for_epsilon(group, epsilon, announced=True, k=k) for k in sizes)
        return cls(low, high, made, branching, clip)

    @property
    def bins(self) -> int:
        """How many of the narrowest ranges there are."""
        return int(self.branching ** len(self.mechanisms))

    @cached_property
    def edges(self) -> Floats:
        """The ends of the bins."""
        return np.linspace(self.low, self.high, self.bins + 1)

    def epsilon(self, view: str = "everything", colluders: int = 0) -> float:
        """The loss of a person's one report, the largest of all levels, as `Mechanism.epsilon`."""
        return max(mechanism.epsilon(view, colluders) for mechanism in self.mechanisms)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values that `from_dict` reads back."""
        return {
            "low": self.low,
            "high": self.high,
            "branching": self.branching,
            "clip": self.clip,
            "mechanisms": [mechanism.to_dict() for mechanism in self.mechanisms],
        }

    @classmethod
    def from_dict(cls, document: object) -> "RangeTree":
        """What `to_dict` wrote."""
        if not isinstance(document, Mapping) or set(document) != _FIELDS:
            raise checks.refusal("document", document, f"an object with exactly {sorted(_FIELDS)}")
        made = document["mechanisms"]
        if not isinstance(made, list):
            raise checks.refusal("mechanisms", made, "a list")
        mechanisms = tuple(from_dict(one) for one in made)
        low, high, branching = (document[name] for name in ("low", "high", "branching"))
        return cls(low, high, mechanisms, branching, document["clip"])

    # -- devices ----------------------------------------------------------------------------

    def values(self, numbers: ArrayLike, level: int) -> Ints:
        """The ranges of one level that numbers lie in: values for that level's mechanism."""
        level = checks.integer("level", level, 0, len(self.mechanisms) - 1)
        checked = NumberRange(self.low, self.high, self.clip).check(numbers)
        bins: Ints = np.searchsorted(self.edges[1:-1], checked, side="right")
        width = int(self.branching ** (len(self.mechanisms) - 1 - level))
        return bins // width

    def respond(self, numbers: ArrayLike, rng: Rng = None) -> list[Reports]:
        """Reports by level, each person having taken one level at random; without cards.

        Where cards are dealt, ask group by group: `mechanisms[level].respond(values(...), cards)`.
        """
        if any(mechanism.deals for mechanism in self.mechanisms):
            raise checks.refusal("cards", None, "dealt to the group of each level, see `respond`")
        source = randomness.source(rng)
        checked = NumberRange(self.low, self.high, self.clip).check(numbers)
        # The level does not depend on the number, so its exact law is no matter of privacy.
        levels = source.words(len(checked)) % np.uint64(len(self.mechanisms))
        return [
            mechanism.respond(self.values(checked[levels == level], level), None, source)
            for level, mechanism in enumerate(self.mechanisms)
        ]

    def respond_one(self, number: float, rng: Rng = None) -> tuple[int, Any]:
        """One device's report: the level that it took, and its mechanism's report."""
        source = randomness.source(rng)
        level = source.word() % len(self.mechanisms)
        (value,) = self.values([number], level)
        return level, self.mechanisms[level].respond_one(int(value), None, source)

    def report_to_json(self, report: tuple[int, Any]) -> list[Any]:
        """One report, as `respond_one` makes it, as a JSON value."""
        level, told = report
        return [level, self.mechanisms[level].report_to_json(told)]

    def report_from_json(self, document: object) -> tuple[int, Any]:
        """The report that `report_to_json` wrote; anything else is refused."""
        if not isinstance(document, list) or len(document) != 2:
            raise checks.refusal("document", document, "a list of a level and a report")
        level = checks.integer("level", document[0], 0, len(self.mechanisms) - 1)
        return level, self.mechanisms[level].report_from_json(document[1])

    # -- collector --------------------------------------------------------------------------

    def by_level(self, reports: Sequence[tuple[int, Any]]) -> list[list[Any]]:
        """What `respond_one` returned, sorted by levels, as `estimate` takes it."""
        sorted_out: list[list[Any]] = [[] for _ in self.mechanisms]
        for level, told in reports:
            sorted_out[level].append(told)
        return sorted_out

    def estimate(self, levels: Sequence[ArrayLike | Tally | Estimate]) -> "RangeEstimate":
        """The distribution of the number among all who reported.

        Args:
            levels: of each level the reports, their tally or their estimate.

        Raises:
            ArgumentError: where a level has none.
        """
        if len(levels) != len(self.mechanisms):
            raise ArgumentError(
                f"levels must be the reports of {len(self.mechanisms)} levels, got {len(levels)}"
            )
        estimates = [
            told if isinstance(told, Estimate) else mechanism.estimate(told)
            for mechanism, told in zip(self.mechanisms, levels, strict=True)
        ]
        for mechanism, told in zip(self.mechanisms, estimates, strict=True):
            (first, *others) = told.strata
            if (
                others
                or first.squares is not None
                or (mechanism.deals and first.moments.deck is None)
            ):
                allowed = "of people without weights, all with a card where cards are dealt"
                raise checks.refusal("levels", told, allowed)
        return RangeEstimate(self, tuple(estimates))


@dataclass(frozen=True, eq=False)
class RangeEstimate:
    """How a number is distributed among those who reported. Made by `RangeTree.estimate`.

    Attributes:
        tree: how the number was asked for.
        levels: the estimate of each level.
    """

    tree: RangeTree
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
            of_counts = mechanism.moments.variance(even, level.n, _decks(mechanism, level.n))
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
        result: Floats = -_spread(weights, shares) / people
        for mechanism, level, own in zip(self.tree.mechanisms, self.levels, by_level, strict=True):
            held = shares.reshape(mechanism.k, -1).sum(axis=1)
            noise = _TOGETHER[mechanism.name](mechanism, own, held, level.n)
            result = result + noise + _spread(own, held) / level.n
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


def _without_cards(k: int, epsilon: float) -> Mechanism:
    """RR where it is the most accurate, otherwise a bit for each value or local hashing."""
    even = np.full(k, 1.0)  # as many people as values, all alike
    made: list[Mechanism] = [RR(k, epsilon=epsilon)]
    made.append(OUE(k, epsilon=epsilon) if k <= _FEW else OLH(k, epsilon=epsilon))
    return min(made, key=lambda m: float(np.mean(m.moments.variance(even, float(k), 1))))


def _decks(mechanism: Mechanism, n: int) -> int:
    return mechanism.fewest_decks(n)


def _spread(weights: Floats, shares: Floats) -> Floats:
    """The variance of what single people's values weigh: weights[sum, value]."""
    spread: Floats = weights**2 @ shares - (weights @ shares) ** 2
    return spread


def _single_values(mechanism: Mechanism, weights: Floats, held: Floats, n: int) -> Floats:
    """Noise of Σ weight · share, where a report supports exactly one value (RR)."""
    of = mechanism.moments
    p, q, gain = (float(part[0]) for part in (of.p, of.q, of.gain))
    total = weights.sum(axis=1, keepdims=True)
    mean = q * total + (p - q) * weights  # what a holder's report weighs on average
    square = q * (weights**2).sum(axis=1, keepdims=True) + (p - q) * weights**2
    noise: Floats = (square - mean**2) @ held / (n * gain**2)
    return noise


def _single_bits(mechanism: Mechanism, weights: Floats, held: Floats, n: int) -> Floats:
    """The same where values are supported independently of each other (OUE, OLH)."""
    of = mechanism.moments
    p, q, gain = (float(part[0]) for part in (of.p, of.q, of.gain))
    squares = weights**2
    spread = q * (1 - q) * squares.sum(axis=1) + (p * (1 - p) - q * (1 - q)) * (squares @ held)
    noise: Floats = spread / (n * gain**2)
    return noise


def _behind_masks(mechanism: Mechanism, weights: Floats, held: Floats, n: int) -> Floats:
    """The same behind masks, which are independent for every value (MRR of more than two)."""
    of = mechanism.moments
    q, gain = float(of.q[0]), float(of.gain[0])
    coin = _single_values if getattr(mechanism, "coin", "") == "rr" else _single_bits
    alone = n * q * (1 - q) / gain**2
    constant = float(of.quadratic(n, _decks(mechanism, n)).constant[0])
    masks: Floats = (constant - alone) / n**2 * (weights**2).sum(axis=1)
    return coin(mechanism, weights, held, n) + masks


_TOGETHER: dict[str, Callable[[Mechanism, Floats, Floats, int], Floats]] = {
    "RR": _single_values,
    "OUE": _single_bits,
    "OLH": _single_bits,
    "MRR": _behind_masks,
}
