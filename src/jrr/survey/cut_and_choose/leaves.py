"""From a committed seed and a later public beacon to a deck, its salts and its hashed cards.

The seed alone does not say the deck, so a dealer cannot try seeds until one makes a deck that suits
it; the beacon alone does not either, so nobody else knows the deck that is dealt. A salt hides each
card: without it the neighbour's hash on a path would tell the neighbour's card.
"""

import hashlib
import hmac
from typing import Any, NamedTuple

import numpy as np

from jrr._base.forgetting import overwrite
from jrr._base.randomness import RandomSource
from jrr.errors import ArgumentError
from jrr.mechanisms.base import Mechanism
from jrr.mechanisms.cards import MaskCards
from jrr.survey.cut_and_choose.merkle import root_from, root_of
from jrr.survey.cut_and_choose.proofs import CardProof
from jrr.survey.cut_and_choose.rules import BYTES
from jrr.survey.deck import card_format, card_from_json, deck_of
from jrr.survey.documents import canonical_json


class Leaf(NamedTuple):
    """A card as it was committed to."""

    card: Any  # as a JSON value
    salt: bytes


def random_bytes(source: RandomSource) -> bytes:
    """A new seed or mark."""
    return source.words(BYTES // 8).astype("<u8", copy=False).tobytes()


def seed_commitment(seed: bytes) -> bytes:
    """What is published of a seed before the beacon."""
    return hashlib.sha256(b"jrr deck seed 1:" + seed).digest()


def deck_key(seed: bytes, promise: bytes, beacon: bytes, number: int) -> bytes:
    """The key of one of the decks, once the beacon is known.

    Args:
        seed: the dealer's secret.
        promise: the hash of what was published before the beacon.
        beacon: the public random value.
        number: of the deck.
    """
    message = b"jrr committed deck 1:" + promise + beacon + number.to_bytes(8, "little")
    return hmac.new(seed, message, hashlib.sha256).digest()


def leaves_of(mechanism: Mechanism, key: bytes) -> list[Leaf]:
    """All cards of the deck of a key, with their salts."""
    deck = deck_of(mechanism, key, 0)
    # A row of numbers or bits is passed on as bytes, as `respond_one` takes it.
    cards = np.asarray(deck.cards(np.arange(deck.size)))
    deck.forget()
    form = card_format(mechanism)
    plain = cards.tolist() if cards.ndim == 1 else [_bytes(row) for row in cards]
    return [Leaf(form.card_to_json(card), _salt(key, place)) for place, card in enumerate(plain)]


def forget_leaves(leaves: list[Leaf]) -> None:
    """Overwrite the salts, without which nobody learns a card from its hash."""
    for leaf in leaves:
        overwrite(leaf.salt)
    leaves.clear()


def drawn_root(
    mechanism: Mechanism, seed: bytes, promise: bytes, beacon: bytes, number: int
) -> bytes:
    """The root of one of the decks, drawn from its seed; nothing else of it is left in memory."""
    key = deck_key(seed, promise, beacon, number)
    leaves = leaves_of(mechanism, key)
    overwrite(key)
    root = root_of(hashes_of(leaves))
    forget_leaves(leaves)
    return root


def hashed(leaf: Leaf, place: int) -> bytes:
    """The hash that stands in the tree for a card at a place."""
    whole = hashlib.sha256(b"jrr leaf 1:")
    whole.update(leaf.salt)  # not joined to the rest first: that would leave copies in memory
    whole.update(canonical_json({"card": leaf.card, "place": place}))
    return whole.digest()


def hashes_of(leaves: list[Leaf]) -> list[bytes]:
    """The hashes of a whole deck, in order."""
    return [hashed(leaf, place) for place, leaf in enumerate(leaves)]


def is_under(root: bytes, mechanism: Mechanism, proof: CardProof) -> bool:
    """Whether a card of a mechanism's deck is the one at its place under a root."""
    try:
        card_from_json(mechanism, proof.card)
    except ArgumentError:
        return False
    if len(proof.salt) != BYTES:
        return False
    leaf = hashed(Leaf(proof.card, proof.salt), proof.place)
    return root_from(leaf, proof.place, card_format(mechanism).size, proof.path) == root


def sum_of(cards: list[Any], mechanism: Mechanism) -> int | list[int]:
    """The sum of masks as JSON values; a list where a card is one."""
    form = card_format(mechanism)
    assert isinstance(form, MaskCards)
    numbers = np.array(cards, np.int64).reshape(len(cards), form.numbers_per_card)
    total = numbers.sum(axis=0)
    return int(total[0]) if form.numbers_per_card == 1 else total.tolist()


def chosen_deck(coin: bytes, promise: bytes, decks: int) -> int:
    """Which deck the public coin picks; every one is equally likely but for 2^-200."""
    digest = hashlib.sha256(b"jrr coin 1:" + promise + coin).digest()
    return int.from_bytes(digest, "big") % decks


def _salt(key: bytes, place: int) -> bytes:
    message = b"jrr salt 1:" + place.to_bytes(8, "little")
    return hmac.new(key, message, hashlib.sha256).digest()


def _bytes(row: Any) -> bytes:
    whole = np.asarray(row)
    return (whole if whole.dtype == np.uint8 else whole.astype("<i2")).tobytes()
