"""All ways of dealing, as a survey's document names them.

Nobody, one dealer or several, a committee of servers (committee_dealing.py), or the contributors
themselves in groups.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from msgspec import UNSET, UnsetType
from msgspec.structs import force_setattr, replace

from jrr._base import checks
from jrr.dealing.committee.cards import committee_deck
from jrr.dealing.committee.schedule import default_threshold
from jrr.dealing.committee_dealing import Committee, Party
from jrr.dealing.interface import Dealing, Hand, Hands, Person, check_one_question
from jrr.dealing.messages import ask_for_cards, ask_for_place, card_request, same_everywhere
from jrr.dealing.serials import serial_from_hex
from jrr.errors import ArgumentError, ProtocolError
from jrr.protocol.identity import dealer_role, device_name, pseudonym
from jrr.protocol.texts import check_address

if TYPE_CHECKING:
    from jrr.mechanisms.base import Mechanism
    from jrr.protocol.steps import Steps
    from jrr.survey.sensitive import SensitiveQuestion
    from jrr.survey.survey import Survey

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
