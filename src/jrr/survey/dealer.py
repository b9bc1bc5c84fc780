"""The dealer's cards: from a campaign's key and a seat, nothing else.

A seat is a place in a block (a deck of each round). Seats are given out in the order of a
secret permutation, so that a stored seat does not tell who came when.
"""

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jrr.mechanisms import Mechanism
from jrr.survey.deck import Deck, MaskDeck, card_to_json, deck_of
from jrr.survey.permutation import Permutation
from jrr.survey.serials import Serials

_DECKS_KEPT = 8


class Dealer:
    """Deals the decks of one campaign; forget it to forget its key."""

    def __init__(self, mechanism: Mechanism, key: bytes, rounds: int) -> None:
        self.mechanism = mechanism
        self._key = key
        self.rounds = rounds
        size = mechanism.moments.deck
        assert size is not None  # a campaign with a dealer deals
        self.block_size: int = size
        self.serials = Serials(key)
        self._deck = lru_cache(_DECKS_KEPT * rounds)(self._new_deck)
        self._order = lru_cache(_DECKS_KEPT)(self._new_order)

    def place(self, arrival: int) -> tuple[int, int]:
        """Block and seat of whoever comes as number `arrival`, counted from 0."""
        block, within = divmod(arrival, self.block_size)
        return block, self._order(block).at(within)

    def cards(self, block: int, seat: int) -> list[Any]:
        """The cards of one contributor for all rounds, as JSON values."""
        return [
            card_to_json(self.mechanism, self._deck(block, number).card(seat))
            for number in range(self.rounds)
        ]

    def serial_numbers(self, block: int, seat: int) -> list[str]:
        """The serial numbers of these cards, one per round, as JSON values."""
        return [self.serials.of(block, seat, number).hex() for number in range(self.rounds)]

    def deck_cards(self, block: int, round_number: int, seats: ArrayLike) -> NDArray[Any]:
        """The cards of some seats of a block in one round, as `respond` takes them."""
        return np.asarray(self._deck(block, round_number).cards(seats))

    def _new_deck(self, block: int, round_number: int) -> Deck | MaskDeck:
        return deck_of(self.mechanism, self._key, block * self.rounds + round_number)

    def _new_order(self, block: int) -> Permutation:
        return Permutation(self._key, self.block_size, b"seats:" + block.to_bytes(8, "little"))
