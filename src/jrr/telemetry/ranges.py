"""RangeTree: how a number is distributed: shares of ranges, quantiles, the whole histogram.

The range of the number is cut into a few parts, these into as many again, down to narrow bins. Each
person tells, perturbed, the part of one level. Wide ranges are then sums of few shares instead of
many, and least squares make all levels agree (Cormode, Kulkarni and Srivastava, 2019).
Everybody reports once, so that the loss is that of one report.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from jrr._base import checks, randomness
from jrr.errors import ArgumentError
from jrr.estimation.estimates import Estimate, Stratum
from jrr.estimation.moments import Floats
from jrr.estimation.tally import Tally
from jrr.mechanisms.base import Ints, Mechanism, Reports, Rng, checked_mechanism
from jrr.mechanisms.hashed import OLH
from jrr.mechanisms.masked import MRR
from jrr.mechanisms.numbers import NumberRange
from jrr.mechanisms.registry import from_dict
from jrr.mechanisms.rr import RR
from jrr.mechanisms.unary import OUE
from jrr.telemetry.asked import named_fields
from jrr.telemetry.range_estimates import TAKEN, RangeEstimate
from jrr.telemetry.report_lines import level_and_report, list_of

Cards = Literal["none", "masked"]
MOST_BINS = 1 << 16
_FEW = 256  # values up to which a report may be a bit for each
_FIELDS = {"low", "high", "branching", "mechanisms", "clip"}


@checks.init_checked
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
            if mechanism.name not in TAKEN:
                raise checks.refusal("mechanisms", mechanism, f"of {', '.join(TAKEN)}")
            if mechanism.moments.signed is not None:
                raise checks.refusal("mechanisms", mechanism, "without a coupling")
        checks.integer("bins", self.bins, 1, MOST_BINS)

    @classmethod
    @checks.names_checked
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
        made = tuple(MRR.for_epsilon(epsilon, n=group, k=k) for k in sizes)
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
        """The loss of a person's one report, the largest of all levels, as `Mechanism.epsilon`.

        Args:
            view: of the adversary.
            colluders: whose cards the adversary knows.
        """
        return max(mechanism.epsilon(view, colluders) for mechanism in self.mechanisms)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values that `from_dict` reads back."""
        return {
            "mechanism": "RangeTree",
            "low": self.low,
            "high": self.high,
            "branching": self.branching,
            "clip": self.clip,
            "mechanisms": [mechanism.to_dict() for mechanism in self.mechanisms],
        }

    @classmethod
    def from_dict(cls, document: object) -> "RangeTree":
        """What `to_dict` wrote.

        Args:
            document: what `to_dict` returned.
        """
        fields = named_fields(cls, document, _FIELDS)
        made = tuple(from_dict(one) for one in list_of("mechanisms", fields["mechanisms"]))
        return cls(**(fields | {"mechanisms": made}))

    # -- devices ----------------------------------------------------------------------------

    def values(self, numbers: ArrayLike, level: int) -> Ints:
        """The ranges of one level that numbers lie in: values for that level's mechanism.

        Args:
            numbers: one per person.
            level: of the tree.
        """
        level = checks.integer("level", level, 0, len(self.mechanisms) - 1)
        checked = NumberRange(self.low, self.high, self.clip).check(numbers)
        bins: Ints = np.searchsorted(self.edges[1:-1], checked, side="right")
        width = int(self.branching ** (len(self.mechanisms) - 1 - level))
        return bins // width

    def respond(self, numbers: ArrayLike, rng: Rng = None) -> list[Reports]:
        """Reports by level, each person having taken one level at random; without cards.

        Where cards are dealt, ask group by group: `mechanisms[level].respond(values(...), cards)`.

        Args:
            numbers: one per person.
            rng: where random words come from; None: the operating system.
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

    def respond_one(
        self, number: float, rng: Rng = None, *, dealt: tuple[int, Any] | None = None
    ) -> tuple[int, Any]:
        """One device's report: the level that it took, and its mechanism's report.

        Args:
            number: the true one.
            rng: where random words come from; None: the operating system.
            dealt: the level that this device was dealt a card of, and the card; None: no card.
        """
        source = randomness.source(rng)
        level, card = (source.word() % len(self.mechanisms), None) if dealt is None else dealt
        (value,) = self.values([number], level)
        return level, self.mechanisms[level].respond_one(int(value), card, source)

    def report_to_json(self, report: tuple[int, Any]) -> list[Any]:
        """One report, as `respond_one` makes it, as a JSON value.

        Args:
            report: the level and its mechanism's report.
        """
        level = checks.integer("level", report[0], 0, len(self.mechanisms) - 1)
        return [level, self.mechanisms[level].report_to_json(report[1])]

    def report_from_json(self, document: object) -> tuple[int, Any]:
        """The report that `report_to_json` wrote; anything else is refused.

        Args:
            document: a JSON value.
        """
        level, told = level_and_report(document, len(self.mechanisms))
        return level, self.mechanisms[level].report_from_json(told)

    def reports_to_json(self, reports: Sequence[Any]) -> list[Any]:
        """All reports as JSON values.

        Args:
            reports: of each level an array or a list, as `respond` makes them; or single reports
                as `respond_one` returns them.
        """
        if any(isinstance(told, tuple) for told in reports):  # a pair is a single report
            reports = self.by_level(reports)
        if len(reports) != len(self.mechanisms):
            raise ArgumentError(
                f"reports must be those of {len(self.mechanisms)} levels, got {len(reports)}"
            )
        return [
            [level, document]
            for level, mechanism in enumerate(self.mechanisms)
            for document in mechanism.reports_to_json(reports[level])
        ]

    def reports_from_json(self, documents: list[Any]) -> list[tuple[int, Any]]:
        """All reports that `reports_to_json` wrote, as `estimate` takes them.

        Args:
            documents: JSON values.
        """
        return [self.report_from_json(document) for document in documents]

    # -- collector --------------------------------------------------------------------------

    def by_level(self, reports: Sequence[object]) -> list[list[Any]]:
        """What `respond_one` or `report_from_json` returned, sorted by levels.

        Args:
            reports: one per person.
        """
        sorted_out: list[list[Any]] = [[] for _ in self.mechanisms]
        for report in reports:
            if not isinstance(report, tuple) or len(report) != 2:
                raise checks.refusal("reports", report, "pairs of a level and a report")
            level = checks.integer("level", report[0], 0, len(self.mechanisms) - 1)
            sorted_out[level].append(report[1])
        return sorted_out

    def estimate(
        self,
        levels: Sequence[ArrayLike | Tally | Estimate | tuple[int, Any]],
        announced: Sequence[Any] | None = None,
    ) -> RangeEstimate:
        """The distribution of the number among all who reported.

        Args:
            levels: of each level the reports (an array or a list), their tally or their estimate;
                or single reports as `respond_one` and `report_from_json` return them: pairs of a
                level and a report, in any order. Where a level's cards came from several decks,
                its estimate says how many (`decks`) and what was announced of them: errors
                depend on both.
            announced: of each level the noisy sum of its cards, where that is announced (MRR) and
                no estimate is given.

        Raises:
            ArgumentError: where a level has none, or an estimate is of another mechanism.

        Example:
            >>> import jrr
            >>> tree = RangeTree.for_epsilon(0, 100, bins=16, epsilon=3.0)
            >>> told = [tree.report_to_json(tree.respond_one(30.0)) for _ in range(100)]
            >>> tree.estimate([tree.report_from_json(document) for document in told]).n
            100
        """
        if any(isinstance(told, tuple) for told in levels):  # a pair is a single report
            levels = self.by_level(levels)
        if len(levels) != len(self.mechanisms):
            raise ArgumentError(
                f"levels must be the reports of {len(self.mechanisms)} levels, got {len(levels)}"
            )
        if announced is not None and len(announced) != len(levels):
            raise checks.refusal("announced", announced, f"{len(levels)} sums, one for each level")
        sums = [{}] * len(levels) if announced is None else [{"announced": a} for a in announced]
        estimates = [
            told if isinstance(told, Estimate) else mechanism.estimate(told, **told_of_cards)
            for mechanism, told, told_of_cards in zip(self.mechanisms, levels, sums, strict=True)
        ]
        for mechanism, told in zip(self.mechanisms, estimates, strict=True):
            (first, *others) = told.strata
            if len(first.counts) != mechanism.k or not _made_by(mechanism, first):
                raise checks.refusal("levels", told, f"an estimate by {mechanism.brief()}")
            if (
                others
                or first.squares is not None
                or (mechanism.deals and first.moments.deck is None)
            ):
                allowed = "of people without weights, all with a card where cards are dealt"
                raise checks.refusal("levels", told, allowed)
        return RangeEstimate(self, tuple(estimates))


def _made_by(mechanism: Mechanism, people: Stratum) -> bool:
    """Whether these people's estimate is by the mechanism, with its cards or without."""
    of = mechanism.moments
    return any(people.moments.same_as(known) for known in (of, of.without_cards()))


def _without_cards(k: int, epsilon: float) -> Mechanism:
    """RR where it is the most accurate, otherwise a bit for each value or local hashing."""
    even = np.full(k, 1.0)  # as many people as values, all alike
    made: list[Mechanism] = [RR(k, epsilon=epsilon)]
    made.append(OUE(k, epsilon=epsilon) if k <= _FEW else OLH(k, epsilon=epsilon))
    return min(made, key=lambda m: float(np.mean(m.moments.variance(even, float(k), 1))))
