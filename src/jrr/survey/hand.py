"""How a contributor comes by cards: from a dealer, from a committee, or not at all."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from jrr.errors import IntegrityError, ProtocolError
from jrr.mechanisms import Mechanism
from jrr.survey import messages
from jrr.survey.addresses import campaign_path
from jrr.survey.campaign import Campaign
from jrr.survey.committee import cards as committee_cards
from jrr.survey.committee.cards import BadShareError
from jrr.survey.committee.complaints import ShareEvidence
from jrr.survey.committee.dealing import Abort
from jrr.survey.complaining import complaint_request
from jrr.survey.deck import card_from_json
from jrr.survey.fetching import is_same_at
from jrr.survey.identity import device_name, pseudonym
from jrr.survey.problems import LEFT_OUT, UNKNOWN_NAME, read_problem
from jrr.survey.serials import serial_from_hex
from jrr.survey.states import CLOSED, NO_ANSWERS
from jrr.survey.steps import Call, Steps, insist, printable, read_reply, refused


@dataclass(frozen=True)
class Hand:
    """The card of one contributor, and the mechanism that it was dealt for."""

    card: Any  # of several dealers a tuple; None: there is none, answer without
    mechanism: Mechanism
    serials: tuple[str | None, ...] | None = None  # from each dealer, where sums are announced
    left_out: tuple[str, ...] = ()  # what parties say of why one who enrolled was dealt nothing


def fetch_hand(
    campaign: Campaign, secret: bytes, patience: float, device: bytes | None = None
) -> Steps[Hand]:
    """One's card; none where it is not to be had in time.

    Args:
        campaign: Which deals cards.
        secret: Of the invitation.
        patience: Seconds to wait for each who deals.
        device: A secret of this device, so that nobody else can fetch its cards.

    Returns:
        The cards, or none of them, and the mechanism to answer by.

    Raises:
        ProtocolError: Who deals serves another campaign, or refuses.
        IntegrityError: A card is not what the parties of a committee committed to.
    """
    if not campaign.dealers:  # cards dealt among contributors are on nobody's server
        return Hand(None, campaign.mechanism)
    if campaign.by_committee:
        return (yield from _hand_of_committee(campaign, secret, patience, device))
    dealt: list[GivenCard | None] = []
    same = []
    for dealer in campaign.dealers:
        # A dealer that serves another campaign ends it here; a silent one only costs the card.
        same.append((yield from same_at_dealer(campaign, dealer, patience, silence_is_fine=True)))
    for at, name in enumerate(dealer_names(campaign, secret)):
        body = messages.card_request(name, device=device_at(campaign, at, device))
        reply = (yield from _ask_for_cards(campaign, at, body, patience)) if same[at] else None
        if reply is None and not campaign.may_leave_out:
            return Hand(None, (yield from _cardless(campaign, patience)))
        dealt.append(None if reply is None else read_dealt(campaign, reply))
    if not any(dealt):
        return Hand(None, (yield from _cardless(campaign, patience)))
    return added_hand(campaign, dealt)


def added_hand(campaign: Campaign, dealt: Sequence["GivenCard | None"]) -> Hand:
    """The cards of all dealers together, of whom at least one gave some; None: was left out."""
    held = [one for one in dealt if one is not None]
    mechanism = held[0].mechanism
    if not campaign.announces:
        return Hand(held[0].card, mechanism)
    card = held[0].card
    if campaign.by_several:  # what every dealer gave
        card = tuple(one.card for one in held)
    return Hand(card, mechanism, tuple(None if one is None else one.serial for one in dealt))


@dataclass(frozen=True)
class GivenCard:
    """What one dealer gave."""

    mechanism: Mechanism
    card: Any
    serial: str | None = None  # where card sums are announced


def _ask_for_cards(
    campaign: Campaign,
    number: int,
    body: bytes,
    patience: float,
    left_out: dict[int, str] | None = None,
) -> Steps[dict[str, Any] | None]:
    """What a dealer replies; None where no card is to be had of it.

    left_out: Where to write what the dealer says, if it dealt to others only.
    """
    call = Call(f"{campaign.dealers[number]}{campaign_path(campaign.hash)}/cards", body)
    reply = yield from insist(call, patience, silence_is_fine=True, also=(425,))
    # Who did not enrol in time has no card and may answer; where nobody enrols, somebody whom the
    # dealer does not know must not send anything to the collector either.
    kind, detail = read_problem(reply.body)
    is_stranger = kind == UNKNOWN_NAME and not campaign.enrols
    if reply.gave_up or (reply.status in (404, 410, 425) and not is_stranger):
        # Nothing came, this name has no seat, the cards are burned or not dealt yet.
        if left_out is not None and kind == LEFT_OUT:
            left_out[number] = printable(detail)
        return None
    if reply.status != 200:
        raise refused("the dealer", reply)
    return read_reply(reply.body, "the dealer")


def read_dealt(campaign: Campaign, document: dict[str, Any]) -> GivenCard:
    """What one dealer replied to a request for cards."""
    mechanism = _mechanism_for(campaign, document.get("n"), "the dealer")
    card = card_from_json(mechanism, document.get("card"))
    if not campaign.announces:
        return GivenCard(mechanism, card)
    return GivenCard(mechanism, card, serial_from_hex(document.get("serial")).hex())


def _hand_of_committee(
    campaign: Campaign, secret: bytes, patience: float, device: bytes | None
) -> Steps[Hand]:
    """One's card from the shares of all parties."""
    for party in campaign.dealers:
        if not (yield from same_at_dealer(campaign, party, patience, silence_is_fine=True)):
            return Hand(None, (yield from _cardless(campaign, patience)))
    # Shares are sealed to the device: the parties need not be shown it.
    bodies = [messages.card_request(name) for name in dealer_names(campaign, secret)]
    replies: list[dict[str, Any]] = []
    said: dict[int, str] = {}
    for number, body in enumerate(bodies):
        reply = yield from _ask_for_cards(campaign, number, body, patience, said)
        if reply is not None:
            replies.append(reply)
        elif number not in said:  # else hear what the other parties say of it
            return Hand(None, (yield from _cardless(campaign, patience)))
    if said:
        left_out = tuple(f"party {number}: {text}" for number, text in said.items())
        return Hand(None, (yield from _cardless(campaign, patience)), left_out=left_out)
    mechanism = _mechanism_for(campaign, replies[0].get("n"), "the dealer")
    key = committee_cards.card_key(device or secret, campaign.hash)
    try:
        shares = _shares(campaign, replies, n=mechanism.moments.deck)
        return Hand(committee_cards.open_card(mechanism, key, *shares), mechanism)
    except Abort as abort:
        accused, evidence = None, None
        if isinstance(abort, BadShareError):
            accused = abort.party
            if abort.provable:
                evidence = ShareEvidence.against(accused, shares[1][accused], key)
        yield from _complain(campaign, secret, accused, evidence, patience)
        raise IntegrityError(f"the committee's card is not acceptable: {abort}") from None


def announced_mechanism(campaign: Campaign, patience: float) -> Steps[Mechanism]:
    """The mechanism for as many people as the collector says were dealt cards."""
    document = yield from collector_status(campaign, patience)
    if document.get("n") is None:
        if document.get("state") == CLOSED:
            raise ProtocolError(NO_ANSWERS[CLOSED])
        raise ProtocolError(
            "the collector takes no answers yet and has not said how many people are dealt cards: "
            "enrol first (--enrol), if you have not, and come again when the cards are dealt"
        )
    return _mechanism_for(campaign, document["n"], "the collector")


def collector_status(campaign: Campaign, patience: float) -> Steps[dict[str, Any]]:
    """What the collector tells everybody of the campaign."""
    address = f"{campaign.collector}{campaign_path(campaign.hash)}/status"
    reply = yield from insist(Call(address), patience)
    if reply.status != 200:
        raise refused("the collector", reply)
    return read_reply(reply.body, "the collector")


def same_at_dealer(
    campaign: Campaign, dealer: str, patience: float, *, silence_is_fine: bool = False
) -> Steps[bool]:
    """Whether the dealer serves the very same campaign; False where it serves nothing."""
    address = f"{dealer}{campaign_path(campaign.hash)}"
    document = campaign.to_bytes()
    return (
        yield from is_same_at(
            address, document, "campaigns", patience, silence_is_fine=silence_is_fine
        )
    )


def dealer_names(campaign: Campaign, secret: bytes) -> list[bytes]:
    """One's pseudonym at each who deals."""
    return [pseudonym(secret, campaign.hash, role) for role in campaign.dealer.roles]


def device_at(campaign: Campaign, number: int, device: bytes | None) -> bytes | None:
    """What one who deals is shown of the device's secret; None where there is none."""
    if device is None:
        return None
    return device_name(device, campaign.hash, campaign.dealer.roles[number])


def _shares(
    campaign: Campaign, replies: Sequence[dict[str, Any]], *, n: int | None
) -> tuple[committee_cards.Record, list[committee_cards.Envelope]]:
    """What all parties gave; they must tell the same story of the deal."""
    records, envelopes = [], []
    for party, document in enumerate(replies):
        try:
            records.append(committee_cards.Record.from_document(document["record"]))
            envelopes.append(committee_cards.Envelope.from_document(document["envelope"]))
        except (KeyError, Abort):
            raise BadShareError(
                party,
                f"party {party} must give one record and one envelope",
                provable=False,
            ) from None
    told = Counter(records)
    record, agree = told.most_common(1)[0]
    if len(told) > 1:
        if 2 * agree <= len(records):
            raise Abort("the parties tell different stories of the deal")
        party = next(at for at, other in enumerate(records) if other != record)
        reason = f"party {party} tells another story of the deal than most"
        raise BadShareError(party, reason, provable=False)
    facts = (record.campaign, record.n, len(record.roots))
    if facts != (campaign.hash, n, len(replies)):
        raise Abort("the record is of another deal")
    return record, envelopes


def _complain(
    campaign: Campaign,
    secret: bytes,
    accused: int | None,
    evidence: ShareEvidence | None,
    patience: float,
) -> Steps[None]:
    """Tell every party that one's card is wrong, and what shows it; others keep their cards."""
    names = dealer_names(campaign, secret)
    for party, name in zip(campaign.dealers, names, strict=True):
        address = f"{party}{campaign_path(campaign.hash)}/complaints"
        call = Call(address, complaint_request(name, accused, evidence))
        yield from insist(call, min(patience, 2.0), silence_is_fine=True)


def _cardless(campaign: Campaign, patience: float) -> Steps[Mechanism]:
    """The mechanism whose chances somebody without a card must use."""
    if not campaign.enrols:
        return campaign.mechanism
    return (yield from announced_mechanism(campaign, patience))


def _mechanism_for(campaign: Campaign, n: object, who: str) -> Mechanism:
    if not campaign.enrols:
        return campaign.mechanism
    if type(n) is not int:
        raise ProtocolError(f"{who} has not said how many people are dealt cards")
    return campaign.for_people(n)
