"""A contributor's side of the conversation, without sockets, clock or files.

`contribute` is a generator: it yields what should be done next (a Call, a Wait, a Save) and is
sent the outcome. The same lines so drive one person's client and ten thousand at once.
The true value is used once, to make the report, and is in nothing that is yielded.
"""

import json
from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from jrr._base import checks
from jrr.errors import JrrError, ProtocolError, UnreachableError
from jrr.mechanisms import Mechanism
from jrr.mechanisms.base import Rng
from jrr.survey import messages
from jrr.survey.campaign import ENROL, Campaign, check_address, hash_of, read_campaign
from jrr.survey.committee import cards
from jrr.survey.committee.dealing import Abort
from jrr.survey.deck import card_from_json
from jrr.survey.identity import collector_role, dealer_roles, pseudonym
from jrr.survey.states import CLOSED, NEW

_NO_ANSWERS = {
    NEW: "the campaign is not open yet: come again later",
    CLOSED: "the campaign is closed: no more answers are taken",
}
FIRST_WAIT, LONGEST_WAIT = 0.2, 5.0  # seconds between two tries


@dataclass(frozen=True)
class Call:
    """A request to make."""

    address: str
    body: bytes | None = None  # None: GET


@dataclass(frozen=True)
class Reply:
    """What came back; status 0 where nothing did."""

    status: int
    body: bytes = b""

    @property
    def gave_up(self) -> bool:
        """Whether trying again later may help: nothing came, or the server had trouble."""
        return self.status == 0 or self.status == 429 or self.status >= 500


@dataclass(frozen=True)
class Wait:
    """Time to let pass."""

    seconds: float


@dataclass(frozen=True)
class Save:
    """A perturbed report to keep before it is sent: only this one may ever be sent.

    Where one is kept already, the driver replies with that one.
    """

    body: bytes


@dataclass(frozen=True)
class Receipt:
    """The collector has committed the report."""

    campaign: str
    round: int
    carded: bool
    before: bool = field(default=False, compare=False)  # it had the report already


@dataclass(frozen=True)
class Hand:
    """The cards of one contributor for all rounds, and the mechanism they were dealt for."""

    cards: tuple[Any, ...] | None  # None: there are none, answer without
    mechanism: Mechanism


Step = Call | Wait | Save
Conversation = Generator[Step, Reply | None, Receipt]


@dataclass(frozen=True)
class Limits:
    """What a contributor accepts, whatever the campaign says."""

    cards: float  # most ε against the collector and colluders, per round
    dealer: float | None = None  # most ε against dealer and collector together
    patience: float = 30.0  # seconds to wait for a card, and for the collector


def fetch(link: str, limits: Limits) -> Generator[Step, Reply | None, Campaign]:
    """The campaign from the collector; whoever deals must serve the same bytes later on."""
    collector, name = split_link(link)
    data = (yield from _get(collector, campaign_path(name), limits.patience)).body
    if hash_of(data) != name:
        raise ProtocolError("the collector serves another campaign than the link names")
    campaign = read_campaign(data)
    if campaign.collector != collector:
        raise ProtocolError(f"the campaign names another collector, {campaign.collector}")
    check_limits(campaign, limits)
    return campaign


def check_limits(campaign: Campaign, limits: Limits) -> None:
    """Refuse a campaign whose guarantee is weaker than the contributor's own limits."""
    loss = campaign.cost
    if loss > limits.cards:
        raise ProtocolError(
            f"the campaign costs ε = {loss:.6g} against {campaign.against}, more than your limit "
            f"{limits.cards:.6g}"
        )
    most = campaign.guarantee("dealer")
    if limits.dealer is not None and most > limits.dealer:
        raise ProtocolError(
            f"the campaign costs ε = {most:.6g} against dealer and collector together (view: "
            f"dealer), more than your limit {limits.dealer:.6g}"
        )


def enrol(
    campaign: Campaign, secret: bytes, limits: Limits, device: bytes | None = None
) -> Generator[Step, Reply | None, None]:
    """Take a place in the next deal."""
    if campaign.dealing != ENROL or not campaign.deals:
        raise JrrError("the campaign deals on arrival: there is nothing to enrol for")
    key = None
    if campaign.dealer["kind"] == "committee":
        key = cards.card_key(device or secret, campaign.hash).public_key().public_bytes_raw()
        device = None  # its public key is enough
    for dealer in campaign.dealers:
        yield from _same_at_dealer(campaign, dealer, limits.patience)
    for dealer, name in zip(campaign.dealers, _names(campaign, secret), strict=True):
        body = messages.card_request(name, key, device)
        address = f"{dealer}{campaign_path(campaign.hash)}/seats"
        reply = yield from _insist(Call(address, body), limits.patience)
        if reply.status not in (200, 201):
            raise _refused("the dealer", reply)


def check_ready(
    campaign: Campaign,
    covariates: Mapping[str, str] | None,
    round_number: int,
    patience: float,
) -> Generator[Step, Reply | None, None]:
    """Refuse, before anybody is asked for an answer, what could not be sent with it."""
    campaign.check_round(round_number)
    messages.check_covariates(campaign, dict(covariates or {}))
    enrolled = campaign.deals and campaign.dealing == ENROL
    state = (yield from _status(campaign, patience)).get("state")
    if state == CLOSED or (state == NEW and not enrolled):
        raise ProtocolError(_NO_ANSWERS[state])
    if enrolled:
        yield from _announced(campaign, patience)


def contribute(
    campaign: Campaign,
    secret: bytes,
    value: int,
    limits: Limits,
    covariates: Mapping[str, str] | None = None,
    round_number: int = 0,
    rng: Rng = None,
    device: bytes | None = None,
    hand: Hand | None = None,
) -> Conversation:
    """Get a card if there is one, respond, save the report, send it until it is received.

    device: a secret of this device, so that nobody else can fetch its cards (docs/protocol.md).
    hand: cards that were fetched before.
    """
    checks.integer("value", value, 0, campaign.mechanism.k - 1)
    campaign.check_round(round_number)
    attributes = dict(covariates or {})
    messages.check_covariates(campaign, attributes)
    check_limits(campaign, limits)
    if not campaign.deals:
        hand = Hand(None, campaign.mechanism)
    elif hand is None or hand.cards is None:
        hand = yield from fetch_hand(campaign, secret, limits.patience, device)
    mechanism, card = hand.mechanism, None if hand.cards is None else hand.cards[round_number]
    if campaign.deals and campaign.dealing == ENROL:
        announced = yield from _announced(campaign, limits.patience)
        if announced != mechanism:
            raise ProtocolError("dealer and collector name different numbers of people")
    report = mechanism.respond_one(value, card, rng)
    body = messages.report_request(
        pseudonym(secret, campaign.hash, collector_role(round_number)),
        round_number,
        card is not None,
        mechanism,
        report,
        attributes,
    )
    kept = yield Save(body)
    if kept is not None:  # another run was faster: there is only one report of an answer
        body = kept.body
    return (yield from send(campaign, body, limits.patience))


def send(campaign: Campaign, body: bytes, patience: float) -> Conversation:
    """Send a saved report until the collector says that it has committed it."""
    document = json.loads(body)
    address = f"{campaign.collector}{campaign_path(campaign.hash)}/reports"
    reply = yield from _insist(Call(address, body), patience, silence_is_fine=True, also=(425,))
    if reply.gave_up:
        raise _unreachable(address, reply, patience)
    if reply.status not in (200, 201):
        raise _refused("the collector", reply)
    return Receipt(campaign.hash, document["round"], document["carded"], reply.status == 200)


def split_link(link: object) -> tuple[str, str]:
    """Collector and campaign of a link as https://survey.example/v1/campaigns/0123…."""
    allowed = "a link as https://survey.example/v1/campaigns/ and 64 hexadecimal digits"
    if not isinstance(link, str) or len(link) > 2_000:
        raise checks.refusal("link", link, allowed)
    collector, found, name = link.strip().partition("/v1/campaigns/")
    if not found or len(name) != 64 or not set(name) <= set("0123456789abcdef"):
        raise checks.refusal("link", link, allowed)
    return check_address("link", collector), name


def campaign_path(name: str) -> str:
    """Where servers keep a campaign."""
    return f"/v1/campaigns/{name}"


def fetch_hand(
    campaign: Campaign, secret: bytes, patience: float, device: bytes | None = None
) -> Generator[Step, Reply | None, Hand]:
    """One's cards of all rounds; none where they are not to be had in time."""
    found = []
    for dealer in campaign.dealers:
        # A dealer that serves another campaign ends it here; a silent one only costs the card.
        if not (yield from _same_at_dealer(campaign, dealer, patience, silence_is_fine=True)):
            return Hand(None, (yield from _cardless(campaign, patience)))
    committee = campaign.dealer["kind"] == "committee"
    # A committee's shares are sealed to the device; a dealer must know the device.
    shown = None if committee else device
    bodies = [messages.card_request(name, device=shown) for name in _names(campaign, secret)]
    for dealer, body in zip(campaign.dealers, bodies, strict=True):
        call = Call(f"{dealer}{campaign_path(campaign.hash)}/cards", body)
        reply = yield from _insist(call, patience, silence_is_fine=True, also=(425,))
        if reply.gave_up or reply.status in (404, 410, 425):
            # Nothing came, this name has no seat, the cards are burned or not dealt yet.
            return Hand(None, (yield from _cardless(campaign, patience)))
        if reply.status != 200:
            raise _refused("the dealer", reply)
        found.append(_object(reply.body, "the dealer"))
    mechanism = _mechanism(campaign, found[0].get("n"), "the dealer")
    if committee:
        key = cards.card_key(device or secret, campaign.hash)
        try:
            held = [
                _combined(campaign, key, number, mechanism, found)
                for number in range(campaign.rounds)
            ]
        except Abort as abort:
            yield from _complain(campaign, bodies, patience)
            raise ProtocolError(f"the committee's card is not acceptable: {abort}") from None
        return Hand(tuple(held), mechanism)
    given = found[0].get("cards")
    if not isinstance(given, list) or len(given) != campaign.rounds:
        raise ProtocolError(f"the dealer must give {campaign.rounds} cards")
    return Hand(tuple(card_from_json(mechanism, card) for card in given), mechanism)


def _names(campaign: Campaign, secret: bytes) -> list[bytes]:
    """One's pseudonym at each who deals."""
    committee = campaign.dealer["kind"] == "committee"
    roles = dealer_roles(len(campaign.dealers), committee)
    return [pseudonym(secret, campaign.hash, role) for role in roles]


def _combined(
    campaign: Campaign,
    key: X25519PrivateKey,
    round_number: int,
    mechanism: Mechanism,
    found: list[dict[str, Any]],
) -> int:
    """The card from the shares of all parties, who must tell the same story."""
    records, envelopes = [], []
    for document in found:
        try:
            given = document["rounds"][round_number]
            records.append(cards.Record.from_document(given["record"]))
            envelopes.append(cards.Envelope.from_document(given["envelope"]))
        except (KeyError, IndexError, TypeError):
            raise Abort("a party must give one record and one envelope per round") from None
    record = records[0]
    if any(other != record for other in records[1:]):
        raise Abort("the parties tell different stories of the round")
    facts = (record.campaign, record.round, record.n, len(record.roots))
    if facts != (campaign.hash, round_number, mechanism.moments.deck, len(found)):
        raise Abort("the record is of another round")
    return cards.open_card(mechanism, key, record, envelopes)


def _complain(
    campaign: Campaign, bodies: list[bytes], patience: float
) -> Generator[Step, Reply | None, None]:
    """Tell every party that a card is wrong; the round ends, and no card is shown."""
    for party, body in zip(campaign.dealers, bodies, strict=True):
        address = f"{party}{campaign_path(campaign.hash)}/complaints"
        yield from _insist(Call(address, body), min(patience, 2.0), silence_is_fine=True)


def _cardless(campaign: Campaign, patience: float) -> Generator[Step, Reply | None, Mechanism]:
    """The mechanism whose chances somebody without a card must use."""
    if campaign.dealing != ENROL:
        return campaign.mechanism
    return (yield from _announced(campaign, patience))


def _announced(campaign: Campaign, patience: float) -> Generator[Step, Reply | None, Mechanism]:
    """The mechanism for as many people as the collector says were dealt cards."""
    document = yield from _status(campaign, patience)
    if document.get("n") is None:
        if document.get("state") == CLOSED:
            raise ProtocolError(_NO_ANSWERS[CLOSED])
        raise ProtocolError(
            "the collector takes no answers yet and has not said how many people are dealt cards: "
            "enrol first (--enrol), if you have not, and come again when the cards are dealt"
        )
    return _mechanism(campaign, document["n"], "the collector")


def _status(campaign: Campaign, patience: float) -> Generator[Step, Reply | None, dict[str, Any]]:
    path = f"{campaign_path(campaign.hash)}/status"
    return _object((yield from _get(campaign.collector, path, patience)).body, "the collector")


def _mechanism(campaign: Campaign, n: object, who: str) -> Mechanism:
    if campaign.dealing != ENROL:
        return campaign.mechanism
    if type(n) is not int:
        raise ProtocolError(f"{who} has not said how many people are dealt cards")
    return campaign.for_people(n)


def _same_at_dealer(
    campaign: Campaign, dealer: str, patience: float, silence_is_fine: bool = False
) -> Generator[Step, Reply | None, bool]:
    """Whether the dealer serves the very same bytes; False where it serves nothing."""
    call = Call(f"{dealer}{campaign_path(campaign.hash)}")
    reply = yield from _insist(call, patience, silence_is_fine)
    if reply.gave_up:
        return False
    if reply.status != 200:
        raise _refused("the dealer", reply)
    if reply.body != campaign.to_bytes():
        raise ProtocolError("dealer and collector serve different campaigns")
    return True


def _get(address: str, path: str, patience: float) -> Generator[Step, Reply | None, Reply]:
    reply = yield from _insist(Call(address + path), patience)
    if reply.status != 200:
        raise _refused("the collector", reply)
    return reply


def _insist(
    call: Call, patience: float, silence_is_fine: bool = False, also: tuple[int, ...] = ()
) -> Generator[Step, Reply | None, Reply]:
    """Ask again, ever more slowly, while nothing comes and patience lasts."""
    pause, waited = FIRST_WAIT, 0.0
    while True:
        reply = cast(Reply, (yield call))
        if not reply.gave_up and reply.status not in also:
            return reply
        if waited >= patience:
            break
        yield Wait(min(pause, patience - waited))
        waited += pause
        pause = min(2 * pause, LONGEST_WAIT)
    if silence_is_fine:
        return reply
    raise _unreachable(call.address, reply, patience)


def _unreachable(address: str, reply: Reply, patience: float) -> UnreachableError:
    said = f"said {reply.status}" if reply.status else "did not answer"
    return UnreachableError(f"{address} {said} for {patience:g} seconds")


def _object(body: bytes, who: str) -> dict[str, Any]:
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict):
        raise ProtocolError(f"{who} must reply with a JSON object")
    return document


def _refused(who: str, reply: Reply) -> ProtocolError:
    """The reason that a server gives, in one line of printable text."""
    try:
        detail = str(_object(reply.body, who).get("detail", ""))
    except ProtocolError:
        detail = ""
    shown = "".join(letter for letter in detail if letter.isprintable())[:300]
    return ProtocolError(f"{who} refused ({reply.status}): {shown or 'no reason given'}")
