"""An auditor's side: cards are fetched as any contributor would, and held against the deck."""

import secrets as system
import time
from collections.abc import Sequence
from typing import Any, TypeVar

from jrr.client.http import Http
from jrr.errors import ArgumentError, ProtocolError
from jrr.survey.campaign import Campaign
from jrr.survey.card_audit import CardFinding, audit_cards, not_auditable
from jrr.survey.hand import fetch_hand
from jrr.protocol.steps import Call, Steps, Wait

T = TypeVar("T")
PATIENCE = 30.0  # seconds to wait for the dealer, for each card


def audit_dealer(campaign: Campaign, secrets: Sequence[bytes]) -> CardFinding:
    """Take a card for each invitation, and hold their faces against what an honest deck gives.

    The invitations must be ones that nobody answers by, and that the dealer cannot tell from
    others.

    Args:
        campaign: Whose dealer is audited.
        secrets: Of the invitations.

    Raises:
        ArgumentError: The campaign's cards cannot be audited.
        ProtocolError: The dealer gave no card to one of them.
    """
    reason = not_auditable(campaign, campaign.mechanism)
    if reason is not None:
        raise ArgumentError(f"campaign must have cards that can be audited: {reason}")
    http, cards, mechanism = Http(), [], campaign.mechanism
    for secret in secrets:
        hand = _followed(http, fetch_hand(campaign, secret, PATIENCE, system.token_bytes(32)))
        if hand.cards is None:
            raise ProtocolError("the dealer gave no card to an invitation of the audit")
        mechanism = hand.mechanism
        cards.append(hand.cards[0])
    decks = 1 if campaign.enrols else mechanism.fewest_decks(campaign.capacity)
    return audit_cards(mechanism, cards, decks)


def _followed(http: Http, steps: Steps[T]) -> T:
    """Run a conversation to its end."""
    reply: Any = None
    try:
        while True:
            step = steps.send(reply)
            reply = None
            if isinstance(step, Call):
                reply = http.call(step)
            elif isinstance(step, Wait):
                time.sleep(step.seconds)
    except StopIteration as finished:
        result: T = finished.value
        return result
