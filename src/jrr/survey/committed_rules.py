"""Which campaigns may have decks that the dealer commits to beforehand, and which may not."""

from typing import TYPE_CHECKING

from jrr._base import checks
from jrr.errors import ArgumentError
from jrr.survey.cut_and_choose.rules import FEWEST_DECKS, check_closed

if TYPE_CHECKING:
    from jrr.mechanisms.base import Mechanism

MOST_DECKS = 100  # of one campaign
MOST_CARDS = 2_000_000  # of all decks together: drawing them takes about 20 seconds


def check_committed(
    decks: object,
    mechanism: "Mechanism",
    *,
    one_dealer: bool,
    enrols: bool,
    capacity: int,
    rounds: int,
) -> int:
    """The number of decks, or a refusal of what cannot be committed to.

    Args:
        decks: How many the dealer commits to; one of them is dealt.
        mechanism: Whose cards.
        one_dealer: Whether one server deals.
        enrols: Whether people enrol before cards are dealt.
        capacity: Contributors at most.
        rounds: Cards of each contributor.

    Raises:
        ArgumentError: One of these does not go with committed decks; the message says why.
    """
    number = checks.integer("committed_decks", decks, FEWEST_DECKS, MOST_DECKS)
    if not one_dealer:
        raise _refusal("one dealer's server deals: a committee and several dealers check otherwise")
    try:
        check_closed(mechanism)
    except ArgumentError as error:
        raise _refusal(f"decks are closed: {error}") from None
    if enrols:
        raise _refusal(
            "cards are dealt on arrival: with enrolment the dealer would know who sits where "
            "before it commits"
        )
    if rounds != 1:
        raise _refusal(f"there is one round, got {rounds}: every round has a deck of its own")
    size = mechanism.moments.deck or 0
    if capacity > size:
        raise _refusal(f"one deck is enough: capacity must be at most {size}, got {capacity}")
    if number * size > MOST_CARDS:
        raise _refusal(
            f"all decks together have at most {MOST_CARDS:,} cards, got {number} of {size:,}"
        )
    return number


def _refusal(where: str) -> ArgumentError:
    return ArgumentError(f"committed_decks must be left out unless {where}")
