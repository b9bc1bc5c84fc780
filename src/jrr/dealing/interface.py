"""Who deals the cards of a survey: one interface for every way of dealing.

A way of dealing stands in the survey's document. It says where those who deal are reached, what
they can deal, and how a contributor comes by cards. Nothing outside this room asks which way it is.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import msgspec

from jrr._base import checks
from jrr.errors import ArgumentError, ProtocolError
from jrr.protocol.states import ENROLLING, OPEN, State

if TYPE_CHECKING:
    from jrr.dealing.verified.proving import Proving
    from jrr.mechanisms.base import Mechanism
    from jrr.protocol.steps import Steps
    from jrr.survey.sensitive import SensitiveQuestion
    from jrr.survey.survey import Survey


_ENROL_ROOM = 10  # capacity where people enrol, in times the fewest who must


def even_deck(people: int, k: int = 2) -> int:
    """The n to plan for where enrolment fixes it: the guarantee then holds for all larger ones too.

    Larger decks hide more. But one whose cards cannot be shared out evenly (an odd number of plus
    and minus cards, decoys that k does not divide) hides a little less than its neighbours. So a
    plan is made for the largest n, at most the fewest people, that is one less than a multiple of
    2 and of k: no deck of more people hides less.
    """
    period = math.lcm(2, k)
    least = max(period - 1, 3)
    if people < least:
        raise checks.refusal("people", people, f"at least {least} where enrolment fixes the deck")
    return max(least, people - (people + 1) % period)


def check_one_question(dealt: Sequence["SensitiveQuestion"]) -> "SensitiveQuestion":
    """The only question with cards, where people meet to deal one deck.

    Raises:
        ArgumentError: There are several, or none.
    """
    if len(dealt) != 1:
        raise ArgumentError(
            "dealing must be by dealers unless exactly one answer has cards: committees and groups "
            f"deal one deck to people who meet for it, and here are {len(dealt)} answers with cards"
        )
    return dealt[0]


@dataclass(frozen=True)
class Hand:
    """What somebody was dealt for one question."""

    card: Any  # of several dealers a tuple, one card from each
    # One from each dealer, None from one that was left out; where card sums are announced.
    serials: tuple[str | None, ...] | None = None
    proving: "Proving | None" = None  # of a verified card: what its answer is proved with


@dataclass(frozen=True)
class Hands:
    """What somebody was dealt for all questions."""

    cards: Mapping[str, Hand] = field(default_factory=dict)  # by question; none: answer without
    n: int | None = None  # people who were dealt cards, where enrolment fixed that
    left_out: tuple[str, ...] = ()  # what parties say of why one who enrolled was dealt nothing


@dataclass(frozen=True)
class Person:
    """Whoever answers: the secret of the invitation, and one of the device."""

    secret: bytes
    device: bytes | None = None  # so that nobody else can fetch the cards


class Dealing(msgspec.Struct, frozen=True, tag_field="kind", forbid_unknown_fields=True):
    """One way of dealing; what is here is that of nobody who deals."""

    word: ClassVar[str] = "dealer"  # for one of those who deal
    deals: ClassVar[bool] = True  # whether there is anybody who deals

    @property
    def addresses(self) -> tuple[str, ...]:
        """Where those who deal are reached, in order."""
        return ()

    @property
    def roles(self) -> tuple[str, ...]:
        """One role for each: none must know somebody's pseudonym at another."""
        return ()

    @property
    def enrols(self) -> bool:
        """Whether people enrol first, and cards are dealt to exactly those who did."""
        return False

    @property
    def if_silent(self) -> str:
        """What it means for people that one of those who deal does not answer."""
        if self.enrols:
            return "nobody can enrol or get a card now"
        return "who answers now has no card, and results get less exact"

    @property
    def is_verified(self) -> bool:
        """Whether who deals commits to every card, and answers are proved."""
        return False

    def as_verified(self) -> "Dealing":
        """The same where who deals commits to every card, and answers are proved.

        Raises:
            ArgumentError: Nobody knows how.
        """
        raise checks.refusal("verified", True, "left out but where dealers deal the cards")

    @property
    def first_state(self) -> State:
        """Of a survey that is opened where its cards are dealt."""
        return ENROLLING if self.enrols else OPEN

    def may_begin(self, n: int | None) -> bool:
        """Whether answers can be given yet.

        Args:
            n: How many people were dealt cards; None: nobody has said so.
        """
        return n is not None or not self.enrols

    def check_people(self, dealt: Sequence["SensitiveQuestion"], n: int | None) -> None:
        """Refuse a number of people who are said to have been dealt cards.

        Args:
            dealt: The questions with cards.
            n: So many; None where cards are dealt on arrival.

        Raises:
            ArgumentError: There is a number where none is fixed, or none where people enrol.
            ProtocolError: For so few people the survey would not keep what it promises.
        """
        if self.enrols:
            for question in dealt:
                question.for_people(checks.integer("n", n, 2))
        elif n is not None:
            raise checks.refusal("n", n, "null: only enrolment fixes a number of people")

    def are_enough(self, gave: Sequence[bool]) -> bool:
        """Whether an answer may be made with the cards of those who gave one.

        Args:
            gave: Of each who deals, whether it did.
        """
        return all(gave)

    def server_name(self, number: int) -> str:
        """One of those who deal, as operators read it: "dealer", "dealer 1", "party 2"."""
        return self.word if len(self.addresses) == 1 else f"{self.word} {number}"

    def can_deal(self, mechanism: "Mechanism") -> bool:
        """Whether those who deal can deal the cards of a mechanism."""
        return True

    def deck_for(self, people: int, k: int = 2) -> int:
        """For how many people to plan, so that the promise holds for the decks that are dealt.

        Args:
            people: Who are expected to answer; where people enrol first, the fewest of them.
            k: Values of the answer.
        """
        return even_deck(people, k) if self.enrols else people

    def colluders_of(self, people: int) -> int | None:
        """How many may show their cards unless somebody says so; None: as everywhere."""
        return None

    def capacity_for(self, people: int) -> int:
        """Contributors at most, unless somebody says so."""
        return _ENROL_ROOM * people if self.enrols else people

    def fitted(self, mechanism: "Mechanism") -> "Mechanism":
        """A mechanism for as many dealers as there are."""
        return mechanism.for_dealers(1)

    def check(self, dealt: Sequence["SensitiveQuestion"]) -> None:
        """Refuse questions whose cards cannot be dealt in this way.

        Args:
            dealt: Those whose mechanism has cards.

        Raises:
            ArgumentError: The reason.
        """
        raise NotImplementedError

    def enrol(self, survey: "Survey", person: Person, patience: float) -> "Steps[None]":
        """Take a place in the next deal.

        Raises:
            ProtocolError: The survey deals on arrival, or a server refuses.
        """
        yield from ()
        raise ProtocolError("the survey deals on arrival: there is nothing to enrol for")

    def hands(self, survey: "Survey", person: Person, patience: float) -> "Steps[Hands]":
        """One's cards of all questions that have some; none where they are not to be had in time.

        Of all, whatever somebody is asked: which questions are shown follows from open answers, and
        those are not for who deals.

        Args:
            survey: Whose cards.
            person: Who asks for them.
            patience: Seconds to wait for each who deals.

        Raises:
            ProtocolError: Who deals serves another survey, or refuses.
            IntegrityError: A card is not what those who deal have committed to.
        """
        yield from ()
        return Hands()
