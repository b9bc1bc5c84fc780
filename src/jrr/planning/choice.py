"""Which mechanism: the most accurate of one family, or of all of them, that keeps a request."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from jrr._base import checks
from jrr.errors import JrrError
from jrr.mechanisms.base import Mechanism
from jrr.mechanisms.cards import MaskCards
from jrr.mechanisms.registry import BASELINE, families
from jrr.mechanisms.request import Family, Request, least

_SHUFFLED_CARD = 60e-9  # seconds for a card of a shuffled deck
_COIN_CARD = 1.5e-9  # for a card of many decks at once, one bit each
_DECK = 1e-4  # to mend one of many decks
_MASK = 150e-9  # for a whole number of a closed deck
_WORD = 8e-9  # to draw a word and compare


@dataclass(frozen=True, kw_only=True)
class Costs:
    """What one deck, one card and one report cost."""

    report_bytes: int  # as stored and sealed
    card_bytes: int  # 0 where no cards are dealt
    deal_seconds: float  # for one whole deck
    respond_seconds: float  # for all reports of a deck, made in one process


def costs_of(mechanism: "Mechanism", n: int) -> Costs:
    """The costs of a survey of n people by this mechanism."""
    form, deck, cards = mechanism.report_format, mechanism.sorted_deck, mechanism.card_format
    card_bytes, deal = 0, 0.0
    if deck is not None and deck.bits is None:
        card_bytes, deal = deck.faces.dtype.itemsize, deck.size * _SHUFFLED_CARD
    elif deck is not None and deck.bits is not None:
        card_bytes = deck.width
        deal = deck.bits * (deck.size * _COIN_CARD + _DECK)
    elif isinstance(cards, MaskCards):
        card_bytes, deal = cards.width, cards.size * cards.numbers_per_card * _MASK
    return Costs(
        report_bytes=form.width,
        card_bytes=card_bytes,
        deal_seconds=deal,
        respond_seconds=n * form.words * _WORD,
    )


AUTO = "auto"
LEAST_GAIN = 0.05  # cards that lower the variance by less are not worth a dealer
MAX_BYTES = 1_000  # of a report in an automatic choice
MAX_DEAL_SECONDS = 60.0  # for one deck in an automatic choice,
MAX_CARD_SECONDS = 20e-6  # or so long for each card, where that is more
# Times ε: what a collector that knows everything else may learn, as far as known.
MOST_INFORMED = 2.0
# In the view "everything" a mechanism is about as accurate as it is in the view "cards"; one that
# has so many times the variance there of what was found is not searched for.
_HOPELESS = 2.0


def mechanism_words() -> tuple[str, ...]:
    """What `plan(mechanism=...)` takes."""
    return (AUTO, *(key for key, family in families().items() if family.chosen))


def check_word(mechanism: object, words: tuple[str, ...] | None = None) -> str:
    """One of the words, or of all of `mechanism_words`, in any case."""
    word = mechanism.lower() if isinstance(mechanism, str) else mechanism
    return checks.one_of("mechanism", word, mechanism_words() if words is None else words)


def cardless_words() -> tuple[str, ...]:
    """Those of `mechanism_words` whose mechanisms never deal cards."""
    known = families()
    return tuple(word for word in mechanism_words() if word in known and not known[word].cards)


def choose(request: Request, word: str = AUTO, max_bytes: int = MAX_BYTES) -> Mechanism:
    """The most accurate mechanism that keeps ε in the view "cards" and the cap on the dealer.

    Automatically only among those that are worth their cost (`objection`).
    """
    if word != AUTO:
        return families()[word].best(request)
    best = list(_best_of_each(request))
    without = _least_without(best, request, max_bytes)
    worth = [m for family, m in best if not objection(family, m, request, without, max_bytes)]
    return least(worth, request)


def objection(
    family: Family, mechanism: Mechanism, request: Request, without: float, max_bytes: int
) -> str:
    """Why an automatic choice leaves a mechanism out; empty where it does not.

    without: the least variance of a mechanism that deals no cards.
    """
    costs = costs_of(mechanism, request.n)
    if family.key != BASELINE and costs.report_bytes > max_bytes:
        return f"{costs.report_bytes:,} bytes a report, more than max_bytes={max_bytes:,}"
    if not mechanism.deals:
        return ""
    if request.expected_variance(mechanism) > (1 - LEAST_GAIN) * without:
        return f"cards gain less than {LEAST_GAIN:.0%} of the variance"
    if costs.deal_seconds > max(MAX_DEAL_SECONDS, MAX_CARD_SECONDS * request.n):
        return f"dealing a deck takes about {costs.deal_seconds:,.0f} seconds"
    if family.best_informed is None and _loosely_capped(request):
        return (
            "against a collector that has all reports only the dealer's cap is known, "
            f"more than {MOST_INFORMED:g} times the epsilon asked for"
        )
    return ""


def _loosely_capped(request: Request) -> bool:
    """Whether the cap on the dealer says little of a collector that has all reports."""
    cap = request.dealer_epsilon
    return cap is None or cap > MOST_INFORMED * request.epsilon


def least_without_cards(request: Request, max_bytes: int = MAX_BYTES) -> float:
    """The least variance of a mechanism that deals no cards."""
    return _least_without(_best_of_each(request), request, max_bytes)


def _least_without(
    best: Iterable[tuple[Family, Mechanism]], request: Request, max_bytes: int
) -> float:
    return min(
        request.expected_variance(m)
        for family, m in best
        if not m.deals and _is_small(family, m, max_bytes)
    )


def _is_small(family: Family, mechanism: Mechanism, max_bytes: int) -> bool:
    return family.key == BASELINE or mechanism.report_format.width <= max_bytes


def choose_cardless(request: Request, word: str = AUTO, max_bytes: int = MAX_BYTES) -> Mechanism:
    """The most accurate mechanism without cards, of one family or of all.

    Args:
        request: What is known of the survey.
        word: One of `cardless_words` or "auto", in any case.
        max_bytes: Of a report, in an automatic choice.

    Returns:
        The mechanism; plain RR where no other is better.

    Raises:
        ArgumentError: The word is another one.
    """
    chosen = check_word(word, (AUTO, *cardless_words()))
    if chosen != AUTO:
        return families()[chosen].best(request)
    best = _best_of_each(request, cards=False)
    return least([m for family, m in best if _is_small(family, m, max_bytes)], request)


@lru_cache(maxsize=64)  # it takes seconds
def choose_informed(request: Request, delta: float, word: str = AUTO) -> Mechanism:
    """The same in the view "everything" at δ."""
    delta = checks.delta(delta)
    known = {key: family.best_informed for key, family in families().items()}
    informed = {key: best for key, best in known.items() if best is not None}
    if delta == 0:  # without a δ only these keep their word
        informed = {key: best for key, best in informed.items() if families()[key].pure}
    checks.one_of("mechanism", word, (AUTO, *informed))
    if word != AUTO:
        return least([informed[key](request, delta) for key in {BASELINE: 0, word: 0}], request)
    pure = [key for key in informed if families()[key].pure]
    best = [informed[key](request, delta) for key in pure]
    enough = _HOPELESS * request.expected_variance(least(best, request))
    for key in informed:  # their searches take seconds
        if key not in pure and request.expected_variance(families()[key].best(request)) < enough:
            best.append(informed[key](request, delta))
    without = min(request.expected_variance(m) for m in best if not m.deals)
    enough = (1 - LEAST_GAIN) * without
    return least(
        [m for m in best if not m.deals or request.expected_variance(m) <= enough], request
    )


def _best_of_each(request: Request, cards: bool = True) -> Iterator[tuple[Family, Mechanism]]:
    """The best of each family; the baseline always exists, others may be refused.

    cards: also of those that deal cards.
    """
    for family in families().values():
        if not family.chosen or (family.encodes and request.k == 2):
            continue
        if family.cards and not cards:
            continue
        if family.cards and family.best_informed is None and _loosely_capped(request):
            continue  # `objection` would leave it out
        try:
            yield family, family.best(request)
        except JrrError:
            if family.key == BASELINE:
                raise
