"""All ways of dealing, as a survey's document names them.

Nobody, one dealer or several, a committee of servers (the paper's MPC), or the contributors
themselves in groups.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import msgspec
from msgspec import UNSET, UnsetType
from msgspec.structs import force_setattr, replace

from jrr._base import checks
from jrr.dealing.committee import cards as committee_cards
from jrr.dealing.committee.aborts import Abort
from jrr.dealing.committee.cards import BadShareError, committee_deck
from jrr.dealing.committee.schedule import default_threshold
from jrr.dealing.interface import Dealing, Hand, Hands, Person, check_one_question
from jrr.dealing.messages import (
    ShareEvidence,
    address_at,
    ask_for_cards,
    ask_for_place,
    card_request,
    complaint_request,
    same_everywhere,
)
from jrr.dealing.serials import serial_from_hex
from jrr.errors import ArgumentError, IntegrityError, ProtocolError
from jrr.protocol.identity import dealer_role, device_name, party_role, pseudonym
from jrr.protocol.steps import Call, Steps, insist
from jrr.protocol.texts import check_address, check_link, check_text

if TYPE_CHECKING:
    from jrr.mechanisms.base import Mechanism
    from jrr.protocol.steps import Steps
    from jrr.survey.sensitive import SensitiveQuestion
    from jrr.survey.survey import Survey

FEWEST_PARTIES, MOST_PARTIES = 3, 16
COMPLAINING = 2.0  # seconds that a party is given to take a complaint


class Party(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One party of a committee."""

    url: str  # where contributors and its operator reach it
    link: str  # host:port where the other parties reach it
    certificate: str  # PEM; the other parties accept no other

    def __post_init__(self) -> None:
        check_address("party", self.url)
        check_text("party certificate", self.certificate, 10_000)
        check_link(self.link)


class Committee(Dealing, frozen=True, tag="committee", kw_only=True):
    """Parties, of whom so many may collude and still learn no card."""

    word: ClassVar[str] = "party"

    parties: tuple[Party, ...]
    threshold: int

    def __post_init__(self) -> None:
        count = len(self.parties)
        if not FEWEST_PARTIES <= count <= MOST_PARTIES:
            raise ArgumentError(f"parties must be {FEWEST_PARTIES} to {MOST_PARTIES}, got {count}")
        checks.integer("threshold", self.threshold, 1, (count - 1) // 2)
        if len({party.certificate for party in self.parties}) != count:
            raise ArgumentError("parties must have certificates of their own, got one twice")

    @property
    def addresses(self) -> tuple[str, ...]:
        """Of the parties, in order."""
        return tuple(party.url for party in self.parties)

    @property
    def roles(self) -> tuple[str, ...]:
        """One for each party."""
        return tuple(party_role(number) for number in range(len(self.parties)))

    @property
    def enrols(self) -> bool:
        """Always: parties deal to people whom they know."""
        return True

    def can_deal(self, mechanism: "Mechanism") -> bool:
        """Only cards that everybody knows, which the parties shuffle: no masks."""
        return not mechanism.masked

    def check(self, dealt: Sequence["SensitiveQuestion"]) -> None:
        """Refuse several questions, cards of masks, and several cards for one answer."""
        question = check_one_question(dealt)
        if not self.can_deal(question.mechanism):
            allowed = (
                "one with sorted decks where a committee deals: its parties shuffle cards that "
                "everybody knows, and cards of masks are drawn. Name several dealers instead"
            )
            raise checks.refusal("mechanism", question.mechanism, allowed)
        committee_cards.committee_deck(question.mechanism)

    def enrol(self, survey: "Survey", person: Person, patience: float) -> Steps[None]:
        """Take a place in the next deal, with the key that shares are sealed to."""
        key = card_key_of(survey, person).public_key().public_bytes_raw()
        yield from same_everywhere(survey, patience)
        for number in range(len(self.parties)):
            body = card_request(self._name(survey, number, person), key)
            yield from ask_for_place(survey, number, body, patience)

    def hands(self, survey: "Survey", person: Person, patience: float) -> Steps[Hands]:
        """One's card from the shares of all parties."""
        if not all((yield from same_everywhere(survey, patience, silence_is_fine=True))):
            return Hands()
        replies: list[dict[str, Any]] = []
        said: dict[int, str] = {}
        for number in range(len(self.parties)):
            # Shares are sealed to the device: the parties need not be shown it.
            body = card_request(self._name(survey, number, person))
            reply, words = yield from ask_for_cards(survey, number, body, patience)
            if reply is not None:
                replies.append(reply)
            elif words is None:
                return Hands()
            else:  # hear what the other parties say of it
                said[number] = words
        if said:
            return Hands(left_out=tuple(f"party {number}: {text}" for number, text in said.items()))
        (question,) = survey.dealt
        n = replies[0].get("n")
        if type(n) is not int:
            raise ProtocolError("the dealer has not said how many people are dealt cards")
        key = card_key_of(survey, person)
        try:
            record, envelopes = _shares(survey, replies, n)
            card = committee_cards.open_card(question.for_people(n), key, record, envelopes)
        except Abort as abort:
            accused, evidence = None, None
            if isinstance(abort, BadShareError):
                accused = abort.party
                if abort.provable:
                    evidence = evidence_against(accused, envelopes[accused], key)
            yield from self._complain(survey, person, accused, evidence, patience)
            raise IntegrityError(f"the committee's card is not acceptable: {abort}") from None
        return Hands({question.name: Hand(card)}, n)

    def _name(self, survey: "Survey", number: int, person: Person) -> bytes:
        return pseudonym(person.secret, survey.hash, self.roles[number])

    def _complain(
        self,
        survey: "Survey",
        person: Person,
        accused: int | None,
        evidence: ShareEvidence | None,
        patience: float,
    ) -> Steps[None]:
        """Tell every party that one's card is wrong, and what shows it; others keep their cards."""
        for number in range(len(self.parties)):
            name = self._name(survey, number, person)
            address = f"{address_at(survey, number)}/complaints"
            call = Call(address, complaint_request(name, accused, evidence))
            yield from insist(call, min(patience, COMPLAINING), silence_is_fine=True)


def card_key_of(survey: "Survey", person: Person) -> Any:
    """The key that the shares of somebody's card are sealed to."""
    return committee_cards.card_key(person.device or person.secret, survey.hash)


def evidence_against(party: int, envelope: committee_cards.Envelope, key: Any) -> ShareEvidence:
    """What a party served, and the key that opens it."""
    return ShareEvidence(
        party=party,
        sealed=envelope.sealed,
        path=[entry.hex() for entry in envelope.path],
        key=key.private_bytes_raw().hex(),
    )


def _shares(
    survey: "Survey", replies: Sequence[Mapping[str, Any]], n: int
) -> tuple[committee_cards.Record, list[committee_cards.Envelope]]:
    """What all parties gave; they must tell the same story of the deal."""
    records, envelopes = [], []
    for party, document in enumerate(replies):
        try:
            records.append(committee_cards.Record.from_document(document["record"]))
            envelopes.append(committee_cards.Envelope.from_document(document["envelope"]))
        except (KeyError, TypeError, Abort):
            raise BadShareError(
                party, f"party {party} must give one record and one envelope", provable=False
            ) from None
    told = Counter(records)
    record, agree = told.most_common(1)[0]
    if len(told) > 1:
        if 2 * agree <= len(records):
            raise Abort("the parties tell different stories of the deal")
        party = next(at for at, other in enumerate(records) if other != record)
        reason = f"party {party} tells another story of the deal than most"
        raise BadShareError(party, reason, provable=False)
    if (record.survey, record.n, len(record.roots)) != (survey.hash, n, len(replies)):
        raise Abort("the record is of another deal")
    return record, envelopes


__all__ = ["AnyDealing", "Committee", "Dealers", "Groups", "Nobody", "Party"]

MOST_DEALERS = 16
FEWEST_MEMBERS, MOST_MEMBERS = 3, 16  # of a group
MOST_COLLUDERS = 5  # as everywhere unless somebody says otherwise


class Nobody(Dealing, frozen=True, tag="none"):
    """No cards."""

    deals: ClassVar[bool] = False

    def can_deal(self, mechanism: "Mechanism") -> bool:
        """Only what has no cards."""
        return not mechanism.deals

    def check(self, dealt: Sequence["SensitiveQuestion"]) -> None:
        """Refuse any question with cards."""
        if dealt:
            raise ArgumentError(
                f"dealing must not be 'none': the mechanism of {dealt[0].name!r} has cards"
            )


class Dealers(Dealing, frozen=True, tag="dealers"):
    """Servers that each know their own cards and no answer; people add up the cards of several.

    Whoever knows the cards of all but one of several dealers knows nothing of their sum.
    """

    urls: tuple[str, ...]
    leave_out: bool = False  # whether to answer without those that cannot be reached
    enrol_first: bool = False  # whether cards are dealt to exactly those who enrolled
    # Whether dealers commit to every card and answers are proved; left out where they do not.
    verified: bool | UnsetType = UNSET

    def __post_init__(self) -> None:
        if not 1 <= len(self.urls) <= MOST_DEALERS:
            raise ArgumentError(f"dealers must be 1 to {MOST_DEALERS}, got {len(self.urls)}")
        for url in self.urls:
            check_address("dealer", url)
        if self.leave_out and len(self.urls) == 1:
            raise checks.refusal("leave_out", True, "false with one dealer")
        if self.enrol_first and len(self.urls) > 1:
            raise checks.refusal("enrol_first", True, "false where several dealers deal")
        if not self.verified:  # one document for one survey
            force_setattr(self, "verified", UNSET)

    @property
    def is_verified(self) -> bool:
        """Whether dealers commit to every card, and answers are proved."""
        return self.verified is True

    @property
    def addresses(self) -> tuple[str, ...]:
        """Of the dealers, in order."""
        return self.urls

    @property
    def roles(self) -> tuple[str, ...]:
        """One for each dealer."""
        return tuple(dealer_role(number) for number in range(len(self.urls)))

    @property
    def enrols(self) -> bool:
        """Whether people enrol first."""
        return self.enrol_first

    def as_verified(self) -> Dealing:
        """The same where every card is committed to."""
        return replace(self, verified=True)

    def are_enough(self, gave: Sequence[bool]) -> bool:
        """All of them, or where some may be left out at least one."""
        return any(gave) if self.leave_out else all(gave)

    def can_deal(self, mechanism: "Mechanism") -> bool:
        """Of several dealers only cards that add up."""
        return len(self.urls) == 1 or not mechanism.deals or mechanism.announced

    def fitted(self, mechanism: "Mechanism") -> "Mechanism":
        """For as many dealers as there are."""
        return mechanism.for_dealers(len(self.urls))

    def check(self, dealt: Sequence["SensitiveQuestion"]) -> None:
        """Refuse, of several dealers, cards that do not add up."""
        for question in dealt:
            if len(self.urls) > 1 and not question.mechanism.announced:
                allowed = (
                    "one whose card sums are announced where several dealers each deal a card: "
                    "only whole numbers add up, and only announced sums are taken off one by one"
                )
                raise checks.refusal(f"mechanism of {question.name}", question.mechanism, allowed)
        if not dealt:
            raise ArgumentError("dealing must be 'none' where no question has cards")
        if self.is_verified:
            self._check_verified(dealt)

    def _check_verified(self, dealt: Sequence["SensitiveQuestion"]) -> None:
        """Refuse what cannot be verified: the one place that says what that is."""
        if self.enrol_first:
            allowed = "left out where people enrol first: their cards are of one deck"
            raise checks.refusal("verified", True, allowed)
        for question in dealt:
            mechanism: Any = question.mechanism  # with announced sums it is MRR
            if not mechanism.announced:
                allowed = (
                    f"left out with the mechanism {mechanism.brief()} of {question.name}: only "
                    "masks whose sums are announced can be committed to one by one"
                )
                raise checks.refusal("verified", True, allowed)

    def enrol(self, survey: "Survey", person: Person, patience: float) -> "Steps[None]":
        """Take a place in the next deal."""
        if not self.enrol_first:
            yield from Dealing.enrol(self, survey, person, patience)
        yield from same_everywhere(survey, patience)
        yield from ask_for_place(survey, 0, self._request(survey, 0, person), patience)

    def hands(self, survey: "Survey", person: Person, patience: float) -> "Steps[Hands]":
        """One's cards from every dealer."""
        if self.is_verified:
            from jrr.dealing.verified.proving import verified_hands  # needs rbcl

            return (yield from verified_hands(survey, person, patience))
        # A dealer that serves another survey ends it here; a silent one only costs the cards.
        same = yield from same_everywhere(survey, patience, silence_is_fine=True)
        dealt: list[_Dealt | None] = []
        for number in range(len(self.urls)):
            reply = None
            if same[number]:
                body = self._request(survey, number, person)
                reply, _ = yield from ask_for_cards(survey, number, body, patience)
            if reply is None and not self.leave_out:
                return Hands()
            dealt.append(None if reply is None else _read_dealt(survey, reply))
        given = [one for one in dealt if one is not None]
        if not given:
            return Hands()
        cards = {question.name: self._added(question, dealt) for question in survey.dealt}
        return Hands(cards, given[0].n)

    def _request(self, survey: "Survey", number: int, person: Person) -> bytes:
        role = self.roles[number]
        device = person.device
        mine = None if device is None else device_name(device, survey.hash, role)
        return card_request(pseudonym(person.secret, survey.hash, role), device=mine)

    def _added(self, question: "SensitiveQuestion", dealt: Sequence["_Dealt | None"]) -> Hand:
        """What all dealers gave for one question; None: a dealer that was left out."""
        given = [one.cards[question.name] for one in dealt if one is not None]
        if not question.mechanism.announced:
            return Hand(given[0][0])
        serials = tuple(None if one is None else one.cards[question.name][1] for one in dealt)
        cards = tuple(card for card, _ in given)
        return Hand(cards if len(self.urls) > 1 else cards[0], serials)


class Groups(Dealing, frozen=True, tag="groups"):
    """Groups of contributors, as large as the deck, each deal one (`jrr survey deal-in-group`).

    No server takes part. The members of a group bring their cards along when they answer.
    """

    word: ClassVar[str] = "member"

    def can_deal(self, mechanism: "Mechanism") -> bool:
        """Only cards that everybody knows, which the members shuffle: no masks."""
        return not mechanism.masked

    def colluders_of(self, people: int) -> int | None:
        """Not more members than the protocol withstands: they would know all its cards."""
        return min(MOST_COLLUDERS, default_threshold(people))

    def check(self, dealt: Sequence["SensitiveQuestion"]) -> None:
        """Refuse what a group cannot deal, or cannot keep secret from its colluding members."""
        question = check_one_question(dealt)
        deck = committee_deck(question.mechanism)
        checks.integer("people in a group", deck.size, FEWEST_MEMBERS, MOST_MEMBERS)
        checks.integer("colluders", question.colluders, 0, (deck.size - 1) // 2)


AnyDealing = Nobody | Dealers | Committee | Groups


@dataclass(frozen=True)
class _Dealt:
    """What one dealer gave."""

    n: int | None
    cards: Mapping[str, tuple[Any, str | None]]  # question -> card and serial


def _read_dealt(survey: "Survey", document: Mapping[str, Any]) -> _Dealt:
    """A dealer's reply: a card for every question that has some."""
    n, given = document.get("n"), document.get("cards")
    if survey.dealing.enrols and type(n) is not int:
        raise ProtocolError("the dealer has not said how many people are dealt cards")
    if not isinstance(given, dict):
        raise ProtocolError("the dealer must give cards, by the names of the questions")
    found: dict[str, tuple[Any, str | None]] = {}
    for question in survey.dealt:
        entry = given.get(question.name)
        if not isinstance(entry, dict) or "card" not in entry:
            raise ProtocolError(f"the dealer must give a card for {question.name}")
        mechanism = question.for_people(n)
        serial = None
        if mechanism.announced:
            serial = serial_from_hex(entry.get("serial")).hex()
        assert mechanism.card_format is not None  # of every question that is dealt
        found[question.name] = mechanism.card_format.card_from_json(entry["card"]), serial
    return _Dealt(n if isinstance(n, int) else None, found)
