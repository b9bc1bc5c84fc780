"""Complaints of a card, slot by slot: what shows whose fault it is, and what shows that it is not.

A party's share in a slot was committed to (the Merkle root of what it sealed) and checked (its
excess, tag share less α times card share, which all parties know). Whoever holds the slot opens
that share to everybody, by the key that it was sealed to. If it does not open, or has another
excess, its party is convicted; else the complaint is false. The share of one party tells nothing
of the card, and the key is of this survey only. Either way nobody else loses a card.
"""

from dataclasses import dataclass
from enum import StrEnum

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from jrr.dealing.committee.cards import Place, Record, excess_of, open_share, read_excess
from jrr.dealing.committee.merkle import belongs
from jrr.dealing.messages import ShareEvidence
from jrr.errors import DamagedError


class Finding(StrEnum):
    """What a complaint comes to."""

    PROVEN = "proven"  # the accused party is convicted by its own share
    FALSE = "false"  # the share is what it should be: whoever complained is named
    UNPROVEN = "unproven"  # nothing was shown: the slot is lost, and nobody is convicted


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
    key = X25519PrivateKey.from_private_bytes(bytes.fromhex(evidence.key))
    if key.public_key().public_bytes_raw() != holder:
        raise DamagedError("evidence must show the key that its holder enrolled with")
    path, root = map(bytes.fromhex, evidence.path), bytes.fromhex(record.roots[party])
    if not belongs(evidence.sealed, slot, record.n, list(path), root):
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
