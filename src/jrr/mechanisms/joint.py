"""Joint randomized response: secret plus and minus cards, so that lies cancel (JRR, k-JRR).

A plus card leans its holder towards the truth, a minus card away from it. With half of each
Pr[truth | card] = p ± s, and averaged over the secret deck this is the paper's mechanism of secret
pairs with correlation ρ = -s²/(pq) (docs/theory-jrr.md, Theorem 1). A deck may also hold more cards
of one kind: secret groups of four with exactly one liar are a deck with three plus cards in four.
Cards then lean by 2s times the share of the *other* kind, so that p stays the mean and 2s the
difference between the two (Definition 2).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Self, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jrr._base import checks, randomness
from jrr._base.exact import SCALE, words_up
from jrr._base.wording import of_hundred
from jrr.errors import ArgumentError
from jrr.estimation.moments import Moments
from jrr.mechanisms.base import Cards, Ints, Mechanism, Reports
from jrr.mechanisms.cards import CardLaw, SortedDeck
from jrr.mechanisms.categorical import Categorical
from jrr.mechanisms.coins.choice import Choice
from jrr.mechanisms.draws import drawn_from, spread_lies
from jrr.mechanisms.joint_optimum import best_informed_joint, best_joint
from jrr.mechanisms.paper_search import paper_search
from jrr.mechanisms.registry import baseline
from jrr.mechanisms.request import Family, Request
from jrr.mechanisms.shifts import (
    check_truth_probability,
    marginal_moments,
    shift_block,
    shift_from_word,
    shift_law,
    shifts,
)
from jrr.privacy import loss
from jrr.privacy.informed.distribution import Losses
from jrr.privacy.informed.joint import likely_worst_of_joint
from jrr.privacy.loss import JointLaw
from jrr.privacy.views import VIEWS, View

_ROUNDING = 1e-12  # how far s or ρ may miss its limit and still mean the limit
_WHY_NOT_POSITIVE = (
    "pairs that share a card make lies add up instead of cancel; even at a frequency of one half, "
    "where alone that helps, the variance falls by at most 1 part in n-1; use RR"
)


@dataclass(frozen=True, init=False, repr=False)
class JRR(Categorical):
    """Joint randomized response for decks of n contributors.

    Args:
        n: contributors per deck, at least 2; an odd deck has one blank card.
        p: the probability of a truthful report.
        rho: the paper's ρ, at most 0: how strongly cards pull two contributors apart.
        k: possible values.
        s: half of how much likelier a plus card makes the truth than a minus card, instead of rho;
            0..min(p, 1-p) in an even deck, whose cards lean by s.
        plus: plus cards in the deck, 1..n-1; half of them unless given.

    Example:
        >>> round(JRR(10_000, p=0.52, rho=-0.9).s, 4)
        0.474
        >>> one_liar_in_four = JRR(10_000, p=0.75, s=0.5, plus=7_500)
        >>> one_liar_in_four.truth_with_plus, one_liar_in_four.truth_with_minus
        (1.0, 0.0)
    """

    n: int  # contributors per deck
    p: float  # probability of a truthful report
    s: float  # half the difference that a card makes: 0 <= s <= min(p, 1-p) in an even deck
    k: int  # size of the domain
    plus: int  # plus cards in the deck
    name: ClassVar[str] = "JRR"
    title: ClassVar[str] = "joint randomized response"
    parameters: ClassVar[tuple[str, ...]] = ("n", "p", "s", "k", "plus")
    omitted_parameters: ClassVar[tuple[str, ...]] = ("plus",)  # in documents of even decks
    colour: ClassVar[str] = "#1f77b4"
    told_by_colluders: ClassVar[str] = "whether they reported truthfully"

    def __init__(
        self,
        n: int,
        p: float,
        *,
        rho: float | None = None,
        k: int = 2,
        s: float | None = None,
        plus: int | None = None,
    ) -> None:
        k = checks.domain(k)
        n = checks.deck_size(n)
        p = check_truth_probability("p", p, k)
        plus = n // 2 if plus is None else checks.integer("plus", plus, 1, n - 1)
        self._set(n=n, p=p, k=k, plus=plus)
        checks.exactly_one(rho=rho, s=s)
        limit = self.most_lean
        if s is not None:
            words = "min(p, 1-p)" if self.even else "min((1-p)/(1-w), p/w)/2, w the share of plus"
            allowed = f"in 0..{limit!r} (0..{words})"
            lean = checks.real("s", s, allowed, 0.0, limit * (1 + _ROUNDING))
        else:
            lean = self._lean_of(rho, limit)
        self._set(s=limit if lean > limit * (1 - 2.0**-50) else lean)

    def _lean_of(self, rho: object, limit: float) -> float:
        """The s whose cards have the correlation rho."""
        scale = self.p * self.q / self._evenness
        least = -(limit**2) / scale if scale else 0.0
        allowed = f"in {least!r}..0"
        if isinstance(rho, int | float) and not isinstance(rho, bool) and rho > 0:
            raise checks.refusal("rho", rho, f"{allowed}: {_WHY_NOT_POSITIVE}")
        given = checks.real("rho", rho, allowed, least * (1 + _ROUNDING), 0.0)
        return math.sqrt(-given * scale)

    def __repr__(self) -> str:
        shown = (f"{name}={value!r}" for name, value in self.to_dict().items())
        return f"JRR({', '.join(list(shown)[1:])})"

    @property
    def even(self) -> bool:
        """Whether there are as many plus as minus cards, as in the paper's pairs."""
        return self.plus == self.n // 2

    @property
    def minus(self) -> int:
        """Minus cards in the deck."""
        return self.signed - self.plus

    @property
    def q(self) -> float:
        """Probability of each single other value."""
        return (1 - self.p) / (self.k - 1)

    @property
    def rho(self) -> float:
        """The paper's parameter ρ = -s²/(pq); for k = 2 the correlation of a pair's truths.

        In an uneven deck minus the variance of the truth that cards make, in units of pq.
        """
        return -self.s * self.s * self._evenness / (self.p * self.q) if self.q else 0.0

    @property
    def signed(self) -> int:
        """Plus and minus cards in the deck; an even deck of an odd n has one more, a blank."""
        return self.n - self.n % 2 if self.even else self.n

    @property
    def truth_with_plus(self) -> float:
        """Probability of a truthful report with a plus card."""
        return float(self._truths[0])

    @property
    def truth_with_minus(self) -> float:
        """Probability of a truthful report with a minus card."""
        return float(self._truths[1])

    @cached_property
    def _evenness(self) -> float:
        """4w(1-w), where w is the share of plus cards: 1 for an even deck."""
        return 4 * self.plus * self.minus / self.signed**2

    @property
    def most_lean(self) -> float:
        """The largest s: there a plus card always or a minus card never tells the truth."""
        if self.even:
            return min(self.p, 1 - self.p)
        p = Fraction(self.p)
        most = Fraction(self.signed, 2) * min((1 - p) / self.minus, p / self.plus)
        rounded = float(most)  # up, so that "always" and "never" are meant and reached
        return rounded if rounded >= most else math.nextafter(rounded, 1.0)

    @cached_property
    def _truths(self) -> tuple[Fraction, Fraction]:
        """Probability of a truthful report with a plus and with a minus card, exactly."""
        p, step = Fraction(self.p), 2 * Fraction(self.s) / self.signed
        return min(Fraction(1), p + step * self.minus), max(Fraction(0), p - step * self.plus)

    @cached_property
    def law(self) -> JointLaw:
        """The mechanism in whole numbers of random words."""
        others = self.k - 1
        lies = (words_up(1 - truth, others) for truth in (*self._truths, Fraction(self.p)))
        return JointLaw(self.k, self.n, self.signed, self.plus, *lies)

    @cached_property
    def moments(self) -> Moments:
        """First and second moments of the reports."""
        law = self.law
        lean = self.s * math.sqrt(self._evenness)  # standard deviation of the truth over cards
        lies = self.plus * law.lie_plus + self.minus * min(SCALE, law.lie_minus)
        lie = Fraction(lies, self.signed * SCALE)
        skew = (self.minus - self.plus) / math.sqrt(self.plus * self.minus)
        return marginal_moments(self.k, lie, lean, -lean / (self.k - 1), self.n, self.signed, skew)

    def to_dict(self) -> dict[str, Any]:
        """The parameters as plain JSON values; an even deck does not say how many plus cards."""
        document = super().to_dict()
        if self.even:
            del document["plus"]
        return document

    @classmethod
    def families(cls) -> tuple[Family, ...]:
        """The exact optimum over p and s, and the paper's search for comparison."""
        return (
            cls._family(
                cls._by_paper,
                key="jrr-paper",
                label="JRR (Algorithm 1)",
                cards=True,
                chosen=False,
                colour="#9ecae1",
                caption="the paper's search",
            ),
            cls._family(
                cls.best,
                label="JRR (optimal)",
                cards=True,
                best_informed=cls.best_informed,
                caption="lies cancel in the deck",
            ),
        )

    @classmethod
    def _by_paper(cls, request: Request) -> Mechanism:
        if request.k > 2:
            raise ArgumentError(f"k must be 2 for the paper's Algorithm 1, got k={request.k}")
        p, rho = paper_search(request.n, request.epsilon, request.colluders)
        return cls(request.n, p, rho=rho)

    @classmethod
    def best(cls, request: Request) -> Mechanism:
        """The most accurate JRR that keeps the request, or plain RR where that is better."""
        return best_joint(request, baseline(request), cls._maker(request))

    @classmethod
    def _most_accurate(cls, request: Request, *, cards: bool) -> Self:
        """As `best`; where plain RR is better, the same with cards that do nothing."""
        idle = cls(request.n, Choice(request.k).truth_for(request.budget), s=0.0, k=request.k)
        return cast(Self, best_joint(request, idle, cls._maker(request)))

    @classmethod
    def best_even(cls, request: Request) -> Mechanism:
        """The same with as many plus as minus cards: what the paper's pairs can do at best."""
        maker = cls._maker(request)
        return best_joint(request, baseline(request), maker, [request.n // 2])

    @classmethod
    def best_informed(cls, request: Request, delta: float) -> Mechanism:
        """The same where ε is kept, with δ, against a collector that knows all other answers."""
        return best_informed_joint(request, delta, baseline(request), cls._maker(request))

    @classmethod
    def _maker(cls, request: Request) -> Callable[[float, float, int], Mechanism]:
        return lambda p, s, plus: cls(request.n, p, s=s, k=request.k, plus=plus)

    @property
    def views(self) -> tuple[View, ...]:
        """The paper's theorem speaks of two values and of pairs."""
        return VIEWS if self.k == 2 and self.even else super().views

    @cached_property
    def sorted_deck(self) -> SortedDeck:
        """Plus cards +1, minus cards -1, and a blank 0 where n is odd and the deck even."""
        faces = np.array([1, -1, 0], np.int8)
        return SortedDeck(self.n, faces, (self.plus, self.minus, self.n - self.signed))

    def _epsilon(self, view: View, colluders: int) -> float:
        if view == "paper":
            return loss.theorem2(self.signed, Fraction(self.p), Fraction(self.s), colluders)
        return super()._epsilon(view, colluders)

    def _in_refusals(self) -> str:
        deck = "" if self.even else f" and {self.plus} plus cards of {self.n}"
        return f"JRR with k={self.k}{deck}"

    def resized(self, n: int) -> "JRR":
        """The same probabilities with decks of n cards, the share of plus cards to the nearest."""
        n = checks.deck_size(n)
        if self.even:
            return JRR(n, self.p, k=self.k, s=self.s)
        plus = min(max(1, round(Fraction(self.plus * n, self.n))), n - 1)
        most = JRR(n, self.p, k=self.k, s=0.0, plus=plus).most_lean
        return JRR(n, self.p, k=self.k, s=min(self.s, most), plus=plus)

    def likely_worst(self, colluders: int) -> Losses:
        """Colluders hold plus cards only, or minus cards only."""
        return likely_worst_of_joint(self.law, colluders)

    def instructions(self) -> str:
        """What a contributor's device does, in one sentence."""
        share = "" if self.even else f" ({self.plus:,} of the {self.n:,} cards)"
        return (
            f"The device was dealt a secret card: with a plus card{share} it sends your true "
            f"answer {of_hundred(self.truth_with_plus)}, with a minus card "
            f"{of_hundred(self.truth_with_minus)}, otherwise another answer; the collector does "
            "not know your card."
        )

    def card_laws(self) -> list[CardLaw]:
        """Plus, minus and, in an odd deck, the blank card."""
        law, blanks = self.law, self.n - self.signed
        kinds = [
            (1, self.plus, law.lie_plus),
            (-1, self.minus, law.lie_minus),
            (0, blanks, law.lie_blank),
        ]
        return [
            CardLaw(card, cards / self.n, shift_law(self.k, lie))
            for card, cards, lie in kinds
            if cards
        ]

    def simulated_support(
        self, counts: Ints, runs: int, rng: np.random.Generator, *, with_cards: bool
    ) -> Ints:
        """How many reports support each value, one row per run."""
        truthful = self.simulated_truths(counts, runs, rng, with_cards=with_cards)
        return spread_lies(counts, truthful, rng)

    def simulated_truths(
        self, counts: Ints, runs: int, rng: np.random.Generator, *, with_cards: bool
    ) -> Ints:
        """How many holders of each value report truthfully, one row per run.

        Args:
            counts: people with each value.
            runs: surveys.
            rng: where random numbers come from.
            with_cards: whether everybody has a card.
        """
        if not with_cards:
            return rng.binomial(counts, self.p, (runs, len(counts)))
        left = np.tile(np.array([self.plus, self.minus, self.n - self.signed]), (runs, 1))
        truthful = np.empty((runs, len(counts)), np.int64)
        for value, holders in enumerate(counts):
            cards = drawn_from(left, np.full(runs, holders), rng)
            left -= cards
            chances = np.array([self.truth_with_plus, self.truth_with_minus, self.p])
            truthful[:, value] = rng.binomial(cards, chances).sum(axis=1)
        return truthful

    def _lie_words(self, card: int) -> int:
        return (self.law.lie_minus, self.law.lie_blank, self.law.lie_plus)[card + 1]

    def report_from_word(self, value: int, card: int | None, word: int) -> int:
        """The report that one random word makes of a value; no card is a blank card."""
        return shift_from_word(self.k, value, self._lie_words(card or 0), word)

    def _respond_block(
        self, values: NDArray[Any], cards: Cards | None, u: randomness.Words, out: Reports
    ) -> None:
        if cards is None:
            moved = shifts(self.k, self.law.lie_blank, u)
        else:
            minus, blank, plus = (shifts(self.k, self._lie_words(card), u) for card in (-1, 0, 1))
            if self.k == 2:  # who lies with a plus card would lie with any other
                moved = plus | (minus & (cards < 0)) | (blank & (cards == 0))
            else:
                moved = np.where(cards > 0, plus, np.where(cards < 0, minus, blank))
        shift_block(self.k, values, moved, out)

    def _check_cards(self, cards: ArrayLike, length: int) -> Cards:
        return checks.signs("cards", cards, length)

    def _check_card(self, card: int) -> int:
        return checks.integer("card", card, -1, 1)
