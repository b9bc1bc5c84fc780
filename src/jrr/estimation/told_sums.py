"""What dealers told of the masks in some reports, and how it is taken off their counts.

A collector's server keeps it for a survey, and a file of exported reports carries it in its
header: whoever has the reports can then estimate from them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from jrr._base import checks
from jrr.errors import ArgumentError
from jrr.estimation.tally import Tally

if TYPE_CHECKING:
    from jrr.mechanisms.parts.collecting import Collecting

Merged = Mapping[str, tuple[str, ...]]  # name of a group of several values -> those values

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
        by: the covariate for whose values there are sums; None: for all reports together.
        merged: where several values have one sum together: name of the group -> those values.
        announced: group -> what each dealer announced of the cards in it; the group of all
            reports has no name.
        undealt: for closed decks: the cards that nobody fetched.
    """

    by: str | None = None
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
            "by": self.by,
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
        if by is not None and not isinstance(by, str):
            raise checks.refusal("by", by, "a column, or null")
        if not isinstance(announced, Mapping) or not all(
            isinstance(sums, list) for sums in announced.values()
        ):
            raise checks.refusal("announced", announced, "lists of sums, by group")
        return cls(
            by=by,
            merged=_read_merged(document.get("merged", {})),
            announced={
                group: tuple(CardSum.from_document(one, width) for one in sums)
                for group, sums in announced.items()
            },
            undealt=None if undealt is None else CardSum.from_document(undealt, width),
        )

    def settled(
        self, mechanism: "Collecting", tallies: Mapping[str, Tally], by: str | None
    ) -> tuple[Tally, Mapping[str, Tally]]:
        """Everybody and every group, with masks taken off as far as dealers have told.

        Groups whose cards have one sum together are returned as one group.

        Args:
            mechanism: By which the reports were made.
            tallies: Group -> counted reports; all of them together are everybody.
            by: The covariate whose values the groups are; None: there is one group.

        Raises:
            ArgumentError: Sums were announced for other groups than these, or of other cards.
        """
        whole = _together(tallies)
        if self.undealt is not None:
            cards, total = self.undealt
            # A group has a part of the deck's cards only: what is left over says nothing of it.
            told = mechanism.settle(whole, undealt=(total, cards)) if cards else whole
            return told, tallies
        if not self.announced:
            return whole, tallies
        if by is None:
            return self._off(mechanism, whole, sorted(self.announced)), tallies
        if by != self.by:
            named = "all reports together" if self.by is None else f"the groups of {self.by}"
            raise ArgumentError(
                f"results by {by} need a sum of the cards of each group, and the dealer announced "
                f"those of {named}, once: close a survey with --by {by} for that"
            )
        together: dict[str, Tally] = {}
        for value, tally in tallies.items():
            group = group_of(self.merged, value)
            together[group] = together[group] + tally if group in together else tally
        off = {group: self._off(mechanism, tally, [group]) for group, tally in together.items()}
        return _together(off), off

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


def group_of(merged: Merged, value: str) -> str:
    """The group that a value is in: of several values, or of itself alone."""
    return next((name for name, values in merged.items() if value in values), value)


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


def _together(tallies: Mapping[str, Tally]) -> Tally:
    total = sum(tallies.values())
    assert isinstance(total, Tally)  # of at least one
    return total
