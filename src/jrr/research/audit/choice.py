"""What an audit of a mechanism tries, view by view, and the claim that it tries to refute."""

import math

from jrr._base import checks
from jrr.errors import ArgumentError
from jrr.mechanisms.base import Mechanism
from jrr.research.audit.subject import Subject
from jrr.research.audit.views import (
    CardedReportView,
    CardsView,
    DealerView,
    EverythingView,
    ReportView,
    RoundsView,
)

VIEWS = ("report", "cards", "everything", "dealer", "rounds")
SMALL_SURVEY = {"n": 20, "colluders": 3}  # the defaults where every trial deals a whole deck
MOST_CARDS = 1_000  # in such a deck


def deals_decks(view: str, *, with_cards: bool) -> bool:
    """Whether every trial deals a whole deck, which must then be small."""
    return with_cards or view != "report"


def check_deck(n: int) -> int:
    """A deck that may be dealt for every trial.

    Raises:
        ArgumentError: where it is too large.
    """
    if n > MOST_CARDS:
        raise ArgumentError(
            f"n must be at most {MOST_CARDS} where every trial deals a deck, got n={n}"
        )
    return n


def subject_of(
    mechanism: Mechanism,
    view: str,
    *,
    colluders: int = 0,
    rounds: int = 2,
    with_cards: bool = False,
) -> Subject:
    """What the adversary of a view sees of a mechanism.

    Args:
        mechanism: the one to audit.
        view: "report", "cards", "everything", "dealer" or "rounds".
        colluders: in the views "cards" and "everything", how many hand over theirs.
        rounds: in the view "rounds", how many.
        with_cards: in the view "report", whether the report is made with a card, freshly dealt.

    Raises:
        ArgumentError: for another view, or one that is about cards where none are dealt.
    """
    checks.one_of("view", view, VIEWS)
    if deals_decks(view, with_cards=with_cards) and not mechanism.deals:
        raise ArgumentError(
            f"mechanism must deal cards for this, but the one that was planned is "
            f"{mechanism.brief()}, which deals none: there the view report is all there is, and "
            "holds in every other view too. Audit --view report, or ask for cards by "
            "--mechanism mrr, jrr or drr, more people (-n) or fewer colluders (-M)"
        )
    if view == "cards":
        return CardsView(mechanism, colluders)
    if view == "everything":
        return EverythingView(mechanism, colluders)
    if view == "dealer":
        return DealerView(mechanism)
    if view == "rounds":
        return RoundsView(mechanism, rounds)
    return CardedReportView(mechanism) if with_cards else ReportView(mechanism)


def claim_of(mechanism: Mechanism, view: str, colluders: int = 0, delta: float = 0.0) -> float:
    """The ε that the mechanism states; for rounds that of one report, once per round.

    delta: at which the view "everything" states it.

    Raises:
        ArgumentError: for another view, or one without a bound: nothing could refute it.
    """
    checks.one_of("view", view, VIEWS)
    stated = "report" if view == "rounds" else view
    with_colluders = colluders if view in ("cards", "everything") else 0
    claim = mechanism.epsilon(stated, with_colluders, delta if view == "everything" else 0.0)
    if math.isinf(claim):
        raise ArgumentError(
            f"view {view} must have a bound to refute, and {mechanism.brief()} has none: "
            "leave --no-dealer-cap out, or give --claimed"
        )
    return claim
