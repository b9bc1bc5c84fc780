"""The decks of one survey: cards from the survey's key and a seat, nothing else.

Whoever comes has one seat, a place in a block, for all questions. Every question has a deck of its
own for each block, from a key of its own. Seats are given out in the order of a secret permutation,
so that a stored seat does not tell who came when.
"""

from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from numpy.typing import ArrayLike, NDArray

from jrr._base.randomness import KeyedRandom, overwrite
from jrr.dealing.deck import Deck, MaskDeck, card_to_json, deck_of
from jrr.dealing.permutation import Permutation
from jrr.dealing.serials import Serials
from jrr.errors import ArgumentError

if TYPE_CHECKING:
    from jrr.mechanisms.base import Mechanism

_DECKS_KEPT = 8

K = TypeVar("K", bound=Hashable)
V = TypeVar("V", "Deck | MaskDeck", Permutation)


class _Kept(Generic[K, V]):
    """The last few things that were made; older ones are overwritten."""

    def __init__(self, make: Callable[[K], V], most: int) -> None:
        self._make: Callable[[K], V] = make
        self._most = most
        self._kept: OrderedDict[K, V] = OrderedDict()

    def get(self, which: K) -> V:
        """Made before, or now."""
        if which not in self._kept:
            self._kept[which] = self._make(which)
            if len(self._kept) > self._most:
                self._kept.popitem(last=False)[1].forget()
        self._kept.move_to_end(which)
        return self._kept[which]

    def forget(self) -> None:
        """Overwrite all."""
        while self._kept:
            self._kept.popitem()[1].forget()


class QuestionDecks:
    """The decks of one question, one for each block.

    Args:
        mechanism: Whose cards.
        key: Of the question; overwritten by `forget`.
    """

    def __init__(self, mechanism: "Mechanism", key: bytes) -> None:
        size = mechanism.moments.deck
        if size is None:
            raise ArgumentError(f"mechanism must deal cards, got {mechanism}")
        self.mechanism = mechanism
        self.block_size: int = size
        self._key = key
        self.serials = Serials(key)
        self._decks: _Kept[int, Deck | MaskDeck] = _Kept(self._new_deck, _DECKS_KEPT)

    def forget(self) -> None:
        """Overwrite the key and all that follows from it."""
        self._decks.forget()
        self.serials.forget()
        overwrite(self._key)

    def card(self, block: int, seat: int) -> dict[str, Any]:
        """The card at a place, as JSON values; with its serial number where sums are announced."""
        card = card_to_json(self.mechanism, self._decks.get(block).card(seat))
        if not self.mechanism.announced:
            return {"card": card}
        return {"card": card, "serial": self.serials.of(block, seat).hex()}

    def cards(self, block: int, seats: ArrayLike) -> NDArray[Any]:
        """The cards of some seats of a block, as `respond` takes them."""
        return np.asarray(self._decks.get(block).cards(seats))

    def noise(self, announcement: int, request: str) -> KeyedRandom:
        """Random words for one announcement's noise, other ones for every other request.

        Args:
            announcement: Which one.
            request: The hash of what the collector names, in hexadecimal digits.
        """
        tweak = announcement.to_bytes(8, "little") + bytes.fromhex(request)
        return KeyedRandom(self._key, b"noise:" + tweak)

    def _new_deck(self, block: int) -> Deck | MaskDeck:
        return deck_of(self.mechanism, self._key, block)


class SurveyDecks:
    """Deals all decks of one survey, until it is told to forget its key.

    Args:
        mechanisms: Salt of a question -> the mechanism whose cards it has, all for decks of one
            size.
        names: Salt of a question -> its name.
        key: Of the survey; overwritten by `forget`.
    """

    def __init__(
        self, mechanisms: Mapping[str, "Mechanism"], names: Mapping[str, str], key: bytes
    ) -> None:
        self._key = key
        self.questions = {
            names[salt]: QuestionDecks(mechanism, _question_key(key, salt))
            for salt, mechanism in mechanisms.items()
        }
        (self.block_size,) = {decks.block_size for decks in self.questions.values()}
        self._orders: _Kept[int, Permutation] = _Kept(self._new_order, _DECKS_KEPT)

    def forget(self) -> None:
        """Overwrite the keys and all that follows from them; nothing can be dealt any more."""
        for decks in self.questions.values():
            decks.forget()
        self._orders.forget()
        overwrite(self._key)

    def place(self, arrival: int) -> tuple[int, int]:
        """Block and seat of whoever comes as number `arrival`, counted from 0."""
        block, within = divmod(arrival, self.block_size)
        return block, self._orders.get(block).at(within)

    def cards(self, block: int, seat: int) -> dict[str, Any]:
        """The cards at a place, by question, as JSON values."""
        return {name: decks.card(block, seat) for name, decks in self.questions.items()}

    def given(self, block: int, seat: int, asked: Any) -> dict[str, Any]:
        """What is replied to whoever sits there; asked: for verified cards only."""
        return {"cards": self.cards(block, seat)}

    def promise(self) -> dict[str, Any]:
        """What everybody may know of verified cards; of others there is nothing."""
        return {}

    def _new_order(self, block: int) -> Permutation:
        return Permutation(self._key, self.block_size, b"seats:" + block.to_bytes(8, "little"))


def _question_key(key: bytes, salt: str) -> bytes:
    """The key of one question's decks, from which nothing follows about another's."""
    return HKDF(SHA256(), 32, bytes.fromhex(salt), b"jrr deck 1").derive(key)
