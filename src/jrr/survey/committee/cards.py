"""Cards as field elements, and shares of them sealed to the one who holds the slot.

A card is 1 plus its place among the possible cards, never 0: then whether a changed share is
noticed does not depend on the card.
"""

import base64
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.hpke import AEAD, KDF, KEM, Suite
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from jrr._base import checks
from jrr.errors import JrrError
from jrr.mechanisms.base import Mechanism
from jrr.mechanisms.cards import SortedDeck
from jrr.survey.committee.dealing import Abort, Dealt
from jrr.survey.committee.field import PRIME, Vector
from jrr.survey.committee.merkle import belongs

SEALED = 32 + 8 + 16  # encapsulated key, two elements, tag


def deck_of(mechanism: Mechanism) -> list[int]:
    """The public deck, sorted, as field elements."""
    deck = _committee_deck(mechanism)
    return [1 + place for place, count in enumerate(deck.counts) for _ in range(count)]


def card_of(mechanism: Mechanism, element: int) -> int:
    """The card behind an element; anything else is refused."""
    deck = _committee_deck(mechanism)
    if 1 <= element <= len(deck.counts) and deck.counts[element - 1]:
        return int(deck.faces[element - 1])
    raise Abort("the shares do not add up to a card")


def check_committee_mechanism(mechanism: Mechanism) -> None:
    """Refuse decks that a committee cannot deal."""
    _committee_deck(mechanism)


def _committee_deck(mechanism: Mechanism) -> SortedDeck:
    deck = mechanism.sorted_deck
    if deck is None or deck.bits is not None:  # a deck per bit would need a round per bit
        raise checks.refusal("mechanism", mechanism, "JRR, DRR or OLH with a joint coupling")
    if len(deck.counts) >= PRIME - 1:
        raise checks.refusal("k", len(deck.counts), f"below {PRIME - 1}")
    return deck


def card_key(secret: bytes, campaign: str) -> X25519PrivateKey:
    """The key that a contributor's cards are sealed to; it follows from the invitation."""
    derived = HKDF(SHA256(), 32, bytes.fromhex(campaign), b"jrr card key 1").derive(secret)
    return X25519PrivateKey.from_private_bytes(derived)


def usable(key: bytes) -> bool:
    """Whether anything can be sealed to a public key; a few points of the curve are no keys."""
    try:
        X25519PrivateKey.generate().exchange(X25519PublicKey.from_public_bytes(key))
    except ValueError:
        return False
    return True


@dataclass(frozen=True)
class Place:
    """What a sealed share is bound to."""

    campaign: str
    round: int
    party: int
    slot: int

    def info(self) -> bytes:
        """The label of the seal: role, campaign, round, party and slot."""
        numbers = b"".join(
            number.to_bytes(8, "little") for number in (self.round, self.party, self.slot)
        )
        return b"jrr committee share 1:" + bytes.fromhex(self.campaign) + numbers


def seal_shares(
    keys: Sequence[bytes],
    cards: Vector,
    tags: Vector,
    campaign: str,
    round_number: int,
    party: int,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> list[bytes]:
    """One sealed share per slot."""
    suite = _suite()
    sealed = []
    for slot, (key, card, tag) in enumerate(zip(keys, cards.tolist(), tags.tolist(), strict=True)):
        share = card.to_bytes(4, "little") + tag.to_bytes(4, "little")
        info = Place(campaign, round_number, party, slot).info()
        sealed.append(suite.encrypt(share, X25519PublicKey.from_public_bytes(key), info))
        if slot % 1000 == 0:
            progress(slot, len(keys))
    return sealed


@dataclass(frozen=True)
class Record:
    """The public facts of a round, the same at every party."""

    campaign: str
    round: int
    n: int
    alpha: int
    roots: tuple[str, ...]
    hash: str

    @classmethod
    def of(cls, campaign: str, round_number: int, n: int, dealt: Dealt) -> "Record":
        """The record of a round that has been dealt."""
        roots = tuple(root.hex() for root in dealt.roots)
        return cls(campaign, round_number, n, dealt.alpha, roots, dealt.record.hex())

    def to_json(self) -> str:
        """Canonical."""
        return json.dumps(vars(self) | {"roots": list(self.roots)}, sort_keys=True)

    @classmethod
    def from_document(cls, document: Any) -> "Record":
        """A record as a party serves it."""
        names = {"campaign", "round", "n", "alpha", "roots", "hash"}
        if not isinstance(document, dict) or set(document) != names:
            raise Abort("a party must serve the record of the round")
        roots = document["roots"]
        if not isinstance(roots, list) or not all(isinstance(root, str) for root in roots):
            raise Abort("a party must serve one root per party")
        try:
            return cls(
                str(document["campaign"]),
                checks.integer("round", document["round"], 0),
                checks.integer("n", document["n"], 2),
                checks.integer("alpha", document["alpha"], 0, PRIME - 1),
                tuple(roots),
                str(document["hash"]),
            )
        except JrrError as error:
            raise Abort(str(error)) from None


@dataclass(frozen=True)
class Envelope:
    """What a party gives a contributor."""

    slot: int
    sealed: bytes
    path: tuple[bytes, ...]

    def to_document(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "slot": self.slot,
            "sealed": base64.b64encode(self.sealed).decode(),
            "path": [entry.hex() for entry in self.path],
        }

    @classmethod
    def from_document(cls, document: Any) -> "Envelope":
        """From JSON, or an Abort."""
        try:
            return cls(
                checks.integer("slot", document["slot"], 0),
                base64.b64decode(document["sealed"], validate=True),
                tuple(bytes.fromhex(entry) for entry in document["path"]),
            )
        except (JrrError, ValueError, TypeError, KeyError):
            raise Abort("a party must serve a slot, a sealed share and a path") from None


def open_card(
    mechanism: Mechanism, key: X25519PrivateKey, record: Record, envelopes: Sequence[Envelope]
) -> int:
    """Combine the shares of all parties and check the card; an Abort is a complaint."""
    if len(envelopes) != len(record.roots) or len({one.slot for one in envelopes}) != 1:
        raise Abort("the parties do not agree on the slot")
    suite, card, tag = _suite(), 0, 0
    for party, one in enumerate(envelopes):
        root = bytes.fromhex(record.roots[party])
        if not belongs(one.sealed, one.slot, record.n, one.path, root):
            raise Abort(f"party {party} serves another share than it had committed to")
        info = Place(record.campaign, record.round, party, one.slot).info()
        try:
            share = suite.decrypt(one.sealed, key, info)
        except (InvalidTag, ValueError):
            raise Abort(f"the share of party {party} is not sealed to this contributor") from None
        if len(share) != 8:
            raise Abort(f"the share of party {party} has the wrong length")
        card = (card + int.from_bytes(share[:4], "little")) % PRIME
        tag = (tag + int.from_bytes(share[4:], "little")) % PRIME
    if tag != record.alpha * card % PRIME:
        raise Abort("the card does not match its tag: a party changed it")
    return card_of(mechanism, card)


def _suite() -> Suite:
    return Suite(KEM.X25519, KDF.HKDF_SHA256, AEAD.CHACHA20_POLY1305)
