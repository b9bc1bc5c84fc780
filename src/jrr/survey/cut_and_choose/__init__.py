"""Decks that a dealer commits to beforehand, so that a lying dealer is caught (docs/security.md).

The dealer commits to L decks, a public coin picks the one that is dealt, and the others are opened
and drawn again by anybody. Who cheats in one deck passes with chance 1/L.
"""

from jrr.survey.cut_and_choose.audit import DeckAudit, audit_decks
from jrr.survey.cut_and_choose.card_proofs import check_card, new_mark
from jrr.survey.cut_and_choose.dealer import CommittedDealer
from jrr.survey.cut_and_choose.proofs import CardProof
from jrr.survey.cut_and_choose.published import Notes, Published

__all__ = [
    "CardProof",
    "CommittedDealer",
    "DeckAudit",
    "Notes",
    "Published",
    "audit_decks",
    "check_card",
    "new_mark",
]
