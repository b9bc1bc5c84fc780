"""The dealer's cards: from a campaign's key and a seat, nothing else.

A seat is a place in a block, which is one deck. Seats are given out in the order of a
secret permutation, so that a stored seat does not tell who came when.
"""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jrr._base.forgetting import overwrite
from jrr.mechanisms import Mechanism
from jrr.survey.deck import Deck, MaskDeck, card_to_json, deck_of
from jrr.survey.permutation import Permutation
from jrr.survey.serials import Serials

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


class Dealer:
    """Deals the decks of one campaign, until it is told to forget its key.

    Args:
        mechanism: Whose cards.
        key: Of the campaign; overwritten by `forget`.
    """

    def __init__(self, mechanism: Mechanism, key: bytes) -> None:
        self.mechanism = mechanism
        self._key = key
        size = mechanism.moments.deck
        assert size is not None  # a campaign with a dealer deals
        self.block_size: int = size
        self.serials = Serials(key)
        self._decks: _Kept[int, Deck | MaskDeck] = _Kept(self._new_deck, _DECKS_KEPT)
        self._orders: _Kept[int, Permutation] = _Kept(self._new_order, _DECKS_KEPT)

    def forget(self) -> None:
        """Overwrite the key and all that follows from it; nothing can be dealt any more."""
        self._decks.forget()
        self._orders.forget()
        self.serials.forget()
        overwrite(self._key)

    def place(self, arrival: int) -> tuple[int, int]:
        """Block and seat of whoever comes as number `arrival`, counted from 0."""
        block, within = divmod(arrival, self.block_size)
        return block, self._orders.get(block).at(within)

    def card(self, block: int, seat: int) -> Any:
        """The card of one contributor, as a JSON value."""
        return card_to_json(self.mechanism, self._decks.get(block).card(seat))

    def serial_number(self, block: int, seat: int) -> str:
        """The serial number of this card, as a JSON value."""
        return self.serials.of(block, seat).hex()

    def deck_cards(self, block: int, seats: ArrayLike) -> NDArray[Any]:
        """The cards of some seats of a block, as `respond` takes them."""
        return np.asarray(self._decks.get(block).cards(seats))

    def _new_deck(self, block: int) -> Deck | MaskDeck:
        return deck_of(self.mechanism, self._key, block)

    def _new_order(self, block: int) -> Permutation:
        return Permutation(self._key, self.block_size, b"seats:" + block.to_bytes(8, "little"))
