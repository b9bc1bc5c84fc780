"""What a collector learns that sees shuffled reports: mechanism and n -> (ε, δ), rounded up.

Behind a uniform shuffler only the counts of the reports are left. The adversary knows everybody
else's true value and asks whether the target holds x or x'. δ(ε) is the largest
Pr[E | x] - e^ε Pr[E | x'] over all events E, over both directions and, unless `ones` names a
composition, over all values the others may hold.

    RR, k = 2        exact law of the count, positive arithmetic throughout
    RR, k > 2        upper bound: the adversary is also told who drew a value uniformly
    JRR, DRR, k = 2  exact law of the count of one full deck, from its generating function

All three add what truncation and rounding may have lost, so that a figure is never too small
(docs/theory.md). Probabilities are those of the words that run.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from jrr import checks
from jrr.exact import SCALE
from jrr.mechanisms.base import Mechanism
from jrr.mechanisms.dealt import DRR
from jrr.mechanisms.joint import JRR
from jrr.mechanisms.rr import RR

Floats: TypeAlias = NDArray[np.float64]
Progress: TypeAlias = Callable[[int, int], None]  # compositions done, compositions in all

MOST_SCANNED = 400_000  # compositions; to scan so many takes half a minute to a minute
_MOST_ALONE = 10**7  # contributors of one composition: beyond, convolutions are slow
_ULP = 2.0**-52
_LARGEST = 700.0  # e^700 is about the largest number there is


# -- what is offered ---------------------------------------------------------------------------


def amplified_epsilon(epsilon0: float, n: int, delta: float) -> float:
    """ε at δ of n shuffled, independent ε0-private reports, by a published closed form.

    Feldman, McMillan, Talwar, "Hiding Among the Clones: A Simple and Nearly Optimal Analysis of
    Privacy Amplification by Shuffling" (FOCS 2021, arXiv:2012.12803), Theorem 3.1. Outside its
    range the reports are at least as private as they were: ε0. It speaks of reports made
    independently: not of JRR, DRR or any other mechanism that deals cards.
    """
    if isinstance(epsilon0, Mechanism):
        raise checks.refusal(
            "epsilon0", epsilon0, "a number, the epsilon of reports that are made independently"
        )
    local = checks.epsilon("epsilon0", epsilon0)
    n = checks.integer("n", n, 1)
    delta = _check_delta(delta)
    if local > math.log(n / (16 * math.log(2 / delta))):
        return local
    grown = math.exp(local)
    spread = 8 * math.sqrt(grown * math.log(4 / delta) / n) + 8 * grown / n
    amplified = math.log1p(math.tanh(local / 2) * spread)  # tanh(x/2) = (e^x - 1)/(e^x + 1)
    return min(local, amplified * (1 + 16 * _ULP))


def shuffled_delta(
    mechanism: Mechanism,
    epsilon: float,
    n: int | None = None,
    ones: int | None = None,
    colluders: int = 0,
    progress: Progress | None = None,
) -> float:
    """δ at ε of the counts of shuffled reports, never too small.

    n: contributors, for RR; JRR and DRR know theirs (one full deck, everybody reports). ones: how
    many of the others, colluders aside, hold 1; without it the worst number counts. colluders
    tell the adversary their own reports and cards; the worst cards count.
    """
    epsilon = checks.real("epsilon", epsilon, "in 0..700", 0.0, _LARGEST)
    survey = _survey(mechanism, n, ones, colluders)
    if epsilon >= survey.pure:
        return 0.0
    return max(view.delta(epsilon) for view in survey.views(progress))


def shuffled_epsilon(
    mechanism: Mechanism,
    delta: float,
    n: int | None = None,
    ones: int | None = None,
    colluders: int = 0,
    progress: Progress | None = None,
) -> float:
    """The smallest ε, to nine digits and rounded up, at which δ is at most this.

    Arguments as for `shuffled_delta`. math.inf where no ε can be shown: for JRR and DRR a δ below
    some 1e-11 drowns in what rounding may have lost.
    """
    delta = _check_delta(delta)
    survey = _survey(mechanism, n, ones, colluders)
    epsilon = 0.0
    for view in survey.views(progress):
        if view.delta(epsilon) > delta:
            epsilon = _least_epsilon(view, delta, epsilon)
        if epsilon >= survey.pure:
            break
    return min(epsilon, survey.pure)


def shuffled_rr(
    n: int,
    epsilon: float,
    delta: float,
    k: int = 2,
    bound: str = "exact",
    progress: Progress | None = None,
) -> RR:
    """Randomized response with the largest local ε0 that is (ε, δ)-private once shuffled.

    bound: "exact" by the law of the counts (k = 2) or its bound (k > 2), "closed form" by
    `amplified_epsilon`.
    """
    epsilon, delta = checks.epsilon("epsilon", epsilon), _check_delta(delta)
    n, k = checks.integer("n", n, 1), checks.domain(k)
    bound = checks.one_of("bound", bound, ("exact", "closed form"))
    if bound == "closed form":
        return RR(k, _largest(epsilon, lambda local: amplified_epsilon(local, n, delta) <= epsilon))
    if k > 2:
        return RR(k, _largest(epsilon, lambda e: shuffled_delta(RR(k, e), epsilon, n) <= delta))
    _check_scan(n, None)
    # A few compositions choose, all of them check, and one that fails joins the few. For each of
    # them δ grows with ε0, because answers can be made more random after the fact.
    few = {0, n // 2, n - 1}
    nearly = delta * (1 - 1e-9)  # so that rounding cannot make one of the few fail the check
    while True:

        def keeps(local: float) -> bool:
            made = RR(2, local)
            return all(_view_of_rr(made, n, ones).delta(epsilon) <= nearly for ones in few)

        made = RR(2, _largest(epsilon, keeps))
        if epsilon >= made.epsilon():
            return made
        views = _views_of_rr(made, n, progress)
        reached, ones = max((view.delta(epsilon), view.ones) for view in views)
        if reached <= delta:
            return made
        few.add(ones)


# -- which question is asked -------------------------------------------------------------------


class _View(Protocol):
    """What the adversary sees in one or several compositions."""

    def delta(self, epsilon: float) -> float:
        """The largest δ of them, never too small."""


class _Survey(NamedTuple):
    """A checked question."""

    views: Callable[[Progress | None], Iterator[_View]]
    pure: float  # an ε that holds with δ = 0


def _survey(mechanism: Mechanism, n: object, ones: object, colluders: object) -> _Survey:
    if isinstance(mechanism, RR):
        if n is None:
            raise checks.refusal("n", n, "the number of contributors: RR does not know it")
        people = checks.integer("n", n, 1)
        left = people - checks.integer("colluders", colluders, 0, people - 1)
        pure = mechanism.epsilon()
        if mechanism.k > 2:
            if ones is not None:
                raise checks.refusal("ones", ones, "None for k > 2: the bound holds for all")
            return _Survey(lambda _: iter([_Blanket(mechanism, left)]), pure)
        count = _check_scan(left, ones)
        if count is None:
            return _Survey(partial(_views_of_rr, mechanism, left), pure)
        # The other direction is that of the mirrored composition.
        both = [_view_of_rr(mechanism, left, o) for o in {count, left - 1 - count}]
        return _Survey(lambda _: iter(both), pure)
    if not isinstance(mechanism, JRR | DRR) or mechanism.k > 2:
        raise checks.refusal(
            "mechanism", mechanism, "RR, or JRR or DRR with k=2: no law is known here for others"
        )
    if n is not None and n != mechanism.n:
        raise checks.refusal("n", n, f"None or the {mechanism.n} contributors of the deck")
    known = checks.integer("colluders", colluders, 0, mechanism.n - 1)
    decks = _decks_left(mechanism, known)
    count = _check_scan(mechanism.n - known, ones, len(decks))
    # All other values and reports are the view `truths`; cards besides, and the target's own card
    # may be known. The counts are less than that. (`cards` with few colluders is no such bound:
    # there the others' reports are not seen.)
    pure = mechanism.epsilon("dealer") if known else mechanism.epsilon("truths", mechanism.n - 1)
    return _Survey(partial(_views_of_decks, mechanism, decks, count), pure)


def _check_delta(value: object) -> float:
    return checks.real("delta", value, "in (0, 1)", 0.0, 1.0, open_low=True, open_high=True)


def _check_scan(people: int, ones: object, decks: int = 1) -> int | None:
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


def _least_epsilon(view: _View, delta: float, failed: float) -> float:
    """The least ε above one that failed; δ falls with ε, but what rounding may add grows."""
    low, high = failed, max(2 * failed, 1e-3)
    while view.delta(high) > delta:
        low, high = high, 2 * high
        if high > _LARGEST:
            return math.inf
    while high - low > 1e-9 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if view.delta(middle) <= delta else (middle, high)
    return high


def _largest(certain: float, keeps: Callable[[float], bool]) -> float:
    """The largest number, to nine digits and rounded down, that keeps; `certain` does."""
    low, high = certain, 2 * certain
    while high < _LARGEST and keeps(high):
        low, high = high, 2 * high
    high = min(high, _LARGEST)
    while high - low > 1e-9 * low:
        middle = (low + high) / 2
        low, high = (middle, high) if keeps(middle) else (low, middle)
    return low


# -- binary RR: the law of the count, by positive arithmetic -------------------------------------

_FAINT = 1e-32  # probabilities below this are dropped at both ends of a law


class _Part(NamedTuple):
    """A stretch of a law; what is left out is at most length * _FAINT."""

    start: int
    law: Floats


@dataclass(frozen=True)
class _Tails:
    """One composition of binary RR, where the best events are "at least t ones".

    δ = max over t of (p - e^ε q) Pr[S = t-1] - (e^ε - 1) Pr[S >= t], S the others' ones.
    """

    p: float
    q: float
    at: Floats  # Pr[S = t-1]
    beyond: Floats  # Pr[S >= t]
    ones: int  # how many of the others hold 1

    def delta(self, epsilon: float) -> float:
        grown = math.exp(epsilon)
        # Sums of positive terms: relative errors add up, a few for each entry and convolution.
        loose = (16 * len(self.at) + 1024) * _ULP
        gain = self.p - grown * self.q + 8 * _ULP * (self.p + grown * self.q)
        best = gain * (1 + loose) * self.at - math.expm1(epsilon) * (1 - loose) * self.beyond
        return min(1.0, max(0.0, float(best.max())) + 128 * len(self.at) * _FAINT)


def _tails(mechanism: RR, law: Floats, ones: int) -> _Tails:
    q = mechanism.lie_words / SCALE
    beyond = np.zeros_like(law)
    beyond[:-1] = np.cumsum(law[:0:-1])[::-1]
    return _Tails(1 - q, q, law, beyond, ones)


def _view_of_rr(mechanism: RR, n: int, ones: int) -> _Tails:
    q = Fraction(mechanism.lie_words, SCALE)
    law = np.convolve(_binomial(ones, 1 - q).law, _binomial(n - 1 - ones, q).law)
    return _tails(mechanism, _trimmed(law), ones)


def _views_of_rr(mechanism: RR, n: int, progress: Progress | None) -> Iterator[_Tails]:
    """Every composition, the extremes first: after them few are worse.

    Laws are only ever convolved, never divided: what a range of compositions has in common is
    computed once, then halves of the range add what they have in common, and so on.
    """
    q = Fraction(mechanism.lie_words, SCALE)
    adders: dict[tuple[int, bool], Floats] = {}

    def added(law: Floats, people: int, hold: bool) -> Floats:
        if (people, hold) not in adders:
            adders[people, hold] = _binomial(people, 1 - q if hold else q).law
        return _trimmed(np.convolve(law, adders[people, hold]))

    def within(law: Floats, low: int, high: int) -> Iterator[_Tails]:
        """Compositions low..high; the law is of `low` holders and of others for `high`."""
        if low == high:
            yield _tails(mechanism, law, low)
            return
        middle = (low + high) // 2
        yield from within(added(law, high - middle, False), low, middle)
        yield from within(added(law, middle + 1 - low, True), middle + 1, high)

    for ones in {0, n // 2, n - 1}:
        yield _view_of_rr(mechanism, n, ones)
    for done, view in enumerate(within(np.ones(1), 0, n - 1)):
        if progress is not None and done % 256 == 0:
            progress(done, n)
        yield view
    if progress is not None:
        progress(n, n)


def _trimmed(law: Floats) -> Floats:
    """Without the faint ends; laws here have one peak."""
    loud = np.flatnonzero(law > _FAINT)
    return law[loud[0] : loud[-1] + 1]


def _binomial(trials: int, chance: Fraction) -> _Part:
    """The law of a binomial, outward from its mode: products and sums of positive numbers."""
    if trials == 0 or chance in (0, 1):
        return _Part(trials * int(chance), np.ones(1))
    mean, odds = trials * chance, float(chance / (1 - chance))
    mode = min(trials, math.floor(mean + chance))
    reach = _reach(float(mean * (1 - chance)), 76.0) + 1  # e^-76 < _FAINT / 10
    up = np.arange(mode, min(trials, mode + reach), dtype=np.float64)
    down = np.arange(mode, max(0, mode - reach), -1, dtype=np.float64)
    rise = np.cumprod((trials - up) / (up + 1) * odds)
    fall = np.cumprod(down / (trials - down + 1) / odds)
    law = np.concatenate((fall[::-1], [1.0], rise))
    law /= law.sum()
    loud = np.flatnonzero(law > _FAINT)
    return _Part(mode - len(fall) + int(loud[0]), law[loud[0] : loud[-1] + 1])


def _reach(variance: float, exponent: float) -> int:
    """How far from its mean a sum of independent 0s and 1s strays with chance e^-exponent.

    Bernstein: at distance u at most exp(-u²/(2(variance + u/3))) on either side.
    """
    third = exponent / 3
    return math.ceil(third + math.sqrt(third * third + 2 * exponent * variance))


# -- k-ary RR: an upper bound ------------------------------------------------------------------

_GROUPS = 24  # numbers of uniform reports that are told apart; fewer is a looser bound


class _Blanket:
    """GRR with the others' truthful reports given away.

    Each of the others draws uniformly from all k values with chance kq, else tells the truth. The
    adversary is told who told the truth. Left are u uniform reports and the target's, m = u + 1 in
    all, and a histogram h of them has, with x true, the chance of m uniform reports times
    k (q + (p-q) h_x/m).
    """

    def __init__(self, mechanism: RR, n: int) -> None:
        self.k = mechanism.k
        q = Fraction(mechanism.lie_words, (self.k - 1) * SCALE)
        self.q, self.gain = float(q), float(1 - self.k * q)
        start, law = _binomial(n - 1, min(Fraction(1), self.k * q))
        # One uniform report more only hides more: each group counts as its smallest member.
        size = -(-len(law) // _GROUPS)
        first = np.arange(0, len(law), size)
        self.faint = (len(law) + 2) * _FAINT
        self.groups = [
            (start + int(u) + 1, float(mass), _binomial(start + int(u) + 1, Fraction(2, self.k)))
            for u, mass in zip(first, np.add.reduceat(law, first), strict=True)
        ]

    def delta(self, epsilon: float) -> float:
        if self.gain <= 0:  # rounding left the truth no likelier than a lie
            return -self.gain
        total = sum(
            mass * min(1.0, self._of(m, either, epsilon)) for m, mass, either in self.groups
        )
        return min(1.0, total * (1 + 64 * _ULP) + self.faint)

    def _of(self, m: int, either: _Part, epsilon: float) -> float:
        """δ given m reports; of c that are x or x', a ~ Bin(c, 1/2) are x."""
        from scipy.special import betainc

        grown = math.exp(epsilon)
        c = either.start + np.arange(len(either.law), dtype=np.float64)
        slope = self.gain * (1 + grown) / m
        offset = self.q * math.expm1(epsilon) + grown * self.gain * c / m
        # a >= least speaks for x; a tie, which adds nothing, is taken in.
        least = np.clip(np.floor(offset / slope * (1 - 8 * _ULP)) + 1, 0, c + 1)

        def tail(trials: Floats, low: Floats) -> Floats:
            inside = (low >= 1) & (low <= trials)
            a, b = np.where(inside, low, 1.0), np.where(inside, trials - low + 1, 1.0)
            return np.where(inside, betainc(a, b, 0.5), (low < 1) & (trials >= 0))

        speaks = slope * (c / 2) * tail(c - 1, least - 1)
        against = offset * tail(c, least)
        slack = 1e-12 * (speaks + against)  # the special function is good to some hundred ulps
        part = self.k * np.maximum(0.0, speaks - against + slack)
        return float(np.dot(either.law, part)) + len(c) * _FAINT * self.k


# -- one deck: the law of the count from its generating function -------------------------------

_TAIL = 46.0  # e^-46: outside the window, outside the deck's alias
_CUT = 62.0  # Fourier terms below e^-62 are dropped
_BLOCK = 32  # compositions that share a window
_SEGMENTS = 16  # parts of the scan that share Fourier terms


class _Deck(NamedTuple):
    """The cards of the target and of all who do not collude."""

    signed: int
    plus: int
    blank: int  # 0 or 1


class _Rates(NamedTuple):
    """Chance to report 1, by card."""

    minus: float
    blank: float
    plus: float


def _rates(mechanism: JRR | DRR) -> tuple[_Rates, _Rates]:
    """Of holders of 1 and of 0. A plus card of DRR is a card 1."""
    if isinstance(mechanism, JRR):
        law = mechanism.law
        lies = (law.lie_minus, law.lie_blank, law.lie_plus)
        return (
            _Rates(*(float(Fraction(SCALE - lie, SCALE)) for lie in lies)),
            _Rates(*(float(Fraction(lie, SCALE)) for lie in lies)),
        )
    truth, dealt, own = mechanism.law.truth, mechanism.law.dealt, mechanism.law.own // 2
    holder = (truth + own, 0, truth + own + dealt)
    other = (own, 0, own + dealt)
    return (
        _Rates(*(float(Fraction(words, SCALE)) for words in holder)),
        _Rates(*(float(Fraction(words, SCALE)) for words in other)),
    )


def _decks_left(mechanism: JRR | DRR, known: int) -> list[_Deck]:
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
                _Deck(signed - cards, plus - held, mechanism.n - signed - shown)
                for held in range(max(0, cards - (signed - plus)), min(cards, plus) + 1)
            ]
    return decks


def _views_of_decks(
    mechanism: JRR | DRR, decks: list[_Deck], ones: int | None, progress: Progress | None
) -> Iterator[_View]:
    rates = _rates(mechanism)
    if ones is not None:
        for deck in decks:
            yield from _Segment(deck, rates, ones, ones).pairs()
        return
    ranges = []
    for deck in dict.fromkeys(_mirrored(mechanism, deck) for deck in decks):
        people = deck.signed + deck.blank
        # Values and reports turned over: JRR keeps its cards, DRR turns them over too. So the
        # other half of the compositions says the same in the other direction.
        same = isinstance(mechanism, JRR) or 2 * deck.plus == deck.signed
        last = (people - 1) // 2 if same else people - 1
        size = max(_BLOCK, -(-(last + 1) // _SEGMENTS))
        ranges += [(deck, low, min(last, low + size - 1)) for low in range(0, last + 1, size)]
    ranges.sort(key=lambda part: part[1] != 0)  # the extremes first: after them few are worse
    total, done = sum(high - low + 1 for _, low, high in ranges), 0
    for deck, low, high in ranges:
        for pairs in _Segment(deck, rates, low, high).pairs():
            yield pairs
            done += len(pairs.laws) - 1
            if progress is not None:
                progress(done, total)


def _mirrored(mechanism: JRR | DRR, deck: _Deck) -> _Deck:
    if isinstance(mechanism, JRR):
        return deck
    return deck._replace(plus=min(deck.plus, deck.signed - deck.plus))


class _Pairs(NamedTuple):
    """Laws of the count with 1, 2, 3... more holders; neighbours are the two hypotheses."""

    laws: Floats
    error: float  # of any one law, summed over all counts

    def delta(self, epsilon: float) -> float:
        grown = math.exp(epsilon)
        fewer, more = self.laws[:-1], self.laws[1:]
        worst = max(
            float(np.maximum(first - grown * second, 0.0).sum(axis=1).max())
            for first, second in ((more, fewer), (fewer, more))
        )
        return min(1.0, worst + (1 + grown) * self.error)


class _Group:
    """One contributor whose card is plus with chance `share`: Σ w z^report y^plus."""

    def __init__(self, rates: _Rates, share: float) -> None:
        up, down = share, 1 - share
        self.mean = up * rates.plus + down * rates.minus
        self.w00, self.w10 = down * (1 - rates.minus), down * rates.minus
        self.w01, self.w11 = up * (1 - rates.plus), up * rates.plus
        self.share = share
        self.covariance = up * down * (rates.plus - rates.minus)
        self.variance = self.mean * (1 - self.mean)
        self.bends = np.array(
            [
                self.w00 * self.w10 + self.w01 * self.w11,  # same card, other report
                self.w00 * self.w01 + self.w10 * self.w11,  # same report, other card
                self.w00 * self.w11 + self.w10 * self.w01,
                self.w00 * self.w11 - self.w10 * self.w01,
            ]
        )

    def _terms(self) -> tuple[tuple[float, float, float], ...]:
        low, high = -self.mean, 1 - self.mean
        minus, plus = -self.share, 1 - self.share
        return (
            (self.w00, low, minus),
            (self.w10, high, minus),
            (self.w01, low, plus),
            (self.w11, high, plus),
        )

    def log_moment(self, t: Floats, r: Floats) -> Floats:
        """Of the centred report and card at real t and r."""
        return np.log(sum((w * np.exp(t * y + r * c) for w, y, c in self._terms()), np.zeros(1)))

    def log_phase(self, theta: Floats, omega: Floats) -> NDArray[np.complex128]:
        """Of the same at iθ and iω, with the digits that an n-th power needs: from f - 1."""
        real, imaginary = np.zeros_like(theta), np.zeros_like(theta)
        for weight, y, c in self._terms():
            phase = theta * y + omega * c
            real -= 2 * weight * np.sin(phase / 2) ** 2
            imaginary += weight * np.sin(phase)
        excess = real * (2 + real) + imaginary**2  # |f|² - 1
        far = np.log(np.maximum(np.hypot(1 + real, imaginary), 1e-300))
        size = np.where(excess < -0.5, far, 0.5 * np.log1p(np.maximum(excess, -0.5)))
        return size + 1j * np.arctan2(imaginary, 1 + real)


class _Segment:
    """Laws of the count for a range of compositions of one deck.

    Cards drawn independently, given that they are the deck, are a shuffled deck: the law of the
    count is the coefficient of y^plus in A^ones B^zeros, A and B the laws of one holder of 1 and
    of 0, divided by the chance of the deck. Both coefficients are sums over Fourier nodes (θ, ω);
    few of these matter. A blank card is with a holder of 1 or of 0, and is added last.
    """

    def __init__(self, deck: _Deck, rates: tuple[_Rates, _Rates], low: int, high: int) -> None:
        """Compositions low..high of the others: low..high+1 holders with the target."""
        self.deck, self.rates, self.low, self.high = deck, rates, low, high
        self.people = deck.signed + deck.blank
        share = deck.plus / deck.signed if deck.signed else 0.0
        self.one, self.zero = _Group(rates[0], share), _Group(rates[1], share)
        self.first = max(0, low - deck.blank)  # holders with signed cards, least and most
        self.last = min(deck.signed, high + 1)
        spread = deck.signed * share * (1 - share)
        # Pr[deck] >= 1/sqrt(8 N μ(1-μ)); a deck of one kind of card is certain.
        self.rarity = math.sqrt(8 * spread) if spread else 1.0
        # Decks that differ by a multiple of so many plus cards are not told apart.
        most = max(deck.plus, deck.signed - deck.plus) if spread else 0
        self.card_nodes = min(most, _reach(spread, _TAIL + math.log(self.rarity))) + 1
        self.aliased = 2 * math.exp(-_TAIL) if self.card_nodes <= most else 0.0
        self._choose_window()
        self._choose_nodes()

    def _choose_window(self) -> None:
        half = self._half_width()
        size = 2 * half + 2 * self.deck.blank + _BLOCK + 4
        self.whole = size > self.people
        size = self.people + 1 if self.whole else size
        self.size = -(-size // 16) * 16 if size > 64 else size
        self.outside = 0.0 if self.whole else 2 * math.exp(-_TAIL)

    def _half_width(self) -> int:
        """How far the count strays from its mean with chance e^-46 at most, by Chernoff.

        For a deck it is at most that of independent cards, tilted by any r, over Pr[deck].
        """
        ones = np.arange(self.first, self.last + 1, dtype=np.float64)[:, None]
        zeros = self.deck.signed - ones
        one, zero, share = self.one, self.zero, self.one.share
        cards = max(self.deck.signed * share * (1 - share), 1e-300)
        slope = (ones * one.covariance + zeros * zero.covariance) / cards
        variance = ones * one.variance + zeros * zero.variance - slope**2 * cards
        strength = np.array([0.3, 0.5, 0.7, 0.85, 1.0, 1.2, 1.5, 2.0, 3.0]) * math.sqrt(2 * _TAIL)
        t = strength / np.sqrt(np.maximum(variance, 0.25))
        exponent = _TAIL + math.log(self.rarity)
        widths = [
            (
                ones * one.log_moment(sign * t, -sign * t * slope)
                + zeros * zero.log_moment(sign * t, -sign * t * slope)
                + exponent
            )
            / t
            for sign in (1, -1)
        ]
        return math.ceil(max(float(width.min(axis=1).max()) for width in widths)) + 1

    def _choose_nodes(self) -> None:
        """Nodes whose term may exceed e^-62 at either end of the range, hence in between.

        ln|A| <= -Σ w w' (1 - cos(angle between their terms)), and so for the product.
        """
        rows: Floats = 2 * np.pi / self.size * np.arange(self.size // 2 + 1, dtype=np.float64)
        step = 2 * np.pi / self.card_nodes
        chosen = []
        for ones in (self.first, self.last):
            turn, card, both, skew = (
                ones * self.one.bends + (self.deck.signed - ones) * self.zero.bends
            )
            x, z = card + both * np.cos(rows), -skew * np.sin(rows)
            level = 2 * turn * np.sin(rows / 2) ** 2 + card + both - _CUT
            peak, centre = np.hypot(x, z), np.arctan2(z, x)
            for row in np.flatnonzero(level <= peak):
                cosine = level[row] / peak[row] if peak[row] > 0 else -1.0
                width = math.acos(max(-1.0, min(1.0, cosine)))
                left = math.floor((centre[row] - width) / step)
                count = min(self.card_nodes, math.ceil(2 * width / step) + 2)
                columns = (left + np.arange(count)) % self.card_nodes
                chosen.append(row * self.card_nodes + columns)
        at_row, column = np.divmod(np.unique(np.concatenate(chosen)), self.card_nodes)
        column = np.where(2 * column > self.card_nodes, column - self.card_nodes, column)
        theta, omega = rows[at_row], step * column
        self.rows, self.starts = np.unique(at_row, return_index=True)
        self.theta = rows[self.rows]
        self.log_one = self.one.log_phase(theta, omega)
        self.log_zero = self.zero.log_phase(theta, omega)
        self.error = self._error(theta + np.abs(omega))

    def _error(self, angle: Floats) -> float:
        """What one law may miss, summed over all counts.

        Every contributor's factor is good to 8 ulps of the angle and the exponential to some ulps
        of its exponent. Errors of one θ add up; the sum of the errors of all counts is at most
        the root of the sum of squares over θ (Cauchy, Parseval), where half of the θ are kept.
        """
        ones, zeros = self.last, self.deck.signed - self.first
        largest = np.exp(
            np.maximum(
                *(
                    holders * self.log_one.real + (self.deck.signed - holders) * self.log_zero.real
                    for holders in (self.first, self.last)
                )
            )
        )
        error = 8 * _ULP * largest
        for people, log in ((ones, self.log_one), (zeros, self.log_zero)):
            # An n-th power multiplies relative errors by n; a tiny number's power is tiny itself.
            tiny = log.real < -3.0
            steep = people * largest * np.exp(-np.maximum(log.real, -3.0))
            error += 8 * _ULP * angle * np.where(tiny, np.maximum(steep, 1.0), steep)
            error += _ULP * people * np.abs(log.imag) * largest
        each = self.rarity / self.card_nodes
        by_row = np.add.reduceat(error, self.starts) * each
        size_by_row = np.add.reduceat(largest, self.starts) * each
        transform = 4 * _ULP * math.log2(self.size + 1) * float(np.linalg.norm(size_by_row))
        rounding = math.sqrt(2) * (float(np.linalg.norm(by_row)) + transform)
        dropped = math.sqrt(self.size) * math.exp(-_CUT) * self.rarity
        return 2 * (rounding + dropped + self.aliased) + self.outside  # twice: laws are scaled to 1

    def pairs(self) -> Iterator[_Pairs]:
        for low in range(self.low, self.high + 1, _BLOCK):
            yield _Pairs(self._laws(low, min(self.high, low + _BLOCK - 1) + 1), self.error)

    def _laws(self, first: int, last: int) -> Floats:
        """The count with first..last holders, in one window."""
        middle = (self._mean(first) + self._mean(last)) / 2
        begin = 0 if self.whole else round(middle) - self.size // 2
        if not self.deck.blank:
            spectrum = self._spectrum(first, last, begin)
        else:
            inner = self._spectrum(max(0, first - 1), min(self.deck.signed, last), begin)
            turn = np.exp(1j * self.theta)
            with_one, with_zero = (1 - r.blank + r.blank * turn for r in self.rates)
            holders = np.arange(first, last + 1)
            origin = max(0, first - 1)
            below = inner[np.maximum(holders - 1 - origin, 0)]
            level = inner[np.minimum(holders - origin, len(inner) - 1)]
            chance = (holders / self.people)[:, None]  # that a holder of 1 has the blank card
            spectrum = chance * with_one * below + (1 - chance) * with_zero * level
        full = np.zeros((len(spectrum), self.size // 2 + 1), np.complex128)
        full[:, self.rows] = spectrum
        return np.fft.hfft(full, self.size, axis=1) / self.size

    def _mean(self, holders: int) -> float:
        return holders * self.one.mean + (self.people - holders) * self.zero.mean

    def _spectrum(self, first: int, last: int, begin: int) -> NDArray[np.complex128]:
        ones = np.arange(first, last + 1, dtype=np.float64)[:, None]
        zeros = self.deck.signed - ones
        terms = np.exp(ones * self.log_one + zeros * self.log_zero)
        sums = np.add.reduceat(terms, self.starts, axis=1)
        mean = ones * self.one.mean + zeros * self.zero.mean
        # At θ = 0 the sum is Pr[deck] for every node of ω: dividing by it scales a law to 1.
        turned = np.exp(1j * self.theta * (mean - begin))
        return np.asarray(sums / sums[:, :1].real * turned, np.complex128)
