"""Announced sums that remember of how many cards they are.

`announce` makes them. They are plain whole numbers and lists in every other way, also as JSON; of
what is computed from them or read from JSON nobody knows how many cards are in it.
"""

from collections.abc import Iterable
from typing import Any, cast


class AnnouncedNumber(int):
    """The sum of cards that are one number each.

    Example:
        >>> told = AnnouncedNumber(-4, cards=100)
        >>> told, told.cards, type(told + 1).__name__
        (-4, 100, 'int')
    """

    cards: int

    def __new__(cls, total: int, cards: int) -> "AnnouncedNumber":
        """A number and of how many cards it is the sum."""
        made = super().__new__(cls, total)
        made.cards = cards
        return made

    def __reduce__(self) -> tuple[type, tuple[int, int]]:
        return type(self), (int(self), self.cards)


class AnnouncedRow(list[int]):
    """The sums of cards that have one number for each value."""

    def __init__(self, totals: Iterable[int], cards: int) -> None:
        super().__init__(totals)
        self.cards = cards

    def __reduce__(self) -> tuple[type, tuple[list[int], int]]:
        return type(self), (list(self), self.cards)


def cards_in(announced: object) -> list[int] | None:
    """Of how many cards each of these sums is; None where one of them does not remember it."""
    several = isinstance(announced, list | tuple) and not isinstance(announced, AnnouncedRow)
    sums: list[Any] = list(cast(Iterable[Any], announced)) if several else [announced]
    known = [one.cards for one in sums if isinstance(one, AnnouncedNumber | AnnouncedRow)]
    return known if known and len(known) == len(sums) else None
