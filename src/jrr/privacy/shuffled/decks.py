"""Cards that are dealt: which decks and compositions there are to look at."""

from collections.abc import Iterator
from fractions import Fraction
from typing import NamedTuple

from jrr._base.exact import SCALE
from jrr.privacy.binomial import Progress
from jrr.privacy.loss import DealtLaw, JointLaw
from jrr.privacy.shuffled.deck_law import BLOCK, DeckCounts, Pairs, Rates, Segment

_SEGMENTS = 16  # parts of the scan that share Fourier terms


class TwoValueDeck(NamedTuple):
    """A deck of plus and minus cards, and how often holders of 1 and of 0 report 1."""

    n: int  # cards
    signed: int  # cards that are not blank
    plus: int
    holder: Rates
    other: Rates
    turns: bool  # with all values turned over, cards turn over too

    @classmethod
    def of_joint(cls, law: JointLaw) -> "TwoValueDeck":
        """JRR: plus leans towards the truth."""
        lies = (law.lie_minus, law.lie_blank, law.lie_plus)
        return cls(
            law.n,
            law.signed,
            law.plus,
            Rates(*(float(Fraction(SCALE - lie, SCALE)) for lie in lies)),
            Rates(*(float(Fraction(lie, SCALE)) for lie in lies)),
            turns=False,
        )

    @classmethod
    def of_dealt(cls, law: DealtLaw) -> "TwoValueDeck":
        """DRR: plus is a card 1."""
        truth, dealt, own = law.truth, law.dealt, law.own // 2
        holder = (truth + own, 0, truth + own + dealt)
        other = (own, 0, own + dealt)
        return cls(
            law.n,
            law.n,
            law.deck[1],
            Rates(*(float(Fraction(words, SCALE)) for words in holder)),
            Rates(*(float(Fraction(words, SCALE)) for words in other)),
            turns=True,
        )


def decks_left(deck: TwoValueDeck, known: int) -> list[DeckCounts]:
    """Every deck that may be left when colluders have shown their cards."""
    signed, plus = deck.signed, deck.plus
    decks = []
    for shown in {0, deck.n - signed}:  # blank cards among the colluders'
        cards = known - shown
        if 0 <= cards <= signed:
            decks += [
                DeckCounts(signed - cards, plus - held, deck.n - signed - shown)
                for held in range(max(0, cards - (signed - plus)), min(cards, plus) + 1)
            ]
    return decks


def views_of_decks(
    whole: TwoValueDeck, decks: list[DeckCounts], ones: int | None, progress: Progress | None
) -> Iterator[Pairs]:
    """One composition of every deck, or all of them."""
    rates = (whole.holder, whole.other)
    if ones is not None:
        for deck in decks:
            yield from Segment(deck, rates, ones, ones).pairs()
        return
    ranges = []
    for deck in dict.fromkeys(_mirrored(whole, deck) for deck in decks):
        people = deck.signed + deck.blank
        # Values and reports turned over: JRR keeps its cards, DRR turns them over too. So the
        # other half of the compositions says the same in the other direction.
        same = not whole.turns or 2 * deck.plus == deck.signed
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


def _mirrored(whole: TwoValueDeck, deck: DeckCounts) -> DeckCounts:
    if not whole.turns:
        return deck
    return deck._replace(plus=min(deck.plus, deck.signed - deck.plus))
