"""Which campaigns may have decks that the dealer commits to beforehand, and which may not."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from jrr._base import checks
from jrr.errors import ArgumentError
from jrr.survey.cut_and_choose.rules import FEWEST_DECKS, check_closed

if TYPE_CHECKING:
    from jrr.mechanisms.base import Mechanism
    from jrr.survey.campaign import Campaign

MOST_DECKS = 100  # of one campaign
MOST_MASKS = 200_000  # of one deck: those that nobody fetched are published with 1.4 kB each
MOST_CARDS = 2_000_000  # of all decks together: drawing them takes about 20 seconds
MOST_PARTS = 100  # of a survey: whoever asks for cards leaves a mark for each


def read_decks(decks: object) -> int:
    """How many decks a dealer commits to, or a refusal."""
    return checks.integer("committed_decks", decks, FEWEST_DECKS, MOST_DECKS)


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
    number = read_decks(decks)
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
    if mechanism.masked and size > MOST_MASKS:
        raise _refusal(f"a deck of masks has at most {MOST_MASKS:,} cards, got {size:,}")
    if number * size > MOST_CARDS:
        raise _refusal(
            f"all decks together have at most {MOST_CARDS:,} cards, got {number} of {size:,}"
        )
    return number


def _refusal(where: str) -> ArgumentError:
    return ArgumentError(f"committed_decks must be left out unless {where}")


def check_survey_decks(campaigns: "Mapping[str, Campaign]") -> None:
    """Refuse a survey that has committed decks for some of its cards and not for others.

    Args:
        campaigns: Of its parts, by name; those without cards have nothing to commit to.

    Raises:
        ArgumentError: The parts do not fit together; the message says which and why.
    """
    dealt = {name: one for name, one in campaigns.items() if one.deals}
    decks = {one.committed_decks for one in dealt.values()}
    if not any(decks):
        return
    if len(decks) > 1:
        told = ", ".join(f"{name} {one.committed_decks}" for name, one in dealt.items())
        raise ArgumentError(
            "committed_decks must be the same of all parts that have cards, so that no card goes "
            f"unchecked, got {told:.200}"
        )
    if len(dealt) > MOST_PARTS:
        raise ArgumentError(
            f"committed_decks must be left out with more than {MOST_PARTS} parts that have cards, "
            f"got {len(dealt)}"
        )
    cards = sum(one.committed_decks * (one.mechanism.moments.deck or 0) for one in dealt.values())
    if cards > MOST_CARDS:
        raise ArgumentError(
            f"committed_decks must be fewer: all decks of all parts together have at most "
            f"{MOST_CARDS:,} cards, got {cards:,}"
        )
