"""What dealers told of the masks in some reports, and how it is taken off their counts.

A collector's server keeps it for a survey, and a file of exported reports carries it in its
header: whoever has the reports can then estimate from them.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from jrr._base import checks
from jrr.errors import ArgumentError
from jrr.estimation.raking import Answers, hang_together
from jrr.estimation.tally import Tally

if TYPE_CHECKING:
    from jrr.mechanisms.parts.collecting import Collecting

Merged = Mapping[str, tuple[str, ...]]  # name of a merged cell -> the cells that are in it
CROSSED_BY = " × "  # between answers to several questions
MERGED_BY = " + "  # between cells, or groups, that can only be told together

_MOST_CARDS = 10**12
_MOST_SUM = 1 << 60


class CardSum(NamedTuple):
    """A sum of cards: one number, or one for every value; None where there are no cards."""

    cards: int
    sum: Any

    def to_document(self) -> dict[str, Any]:
        """Plain JSON values that `from_document` reads back."""
        return {"cards": self.cards, "sum": self.sum}

    @classmethod
    def from_document(cls, document: object, width: int) -> "CardSum":
        """What `to_document` wrote, of so many numbers.

        Raises:
            ArgumentError: It is nothing of the kind.
        """
        if not isinstance(document, Mapping) or set(document) != {"cards", "sum"}:
            raise checks.refusal("sum", document, "an object of cards and sum")
        cards = checks.integer("cards", document["cards"], 0, _MOST_CARDS)
        total = document["sum"]
        if (total is None) != (cards == 0):
            raise checks.refusal("sum", total, "null exactly where there are no cards")
        if total is not None:
            numbers = total if isinstance(total, list) else [total]
            if isinstance(total, list) != (width > 1) or len(numbers) != width:
                raise checks.refusal("sum", total, f"{width} whole numbers")
            for number in numbers:
                checks.integer("sum", number, -_MOST_SUM, _MOST_SUM)
        return cls(cards, total)


@dataclass(frozen=True, kw_only=True)
class CardSums:
    """What dealers told of the cards in reports.

    Attributes:
        by: the open questions for whose crossing there are sums; none: for all reports together.
        merged: where several cells have one sum together: its name -> those cells.
        announced: cell -> what each dealer announced of the cards in it. A cell is named by its
            answers, as "north × f"; that of all reports has no name.
        undealt: for closed decks: the cards that nobody fetched.
    """

    by: tuple[str, ...] = ()
    merged: Merged = field(default_factory=dict, hash=False)
    announced: Mapping[str, tuple[CardSum, ...]] = field(default_factory=dict, hash=False)
    undealt: CardSum | None = None

    def __post_init__(self) -> None:
        if len({len(sums) for sums in self.announced.values()}) > 1:
            raise ArgumentError("announced must have as many sums for each group, one by dealer")

    def to_document(self) -> dict[str, Any]:
        """Plain JSON values that `from_document` reads back."""
        merged = {name: list(values) for name, values in self.merged.items()}
        return {
            "by": list(self.by),
            **({"merged": merged} if merged else {}),
            "announced": {
                group: [one.to_document() for one in self.announced[group]]
                for group in sorted(self.announced)
            },
            "undealt": None if self.undealt is None else self.undealt.to_document(),
        }

    @classmethod
    def from_document(cls, document: object, width: int) -> "CardSums":
        """What `to_document` wrote; width: how many numbers a card has.

        Raises:
            ArgumentError: It is nothing of the kind.
        """
        names = {"by", "announced", "undealt"}
        if not isinstance(document, Mapping) or set(document) - {"merged"} != names:
            allowed = f"an object with exactly {sorted(names)}, perhaps merged"
            raise checks.refusal("sums", document, allowed)
        by, announced, undealt = (document[name] for name in ("by", "announced", "undealt"))
        if not isinstance(by, list) or not all(isinstance(name, str) for name in by):
            raise checks.refusal("by", by, "a list of columns")
        if not isinstance(announced, Mapping) or not all(
            isinstance(sums, list) for sums in announced.values()
        ):
            raise checks.refusal("announced", announced, "lists of sums, by group")
        return cls(
            by=tuple(by),
            merged=_read_merged(document.get("merged", {})),
            announced={
                group: tuple(CardSum.from_document(one, width) for one in sums)
                for group, sums in announced.items()
            },
            undealt=None if undealt is None else CardSum.from_document(undealt, width),
        )

    def questions(self, by: Sequence[str]) -> tuple[str, ...]:
        """The open questions whose answers `settled` needs for results by some of them."""
        return tuple(dict.fromkeys((*self.by, *by))) if self.announced and by else tuple(by)

    def covers(self, by: Iterable[str]) -> bool:
        """Whether groups by these questions follow from what was told."""
        return not self.announced or set(by) <= set(self.by)

    def settled(
        self, mechanism: "Collecting", tallies: Mapping[Answers, Tally], by: Sequence[str] = ()
    ) -> tuple[Tally, Mapping[str, Tally]]:
        """Everybody and every group, with masks taken off as far as dealers have told.

        Groups of which some share one sum are returned as one group.

        Args:
            mechanism: By which the reports were made.
            tallies: Answers to `questions(by)` -> counted reports; all of them are everybody.
            by: The questions by whose crossing groups are wanted.

        Raises:
            ArgumentError: Sums were announced of other cells than make these groups, or of other
                cards.
        """
        asked = self.questions(by)
        places = [asked.index(name) for name in by]
        whole = _together(tallies.values())
        if self.undealt is not None and self.undealt.cards:
            cards, total = self.undealt
            # A group has a part of the deck's cards only: what is left over says nothing of it.
            whole = mechanism.settle(whole, undealt=(total, cards))
        if not self.announced:
            return whole, _regrouped(tallies, places)
        if not by:
            whole = self._off(mechanism, whole, sorted(self.announced))
            return whole, {"": whole}
        if not self.covers(by):
            raise ArgumentError(why_not_by(by, self.by))
        members: dict[str, set[Answers]] = defaultdict(set)
        counted: dict[str, Tally] = {}
        for answers, tally in tallies.items():
            cell = group_of(self.merged, crossed(answers[: len(self.by)]))
            members[cell].add(answers)
            counted[cell] = counted[cell] + tally if cell in counted else tally
        off = {cell: self._off(mechanism, tally, [cell]) for cell, tally in counted.items()}
        if tuple(by) == self.by:
            return _together(off.values()), off
        return _together(off.values()), _hung_together(off, members, places)

    def with_others(self, others: "CardSums") -> "CardSums":
        """What was told of these reports and of others, all of them in one group."""
        told = [sums for one in (self, others) for sums in one.announced.values()]
        announced = {"": tuple(one for sums in told for one in sums)} if told else {}
        left = [one.undealt for one in (self, others) if one.undealt is not None]
        return CardSums(announced=announced, undealt=_added(left) if left else None)

    def _off(self, mechanism: "Collecting", tally: Tally, groups: list[str]) -> Tally:
        told = [one for group in groups for one in self.announced.get(group, ())]
        sums = [one.sum for one in told if one.sum is not None]
        # A report may have the cards of several dealers, and of not all of them.
        least = max((sum(of_one) for of_one in zip(*self._cards(groups), strict=True)), default=0)
        most = sum(one.cards for one in told)
        if not least <= tally.n_carded <= most:
            raise checks.refusal(
                "reports with a card", tally.n_carded, f"those of the announced sums, {most}"
            )
        return mechanism.settle(tally, announced=sums) if sums else tally

    def _cards(self, groups: list[str]) -> list[list[int]]:
        """Of each group, how many cards of each dealer are in its sum."""
        return [[one.cards for one in self.announced.get(group, ())] for group in groups]


def group_of(merged: Merged, cell: str) -> str:
    """The cell that a combination of answers is summed in: a merged one, or its own."""
    return next((name for name, cells in merged.items() if cell in cells), cell)


def crossed(answers: Sequence[str]) -> str:
    """The name of a combination of answers."""
    return CROSSED_BY.join(answers)


def why_not_by(by: Sequence[str], cells: Sequence[str]) -> str:
    """Why there are no results by some questions, where dealers told sums of these cells."""
    return (
        f"results by {crossed(by)} need a sum of the cards of each group, and dealers announced "
        f"sums of {words_of(cells)}, once: groups are planned (analyses, or cells) before a "
        "survey, or chosen when it is closed"
    )


def why_no_cells(names: Iterable[str], masked: bool) -> str:
    """Why there are no results by open questions whose answers make no groups."""
    asked = "ask it with classes to choose from"
    if not masked:
        return f"{', '.join(names)} makes no groups: {asked}"
    return (
        f"{', '.join(names)} makes no cells, and masked answers are known by cells only: {asked}, "
        "or choose a mechanism without cards (rr)"
    )


def words_of(by: Sequence[str]) -> str:
    """Questions by which sums are told, in words."""
    return f"the groups of {crossed(by)}" if by else "all reports together"


def _read_merged(document: object) -> Merged:
    """Groups of several values, as JSON has them."""
    if not isinstance(document, Mapping) or not all(
        isinstance(values, list) and all(isinstance(value, str) for value in values)
        for values in document.values()
    ):
        raise checks.refusal("merged", document, "lists of values, by group")
    return {name: tuple(values) for name, values in document.items()}


def _added(sums: list[CardSum]) -> CardSum:
    """Sums of different cards, in one."""
    some = [one.sum for one in sums if one.sum is not None]
    if not some:
        return CardSum(0, None)
    total = np.sum(some, axis=0, dtype=np.int64).tolist()
    return CardSum(sum(one.cards for one in sums), total)


def _together(tallies: Iterable[Tally]) -> Tally:
    total = sum(tallies)
    assert isinstance(total, Tally)  # of at least one
    return total


def _regrouped(tallies: Mapping[Answers, Tally], places: Sequence[int]) -> dict[str, Tally]:
    """The same by some of the answers."""
    found: dict[str, Tally] = {}
    for answers, tally in tallies.items():
        name = crossed([answers[at] for at in places])
        found[name] = found[name] + tally if name in found else tally
    return found


def _hung_together(
    cells: Mapping[str, Tally], members: Mapping[str, set[Answers]], places: Sequence[int]
) -> dict[str, Tally]:
    """Groups by some of the answers; those that share a merged cell are one."""
    names = [{crossed([a[at] for at in places]) for a in members[cell]} for cell in cells]
    found: dict[str, Tally] = {}
    for some, tally in zip(hang_together(names), cells.values(), strict=True):
        name = MERGED_BY.join(sorted(some))
        found[name] = found[name] + tally if name in found else tally
    return found
