"""A contributor's side: is my card the one that was committed to, and is its place mine alone?"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from jrr._base import checks, randomness
from jrr.errors import ArgumentError
from jrr.mechanisms.base import Rng
from jrr.survey.cut_and_choose.leaves import BYTES, Leaf, chosen_deck, hashed, random_bytes
from jrr.survey.cut_and_choose.lots import places_by_lot
from jrr.survey.cut_and_choose.merkle import root_from
from jrr.survey.cut_and_choose.published import Published
from jrr.survey.deck import card_format, card_from_json


@dataclass(frozen=True)
class CardProof:
    """A card with what shows that it is under the root of the deck that is dealt.

    Keep it to yourself: whoever sees it knows your card, and is certain of it.
    """

    place: int
    card: Any  # as a JSON value
    salt: bytes
    path: tuple[bytes, ...]

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON values."""
        return {
            "place": self.place,
            "card": self.card,
            "salt": self.salt.hex(),
            "path": [node.hex() for node in self.path],
        }

    @classmethod
    def from_dict(cls, document: object) -> "CardProof":
        """What `to_dict` wrote.

        Raises:
            ArgumentError: for anything else; a salt that is too short among it.
        """
        names = {"place", "card", "salt", "path"}
        if not isinstance(document, Mapping) or set(document) != names:
            raise ArgumentError(f"proof must be an object of {sorted(names)}")
        if not isinstance(document["path"], list):
            raise checks.refusal("path", document["path"], "a list of hexadecimal digits")
        return cls(
            checks.integer("place", document["place"], 0),
            document["card"],
            checks.from_hex("salt", document["salt"], BYTES),
            tuple(checks.from_hex("path", node, BYTES) for node in document["path"]),
        )


def new_mark(rng: Rng = None) -> bytes:
    """A random mark that a contributor gives the dealer, to find itself in the published list."""
    return random_bytes(randomness.source(rng))


def check_card(published: Published, proof: CardProof, mark: bytes | None = None) -> list[str]:
    """What is wrong with a contributor's card; nothing where it is as committed.

    Args:
        published: what the dealer has published so far, at least up to the coin.
        proof: what came with the card.
        mark: the contributor's own; after closing, or once the lot has drawn places, it must
            stand at the card's place and nowhere else, or two people were given the same card.

    Returns:
        A sentence for each fault.
    """
    faults = []
    if not under_root(published, proof):
        faults.append(f"the card at place {proof.place} is not under the root of the dealt deck")
    order = published.marks
    if published.enrolled is not None and published.lot is not None:
        order = places_by_lot(published.promise, published.enrolled, published.lot)
    if mark is not None and order is not None:
        places = [place for place, found in enumerate(order) if found == mark]
        if places != [proof.place]:
            faults.append(
                f"place {proof.place} was dealt to somebody else too: the mark stands at {places}"
            )
    return faults


def under_root(published: Published, proof: CardProof) -> bool:
    """Whether a card is the one that was committed to at its place of the deck that is dealt."""
    if published.roots is None or published.coin is None:
        raise checks.refusal("published", "neither roots nor coin", "what is published by the coin")
    number = chosen_deck(published.coin, published.promise, len(published.seeds))
    if number >= len(published.roots) or len(proof.salt) != BYTES:
        return False
    try:
        card_from_json(published.mechanism, proof.card)
    except ArgumentError:
        return False
    leaf = hashed(Leaf(proof.card, proof.salt), proof.place)
    size = card_format(published.mechanism).size
    return root_from(leaf, proof.place, size, proof.path) == published.roots[number]
