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
    """The cards of one contributor for all rounds, and the mechanism they were dealt for."""

    # One for each round, or one from each of several dealers. None: there are none, answer without.
    cards: tuple[Any, ...] | None
    mechanism: Mechanism
    # Of the cards in each round, one from each dealer, where card sums are announced.
    serials: tuple[tuple[str | None, ...], ...] | None = None
    left_out: tuple[str, ...] = ()  # what parties say of why one who enrolled was dealt nothing


def fetch_hand(
    campaign: Campaign, secret: bytes, patience: float, device: bytes | None = None
) -> Steps[Hand]:
    """One's cards of all rounds; none where they are not to be had in time.

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
    dealt: list[GivenCards | None] = []
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


def added_hand(campaign: Campaign, dealt: Sequence["GivenCards | None"]) -> Hand:
    """The cards of all dealers together, of whom at least one gave some; None: was left out."""
    held = [one for one in dealt if one is not None]
    mechanism = held[0].mechanism
    if not campaign.announces:
        return Hand(held[0].cards, mechanism)
    cards = held[0].cards
    if campaign.by_several:  # of each round, what every dealer gave
        cards = tuple(zip(*(one.cards for one in held), strict=True))
    return Hand(
        cards,
        mechanism,
        tuple(
            tuple(None if one is None else one.serials[number] for one in dealt)
            for number in range(campaign.rounds)
        ),
    )


@dataclass(frozen=True)
class GivenCards:
    """What one dealer gave, for all rounds."""

    mechanism: Mechanism
    cards: tuple[Any, ...]
    serials: tuple[str, ...]  # none where card sums are not announced


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


def read_dealt(campaign: Campaign, document: dict[str, Any]) -> GivenCards:
    """What one dealer replied to a request for cards."""
    mechanism = _mechanism_for(campaign, document.get("n"), "the dealer")
    found = _dealt_cards(campaign, mechanism, document.get("cards"))
    if not campaign.announces:
        return GivenCards(mechanism, found, ())
    serials = document.get("serials")
    if not isinstance(serials, list) or len(serials) != campaign.rounds:
        raise ProtocolError(f"the dealer must give {campaign.rounds} serials with its cards")
    return GivenCards(mechanism, found, tuple(serial_from_hex(serial).hex() for serial in serials))


def _hand_of_committee(
    campaign: Campaign, secret: bytes, patience: float, device: bytes | None
) -> Steps[Hand]:
    """One's cards from the shares of all parties."""
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
    held = []
    for number in range(campaign.rounds):
        try:
            shares = _shares_of_round(campaign, replies, number, n=mechanism.moments.deck)
            held.append(committee_cards.open_card(mechanism, key, *shares))
        except Abort as abort:
            accused, evidence = None, None
            if isinstance(abort, BadShareError):
                accused = abort.party
                if abort.provable:
                    evidence = ShareEvidence.against(accused, number, shares[1][accused], key)
            yield from _complain(campaign, secret, accused, evidence, patience)
            raise IntegrityError(f"the committee's card is not acceptable: {abort}") from None
    return Hand(tuple(held), mechanism)


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


def _dealt_cards(campaign: Campaign, mechanism: Mechanism, documents: object) -> tuple[Any, ...]:
    """A dealer's cards, one per round."""
    if not isinstance(documents, list) or len(documents) != campaign.rounds:
        raise ProtocolError(f"the dealer must give {campaign.rounds} cards")
    return tuple(card_from_json(mechanism, card) for card in documents)


def _shares_of_round(
    campaign: Campaign, replies: Sequence[dict[str, Any]], round_number: int, *, n: int | None
) -> tuple[committee_cards.Record, list[committee_cards.Envelope]]:
    """What all parties gave for a round; they must tell the same story of it."""
    records, envelopes = [], []
    for party, document in enumerate(replies):
        try:
            share = document["rounds"][round_number]
            records.append(committee_cards.Record.from_document(share["record"]))
            envelopes.append(committee_cards.Envelope.from_document(share["envelope"]))
        except (KeyError, IndexError, TypeError, Abort):
            raise BadShareError(
                party,
                f"party {party} must give one record and one envelope per round",
                provable=False,
            ) from None
    told = Counter(records)
    record, agree = told.most_common(1)[0]
    if len(told) > 1:
        if 2 * agree <= len(records):
            raise Abort("the parties tell different stories of the round")
        party = next(at for at, other in enumerate(records) if other != record)
        reason = f"party {party} tells another story of the round than most"
        raise BadShareError(party, reason, provable=False)
    facts = (record.campaign, record.round, record.n, len(record.roots))
    if facts != (campaign.hash, round_number, n, len(replies)):
        raise Abort("the record is of another round")
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
