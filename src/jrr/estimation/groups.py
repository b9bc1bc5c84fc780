"""Estimates by group, their differences, and the one rule for groups too small to show.

The rule: a group of fewer than `min_cell` reports is not shown, and only the number of such
groups is told. It is the same for report files, in Python and at the collector's server.

It is a courtesy, not a guarantee: where one group is hidden, its counts follow from the total
and the groups that are shown. What protects each person is ε; the rule keeps an estimate of
three people, which is mostly noise, from looking like a finding about them.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

from jrr._base import checks
from jrr._base.shown import Row, Shown
from jrr.errors import ArgumentError
from jrr.estimation.differences import Difference, Differences, difference
from jrr.estimation.estimates import BlockEstimate, Estimate, Population, sampling_of
from jrr.estimation.tally import Tally, WeightedTally

if TYPE_CHECKING:
    from jrr.mechanisms.parts.collecting import Collecting

MIN_CELL = 20  # reports in the smallest group that is shown, unless told otherwise
MOST_COMPARED_GROUPS = 50  # more have too many pairs for a document
HIDDEN_GROUP_REMARK = (
    "That is no guarantee: what one hidden group holds follows from the total and the groups "
    "shown. What protects each person is ε."
)
AnyTally = Tally | WeightedTally


@dataclass(frozen=True, eq=False, kw_only=True)
class GroupEstimate(Shown):
    """The estimate of contributors who share a public attribute."""

    name: str
    estimate: Estimate

    def _heading(self) -> str:
        return self.estimate.heading

    def to_rows(self, level: float = 0.95) -> list[Row]:
        """The rows of the estimate, each with the name of the group."""
        return [{"group": self.name} | row for row in self.estimate.to_rows(level)]

    def to_dict(self, level: float = 0.95, *, simultaneous: bool = False) -> dict[str, Any]:
        """A result document: `Estimate.to_dict` and the name of the group.

        Args:
            level: the chance with which an interval holds.
            simultaneous: whether all intervals hold at once with this chance.
        """
        return {"name": self.name} | self.estimate.to_dict(level, simultaneous=simultaneous)


class GroupDifference(NamedTuple):
    """Shares in the first group minus those in the second."""

    first: str
    second: str
    difference: Difference

    def to_dict(self, level: float = 0.95, *, simultaneous: bool = False) -> dict[str, Any]:
        """A result document: `Difference.to_dict` and the names of the groups.

        Args:
            level: the chance with which an interval holds.
            simultaneous: whether all intervals hold at once with this chance.
        """
        document = self.difference.to_dict(level, simultaneous=simultaneous)
        return {"first": self.first, "second": self.second} | document


@dataclass(frozen=True, eq=False, kw_only=True)
class GroupEstimates(Shown, Sequence[GroupEstimate]):
    """The groups that are shown, in the order of their names, and how many are not.

    Attributes:
        shown: the groups with enough reports.
        hidden: how many groups have too few.
        min_cell: reports in the smallest group that is shown.
        same_deck: whether the groups drew their cards from the same decks.
    """

    shown: tuple[GroupEstimate, ...] = ()
    hidden: int = 0
    min_cell: int = MIN_CELL
    same_deck: bool = False

    def __len__(self) -> int:
        return len(self.shown)

    def __getitem__(self, index: Any) -> Any:
        return self.shown[index]

    def __iter__(self) -> Iterator[GroupEstimate]:
        return iter(self.shown)

    def _heading(self) -> str:
        hidden = f"; {self.hidden} of fewer than {self.min_cell} reports" if self.hidden else ""
        return f"{len(self)} groups{hidden}"

    def to_rows(self, level: float = 0.95) -> list[Row]:
        """The rows of every group, each with its name."""
        return [row for group in self for row in group.to_rows(level)]

    def differences(self) -> Differences[GroupDifference]:
        """Every pair of groups that are shown, the first minus the second."""
        return Differences(
            GroupDifference(
                first.name,
                second.name,
                difference(first.estimate, second.estimate, same_deck=self.same_deck),
            )
            for first, second in combinations(self.shown, 2)
        )

    def to_dict(self, level: float = 0.95, *, simultaneous: bool = False) -> dict[str, Any]:
        """A result document: groups, groups_too_small, differences.

        With more than 50 groups the differences are left out, for there are too many pairs.

        Args:
            level: of the intervals.
            simultaneous: whether those of one group, or of one pair of groups, hold all at once
                with that chance.
        """
        pairs = self.differences() if len(self) <= MOST_COMPARED_GROUPS else []
        return {
            "groups": [group.to_dict(level, simultaneous=simultaneous) for group in self.shown],
            "groups_too_small": self.hidden,
            "differences": [pair.to_dict(level, simultaneous=simultaneous) for pair in pairs],
        }


def estimate_groups(
    mechanism: "Collecting",
    tallies: Mapping[str, AnyTally],
    *,
    min_cell: int = MIN_CELL,
    decks: int | None = None,
    population: Population | str = "respondents",
    population_size: float | None = None,
    asked: float = 1.0,
) -> GroupEstimates:
    """Estimate every group that has enough reports, and count those that have not.

    Args:
        mechanism: the one that made the reports.
        tallies: group -> its reports, all of them plain or all of them weighted.
        min_cell: reports in the smallest group that is shown. Groups in which nobody has a
            weight above 0 are not shown either.
        decks: how many decks the contributors of all groups were dealt from, where it is more
            than the tallies name. Every group draws from all of them.
        population: whom error bars speak of, as for `Estimate.for_population`.
        population_size: people in the whole population, of whom every group is taken to be the
            same share as of the respondents.
        asked: the share of those who answered that were asked this, the same in every group.

    Returns:
        The groups that are shown, in the order of their names, and the number of the others.

    Raises:
        ArgumentError: where min_cell is below 1, or the tallies are not of this mechanism.

    Example:
        >>> import jrr
        >>> m, rng = jrr.RR(k=2, epsilon=1.0), jrr.SeededRandom(7)
        >>> people = {"north": [1] * 90, "south": [0] * 60, "sea": [1] * 3}
        >>> tallies = {place: m.tally(m.respond(v, rng=rng)) for place, v in people.items()}
        >>> groups = estimate_groups(m, tallies)
        >>> [group.name for group in groups], groups.hidden
        (['north', 'south'], 1)
    """
    min_cell = checks.integer("min_cell", min_cell, 1)
    if not tallies:
        return GroupEstimates(min_cell=min_cell)
    everybody = add_tallies(list(tallies.values()))
    dealt = max(decks or 1, len(everybody.decks), mechanism.fewest_decks(everybody.n_carded))
    sampling_of(population, everybody.n, population_size, asked)  # refuses what cannot be

    def group(name: str) -> GroupEstimate:
        n, whole = tallies[name].n, population_size
        whole = None if whole is None else max(n, whole * n / everybody.n)
        sampling = sampling_of(population, n, whole, asked)
        items = mechanism.estimate(tallies[name], dealt).items
        first, *others = [Estimate(item.strata, sampling) for item in items]
        return GroupEstimate(
            name=name, estimate=BlockEstimate([first, *others]) if others else first
        )

    names = [name for name in sorted(tallies) if _may_be_shown(tallies[name], min_cell)]
    shown = tuple(map(group, names))
    return GroupEstimates(
        shown=shown,
        hidden=len(tallies) - len(shown),
        min_cell=min_cell,
        same_deck=mechanism.deals,
    )


def add_tallies(tallies: Sequence[AnyTally]) -> AnyTally:
    """All of them together.

    Raises:
        ArgumentError: where there is none, or they are of different mechanisms.
    """
    if not tallies:
        raise ArgumentError("reports must hold at least one report, got none")
    total = tallies[0]
    for tally in tallies[1:]:
        total = total + tally
    return total


def fewest_to_show(min_cell: int, min_batch: int = 1, *, final: bool) -> int:
    """How many reports an estimate of everybody needs to be shown.

    Before the end `min_cell`, as for a group: an estimate of few people is mostly noise. At the
    end nobody could wait for more, and any number is shown that is no less than `min_batch`.

    Example:
        >>> fewest_to_show(20, final=False), fewest_to_show(20, final=True)
        (20, 1)
        >>> fewest_to_show(20, 100, final=True)
        100
    """
    return min_batch if final else max(min_cell, min_batch)


def without_remainder(tallies: Mapping[str, AnyTally], fewest: int) -> dict[str, AnyTally]:
    """The groups that may be shown beside the total, so that their rest is no small group either.

    What the groups that are not shown hold together follows from the total and those that are.
    So where they have fewer than `fewest` reports together, the smallest of the others is left
    out too.

    Example:
        >>> import jrr
        >>> m = jrr.RR(k=2, epsilon=1.0)
        >>> sizes = {"north": 90, "south": 60, "sea": 3}
        >>> tallies = {place: m.tally([0] * size) for place, size in sizes.items()}
        >>> list(without_remainder(tallies, 20))
        ['north']
    """
    small = {name for name, tally in tallies.items() if tally.n < fewest}
    kept = {name: tally for name, tally in tallies.items() if name not in small}
    rest = sum(tallies[name].n for name in small)
    for name in sorted(kept, key=lambda name: (kept[name].n, name)):
        if rest == 0 or rest >= fewest:
            break
        rest += kept.pop(name).n
    return kept


def _may_be_shown(tally: AnyTally, min_cell: int) -> bool:
    weighs_nothing = isinstance(tally, WeightedTally) and not tally.weight > 0
    return tally.n >= min_cell and not weighs_nothing


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
