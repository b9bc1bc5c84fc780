"""Who deals the cards of a survey: one interface for every way of dealing.

A way of dealing stands in the survey's document. It says where those who deal are reached, what
they can deal, and how a contributor comes by cards. Nothing outside this room asks which way it is.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import msgspec

from jrr.errors import ProtocolError
from jrr.mechanisms.base import Mechanism
from jrr.protocol.steps import Steps

if TYPE_CHECKING:
    from jrr.survey.sensitive import SensitiveQuestion
    from jrr.survey.survey import Survey


@dataclass(frozen=True)
class Hand:
    """What somebody was dealt for one question."""

    card: Any  # of several dealers a tuple, one card from each
    # One from each dealer, None from one that was left out; where card sums are announced.
    serials: tuple[str | None, ...] | None = None


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
    sorted_decks: ClassVar[bool] = False  # whether only cards that everybody knows can be shuffled

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
    def may_leave_out(self) -> bool:
        """Whether of several dealers those that cannot be reached are left out."""
        return False

    def server_name(self, number: int) -> str:
        """One of those who deal, as operators read it: "dealer", "dealer 1", "party 2"."""
        return self.word if len(self.addresses) == 1 else f"{self.word} {number}"

    def fitted(self, mechanism: Mechanism) -> Mechanism:
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

    def enrol(self, survey: "Survey", person: Person, patience: float) -> Steps[None]:
        """Take a place in the next deal.

        Raises:
            ProtocolError: The survey deals on arrival, or a server refuses.
        """
        yield from ()
        raise ProtocolError("the survey deals on arrival: there is nothing to enrol for")

    def hands(self, survey: "Survey", person: Person, patience: float) -> Steps[Hands]:
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
