"""Which question is asked (a law, how many people, what is known), and views of shuffled RR."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, partial
from typing import NamedTuple, Protocol

import numpy as np

from jrr._base import checks
from jrr._base.exact import SCALE
from jrr.privacy.binomial import FAINT, ULP, Floats, Part, Progress, binomial, trimmed
from jrr.privacy.loss import DealtLaw, IndependentLaw, JointLaw
from jrr.privacy.shuffled.deck_law import BLOCK, DeckCounts, Pairs, Rates, Segment


@dataclass(frozen=True)
class Tails:
    """One composition of binary RR, where the best events are "at least t ones".

    δ = max over t of (p - e^ε q) Pr[S = t-1] - (e^ε - 1) Pr[S >= t], S the others' ones.
    """

    p: float
    q: float
    at: Floats  # Pr[S = t-1]
    beyond: Floats  # Pr[S >= t]
    ones: int  # how many of the others hold 1

    def delta(self, epsilon: float) -> float:
        """The largest δ of "1 against 0", never too small."""
        grown = math.exp(epsilon)
        # Sums of positive terms: relative errors add up, a few for each entry and convolution.
        loose = (16 * len(self.at) + 1024) * ULP
        gain = self.p - grown * self.q + 8 * ULP * (self.p + grown * self.q)
        best = gain * (1 + loose) * self.at - math.expm1(epsilon) * (1 - loose) * self.beyond
        return min(1.0, max(0.0, float(best.max())) + 128 * len(self.at) * FAINT)


def _tails(rr: IndependentLaw, law: Floats, ones: int) -> Tails:
    q = rr.lie / SCALE
    beyond = np.zeros_like(law)
    beyond[:-1] = np.cumsum(law[:0:-1])[::-1]
    return Tails(1 - q, q, law, beyond, ones)


def view_of_rr(rr: IndependentLaw, n: int, ones: int) -> Tails:
    """One composition, on its own."""
    q = Fraction(rr.lie, SCALE)
    law = np.convolve(binomial(ones, 1 - q).law, binomial(n - 1 - ones, q).law)
    return _tails(rr, trimmed(law), ones)


def views_of_rr(rr: IndependentLaw, n: int, progress: Progress | None) -> Iterator[Tails]:
    """Every composition, the extremes first: after them few are worse.

    Laws are only ever convolved, never divided: what a range of compositions has in common is
    computed once, then halves of the range add what they have in common, and so on.
    """
    q = Fraction(rr.lie, SCALE)

    @cache
    def adder(people: int, hold: bool) -> Floats:
        return binomial(people, 1 - q if hold else q).law

    def added(law: Floats, people: int, hold: bool) -> Floats:
        return trimmed(np.convolve(law, adder(people, hold)))

    def within(law: Floats, low: int, high: int) -> Iterator[Tails]:
        """Compositions low..high; the law is of `low` holders and of others for `high`."""
        if low == high:
            yield _tails(rr, law, low)
            return
        middle = (low + high) // 2
        yield from within(added(law, high - middle, False), low, middle)
        yield from within(added(law, middle + 1 - low, True), middle + 1, high)

    for ones in {0, n // 2, n - 1}:
        yield view_of_rr(rr, n, ones)
    for done, view in enumerate(within(np.ones(1), 0, n - 1)):
        if progress is not None and done % 256 == 0:
            progress(done, n)
        yield view
    if progress is not None:
        progress(n, n)


MOST_SCANNED = 400_000  # compositions; to scan so many takes half a minute to a minute
_MOST_ALONE = 10**7  # contributors of one composition: beyond, convolutions are slow


class ShuffledView(Protocol):
    """What the adversary sees in one or several compositions."""

    def delta(self, epsilon: float) -> float:
        """The largest δ of them, never too small."""


class ShuffledSurvey(NamedTuple):
    """A checked question."""

    views: Callable[[Progress | None], Iterator[ShuffledView]]
    pure: float  # an ε that holds with δ = 0


def shuffled_independent(
    law: IndependentLaw, n: object, ones: object, colluders: object
) -> ShuffledSurvey:
    """Plain randomized response behind a shuffler."""
    if n is None:
        raise checks.refusal("n", n, "the number of contributors: RR does not know it")
    people = checks.integer("n", n, 1)
    left = people - checks.integer("colluders", colluders, 0, people - 1)
    pure = law.epsilon("report", 0)
    if law.k > 2:
        if ones is not None:
            raise checks.refusal("ones", ones, "None for k > 2: the bound holds for all")
        return ShuffledSurvey(lambda _: iter([Blanket(law, left)]), pure)
    count = check_scan(left, ones)
    if count is None:
        return ShuffledSurvey(partial(views_of_rr, law, left), pure)
    # The other direction is that of the mirrored composition.
    both = [view_of_rr(law, left, o) for o in {count, left - 1 - count}]
    return ShuffledSurvey(lambda _: iter(both), pure)


def shuffled_deck(
    law: JointLaw | DealtLaw, n: object, ones: object, colluders: object
) -> ShuffledSurvey:
    """Binary JRR or DRR behind a shuffler, one full deck."""
    deck = TwoValueDeck.of_joint(law) if isinstance(law, JointLaw) else TwoValueDeck.of_dealt(law)
    if n is not None and n != deck.n:
        raise checks.refusal("n", n, f"None or the {deck.n} contributors of the deck")
    known = checks.integer("colluders", colluders, 0, deck.n - 1)
    left = decks_left(deck, known)
    count = check_scan(deck.n - known, ones, len(left))
    # All other values and reports are the view `truths`; cards besides, and the target's own card
    # may be known. The counts are less than that. (`cards` with few colluders is no such bound:
    # there the others' reports are not seen.)
    pure = law.epsilon("dealer", 0) if known else law.epsilon("truths", deck.n - 1)
    return ShuffledSurvey(partial(views_of_decks, deck, left, count), pure)


def check_delta(value: object) -> float:
    """A probability that is neither 0 nor 1."""
    return checks.real("delta", value, "in (0, 1)", 0.0, 1.0, open_low=True, open_high=True)


def check_scan(people: int, ones: object, decks: int = 1) -> int | None:
    """A composition of the others, or None for all of them where there are not too many."""
    if ones is None:
        if people * decks > MOST_SCANNED:
            raise checks.refusal(
                "ones",
                ones,
                f"given for so many: {people * decks} compositions, "
                f"of which at most {MOST_SCANNED} are scanned",
            )
        return None
    if people > _MOST_ALONE:
        raise checks.refusal("n", people, f"at most {_MOST_ALONE}")
    return checks.integer("ones", ones, 0, people - 1)


_GROUPS = 24  # numbers of uniform reports that are told apart; fewer is a looser bound


class Blanket:
    """GRR with the others' truthful reports given away.

    Each of the others draws uniformly from all k values with chance kq, else tells the truth. The
    adversary is told who told the truth. Left are u uniform reports and the target's, m = u + 1 in
    all, and a histogram h of them has, with x true, the chance of m uniform reports times
    k (q + (p-q) h_x/m).
    """

    def __init__(self, rr: IndependentLaw, n: int) -> None:
        self.k = rr.k
        q = Fraction(rr.lie, (self.k - 1) * SCALE)
        self.q, self.gain = float(q), float(1 - self.k * q)
        start, law = binomial(n - 1, min(Fraction(1), self.k * q))
        # One uniform report more only hides more: each group counts as its smallest member.
        size = -(-len(law) // _GROUPS)
        first = np.arange(0, len(law), size)
        self.faint = (len(law) + 2) * FAINT
        self.groups = [
            (start + int(u) + 1, float(mass), binomial(start + int(u) + 1, Fraction(2, self.k)))
            for u, mass in zip(first, np.add.reduceat(law, first), strict=True)
        ]

    def delta(self, epsilon: float) -> float:
        """Never too small, for every composition and every two values."""
        if self.gain <= 0:  # rounding left the truth no likelier than a lie
            return -self.gain
        total = sum(
            mass * min(1.0, self._of(m, either, epsilon)) for m, mass, either in self.groups
        )
        return min(1.0, total * (1 + 64 * ULP) + self.faint)

    def _of(self, m: int, either: Part, epsilon: float) -> float:
        """δ given m reports; of c that are x or x', a ~ Bin(c, 1/2) are x."""
        from scipy.special import betainc

        grown = math.exp(epsilon)
        c = either.start + np.arange(len(either.law), dtype=np.float64)
        slope = self.gain * (1 + grown) / m
        offset = self.q * math.expm1(epsilon) + grown * self.gain * c / m
        # a >= least speaks for x; a tie, which adds nothing, is taken in.
        least = np.clip(np.floor(offset / slope * (1 - 8 * ULP)) + 1, 0, c + 1)

        def tail(trials: Floats, low: Floats) -> Floats:
            inside = (low >= 1) & (low <= trials)
            a, b = np.where(inside, low, 1.0), np.where(inside, trials - low + 1, 1.0)
            return np.where(inside, betainc(a, b, 0.5), (low < 1) & (trials >= 0))

        speaks = slope * (c / 2) * tail(c - 1, least - 1)
        against = offset * tail(c, least)
        slack = 1e-12 * (speaks + against)  # the special function is good to some hundred ulps
        part = self.k * np.maximum(0.0, speaks - against + slack)
        return float(np.dot(either.law, part)) + len(c) * FAINT * self.k


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
