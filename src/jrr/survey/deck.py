"""Decks of cards from a key: the card at any position, without a table of all of them.

The card at position i of deck number d is the card at π(i) of the sorted deck, which is public;
π is a secret permutation that follows from the key and d (jrr.survey.permutation). A dealer
needs to remember only the key and how many cards it has given away.
"""

import bisect
import itertools
import re
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jrr._base import checks
from jrr.mechanisms import DRR, JRR, OLH, Mechanism
from jrr.mechanisms.unary import Unary
from jrr.survey.permutation import SHUFFLED, Permutation

_DECKS = 1 << 64
_ROWS = 1 << 14  # cards whose bits are packed at a time

Card = int | bytes
Dealing = JRR | DRR | Unary


class Deck:
    """One deck of a campaign; every deck of a campaign has another number."""

    def __init__(self, mechanism: Mechanism, key: bytes, number: int) -> None:
        self.mechanism = mechanism
        self.number = checks.integer("number", number, 0, _DECKS - 1)
        self._kind, self.size = _dealing(mechanism)
        counts, self._faces = _sorted_deck(self._kind)
        self._ends = list(itertools.accumulate(counts))
        self._end_array = np.array(self._ends, np.int64)
        tweak = self.number.to_bytes(8, "little")
        self._permutation = Permutation(key, self._ends[-1], tweak)
        self._table: NDArray[Any] | None = None

    def __repr__(self) -> str:
        return f"Deck({self.mechanism!r}, number={self.number})"  # never the key

    def card(self, position: int) -> Card:
        """One card, as `respond_one` takes it."""
        position = checks.integer("position", position, 0, self.size - 1)
        if self._small:
            return _plain(self._whole()[position])
        if isinstance(self._kind, Unary):
            return _plain(self._rows(np.array([position]))[0])
        place = bisect.bisect_right(self._ends, self._permutation.at(position))
        return int(self._faces[place])

    def cards(self, positions: ArrayLike) -> NDArray[Any]:
        """The cards at some positions, as `respond` takes them."""
        wanted = checks.symbols("positions", positions, self.size)
        if self._small:
            chosen: NDArray[Any] = self._whole()[wanted]
            return chosen
        return self._found(wanted)

    @property
    def _small(self) -> bool:
        return self._ends[-1] <= SHUFFLED

    def _whole(self) -> NDArray[Any]:
        """All cards of a small deck, found once: a shuffle has to find them all anyway."""
        if self._table is None:
            self._table = self._found(np.arange(self.size))
        return self._table

    def _found(self, positions: NDArray[Any]) -> NDArray[Any]:
        if not isinstance(self._kind, Unary):
            return self._face(self._permutation.many(positions))
        out = np.empty((len(positions), self._kind.width), np.uint8)
        for start in range(0, len(positions), _ROWS):
            out[start : start + _ROWS] = self._rows(positions[start : start + _ROWS])
        return out

    def _face(self, places: NDArray[np.int64]) -> NDArray[Any]:
        """The cards at these places of the sorted deck."""
        return self._faces[np.searchsorted(self._end_array, places, side="right")]

    def _rows(self, positions: NDArray[Any]) -> NDArray[np.uint8]:
        """Packed cards of a unary mechanism: one permutation for every bit."""
        k = self.mechanism.k
        if len(positions) < k and not self._small:  # few people with many bits
            found = [self._face(self._permutation.across(int(i), k)) for i in positions]
            return np.packbits(np.array(found).reshape(-1, k), axis=1, bitorder="little")
        out = np.zeros((len(positions), -(-k // 8)), np.uint8)
        for v in range(k):
            out[:, v // 8] |= self._face(self._permutation.many(positions, v)) << v % 8
        return out


def card_to_json(mechanism: Mechanism, card: Card) -> int | str:
    """A card as a JSON value: a whole number, or for unary encodings lower-case hexadecimal."""
    checked = _check_card(_dealing(mechanism)[0], card)
    return checked.hex() if isinstance(checked, bytes) else checked


def card_from_json(mechanism: Mechanism, document: object) -> Card:
    """The card that `card_to_json` wrote; anything that is not in the deck is refused."""
    kind, _ = _dealing(mechanism)
    if not isinstance(kind, Unary):
        return _check_card(kind, document)
    if not isinstance(document, str) or not re.fullmatch(f"[0-9a-f]{{{2 * kind.width}}}", document):
        raise checks.refusal("card", document, f"{2 * kind.width} lower-case hexadecimal digits")
    return _check_card(kind, bytes.fromhex(document))


def _dealing(mechanism: Mechanism) -> tuple[Dealing, int]:
    """What the cards are dealt for and to how many, or a refusal of mechanisms without cards."""
    kind = mechanism.inner if isinstance(mechanism, OLH) else mechanism
    if isinstance(kind, JRR | DRR | Unary) and kind.n is not None:
        return kind, kind.n
    raise checks.refusal("mechanism", mechanism, "one that deals cards")


def _sorted_deck(kind: Dealing) -> tuple[tuple[int, ...], NDArray[Any]]:
    """How many cards of each face lie in the sorted deck, and the faces, in this order."""
    if isinstance(kind, JRR):
        half = kind.signed // 2
        return (half, half, kind.n % 2), np.array([1, -1, 0], np.int8)
    if isinstance(kind, DRR):
        return kind.deck, np.arange(kind.k, dtype=np.min_scalar_type(kind.k - 1))
    half = kind.law.deck // 2  # of every bit; for an odd n one card more than contributors
    return (half, half), np.array([1, 0], np.uint8)


def _plain(card: Any) -> Card:
    return card.tobytes() if isinstance(card, np.ndarray) else int(card)


def _check_card(kind: Dealing, card: object) -> Card:
    """A card of this deck, or a refusal."""
    if isinstance(kind, Unary):
        if not isinstance(card, bytes) or len(card) != kind.width:
            raise checks.refusal("card", card, f"{kind.width} bytes")
        if kind.k % 8 and card[-1] >> kind.k % 8:
            raise checks.refusal("card", card, f"0 in the bits after bit {kind.k - 1}")
        return card
    if isinstance(kind, JRR):
        face = checks.integer("card", card, -1, 1)
        if face == 0 and kind.n % 2 == 0:
            raise checks.refusal("card", card, "+1 or -1: an even deck has no blank card")
        return face
    face = checks.integer("card", card, 0, kind.k - 1)
    if not kind.deck[face]:
        raise checks.refusal("card", card, "a value that is in the deck")
    return face
