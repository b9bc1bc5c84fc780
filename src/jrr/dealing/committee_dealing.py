"""Several parties deal together, so that none of them knows a card (the paper's MPC)."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import msgspec

from jrr._base import checks
from jrr.dealing.committee import cards as committee_cards
from jrr.dealing.committee.aborts import Abort
from jrr.dealing.committee.cards import BadShareError
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
from jrr.errors import ArgumentError, IntegrityError, ProtocolError
from jrr.protocol.identity import party_role, pseudonym
from jrr.protocol.steps import Call, Steps, insist
from jrr.protocol.texts import check_address, check_link, check_text

if TYPE_CHECKING:
    from jrr.mechanisms.base import Mechanism
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
