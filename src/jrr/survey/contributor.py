"""A contributor's side of the conversation, without sockets, clock or files (jrr.survey.steps).

The true value is used once, to make the report, and is in nothing that is yielded.
"""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from jrr._base import checks
from jrr.errors import DamagedError, ProtocolError
from jrr.mechanisms.base import Mechanism, Rng
from jrr.survey import messages
from jrr.survey.addresses import campaign_path, split_link
from jrr.survey.answers import Receipt
from jrr.survey.campaign import Campaign, read_campaign
from jrr.survey.committee.cards import card_key
from jrr.survey.fetching import fetch_document
from jrr.survey.hand import (
    Hand,
    announced_mechanism,
    collector_status,
    dealer_names,
    device_at,
    fetch_hand,
    same_at_dealer,
)
from jrr.survey.identity import COLLECTOR_ROLE, pseudonym
from jrr.survey.limits import Limits, check_limits
from jrr.survey.states import CLOSED, NEW, NO_ANSWERS
from jrr.survey.steps import Call, Save, Steps, insist, refused, unreachable

Conversation = Steps[Receipt]
NO_REPEATS = (
    "an earlier report cannot be sent again: the card that was added to it belongs to a sum that "
    "is over"
)


def fetch(link: str, limits: Limits) -> Steps[Campaign]:
    """The campaign from the collector; whoever deals must serve the same bytes later on.

    Args:
        link: Which names the campaign.
        limits: What the contributor accepts, were this the first campaign.

    Returns:
        A campaign that promises no less than what holds and costs no more than the limits.

    Raises:
        ProtocolError: It is another one, understates its cost, or costs more than the limits.
        UnreachableError: The collector does not answer.
    """
    collector, _ = split_link(link)
    campaign = read_campaign((yield from fetch_document(link, "campaign", limits.patience)))
    if campaign.collector != collector:
        raise ProtocolError(f"the campaign names another collector, {campaign.collector}")
    campaign.check_everything()
    check_limits(campaign, limits)
    return campaign


def enrol(
    campaign: Campaign, secret: bytes, limits: Limits, device: bytes | None = None
) -> Steps[None]:
    """Take a place in the next deal."""
    if not campaign.enrols:
        raise ProtocolError("the campaign deals on arrival: there is nothing to enrol for")
    key = None
    if campaign.by_committee:
        key = card_key(device or secret, campaign.hash).public_key().public_bytes_raw()
        device = None  # its public key is enough
    for dealer in campaign.dealers:
        yield from same_at_dealer(campaign, dealer, limits.patience)
    for number, name in enumerate(dealer_names(campaign, secret)):
        body = messages.card_request(name, key, device_at(campaign, number, device))
        address = f"{campaign.dealers[number]}{campaign_path(campaign.hash)}/seats"
        reply = yield from insist(Call(address, body), limits.patience)
        if reply.status not in (200, 201):
            raise refused("the dealer", reply)


def check_ready(
    campaign: Campaign,
    covariates: Mapping[str, str] | None,
    patience: float,
) -> Steps[None]:
    """Refuse, before anybody is asked for an answer, what could not be sent with it."""
    messages.check_covariates(campaign, dict(covariates or {}))
    state = (yield from collector_status(campaign, patience)).get("state")
    if state == CLOSED or (state == NEW and not campaign.enrols):
        raise ProtocolError(NO_ANSWERS[state])
    if campaign.enrols:
        yield from announced_mechanism(campaign, patience)


def contribute(
    campaign: Campaign,
    secret: bytes,
    value: int,
    limits: Limits,
    *,
    covariates: Mapping[str, str] | None = None,
    rng: Rng = None,
    device: bytes | None = None,
    hand: Hand | None = None,
) -> Conversation:
    """Get a card if there is one, respond, save the report, send it until it is received.

    Args:
        campaign: What is asked.
        secret: Of the invitation.
        value: The true answer, 0..k-1; of a number its steps from the lower end.
        limits: What the contributor accepts.
        covariates: Public attributes, exactly those that the campaign declares.
        rng: Where randomness comes from; by default the system's secure one.
        device: A secret of this device, so that nobody else can fetch its cards
            (docs/protocol.md).
        hand: Cards that were fetched before.

    Returns:
        The collector's receipt.

    Raises:
        ArgumentError: The value or a covariate is none of this campaign.
        ProtocolError: A server refuses, or serves something else than it should.
        UnreachableError: The collector does not answer.
        IntegrityError: The parties of a committee did not keep to the rules.
    """
    checks.integer("value", value, 0, campaign.last_value)
    attributes = dict(covariates or {})
    messages.check_covariates(campaign, attributes)
    check_limits(campaign, limits)
    if not campaign.deals:
        hand = Hand(None, campaign.mechanism)
    elif hand is None or hand.card is None:
        hand = yield from fetch_hand(campaign, secret, limits.patience, device)
    mechanism, card = hand.mechanism, hand.card
    if campaign.enrols:
        announced = yield from announced_mechanism(campaign, limits.patience)
        if announced != mechanism:
            raise ProtocolError("dealer and collector name different numbers of people")
    body = messages.report_request(
        pseudonym=pseudonym(secret, campaign.hash, COLLECTOR_ROLE),
        carded=card is not None,
        mechanism=mechanism,
        report=mechanism.respond_one_step(value, card, rng),
        covariates=attributes,
        serials=hand.serials,
    )
    kept = yield Save(body, mechanism)
    if kept is not None:  # another run was faster: there is only one report of an answer
        body = kept.body
    receipt = yield from send(campaign, body, limits.patience)
    return replace(receipt, left_out=hand.left_out)


def repeat(
    campaign: Campaign,
    secret: bytes,
    report: Any,
    limits: Limits,
    *,
    mechanism: Mechanism,
    covariates: Mapping[str, str] | None = None,
) -> Conversation:
    """Send a report that was made before, for the same question, once more.

    It tells nothing that it has not told before, however often. It counts as one without a card,
    since the cards of this deck have no part in it.

    Args:
        campaign: Which asks again.
        secret: Of the invitation.
        report: In JSON, as it was sent before.
        limits: How long to wait; it costs nothing.
        mechanism: By which the report was made.
        covariates: Public attributes, exactly those that the campaign declares.

    Returns:
        The collector's receipt.

    Raises:
        ProtocolError: The campaign asks by other chances, so that the report would mislead it; or
            cards were added to reports, so that they are worth nothing in another sum.
    """
    attributes = dict(covariates or {})
    messages.check_covariates(campaign, attributes)
    if campaign.mechanism.masked and campaign.deals:
        raise ProtocolError(NO_REPEATS)
    expected = campaign.mechanism
    if campaign.enrols:
        expected = yield from announced_mechanism(campaign, limits.patience)
    if expected != mechanism:
        raise ProtocolError(
            "the campaign asks by other chances than the earlier report was made by"
        )
    body = messages.report_request(
        pseudonym=pseudonym(secret, campaign.hash, COLLECTOR_ROLE),
        carded=False,
        mechanism=mechanism,
        report=mechanism.report_from_bytes(mechanism.report_bytes(report)),
        covariates=attributes,
    )
    kept = yield Save(body, mechanism)
    if kept is not None:
        body = kept.body
    return (yield from send(campaign, body, limits.patience))


def send(campaign: Campaign, body: bytes, patience: float) -> Conversation:
    """Send a saved report until the collector says that it has committed it."""
    try:
        document = json.loads(body)
        carded = bool(document["carded"])
    except (ValueError, KeyError, TypeError):
        raise DamagedError("a saved report must be one that jrr wrote; it was not sent") from None
    address = f"{campaign.collector}{campaign_path(campaign.hash)}/reports"
    reply = yield from insist(Call(address, body), patience, silence_is_fine=True, also=(425,))
    if reply.gave_up:
        raise unreachable(address, reply, patience)
    if reply.status not in (200, 201):
        raise refused("the collector", reply)
    return Receipt(campaign.hash, carded, reply.status == 200)
