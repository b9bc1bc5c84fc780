"""Every state of a survey at a server, how one follows another, and what each refuses.

A dealer and a collector hold a survey in one state each; each party of a committee has its
own. The words below are stored in databases and told to clients: they must not change.

    dealer      new -> (enrolling ->) open -> closed
    collector   new -> open -> closed
    party       new -> enrolling <-> open -> serving -> closed;  open, serving -> aborted -> closed

A party goes back from open to enrolling where not all parties have their part of a deal; once
somebody was given a share it cannot, since that would mix two decks.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, StrEnum

from jrr.errors import DamagedError, ProtocolError


class Role(StrEnum):
    """Which server it is."""

    DEALER = "dealer"
    COLLECTOR = "collector"
    PARTY = "party"


class State(StrEnum):
    """Where a survey stands at one server."""

    NEW = "new"  # installed: people can be invited, nothing else happens
    ENROLLING = "enrolling"  # people take places for the deal
    OPEN = "open"  # cards are dealt or dealt on arrival; the collector takes reports
    SERVING = "serving"  # party: somebody has been given a share
    CLOSED = "closed"  # for good: cards are burned, no more reports
    ABORTED = "aborted"  # party: somebody complained of a card; no card is shown any more


NEW, ENROLLING, OPEN, SERVING, CLOSED, ABORTED = State
BEFORE_OR_AFTER = frozenset((NEW, CLOSED, ABORTED))  # the survey's own times do not matter

MOVES: Mapping[Role, Mapping[State, frozenset[State]]] = {
    Role.DEALER: {
        NEW: frozenset((ENROLLING, OPEN, CLOSED)),
        ENROLLING: frozenset((OPEN, CLOSED)),
        OPEN: frozenset((CLOSED,)),
        CLOSED: frozenset((CLOSED,)),
    },
    Role.COLLECTOR: {
        NEW: frozenset((OPEN, CLOSED)),
        OPEN: frozenset((CLOSED,)),
        CLOSED: frozenset(),
    },
    Role.PARTY: {
        NEW: frozenset((ENROLLING, CLOSED)),
        ENROLLING: frozenset((ENROLLING, OPEN, CLOSED)),
        OPEN: frozenset((ENROLLING, SERVING, ABORTED, CLOSED)),
        SERVING: frozenset((ABORTED, CLOSED)),
        ABORTED: frozenset((CLOSED,)),
        CLOSED: frozenset((CLOSED,)),
    },
}


class Act(Enum):
    """What somebody asks of a server."""

    INVITE = "invite"
    OPEN = "open"
    ENROL = "enrol"
    ENROL_AGAIN = "enrol again"  # by somebody who has a place already
    DEAL = "deal"
    FETCH_CARDS = "fetch cards"
    REPORT = "report"
    REPORT_AGAIN = "report again"  # the same report, by somebody who did not hear the answer
    DELETE = "delete"
    EXTEND = "extend"  # the time until which answers are taken


class When(Enum):
    """Whether what is refused now may be done at another time."""

    LATER = "later"  # too early: come again
    OVER = "over"  # it was possible, and will not be again
    WRONG_STATE = "wrong state"  # another step must come first


@dataclass(frozen=True)
class Refusal:
    """Why an act is refused in a state."""

    when: When
    reason: str


_CLOSED = {CLOSED: Refusal(When.OVER, "the survey is closed")}
_PLACES = {NEW: Refusal(When.LATER, "enrolment has not begun")} | _CLOSED
_UNDEALT = Refusal(When.LATER, "the cards are not dealt yet")
_BURNED = Refusal(When.OVER, "the cards are burned")
_UNOPENED = {NEW: Refusal(When.LATER, "the survey is not open")}

REFUSALS: Mapping[Act, Mapping[State, Refusal]] = {
    Act.INVITE: _CLOSED,
    Act.OPEN: _CLOSED,
    Act.EXTEND: _CLOSED,
    Act.ENROL_AGAIN: _PLACES,
    Act.ENROL: _PLACES
    | dict.fromkeys((OPEN, SERVING, ABORTED), Refusal(When.OVER, "enrolment has ended")),
    # After a complaint too: some may have answered with cards of the first deal.
    Act.DEAL: {
        state: Refusal(When.WRONG_STATE, f"the survey must be enrolling, it is {state}")
        for state in (NEW, CLOSED, ABORTED)
    },
    Act.FETCH_CARDS: {NEW: _UNDEALT, ENROLLING: _UNDEALT, CLOSED: _BURNED, ABORTED: _BURNED},
    Act.DELETE: dict.fromkeys(
        (ENROLLING, OPEN, SERVING, ABORTED),
        Refusal(When.WRONG_STATE, "the survey must be closed before it is deleted"),
    ),
    Act.REPORT_AGAIN: _UNOPENED,
    Act.REPORT: _UNOPENED | _CLOSED,
}

NO_ANSWERS: Mapping[State, str] = {  # what the collector's state means to who wants to answer
    NEW: "the survey is not open yet: come again later",
    CLOSED: "the survey is closed: no more answers are taken",
}


def refusal_of(act: Act, state: State) -> Refusal | None:
    """Why an act is refused in a state; None where it is not."""
    return REFUSALS[act].get(state)


def check_move(role: Role, before: State, after: State) -> State:
    """The state after, if a server of this role may go there from the state before.

    Raises:
        ProtocolError: It may not.
    """
    if after not in MOVES[role].get(before, frozenset()):
        raise ProtocolError(f"a survey at a {role} must not go from {before} to {after}")
    return after


def read_state(value: object) -> State:
    """A state as it is stored or told.

    Raises:
        DamagedError: It is none of them.
    """
    try:
        return State(str(value))
    except ValueError:
        raise DamagedError(f"state must be one of {', '.join(State)}, got {value!r:.80}") from None
