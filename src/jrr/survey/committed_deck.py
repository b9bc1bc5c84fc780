"""The deck that a dealer's server committed to and deals, from the campaign's key."""

import hashlib
import hmac
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from jrr._base.forgetting import overwrite
from jrr.errors import ArgumentError
from jrr.survey.cut_and_choose.leaves import (
    chosen_deck,
    deck_key,
    forget_leaves,
    hashes_of,
    leaves_of,
    sum_of,
)
from jrr.survey.cut_and_choose.merkle import HashTree
from jrr.survey.cut_and_choose.proofs import CardProof

if TYPE_CHECKING:
    from jrr.survey.cut_and_choose.published import Published


def committed_seed(key: bytes, number: int) -> bytes:
    """The seed of one of the decks; overwrite it after use, unless it is opened."""
    message = b"jrr committed seed 1:" + number.to_bytes(8, "little")
    return hmac.new(key, message, hashlib.sha256).digest()


class CommittedDeck:
    """The deck that the coin picked, card by card, until it is told to forget it.

    Args:
        published: Up to the opened seeds.
        key: Of the campaign; it is not kept.
    """

    rounds = 1

    def __init__(self, published: "Published", key: bytes) -> None:
        if published.coin is None or published.beacon is None:
            raise ArgumentError("a committed deck must be dealt after the coin")
        chosen = chosen_deck(published.coin, published.promise, len(published.seeds))
        seed = committed_seed(key, chosen)
        deck = deck_key(seed, published.promise, published.beacon, chosen)
        overwrite(seed)
        self.mechanism = published.mechanism
        self._leaves = leaves_of(self.mechanism, deck)
        overwrite(deck)
        self._tree = HashTree(hashes_of(self._leaves))
        self.block_size = len(self._leaves)

    def forget(self) -> None:
        """Overwrite the salts; nothing can be dealt any more."""
        forget_leaves(self._leaves)

    def place(self, arrival: int) -> tuple[int, int]:
        """Block and seat of whoever comes as number `arrival`: places are in that order."""
        return divmod(arrival, self.block_size)

    def cards(self, _: int, seat: int) -> list[Any]:
        """The card of one contributor, as JSON values."""
        return [self._leaves[seat].card]

    def proofs(self, seat: int) -> list[dict[str, Any]]:
        """What shows that the card at a seat is the one committed to, beside the card."""
        proof = self._proof(seat).to_dict()
        del proof["card"]
        return [proof]

    def with_undealt(self, published: "Published") -> "Published":
        """Publish the masks that nobody fetched, once the marks of all others are."""
        assert published.marks is not None
        left = [self._proof(place) for place in range(len(published.marks), self.block_size)]
        total = sum_of([proof.card for proof in left], self.mechanism)
        undealt = {"sum": total, "cards": [proof.to_dict() for proof in left]}
        return replace(published, undealt=undealt)

    def _proof(self, place: int) -> CardProof:
        leaf = self._leaves[place]
        return CardProof(place, leaf.card, leaf.salt, tuple(self._tree.path(place)))
