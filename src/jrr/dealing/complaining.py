"""Complaints of a committee's card, as they travel."""

from dataclasses import dataclass
from typing import Any

from jrr._base import checks
from jrr.dealing.committee.complaints import ShareEvidence
from jrr.errors import DamagedError
from jrr.protocol.documents import Message, bytes_from_hex, canonical_json, read_body
from jrr.protocol.identity import hashed

MOST_PARTIES = 255


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
