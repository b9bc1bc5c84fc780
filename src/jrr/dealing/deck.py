"""Decks of cards from a key: the card at any position.

Where the contents of a deck are public, no table of all cards is needed: the card at position i of
deck number d is the card at π(i) of the sorted deck; π is a secret permutation that follows from
the key and d (jrr.dealing.permutation). A dealer needs to remember only the key and how many cards
it has given away. Whole numbers to add have no public contents: a deck of them is drawn as a whole,
from words that follow from the key and d.
"""

import bisect
import itertools
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jrr._base import checks
from jrr._base.randomness import KeyedRandom, overwrite_array
from jrr.dealing.permutation import Permutation
from jrr.mechanisms.cards import Card, MaskCards, SortedDeck

if TYPE_CHECKING:
    from jrr.mechanisms.base import Mechanism

_DECKS = 1 << 64
_ROWS = 1 << 14  # cards whose bits are packed at a time


def deck_of(mechanism: "Mechanism", key: bytes, number: int) -> "Deck | MaskDeck":
    """One deck of a question; every deck of a question has another number."""
    if isinstance(card_format(mechanism), MaskCards):
        return MaskDeck(mechanism, key, number)
    return Deck(mechanism, key, number)


class MaskDeck:
    """A deck of whole numbers: all of them are drawn from the key at once, and kept."""

    def __init__(self, mechanism: "Mechanism", key: bytes, number: int) -> None:
        self.mechanism = mechanism
        self.number = checks.integer("number", number, 0, _DECKS - 1)
        words = KeyedRandom(key, b"masks:" + self.number.to_bytes(8, "little"))
        cards = mechanism.deal(words)
        assert cards is not None  # there is a deck
        self._cards = np.asarray(cards)
        self.size = len(self._cards)

    def __repr__(self) -> str:
        return f"MaskDeck({self.mechanism!r}, number={self.number})"  # never the key

    def forget(self) -> None:
        """Overwrite the cards; the deck is of no more use."""
        overwrite_array(self._cards)

    def card(self, position: int) -> Card:
        """One card, as `respond_one` takes it."""
        place = checks.integer("position", position, 0, self.size - 1)
        card = self._cards[place]
        return card.astype("<i2").tobytes() if card.ndim else int(card)

    def cards(self, positions: ArrayLike) -> NDArray[Any]:
        """The cards at some positions, as `respond` takes them."""
        found: NDArray[Any] = self._cards[checks.symbols("positions", positions, self.size)]
        return found


class Deck:
    """A deck whose contents are public: the card at each place follows from the key."""

    def __init__(self, mechanism: "Mechanism", key: bytes, number: int) -> None:
        self.mechanism = mechanism
        self.number = checks.integer("number", number, 0, _DECKS - 1)
        self._sorted = sorted_deck(mechanism)
        self.size = self._sorted.size
        self._ends = list(itertools.accumulate(self._sorted.counts))
        self._end_array = np.array(self._ends, np.int64)
        tweak = self.number.to_bytes(8, "little")
        columns = self._sorted.bits or 1
        self._permutation = Permutation(key, self._ends[-1], tweak, columns=columns)
        self._table: NDArray[Any] | None = None

    def __repr__(self) -> str:
        return f"Deck({self.mechanism!r}, number={self.number})"  # never the key

    def forget(self) -> None:
        """Overwrite the cards and their key; the deck is of no more use."""
        overwrite_array(self._table)
        self._permutation.forget()

    def card(self, position: int) -> Card:
        """One card, as `respond_one` takes it."""
        position = checks.integer("position", position, 0, self.size - 1)
        if self._small:
            return _plain(self._whole()[position])
        if self._sorted.bits is not None:
            return _plain(self._rows(np.array([position]))[0])
        place = bisect.bisect_right(self._ends, self._permutation.at(position))
        return int(self._sorted.faces[place])

    def cards(self, positions: ArrayLike) -> NDArray[Any]:
        """The cards at some positions, as `respond` takes them."""
        wanted = checks.symbols("positions", positions, self.size)
        if self._small:
            chosen: NDArray[Any] = self._whole()[wanted]
            return chosen
        return self._found(wanted)

    def cards_from(self, first: int, count: int) -> NDArray[Any]:
        """So many cards, from one position on."""
        return self.cards(np.arange(first, first + count))

    @property
    def _small(self) -> bool:
        return self._permutation.shuffles

    def _whole(self) -> NDArray[Any]:
        """All cards of a small deck, found once: a shuffle has to find them all anyway."""
        if self._table is None:
            every = np.arange(self.size)
            self._table = self._faces(every) if self._sorted.bits is None else self._rows(every)
        return self._table

    def _found(self, positions: NDArray[Any]) -> NDArray[Any]:
        if self._sorted.bits is None:
            return self._faces(positions)
        out = np.empty((len(positions), self._sorted.width), np.uint8)
        for start in range(0, len(positions), _ROWS):
            out[start : start + _ROWS] = self._rows(positions[start : start + _ROWS])
        return out

    def _faces(self, positions: NDArray[Any], column: int = 0) -> NDArray[Any]:
        """The cards, or bits of them, at some positions."""
        if not self._small:
            return self._face(self._permutation.many(positions, column))
        order = self._permutation.whole(column)
        faces = self._face(order[positions])
        overwrite_array(order)
        return faces

    def _face(self, places: NDArray[np.int64]) -> NDArray[Any]:
        """The cards at these places of the sorted deck."""
        return self._sorted.faces[np.searchsorted(self._end_array, places, side="right")]

    def _rows(self, positions: NDArray[Any]) -> NDArray[np.uint8]:
        """Packed cards of a unary mechanism: one permutation for every bit."""
        k = self._sorted.bits or 0
        if len(positions) < k and not self._small:  # few people with many bits
            found = [self._face(self._permutation.across(int(i), k)) for i in positions]
            return np.packbits(np.array(found).reshape(-1, k), axis=1, bitorder="little")
        out = np.zeros((len(positions), -(-k // 8)), np.uint8)
        for v in range(k):
            out[:, v // 8] |= self._faces(positions, v) << v % 8
        return out


def sorted_deck(mechanism: "Mechanism") -> SortedDeck:
    """The contents of a mechanism's deck, or a refusal of mechanisms without cards."""
    deck = mechanism.sorted_deck
    if deck is None:
        raise checks.refusal("mechanism", mechanism, "one that deals cards")
    return deck


def card_format(mechanism: "Mechanism") -> SortedDeck | MaskCards:
    """How a mechanism's cards are written, or a refusal of mechanisms without cards."""
    form = mechanism.card_format
    if form is None:
        raise checks.refusal("mechanism", mechanism, "one that deals cards")
    return form


def card_to_json(mechanism: "Mechanism", card: Card) -> Any:
    """A card as a JSON value: a whole number or a list of them, or hexadecimal digits."""
    return card_format(mechanism).card_to_json(card)


def card_from_json(mechanism: "Mechanism", document: object) -> Card:
    """The card that `card_to_json` wrote; anything that is not in the deck is refused."""
    return card_format(mechanism).card_from_json(document)


def _plain(card: Any) -> Card:
    return card.tobytes() if isinstance(card, np.ndarray) else int(card)
