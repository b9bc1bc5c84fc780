"""Numbers: a question whose answer is a number between two ends; its mean and sum are estimated.

The contributor's device rounds the number by chance to one of a few steps, so that it is right on
average, and perturbs that: a yes or no by any mechanism for them, or a number of steps with noise.
What rounding does is told to nobody and costs no privacy, whatever the coins were.
"""

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jrr._base import checks, randomness
from jrr.errors import ArgumentError
from jrr.estimation.estimates import Estimate
from jrr.estimation.means import MeanEstimate
from jrr.estimation.moments import Floats
from jrr.estimation.own_noise import WindowNoise
from jrr.estimation.tally import Tally, WeightedTally
from jrr.mechanisms.base import Ints, Mechanism, Reports, Rng, checked_mechanism
from jrr.mechanisms.registry import from_dict


class NumberRange(NamedTuple):
    """The numbers that are possible, and whether others count as the nearest end."""

    low: float
    high: float
    clip: bool = False

    @classmethod
    def checked(cls, low: object, high: object, clip: object = False) -> "NumberRange":
        """A range, or a refusal."""
        first = checks.real("low", low, "a finite number")
        allowed = f"a finite number above low={first:g}"
        last = checks.real("high", high, allowed, first, open_low=True)
        if not math.isfinite(last - first):
            raise checks.refusal("high", high, f"less far from low={first:g}")
        if not isinstance(clip, bool):
            raise checks.refusal("clip", clip, "True or False")
        return cls(first, last, clip)

    @property
    def width(self) -> float:
        """From end to end."""
        return self.high - self.low

    def check(self, numbers: ArrayLike) -> Floats:
        """The numbers, those beyond an end brought to it if so wanted.

        Raises:
            ArgumentError: for what is no finite number, or out of range unless `clip`.
        """
        allowed = f"in {self.low:g}..{self.high:g}"
        array = _as_numbers(numbers, allowed)
        out = (array < self.low) | (array > self.high)
        if out.any() and not self.clip:
            worst = float(array[np.argmax(out)])
            raise ArgumentError(
                f"numbers must be {allowed}, got {np.count_nonzero(out)} beyond, such as "
                f"{worst:g} (clip=True, --clip: such numbers count as the nearest end)"
            )
        return np.clip(array, self.low, self.high, out=array)


@dataclass(frozen=True)
class Numbers:
    """A question about a number in low..high, and the mechanism that perturbs it.

    Attributes:
        low: the lowest number possible; choose both ends without looking at the data.
        high: the highest.
        mechanism: of yes and no (RR, JRR, DRR, MRR with k = 2): the number is rounded by chance to
            one of the two ends. Piecewise, and MRR with the coin Window, tell it in steps between
            them.
        clip: whether numbers beyond an end count as the end; otherwise they are refused.

    Raises:
        ArgumentError: where low is not below high, or the mechanism has more than two values.

    Example:
        >>> import jrr
        >>> hours = Numbers(0, 24, jrr.MRR.for_epsilon(1.0, n=1_000))
        >>> cards = hours.deal()
        >>> reports = hours.respond([7.5, 8.0] * 500, cards)
        >>> announced = hours.mechanism.announce(cards)
        >>> abs(hours.estimate(reports, announced=announced).mean - 7.75) < 6
        True
    """

    low: float
    high: float
    mechanism: Mechanism
    _: KW_ONLY
    clip: bool = False

    def __post_init__(self) -> None:
        checked = NumberRange.checked(self.low, self.high, self.clip)
        for name, value in checked._asdict().items():
            object.__setattr__(self, name, value)
        if checked_mechanism(self.mechanism).k != 2:
            allowed = "one of two values (k=2): the ends; or Bins for a histogram"
            raise checks.refusal("mechanism", self.mechanism, allowed)

    @property
    def range(self) -> NumberRange:
        """The numbers that are possible."""
        return NumberRange(self.low, self.high, self.clip)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values that `from_dict` reads back."""
        return {
            "low": self.low,
            "high": self.high,
            "clip": self.clip,
            "mechanism": self.mechanism.to_dict(),
        }

    @classmethod
    def from_dict(cls, document: object) -> "Numbers":
        """The question that `to_dict` wrote.

        Args:
            document: what `to_dict` returned.
        """
        fields = checks.exact_fields(document, {"low", "high", "clip", "mechanism"})
        return cls(**(fields | {"mechanism": from_dict(fields["mechanism"])}))

    # -- dealer, contributor ----------------------------------------------------------------

    def deal(self, rng: Rng = None) -> Any:
        """The mechanism's cards; None where it deals none.

        Args:
            rng: where random words come from; None: the operating system.
        """
        return self.mechanism.deal(rng)

    def steps(self, numbers: ArrayLike, rng: Rng = None) -> Ints:
        """Numbers as whole numbers of steps, rounded by chance so that they are right on average.

        Only a contributor may see them. `respond` does this first.

        Args:
            numbers: the true numbers.
            rng: where randomness comes from; None: the system's cryptographic randomness.

        Raises:
            ArgumentError: for numbers out of range, unless `clip`.
        """
        scaled = self._scaled(numbers) * self.mechanism.steps
        whole = np.floor(scaled)
        scaled -= whole
        words = randomness.source(rng).words(len(scaled)) >> np.uint64(1)
        up = words < np.ldexp(scaled, 63).astype(np.uint64)
        steps: Ints = whole.astype(np.int64) + up
        return steps

    def respond(
        self, numbers: ArrayLike, cards: ArrayLike | None = None, rng: Rng = None
    ) -> Reports:
        """Perturbed reports of true numbers.

        Args:
            numbers: the true numbers, one per contributor.
            cards: one card per contributor, as `deal` makes them; None: everybody answers without.
            rng: where randomness comes from; None: the system's cryptographic randomness.

        Returns:
            The reports, as the mechanism makes them.

        Raises:
            ArgumentError: for numbers out of range (unless `clip`), or cards that do not fit.

        Example:
            >>> import jrr
            >>> Numbers(0, 10, jrr.RR(p=1.0)).respond([0, 10, 10]).tolist()
            [0, 1, 1]
        """
        source = randomness.source(rng)
        return self.mechanism.respond_steps(self.steps(numbers, source), cards, source)

    def respond_one(self, number: float, card: Any = None, rng: Rng = None) -> Any:
        """One report, for a contributor's own device; arguments as for `respond`.

        Args:
            number: from low to high.
            card: the card; None without one.
            rng: where random words come from; None: the operating system.
        """
        source = randomness.source(rng)
        return self.mechanism.respond_one_step(int(self.steps([number], source)[0]), card, source)

    def _scaled(self, numbers: ArrayLike) -> Floats:
        """How far on the way from low to high numbers are, 0..1."""
        scaled: Floats = (self.range.check(numbers) - self.low) / self.range.width
        return np.clip(scaled, 0.0, 1.0, out=scaled)

    # -- collector --------------------------------------------------------------------------

    def tally(
        self, reports: ArrayLike, carded: ArrayLike | bool | None = None, deck: str = ""
    ) -> Tally:
        """Count reports, as `Mechanism.tally`; tallies add and travel.

        Args:
            reports: one per person.
            carded: who had a card; None: everybody, where there are cards.
            deck: which deck the cards came from, where there are several.
        """
        return self.mechanism.tally(reports, carded, deck)

    def estimate(
        self, reports: ArrayLike | Tally | WeightedTally, decks: int | None = None, **more: Any
    ) -> MeanEstimate:
        """Mean and sum with error bars.

        For a population that is sampled the most that numbers can differ at their mean counts,
        since it is not known how much they do.

        Args:
            reports: reports, or a tally of them.
            decks: as for `Mechanism.estimate`.
            **more: `carded`, `population` and `population_size` as for `Mechanism.estimate`; what
                the dealer told at the end, `announced` or `undealt`, as for MRR.

        Returns:
            The estimate: `mean`, `sum`, `stderr`, `interval(level)`.

        Raises:
            ArgumentError: as for `Mechanism.estimate`.
        """
        return self.estimate_from(self.mechanism.estimate(reports, decks, **more))

    def estimate_from(self, share: Estimate) -> MeanEstimate:
        """The same from the mechanism's own estimate: its share of value 1 is that of the way.

        Args:
            share: the estimate of the mechanism.
        """
        return MeanEstimate.of(self.low, self.high, share, self.mechanism.steps)

    # -- lines of JSON, as the mechanism writes them ------------------------------------------

    @property
    def deals(self) -> bool:
        """Whether contributors get cards."""
        return self.mechanism.deals

    def report_to_json(self, report: Any, carded: bool | None = None) -> Any:
        """One report as a JSON value: see `Mechanism.report_to_json`."""
        return self.mechanism.report_to_json(report, carded)

    def report_from_json(self, document: object) -> Any:
        """The report that `report_to_json` wrote."""
        return self.mechanism.report_from_json(document)

    def reports_to_json(self, reports: Any, carded: ArrayLike | bool | None = None) -> list[Any]:
        """All reports as JSON values."""
        return self.mechanism.reports_to_json(reports, carded)

    def reports_from_json(self, documents: list[Any]) -> list[Any]:
        """All reports that `reports_to_json` wrote."""
        return self.mechanism.reports_from_json(documents)

    def variance(self, numbers: ArrayLike, decks: int = 1) -> float:
        """Variance of the estimated sum of these numbers, exactly, with that of rounding.

        Args:
            numbers: the true numbers of those who reported.
            decks: from how many decks they were dealt.

        Returns:
            The variance; that of the mean is by the square of their number less.

        Example:
            >>> import jrr
            >>> Numbers(0, 10, jrr.RR(p=0.75)).variance([5.0] * 4)
            400.0
        """
        scaled = self._scaled(numbers)
        decks = checks.integer("decks", decks, 1)
        moments = self.mechanism.moments
        moments.check_total("numbers", float(len(scaled)), decks)
        total = float(scaled.sum())
        rounding = float(rounding_variance(scaled, self.mechanism.steps).sum())
        constant, linear, square = (
            float(part[-1]) for part in moments.quadratic(len(scaled), decks)
        )
        # The variance is a quadratic in what was rounded, whose own mean and variance are known.
        noise = constant + linear * total + square * (total**2 + rounding)
        if isinstance(moments.masks, WindowNoise):
            rounding = moments.masks.more(float((scaled * (1 - scaled)).sum()), rounding)
        return (noise + rounding) * self.range.width**2


def _as_numbers(numbers: ArrayLike, allowed: str) -> Floats:
    """A one-dimensional array of finite numbers, or a refusal."""
    array: NDArray[Any] = checks.array_of("numbers", numbers, allowed)
    if array.ndim != 1 or array.dtype.kind not in "iufb":
        raise ArgumentError(
            f"numbers must be a one-dimensional array of numbers {allowed}, got shape "
            f"{array.shape}, dtype {array.dtype}"
        )
    real: Floats = array.astype(np.float64)
    if not np.isfinite(real).all():
        worst = real[np.argmin(np.isfinite(real))]
        raise ArgumentError(f"numbers must be {allowed}, got {worst}")
    return real


def rounding_variance(scaled: Floats, steps: int) -> Floats:
    """The variance of each number, in 0..1, that is rounded by chance to so many steps."""
    part = scaled * steps
    part = part - np.floor(part)
    variance: Floats = part * (1 - part) / steps**2
    return variance


@dataclass(frozen=True)
class Bins:
    """A number by bins, for its histogram: bin v is edges[v] up to, but without, edges[v+1].

    The last bin holds its upper edge too. Values are those of any mechanism with k = len(bins).

    Attributes:
        edges: rising numbers, at least three; choose them without looking at the data.
        clip: whether numbers beyond an edge count in the bin next to it; otherwise refused.

    Example:
        >>> age = Bins((0, 18, 30, 65, 120))
        >>> age.names
        ('0 to 18', '18 to 30', '30 to 65', '65 to 120')
        >>> age.values([17, 18, 64.9, 120]).tolist()
        [0, 1, 2, 3]
    """

    edges: tuple[float, ...]
    clip: bool = False

    def __post_init__(self) -> None:
        given: object = self.edges
        allowed = "at least three rising finite numbers"
        if not isinstance(given, Sequence | np.ndarray) or isinstance(given, str | bytes):
            raise checks.refusal("edges", given, allowed)
        edges = tuple(checks.real("edges", edge, allowed) for edge in given)
        if len(edges) < 3 or any(b <= a for a, b in pairwise(edges)):
            raise checks.refusal("edges", given, allowed)
        object.__setattr__(self, "edges", edges)
        if not isinstance(self.clip, bool):
            raise checks.refusal("clip", self.clip, "True or False")

    def __len__(self) -> int:
        return len(self.edges) - 1

    @property
    def names(self) -> tuple[str, ...]:
        """The bins in words, as labels of answers."""
        ends = [f"{edge:.12g}" for edge in self.edges]
        return tuple(f"{a} to {b}" for a, b in pairwise(ends))

    def values(self, numbers: ArrayLike) -> Ints:
        """The bins of numbers, 0..k-1, as `Mechanism.respond` takes them.

        Args:
            numbers: one per person.

        Raises:
            ArgumentError: for numbers beyond the edges, unless `clip`.
        """
        array = NumberRange(self.edges[0], self.edges[-1], self.clip).check(numbers)
        values: Ints = np.searchsorted(self.edges[1:-1], array, side="right")
        return values
