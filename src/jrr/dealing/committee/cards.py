"""Cards as field elements, and shares of them sealed to the one who holds the slot.

A card is 1 plus its place among the possible cards, never 0: then whether a changed share is
noticed does not depend on the card.
"""

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import numpy as np
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.hpke import AEAD, KDF, KEM, Suite
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from jrr._base import checks
from jrr.dealing.committee.aborts import Abort
from jrr.dealing.committee.field import PRIME, Vector
from jrr.dealing.committee.merkle import Tree, belongs
from jrr.errors import JrrError
from jrr.protocol.documents import Hash

if TYPE_CHECKING:
    from jrr.dealing.committee.dealing import Dealt
    from jrr.mechanisms.base import Mechanism
    from jrr.mechanisms.cards import SortedDeck

SEALED = 32 + 8 + 16  # encapsulated key, two elements, tag


def deck_of(mechanism: "Mechanism") -> list[int]:
    """The public deck, sorted, as field elements."""
    deck = committee_deck(mechanism)
    return [1 + place for place, count in enumerate(deck.counts) for _ in range(count)]


def card_of(mechanism: "Mechanism", element: int) -> int:
    """The card behind an element; anything else is refused."""
    deck = committee_deck(mechanism)
    if 1 <= element <= len(deck.counts) and deck.counts[element - 1]:
        return int(deck.faces[element - 1])
    raise Abort("the shares do not add up to a card")


def committee_deck(mechanism: "Mechanism") -> "SortedDeck":
    """The contents of a deck that people can deal together.

    Raises:
        ArgumentError: There is none, or one for each bit.
    """
    deck = mechanism.sorted_deck
    if deck is None or deck.bits is not None:  # a deck per bit would need a deal per bit
        raise checks.refusal("mechanism", mechanism, "JRR, DRR or OLH with a joint coupling")
    if len(deck.counts) >= PRIME - 1:
        raise checks.refusal("k", len(deck.counts), f"below {PRIME - 1}")
    return deck


def card_key(secret: bytes, survey: str) -> X25519PrivateKey:
    """The key that a contributor's card is sealed to; it follows from the invitation."""
    derived = HKDF(SHA256(), 32, bytes.fromhex(survey), b"jrr card key 1").derive(secret)
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

    survey: str  # its hash
    party: int
    slot: int

    def info(self) -> bytes:
        """The label of the seal: role, survey, party and slot."""
        numbers = b"".join(number.to_bytes(8, "little") for number in (0, self.party, self.slot))
        return b"jrr committee share 1:" + bytes.fromhex(self.survey) + numbers


def seal_shares(
    keys: Sequence[bytes], cards: Vector, tags: Vector, survey: str, party: int
) -> list[bytes]:
    """One sealed share per slot."""
    suite = _suite()
    sealed = []
    for slot, (key, card, tag) in enumerate(zip(keys, cards.tolist(), tags.tolist(), strict=True)):
        share = card.to_bytes(4, "little") + tag.to_bytes(4, "little")
        info = Place(survey, party, slot).info()
        sealed.append(suite.encrypt(share, X25519PublicKey.from_public_bytes(key), info))
    return sealed


class BadShareError(Abort):
    """A share is not what its party should have given.

    provable: whether the share itself, opened, shows it to everybody (see `complaints`).
    """

    def __init__(self, party: int, reason: str, *, provable: bool) -> None:
        super().__init__(reason)
        self.party = party
        self.provable = provable


class Record(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The public facts of a deal, the same at every party."""

    survey: str  # its hash
    n: Annotated[int, msgspec.Meta(ge=2)]
    alpha: Annotated[int, msgspec.Meta(ge=0, lt=PRIME)]
    roots: tuple[Hash, ...]
    hash: str
    roster: str  # hash of the keys that were dealt to
    checks: Hash  # root of what the parties' shares were checked with, slot by slot

    @classmethod
    def of(cls, survey: str, roster: str, dealt: "Dealt") -> "Record":
        """The record of a deck that has been dealt."""
        roots = tuple(root.hex() for root in dealt.roots)
        checked = Tree(excess_leaves(dealt.excess)).root.hex()
        n = len(dealt.cards)
        return cls(survey, n, dealt.alpha, roots, dealt.record.hex(), roster, checked)

    @classmethod
    def from_document(cls, document: Any) -> "Record":
        """A record as a party serves it, or an Abort."""
        try:
            return msgspec.convert(document, cls)
        except msgspec.ValidationError as error:
            raise Abort(f"a party must serve the record of the deal: {error}") from None


def excess_leaves(excess: Vector) -> list[bytes]:
    """What is committed to of each slot: the excesses of all parties' shares, in their order."""
    columns = np.ascontiguousarray(excess.T).astype("<u4")
    return [column.tobytes() for column in columns]


@dataclass(frozen=True)
class Envelope:
    """What a party gives a contributor."""

    slot: int
    sealed: bytes
    path: tuple[bytes, ...]
    excess: bytes  # of all parties' shares in this slot
    excess_path: tuple[bytes, ...]

    def to_document(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "slot": self.slot,
            "sealed": base64.b64encode(self.sealed).decode(),
            "path": [entry.hex() for entry in self.path],
            "excess": self.excess.hex(),
            "excess_path": [entry.hex() for entry in self.excess_path],
        }

    @classmethod
    def from_document(cls, document: Any) -> "Envelope":
        """From JSON, or an Abort."""
        try:
            return cls(
                checks.integer("slot", document["slot"], 0),
                base64.b64decode(document["sealed"], validate=True),
                tuple(bytes.fromhex(entry) for entry in document["path"]),
                bytes.fromhex(document["excess"]),
                tuple(bytes.fromhex(entry) for entry in document["excess_path"]),
            )
        except (JrrError, ValueError, TypeError, KeyError, AttributeError):
            raise Abort("a party must serve a slot, a sealed share and a path") from None


def open_card(
    mechanism: "Mechanism", key: X25519PrivateKey, record: Record, envelopes: Sequence[Envelope]
) -> int:
    """Combine the shares of all parties and check the card.

    Raises:
        BadShareError: A party's share is not what it should be; complain of that party.
        Abort: Something does not fit, and it cannot be told whose fault it is.
    """
    if len(envelopes) != len(record.roots) or len({one.slot for one in envelopes}) != 1:
        raise Abort("the parties do not agree on the slot")
    card, tag, own_excess = 0, 0, []
    for party, one in enumerate(envelopes):
        root = bytes.fromhex(record.roots[party])
        if not belongs(one.sealed, one.slot, record.n, one.path, root):
            raise BadShareError(
                party,
                f"party {party} serves another share than it had committed to",
                provable=False,
            )
        share = open_share(key, Place(record.survey, party, one.slot), one.sealed)
        if share is None:
            raise BadShareError(
                party,
                f"the share of party {party} is not sealed to this contributor",
                provable=True,
            )
        card, tag = (card + share[0]) % PRIME, (tag + share[1]) % PRIME
        own_excess.append(excess_of(share, record.alpha))
    if tag != record.alpha * card % PRIME:
        expected = _excess_shown(record, envelopes)
        for party, (own, due) in enumerate(zip(own_excess, expected, strict=False)):
            if own != due:
                raise BadShareError(
                    party,
                    f"party {party} sealed another share than was checked: the card does not match "
                    "its tag",
                    provable=True,
                )
        raise Abort("the card does not match its tag: a party changed it")
    return card_of(mechanism, card)


def open_share(key: X25519PrivateKey, place: Place, sealed: bytes) -> tuple[int, int] | None:
    """The shares of card and tag in a seal; None where it holds none for this place and key."""
    try:
        share = _suite().decrypt(sealed, key, place.info())
    except (InvalidTag, ValueError):
        return None
    if len(share) != 8:
        return None
    return int.from_bytes(share[:4], "little"), int.from_bytes(share[4:], "little")


def excess_of(share: tuple[int, int], alpha: int) -> int:
    """By how much a share of the tag exceeds α times the share of the card."""
    return (share[1] - alpha * share[0]) % PRIME


def _excess_shown(record: Record, envelopes: Sequence[Envelope]) -> list[int]:
    """What the shares of this slot were checked with, from whoever shows it with proof."""
    for one in envelopes:
        checked = bytes.fromhex(record.checks)
        if len(one.excess) == 4 * len(record.roots) and belongs(
            one.excess, one.slot, record.n, one.excess_path, checked
        ):
            return read_excess(one.excess)
    return []


def read_excess(data: bytes) -> list[int]:
    """The excess of each party's share in one slot."""
    return [int.from_bytes(data[at : at + 4], "little") for at in range(0, len(data), 4)]


def _suite() -> Suite:
    return Suite(KEM.X25519, KDF.HKDF_SHA256, AEAD.AES_256_GCM)
