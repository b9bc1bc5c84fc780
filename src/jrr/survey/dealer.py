"""The dealer's cards: from a campaign's key and a seat, nothing else.

A seat is a place in a block (a deck of each round). Seats are given out in the order of a
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
        rounds: Cards of each contributor.
    """

    def __init__(self, mechanism: Mechanism, key: bytes, rounds: int) -> None:
        self.mechanism = mechanism
        self._key = key
        self.rounds = rounds
        size = mechanism.moments.deck
        assert size is not None  # a campaign with a dealer deals
        self.block_size: int = size
        self.serials = Serials(key)
        self._decks: _Kept[tuple[int, int], Deck | MaskDeck]
        self._decks = _Kept(self._new_deck, _DECKS_KEPT * rounds)
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

    def cards(self, block: int, seat: int) -> list[Any]:
        """The cards of one contributor for all rounds, as JSON values."""
        return [
            card_to_json(self.mechanism, self._decks.get((block, number)).card(seat))
            for number in range(self.rounds)
        ]

    def serial_numbers(self, block: int, seat: int) -> list[str]:
        """The serial numbers of these cards, one per round, as JSON values."""
        return [self.serials.of(block, seat, number).hex() for number in range(self.rounds)]

    def deck_cards(self, block: int, round_number: int, seats: ArrayLike) -> NDArray[Any]:
        """The cards of some seats of a block in one round, as `respond` takes them."""
        return np.asarray(self._decks.get((block, round_number)).cards(seats))

    def _new_deck(self, which: tuple[int, int]) -> Deck | MaskDeck:
        block, round_number = which
        return deck_of(self.mechanism, self._key, block * self.rounds + round_number)

    def _new_order(self, block: int) -> Permutation:
        return Permutation(self._key, self.block_size, b"seats:" + block.to_bytes(8, "little"))
