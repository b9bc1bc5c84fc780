"""Complaints of a committee's card, as they travel."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from jrr._base import checks
from jrr.dealing.committee.complaints import ShareEvidence
from jrr.protocol.documents import canonical_json

MOST_PARTIES = 255


@dataclass(frozen=True, kw_only=True)
class Complaint:
    """That somebody's card is not acceptable, as a party reads it."""

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


def read_complaint(fields: Mapping[str, Any]) -> Complaint:
    """What a request complains of, or a refusal; without evidence it only gives up the card."""
    accused, evidence = fields.get("accused"), fields.get("evidence")
    return Complaint(
        accused=None if accused is None else checks.integer("accused", accused, 0, MOST_PARTIES),
        evidence=None if evidence is None else ShareEvidence.from_document(evidence),
    )
