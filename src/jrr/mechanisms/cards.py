"""Cards as a mechanism describes them: which faces a deck holds, and what a card does to reports.

A deck's contents are public; who holds which card is the secret. Dealers shuffle the sorted deck
by a key, committees by secret permutations, and files and messages check cards against it.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from jrr._base import checks

Card = int | bytes
Matrix = NDArray[np.float64]  # row: true value, column: report


@dataclass(frozen=True, eq=False)
class SortedDeck:
    """The public contents of a deck: how many cards of each face, in a fixed order.

    With `bits` there are so many decks at once, one for every bit of a report, and what a
    contributor holds is one card of each, packed into bytes.
    """

    size: int  # contributors who are dealt from it; with bits and an odd n one card is left over
    faces: NDArray[Any]  # each face as `Mechanism.respond` takes it
    counts: tuple[int, ...]  # cards of each face
    bits: int | None = None

    @property
    def width(self) -> int:
        """Bytes of a packed card."""
        return 0 if self.bits is None else -(-self.bits // 8)

    def check_card(self, card: object) -> Card:
        """A card of this deck, or a refusal."""
        if self.bits is not None:
            if not isinstance(card, bytes) or len(card) != self.width:
                raise checks.refusal("card", card, f"{self.width} bytes")
            if self.bits % 8 and card[-1] >> self.bits % 8:
                raise checks.refusal("card", card, f"0 in the bits after bit {self.bits - 1}")
            return card
        face = checks.integer("card", card, *self._range)
        if not self.counts[self._places[face]]:
            raise checks.refusal("card", card, "a card that is in the deck")
        return face

    @cached_property
    def _range(self) -> tuple[int, int]:
        return int(self.faces.min()), int(self.faces.max())

    @cached_property
    def _places(self) -> dict[int, int]:
        return {face: place for place, face in enumerate(self.faces.tolist())}

    def card_to_json(self, card: Card) -> int | str:
        """A card as a JSON value: a whole number, or lower-case hexadecimal digits."""
        checked = self.check_card(card)
        return checked.hex() if isinstance(checked, bytes) else checked

    def card_from_json(self, document: object) -> Card:
        """The card that `card_to_json` wrote; anything that is not in the deck is refused."""
        if self.bits is not None:
            document = checks.from_hex("card", document, self.width)
        return self.check_card(document)


class CardLaw(NamedTuple):
    """What the holders of one kind of card report."""

    card: int | None  # None: no card is dealt
    share: float  # of the deck
    reports: Matrix  # chance of each report, by true value
