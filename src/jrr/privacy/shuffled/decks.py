"""Cards that are dealt: which decks and compositions there are to look at."""

from collections.abc import Iterator
from fractions import Fraction

from jrr._base.exact import SCALE
from jrr.mechanisms.dealt import DRR
from jrr.mechanisms.joint import JRR
from jrr.privacy.binomial import Progress
from jrr.privacy.shuffled.deck_law import BLOCK, Deck, Pairs, Rates, Segment

_SEGMENTS = 16  # parts of the scan that share Fourier terms


def _rates(mechanism: JRR | DRR) -> tuple[Rates, Rates]:
    """Of holders of 1 and of 0. A plus card of DRR is a card 1."""
    if isinstance(mechanism, JRR):
        law = mechanism.law
        lies = (law.lie_minus, law.lie_blank, law.lie_plus)
        return (
            Rates(*(float(Fraction(SCALE - lie, SCALE)) for lie in lies)),
            Rates(*(float(Fraction(lie, SCALE)) for lie in lies)),
        )
    truth, dealt, own = mechanism.law.truth, mechanism.law.dealt, mechanism.law.own // 2
    holder = (truth + own, 0, truth + own + dealt)
    other = (own, 0, own + dealt)
    return (
        Rates(*(float(Fraction(words, SCALE)) for words in holder)),
        Rates(*(float(Fraction(words, SCALE)) for words in other)),
    )


def decks_left(mechanism: JRR | DRR, known: int) -> list[Deck]:
    """Every deck that may be left when colluders have shown their cards."""
    if isinstance(mechanism, JRR):
        signed, plus = mechanism.signed, mechanism.signed // 2
    else:
        signed, plus = mechanism.n, mechanism.deck[1]
    decks = []
    for shown in {0, mechanism.n - signed}:  # blank cards among the colluders'
        cards = known - shown
        if 0 <= cards <= signed:
            decks += [
                Deck(signed - cards, plus - held, mechanism.n - signed - shown)
                for held in range(max(0, cards - (signed - plus)), min(cards, plus) + 1)
            ]
    return decks


def views_of_decks(
    mechanism: JRR | DRR, decks: list[Deck], ones: int | None, progress: Progress | None
) -> Iterator[Pairs]:
    """One composition of every deck, or all of them."""
    rates = _rates(mechanism)
    if ones is not None:
        for deck in decks:
            yield from Segment(deck, rates, ones, ones).pairs()
        return
    ranges = []
    for deck in dict.fromkeys(_mirrored(mechanism, deck) for deck in decks):
        people = deck.signed + deck.blank
        # Values and reports turned over: JRR keeps its cards, DRR turns them over too. So the
        # other half of the compositions says the same in the other direction.
        same = isinstance(mechanism, JRR) or 2 * deck.plus == deck.signed
        last = (people - 1) // 2 if same else people - 1
        size = max(BLOCK, -(-(last + 1) // _SEGMENTS))
        ranges += [(deck, low, min(last, low + size - 1)) for low in range(0, last + 1, size)]
    ranges.sort(key=lambda part: part[1] != 0)  # the extremes first: after them few are worse
    total, done = sum(high - low + 1 for _, low, high in ranges), 0
    for deck, low, high in ranges:
        for pairs in Segment(deck, rates, low, high).pairs():
            yield pairs
            done += len(pairs.laws) - 1
            if progress is not None:
                progress(done, total)


def _mirrored(mechanism: JRR | DRR, deck: Deck) -> Deck:
    if isinstance(mechanism, JRR):
        return deck
    return deck._replace(plus=min(deck.plus, deck.signed - deck.plus))
