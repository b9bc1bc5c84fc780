"""Dealt randomized response: the random decoy answers come from a balanced deck (DRR).

A contributor reports the true value with probability `truth`, the card with probability
`dealt`, and a value drawn by itself with probability `own`. The deck holds known numbers of
each value, so the decoys' noise cancels whatever the true frequencies are; `own` bounds what
a dealer that colludes with the collector can learn.
"""

import bisect
import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Self, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jrr._base import checks, randomness
from jrr._base.exact import SCALE, private_side, words_down, words_up
from jrr._base.wording import ShortRepr, of_hundred
from jrr.errors import ArgumentError
from jrr.estimation.moments import Moments
from jrr.mechanisms.base import Cards, Ints, Mechanism, Reports
from jrr.mechanisms.cards import CardLaw, SortedDeck
from jrr.mechanisms.categorical import Categorical
from jrr.mechanisms.coins.choice import Choice
from jrr.mechanisms.draws import drawn
from jrr.mechanisms.informed_search import (
    certified_delta,
    delta_of_everything,
    largest,
    likely_delta,
    search,
)
from jrr.mechanisms.registry import baseline
from jrr.mechanisms.request import Family, Request, least
from jrr.privacy.informed.dealt import (
    all_compositions,
    check_scan,
    likely_worst_of_dealt,
    quick_bound_of_dealt,
)
from jrr.privacy.informed.distribution import LossDistribution, Losses
from jrr.privacy.loss import DealtLaw

Make = Callable[[float, float], Mechanism]  # truth and own -> the mechanism
_SHARES = (0.0, 0.001, 0.003, 0.01, 0.03, 0.1, 0.2, 0.35, 0.5, 0.7, 0.85)  # of one's own decoys
_POLISHED = 1_000  # people for whom the slower, tighter bound of the view "everything" is asked
_LEAST = 2.0**-40  # truth; less is not worth a survey


def best_dealt(request: Request, rr: Mechanism, make: Make) -> Mechanism:
    """Plain RR, or as few decoys of one's own as the cap allows."""
    n, k, m = request.n, request.k, request.colluders
    cap = request.dealer_epsilon
    if cap is not None and cap <= request.epsilon:
        return rr
    gain = math.expm1(request.budget)
    hidden = max(0, n // k - m) / (n - m)  # of the rarest card in an even deck
    ratio = 0.0 if cap is None else k / math.expm1(cap)  # own >= ratio * truth
    truth = gain * hidden / (1 + gain * (hidden * (1 + ratio) - ratio / k))
    own = ratio * truth
    if not (truth > 0 and truth + own <= 1):
        return rr

    def shrunk(kept: float) -> Mechanism:
        # What the truth loses, one's own decoys gain; with no cap there are none of these.
        return make(kept, own and own + (truth - kept))

    floor = 2.0**-52
    kept = private_side(truth, floor, lambda t: request.allows(shrunk(t)))
    return least([rr, shrunk(kept)] if kept > floor else [rr], request)


def best_informed_dealt(request: Request, delta: float, rr: Mechanism, make: Make) -> Mechanism:
    """The same against a collector that knows everybody else's answer."""
    cap = request.dealer_epsilon
    ratio = 0.0 if cap is None else request.k / math.expm1(cap) * (1 + 1e-12)  # own >= ratio*truth
    top = 1 - 1e-9
    last = 0.0  # the truth that was found last: where the next search begins

    def most(share: float) -> float:
        return top if not ratio else min(top, share / (share + ratio))

    def most_truthful(share: float) -> Mechanism | None:
        """The most truth, of `share` decoys of one's own, that is kept in the likely worst case."""
        nonlocal last
        limit = most(share)
        if limit < _LEAST:
            return None

        def delta_of(truth: float) -> float:
            return likely_delta(make(truth, share * (1 - truth)), request)

        truth = largest(delta_of, delta, limit, last)
        last = truth
        return make(truth, share * (1 - truth)) if truth >= _LEAST else None

    shares: dict[Mechanism, float] = {}  # of one's own decoys among all

    def remembered(share: float) -> Mechanism | None:
        found = most_truthful(share)
        if found is not None:
            shares[found] = share
        return found

    likely = search(remembered, list(_SHARES), request, rounds=3)
    if likely is None:
        return rr
    share = shares[likely]

    def certified(truth: float) -> float:
        return certified_delta(make(truth, share * (1 - truth)), request)

    def tight(truth: float) -> float:
        mechanism = make(truth, share * (1 - truth))
        return delta_of_everything(mechanism, request, math.inf, 0)

    truth = float(likely.to_dict()["truth"])
    kept = largest(certified, delta, truth, 0.97 * truth)
    if kept < _LEAST:
        return rr
    if request.k == 2 and request.n <= _POLISHED:
        kept = _polished(kept, truth, certified, tight, delta)
    chosen = make(kept, share * (1 - kept))
    capped = cap is None or chosen.epsilon("dealer") <= cap
    return least([rr, chosen], request) if capped else rr


def _polished(
    kept: float,
    most: float,
    quick: Callable[[float], float],
    tight: Callable[[float], float],
    delta: float,
) -> float:
    """A little more truth where a tighter bound, which takes longer, allows it."""
    reached = tight(kept)
    if not 0 < reached < delta:
        return kept
    aim = delta * (delta / reached) ** 0.75  # the two bounds keep nearly the same ratio
    more = largest(quick, aim, most, kept * 1.02)
    return more if more > kept and tight(more) <= delta else kept


@dataclass(frozen=True, init=False, repr=False)
class DRR(ShortRepr, Categorical):
    """Dealt randomized response for decks of n contributors over k values.

    Args:
        n: contributors per deck.
        truth: the probability of reporting the true value.
        own: the probability of reporting a value that the contributor draws; it caps what a
            dealer can learn. What is left, 1 - truth - own, is the probability of the card.
        k: possible values.
        deck: cards of each value; even unless given, the first n mod k values get one more.

    Example:
        >>> DRR(10, truth=0.5, own=0.25, k=3).deck
        (4, 3, 3)
    """

    n: int  # contributors per deck
    truth: float  # probability of reporting the true value
    own: float  # probability of reporting a value drawn by oneself
    k: int  # size of the domain
    deck: tuple[int, ...]  # cards of each value; even unless given
    name: ClassVar[str] = "DRR"
    title: ClassVar[str] = "dealt randomized response"
    parameters: ClassVar[tuple[str, ...]] = ("n", "truth", "own", "k", "deck")
    colour: ClassVar[str] = "#d95f02"

    def __init__(
        self,
        n: int,
        truth: float,
        own: float = 0.0,
        *,
        k: int = 2,
        deck: Sequence[int] | None = None,
    ) -> None:
        k = checks.domain(k, 1 << 20)
        n = checks.deck_size(n)
        truth = checks.real("truth", truth, "in (0, 1] and at least 2**-52", 2.0**-52, 1.0)
        own = checks.real("own", own, f"in 0..1-truth ({1 - truth!r})", 0.0, 1 - truth + 1e-15)
        cards = even_deck(n, k) if deck is None else _check_deck(deck, n, k)
        self._set(n=n, truth=truth, own=min(own, 1 - truth), k=k, deck=cards)

    @property
    def dealt(self) -> float:
        """Probability of reporting the card."""
        return max(0.0, 1 - self.truth - self.own)

    @cached_property
    def law(self) -> DealtLaw:
        """The mechanism in whole numbers of random words, in the order own, dealt, truth."""
        own = min(words_up(Fraction(self.own), self.k), SCALE // self.k * self.k)
        truth = min(words_down(Fraction(self.truth)), SCALE - own)
        dealt = SCALE - own - truth
        ends = [dealt * cards // self.n for cards in (0, *itertools.accumulate(self.deck))]
        alone = tuple(end - start for start, end in itertools.pairwise(ends))
        return DealtLaw(truth, dealt, own, self.deck, alone)

    @cached_property
    def _card_ends(self) -> tuple[int, ...]:
        """Where each value's share of the `dealt` words ends, for a decoy drawn by oneself."""
        return tuple(self.law.own + end for end in itertools.accumulate(self.law.alone))

    @cached_property
    def moments(self) -> Moments:
        """First and second moments of the reports."""
        share = np.asarray(self.deck, np.float64) / self.n
        q = self.dealt * share + self.own / self.k
        spread = np.sqrt(share * (1 - share))
        lean = self.dealt * spread
        return Moments(
            p=self.truth + q,
            q=q,
            gain=np.full(self.k, self.truth),
            lean_holder=lean,
            lean_other=lean,
            deck=self.n,
            signed=self.n,
            card_skew=np.divide(1 - 2 * share, spread, out=np.zeros(self.k), where=spread > 0),
            exclusive=True,
        )

    @classmethod
    def families(cls) -> tuple[Family, ...]:
        """The exact optimum over truth and own."""
        caption = "decoys come from the deck"
        informed = cls.best_informed
        return (cls._family(cls.best, cards=True, best_informed=informed, caption=caption),)

    @classmethod
    def best(cls, request: Request) -> Mechanism:
        """The most accurate DRR that keeps the request, or plain RR where that is better."""
        return best_dealt(request, baseline(request), cls._maker(request))

    @classmethod
    def _most_accurate(cls, request: Request, *, cards: bool) -> Self:
        """As `best`; where plain RR is better, the same with cards that nobody reports."""
        p, q = Choice(request.k).ideal_chances(request.budget)

        make = cls._maker(request)
        kept = private_side(p - q, 2.0**-52, lambda truth: request.allows(make(truth, 1 - truth)))
        return cast(Self, best_dealt(request, make(kept, 1 - kept), make))

    @classmethod
    def best_informed(cls, request: Request, delta: float) -> Mechanism:
        """The same where ε is kept, with δ, against a collector that knows all other answers."""
        return best_informed_dealt(request, delta, baseline(request), cls._maker(request))

    @classmethod
    def _maker(cls, request: Request) -> Callable[[float, float], Mechanism]:
        return lambda truth, own: cls(request.n, truth, own, k=request.k)

    @cached_property
    def sorted_deck(self) -> SortedDeck:
        """Decoy values."""
        faces = np.arange(self.k, dtype=np.min_scalar_type(self.k - 1))
        return SortedDeck(self.n, faces, self.deck)

    def quick_losses(self, colluders: int) -> Losses:
        """A bound in which all others give away whether they told the truth."""
        return quick_bound_of_dealt(self.law, colluders)

    def likely_worst(self, colluders: int) -> Losses:
        """All others hold one other value, and colluders as many of its cards as can be."""
        return likely_worst_of_dealt(self.law, colluders)

    def compositions(self, colluders: int) -> Iterator[LossDistribution]:
        """That law for all that the others may hold, one by one; binary and not too large."""
        check_scan(self.law)
        colluders = checks.integer("colluders", colluders, 0, self.n - 1)
        return all_compositions(self.law, colluders)

    def instructions(self) -> str:
        """What a contributor's device does, in one sentence."""
        own = f", {of_hundred(self.own)} one that it draws itself at random" if self.own else ""
        return (
            f"{of_hundred(self.truth, start=True)} the device sends your true answer, "
            f"{of_hundred(self.dealt)} the answer on a secret card that it was dealt{own}; "
            "nobody is told which."
        )

    def _left_out_of_brief(self) -> tuple[str, ...]:
        even = max(self.deck) - min(self.deck) <= 1  # as it is unless told otherwise
        return ("deck",) if even else ()

    def resized(self, n: int) -> "DRR":
        """The same probabilities with another number of cards; an even deck stays even."""
        if self.deck != even_deck(self.n, self.k):
            raise checks.refusal("deck", self.deck, "even where n is fixed by enrolment")
        return DRR(n, self.truth, self.own, k=self.k)

    def card_laws(self) -> list[CardLaw]:
        """Every value that is in the deck."""
        truth, dealt, own = (
            words / SCALE for words in (self.law.truth, self.law.dealt, self.law.own)
        )
        alone = truth * np.eye(self.k) + own / self.k
        return [
            CardLaw(card, count / self.n, alone + dealt * (np.arange(self.k) == card))
            for card, count in enumerate(self.deck)
            if count
        ]

    def simulated_support(
        self, counts: Ints, runs: int, rng: np.random.Generator, *, with_cards: bool
    ) -> Ints:
        """How many reports support each value, one row per run."""
        # Who reports the truth, the card or an own draw does not depend on value or card, so
        # those who report their card are a random subset of the deck's holders.
        shares = [self.truth, self.dealt, self.own]
        reported = rng.multinomial(np.broadcast_to(counts, (runs, self.k)), shares)
        support: Ints = reported[:, :, 0]
        decoys = reported[:, :, 1].sum(axis=1)
        if with_cards:
            support = support + drawn(np.asarray(self.deck), decoys, rng)
        else:
            support = support + rng.multinomial(decoys, np.asarray(self.deck) / self.n)
        own = reported[:, :, 2].sum(axis=1)
        return support + rng.multinomial(own, np.full(self.k, 1 / self.k))

    def report_from_word(self, value: int, card: int | None, word: int) -> int:
        """The report that one random word makes of a value."""
        u, law = word >> 1, self.law
        # Looked up whether it is needed or not, so that time does not tell which it was.
        decoy = bisect.bisect_right(self._card_ends, u) if card is None else card
        if u < law.own:
            return u // (law.own // self.k)
        return decoy if u < law.own + law.dealt else value

    def _respond_block(
        self, values: NDArray[Any], cards: Cards | None, u: randomness.Words, out: Reports
    ) -> None:
        law = self.law
        if cards is None:
            ends = np.asarray(self._card_ends, np.uint64)
            cards = np.searchsorted(ends, u, side="right")
        decoys = cards.astype(out.dtype, copy=False)
        true = values.astype(out.dtype, copy=False)
        # All bits set where the truth is told: chooses without branching.
        truthful = np.negative((u >= np.uint64(law.own + law.dealt)).astype(out.dtype))
        np.bitwise_xor(decoys, (decoys ^ true) & truthful, out=out)
        if law.own:
            by_oneself = np.flatnonzero(u < np.uint64(law.own))
            out[by_oneself] = u[by_oneself] // np.uint64(law.own // self.k)

    def _check_cards(self, cards: ArrayLike, length: int) -> Cards:
        array = checks.symbols("cards", cards, self.k)
        checks.same_length("cards", array, "values", length)
        return array

    def _check_card(self, card: int) -> int:
        return checks.integer("card", card, 0, self.k - 1)


def even_deck(n: int, k: int) -> tuple[int, ...]:
    """Spread n cards over k values; the first n mod k values get one more."""
    return tuple(n // k + (value < n % k) for value in range(k))


def _check_deck(deck: Sequence[int], n: int, k: int) -> tuple[int, ...]:
    if not isinstance(deck, Sequence | np.ndarray):
        raise checks.refusal("deck", deck, f"{k} counts that add up to n={n}")
    cards = tuple(checks.integer("deck counts", count, 0) for count in deck)
    if len(cards) != k or sum(cards) != n:
        raise ArgumentError(
            f"deck must hold {k} counts that add up to n={n}, "
            f"got {len(cards)} that add up to {sum(cards)}"
        )
    return cards
