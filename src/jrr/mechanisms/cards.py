"""Cards as a mechanism describes them: which faces a deck holds, and what a card does to reports.

A deck's contents are public; who holds which card is the secret. Dealers shuffle the sorted deck
by a key, committees by secret permutations, and files and messages check cards against it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jrr._base import checks
from jrr.errors import ArgumentError

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


@dataclass(frozen=True)
class MaskCards:
    """Cards that are whole numbers to add, or rows of them: one for every value.

    A single number is itself; a row is bytes, 16 bits for every number, little-endian.
    """

    size: int  # contributors who are dealt from a deck
    numbers_per_card: int
    most: int  # numbers lie in -most..most

    @property
    def width(self) -> int:
        """Bytes of a card."""
        return 2 * self.numbers_per_card

    def check_card(self, card: object) -> Card:
        """A card, or a refusal."""
        if self.numbers_per_card == 1:
            return checks.integer("card", card, -self.most, self.most)
        if isinstance(card, np.ndarray | list | tuple):  # a row of a deck
            return self.check_cards(np.asarray(card)[None], 1).astype("<i2").tobytes()
        if not isinstance(card, bytes) or len(card) != self.width:
            allowed = f"{self.width} bytes, or {self.numbers_per_card} whole numbers"
            raise checks.refusal("card", card, allowed)
        self.check_cards(np.frombuffer(card, "<i2").reshape(1, -1), 1)
        return card

    def check_cards(self, cards: ArrayLike, length: int) -> NDArray[Any]:
        """Cards of so many people as an array, or a refusal."""
        allowed = f"whole numbers in {-self.most}..{self.most}"
        array = checks.array_of("cards", cards, allowed)
        shape = (length,) if self.numbers_per_card == 1 else (length, self.numbers_per_card)
        if array.shape[:1] == (length,) and array.dtype.kind not in "iu":
            raise checks.refusal("cards", cards, allowed)
        if array.shape != shape:
            raise ArgumentError(
                f"cards must be {self.numbers_per_card} for each of the {length} values, got shape "
                f"{array.shape}"
            )
        if length and (array.min() < -self.most or array.max() > self.most):
            raise checks.refusal("cards", cards, allowed)
        return array.astype(np.int16, copy=False)

    def numbers(self, card: Card) -> list[int]:
        """The numbers of a checked card."""
        if isinstance(card, bytes):
            return [int(number) for number in np.frombuffer(card, "<i2")]
        return [card]

    def to_column(self, cards: NDArray[Any]) -> NDArray[Any]:
        """Cards as a column of a table has them: numbers, or rows of bytes."""
        numbers = np.ascontiguousarray(cards).astype("<i2", copy=False)
        if self.numbers_per_card == 1:
            return np.asarray(numbers)
        return np.frombuffer(numbers.tobytes(), np.uint8).reshape(-1, self.width)

    def from_column(self, column: NDArray[Any]) -> NDArray[Any]:
        """The cards that `to_column` wrote."""
        if self.numbers_per_card == 1:
            return column
        return np.ascontiguousarray(column).view("<i2").reshape(-1, self.numbers_per_card)

    def card_to_json(self, card: Card) -> Any:
        """A whole number, or a list of them."""
        numbers = self.numbers(self.check_card(card))
        return numbers[0] if self.numbers_per_card == 1 else numbers

    def card_from_json(self, document: object) -> Card:
        """The card that `card_to_json` wrote; anything out of range is refused."""
        if self.numbers_per_card == 1:
            return self.check_card(document)
        if not isinstance(document, list) or len(document) != self.numbers_per_card:
            raise checks.refusal("card", document, f"a list of {self.numbers_per_card} numbers")
        numbers = [checks.integer("card", number, -self.most, self.most) for number in document]
        return np.array(numbers, "<i2").tobytes()


class CardLaw(NamedTuple):
    """What the holders of one kind of card report."""

    card: int | None  # None: no card is dealt
    share: float  # of the deck
    reports: Matrix  # chance of each report, by true value


@dataclass(frozen=True, eq=False, kw_only=True)
class Reading:
    """Reports as one of few symbols, with the chance of each: what analyses beyond shares need.

    A share needs only how many reports support a value (jrr.estimation.moments). A regression, or
    the table of two questions, needs the chance of each single report, and how the cards of one
    deck tie the reports of two people together.

    Attributes:
        law: chance of each symbol (column), by true value (row), for people with a card; where
            there are no cards, for everybody.
        alone: the same for people without a card.
        leans: what a card of each kind adds to `law`, times the root of how often it is dealt.
            Two people of one deck have the covariance -Σ lean·lean/(deck - 1).
        deck: contributors per deck; None where no cards are dealt.

    Example:
        >>> import jrr
        >>> reading = jrr.DRR(10, truth=0.5, own=0.1).reading
        >>> reading.law.round(2).tolist(), reading.independent
        ([[0.75, 0.25], [0.25, 0.75]], False)
    """

    law: "Matrix"
    alone: "Matrix"
    leans: NDArray[np.float64]
    deck: int | None

    @classmethod
    def of_cards(cls, laws: "Sequence[CardLaw]", deck: int | None) -> "Reading":
        """From what the holders of every kind of card report."""
        shares = np.array([law.share for law in laws])
        each = np.stack([law.reports for law in laws])
        mean: Matrix = np.einsum("a,avr->vr", shares, each) / shares.sum()
        leans = np.sqrt(shares)[:, None, None] * (each - mean)
        return cls(law=mean, alone=mean, leans=leans, deck=deck)

    @property
    def independent(self) -> bool:
        """Whether people's reports are independent, so that likelihoods are exact."""
        return self.deck is None or not self.leans.any()

    def tie(self, decks: int) -> float:
        """By what sums of products of leans enter the covariance of two contributors, negatively.

        Two contributors share one of the decks with probability (n-1)/(n·decks-1).
        """
        return 0.0 if self.deck is None else 1 / (self.deck * decks - 1)
