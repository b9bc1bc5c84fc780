"""Complaints of a card, slot by slot: what shows whose fault it is, and what shows that it is not.

A party's share in a slot was committed to (the Merkle root of what it sealed) and checked (its
excess, tag share less α times card share, which all parties know). Whoever holds the slot opens
that share to everybody, by the key that it was sealed to. If it does not open, or has another
excess, its party is convicted; else the complaint is false. The share of one party tells nothing
of the card, and the key is of this survey only. Either way nobody else loses a card.
"""

import base64
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from jrr._base import checks
from jrr.dealing.committee.cards import (
    Envelope,
    Place,
    Record,
    excess_of,
    open_share,
    read_excess,
)
from jrr.dealing.committee.merkle import belongs
from jrr.errors import DamagedError, JrrError
from jrr.protocol.documents import Message, bytes_from_hex, canonical_json, read_body
from jrr.protocol.identity import hashed

KEY, LONGEST_PATH, MOST_SEALED = 32, 64, 1024  # bytes, entries, bytes
MOST_PARTIES = 255


class Finding(StrEnum):
    """What a complaint comes to."""

    PROVEN = "proven"  # the accused party is convicted by its own share
    FALSE = "false"  # the share is what it should be: whoever complained is named
    UNPROVEN = "unproven"  # nothing was shown: the slot is lost, and nobody is convicted


@dataclass(frozen=True, kw_only=True)
class ShareEvidence:
    """One party's share of one's own slot, and the key that opens it."""

    party: int
    sealed: bytes
    path: tuple[bytes, ...]
    key: bytes  # secret until now

    @classmethod
    def against(cls, party: int, envelope: Envelope, key: X25519PrivateKey) -> "ShareEvidence":
        """Of what a party served."""
        return cls(
            party=party,
            sealed=envelope.sealed,
            path=envelope.path,
            key=key.private_bytes_raw(),
        )

    def to_document(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "party": self.party,
            "sealed": base64.b64encode(self.sealed).decode(),
            "path": [entry.hex() for entry in self.path],
            "key": self.key.hex(),
        }

    @classmethod
    def from_document(cls, document: Any) -> "ShareEvidence":
        """From JSON, or a DamagedError."""
        names = {"party", "sealed", "path", "key"}
        try:
            if set(document) != names or len(document["path"]) > LONGEST_PATH:
                raise ValueError
            found = cls(
                party=checks.integer("party", document["party"], 0),
                sealed=base64.b64decode(document["sealed"], validate=True),
                path=tuple(bytes.fromhex(entry) for entry in document["path"]),
                key=bytes.fromhex(document["key"]),
            )
            if len(found.key) != KEY or len(found.sealed) > MOST_SEALED:
                raise ValueError
        except (JrrError, ValueError, TypeError, KeyError):
            raise DamagedError(f"evidence must be an object of {sorted(names)}") from None
        return found


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What a party finds of a complaint."""

    finding: Finding
    accused: int | None
    reason: str


def judge(
    evidence: ShareEvidence, *, record: Record, slot: int, holder: bytes, excess: bytes
) -> Verdict:
    """Whether a share that somebody opened convicts its party.

    Args:
        evidence: The share, and the key that opens it.
        record: Of the deal, as this party has it.
        slot: Whose holder complains.
        holder: The public key that the slot was dealt to.
        excess: What the shares of this slot were checked with.

    Returns:
        Proven or false.

    Raises:
        DamagedError: The share is not the one that was committed to, or the key another one.
    """
    party = evidence.party
    if party >= len(record.roots):
        raise DamagedError("evidence must be of a party of this survey")
    key = X25519PrivateKey.from_private_bytes(evidence.key)
    if key.public_key().public_bytes_raw() != holder:
        raise DamagedError("evidence must show the key that its holder enrolled with")
    root = bytes.fromhex(record.roots[party])
    if not belongs(evidence.sealed, slot, record.n, evidence.path, root):
        raise DamagedError("evidence must show the share that the party had committed to")
    share = open_share(key, Place(record.survey, party, slot), evidence.sealed)
    if share is None:
        reason = f"party {party} sealed no share to the holder of slot {slot}"
        return Verdict(finding=Finding.PROVEN, accused=party, reason=reason)
    if excess_of(share, record.alpha) != read_excess(excess)[party]:
        reason = f"party {party} sealed another share in slot {slot} than was checked"
        return Verdict(finding=Finding.PROVEN, accused=party, reason=reason)
    reason = f"the share of party {party} in slot {slot} is as it was checked"
    return Verdict(finding=Finding.FALSE, accused=party, reason=reason)


# As they travel ---------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Complaint:
    """That somebody's card is not acceptable, as a party reads it."""

    name: bytes  # hash of the pseudonym of whoever complains
    accused: int | None  # the party whose fault it is said to be
    evidence: ShareEvidence | None  # what shows it


def complaint_request(
    pseudonym: bytes, accused: int | None = None, evidence: ShareEvidence | None = None
) -> bytes:
    """Complain of one's own card."""
    return canonical_json(
        {
            "pseudonym": pseudonym.hex(),
            "accused": accused,
            "evidence": None if evidence is None else evidence.to_document(),
        }
    )


class _ComplaintRequest(Message):
    pseudonym: str
    accused: int | None = None
    evidence: dict[str, Any] | None = None


def read_complaint(body: bytes) -> Complaint:
    """What a request complains of; without evidence it only gives up the card.

    Raises:
        DamagedError: It is no such request.
        ArgumentError: The accused is no party.
    """
    asked = read_body(body, _ComplaintRequest)
    pseudonym = bytes_from_hex(asked.pseudonym)
    if pseudonym is None:
        raise DamagedError("pseudonym must be 64 hexadecimal digits")
    if asked.accused is not None:
        checks.integer("accused", asked.accused, 0, MOST_PARTIES)
    evidence = asked.evidence
    return Complaint(
        name=hashed(pseudonym),
        accused=asked.accused,
        evidence=None if evidence is None else ShareEvidence.from_document(evidence),
    )
