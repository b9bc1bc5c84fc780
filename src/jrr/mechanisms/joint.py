"""Joint randomized response: half plus and half minus cards, so that lies cancel (JRR, k-JRR).

A plus card leans its holder towards the truth, a minus card away from it:
Pr[truth | card] = p + s·card. Averaged over the secret deck this is the paper's mechanism of
secret pairs with correlation ρ = -s²/(pq) (docs/theory.md, Theorem 1).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jrr._base import checks, randomness
from jrr._base.exact import SCALE, words_up
from jrr._base.wording import of_hundred
from jrr.errors import ArgumentError
from jrr.estimation.moments import Moments
from jrr.mechanisms.base import Cards, Ints, Mechanism, Reports, Rng, check_truth_probability
from jrr.mechanisms.cards import CardLaw, SortedDeck
from jrr.mechanisms.categorical import Categorical, shuffled_deck
from jrr.mechanisms.draws import chance, drawn_from, spread_lies
from jrr.mechanisms.families import Family
from jrr.mechanisms.joint_optimum import best_informed_joint, best_joint
from jrr.mechanisms.paper_search import paper_search
from jrr.mechanisms.request import Request
from jrr.mechanisms.rr import RR
from jrr.mechanisms.shifts import (
    marginal_moments,
    shift_block,
    shift_from_word,
    shift_law,
    shifts,
)
from jrr.privacy import loss
from jrr.privacy.informed.distribution import Losses
from jrr.privacy.informed.frequency import Frequency
from jrr.privacy.informed.joint import joint_losses
from jrr.privacy.loss import JointLaw
from jrr.privacy.shuffled.question import shuffled_joint
from jrr.privacy.shuffled.survey import ShuffledSurvey
from jrr.privacy.views import VIEWS, View

_ROUNDING = 1e-12  # how far s or ρ may miss its limit and still mean the limit


@dataclass(frozen=True, init=False)
class JRR(Categorical):
    """Joint randomized response for decks of n contributors.

    Args:
        n: contributors per deck, at least 2; an odd deck has one blank card.
        p: the probability of a truthful report.
        rho: the paper's ρ, at most 0: how strongly cards pull two contributors apart.
        k: possible values.
        s: how far a card leans its holder, 0..min(p, 1-p), instead of rho.

    Example:
        >>> round(JRR(10_000, p=0.52, rho=-0.9).s, 4)
        0.474
    """

    n: int  # contributors per deck
    p: float  # probability of a truthful report
    s: float  # how far a card leans: 0 <= s <= min(p, 1-p)
    k: int  # size of the domain
    name: ClassVar[str] = "JRR"
    title: ClassVar[str] = "joint randomized response"
    parameters: ClassVar[tuple[str, ...]] = ("n", "p", "s", "k")
    colour: ClassVar[str] = "#1f77b4"
    told_by_colluders: ClassVar[str] = "whether they reported truthfully"

    def __init__(
        self, n: int, p: float, rho: float | None = None, k: int = 2, s: float | None = None
    ) -> None:
        k = checks.domain(k)
        n = checks.deck_size(n)
        p = check_truth_probability("p", p, k)
        limit = min(p, 1 - p)
        q = (1 - p) / (k - 1)
        if (rho is None) == (s is None):
            raise ArgumentError(f"exactly one of rho and s must be given, got rho={rho!r}, s={s!r}")
        if s is not None:
            allowed = f"in 0..{limit!r} (0..min(p, 1-p))"
            lean = checks.real("s", s, allowed, 0.0, limit * (1 + _ROUNDING))
        else:
            least = -(limit**2) / (p * q) if q else 0.0
            allowed = f"in {least!r}..0 (a positive rho is a law without cards: paper.literal)"
            given = checks.real("rho", rho, allowed, least * (1 + _ROUNDING), 0.0)
            lean = math.sqrt(-given * p * q)
        if lean > limit * (1 - 2.0**-50):
            lean = limit
        for name, value in (("n", n), ("p", p), ("s", lean), ("k", k)):
            object.__setattr__(self, name, value)

    @property
    def q(self) -> float:
        """Probability of each single other value."""
        return (1 - self.p) / (self.k - 1)

    @property
    def rho(self) -> float:
        """The paper's parameter ρ = -s²/(pq); for k = 2 the correlation of a pair's truths."""
        return -self.s * self.s / (self.p * self.q) if self.q else 0.0

    @property
    def signed(self) -> int:
        """Plus and minus cards in the deck; with an odd n one more card is blank."""
        return self.n - self.n % 2

    @cached_property
    def law(self) -> JointLaw:
        """The mechanism in whole numbers of random words."""
        p, s, others = Fraction(self.p), Fraction(self.s), self.k - 1
        plus, minus, blank = (words_up(1 - truth, others) for truth in (p + s, p - s, p))
        return JointLaw(self.k, self.n, self.signed, plus, minus, blank)

    @cached_property
    def moments(self) -> Moments:
        """First and second moments of the reports."""
        other = -self.s / (self.k - 1)
        lie = Fraction(min(SCALE, self.law.lie_minus) + self.law.lie_plus, 2 * SCALE)
        return marginal_moments(self.k, lie, self.s, other, self.n, self.signed)

    @classmethod
    def families(cls) -> tuple[Family, ...]:
        """The exact optimum over p and s, and the paper's search for comparison."""
        return (
            Family(
                key="jrr-paper",
                label="JRR (Algorithm 1)",
                best=cls._by_paper,
                chosen=False,
                colour="#9ecae1",
                caption="the paper's search",
            ),
            Family(
                key="jrr",
                label="JRR (optimal)",
                best=cls.best,
                best_informed=cls.best_informed,
                colour=cls.colour,
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
        return best_joint(request, RR.best(request), cls._maker(request))

    @classmethod
    def best_informed(cls, request: Request, delta: float) -> Mechanism:
        """The same where ε is kept, with δ, against a collector that knows all other answers."""
        return best_informed_joint(request, delta, RR.best(request), cls._maker(request))

    @classmethod
    def _maker(cls, request: Request) -> Callable[[float, float], Mechanism]:
        return lambda p, s: cls(request.n, p, s=s, k=request.k)

    @property
    def views(self) -> tuple[View, ...]:
        """The paper's theorem speaks of two values."""
        return VIEWS if self.k == 2 else super().views

    @cached_property
    def sorted_deck(self) -> SortedDeck:
        """As many +1 as -1, and a blank 0 where n is odd."""
        half = self.signed // 2
        faces = np.array([1, -1, 0], np.int8)
        return SortedDeck(self.n, faces, (half, half, self.n % 2))

    def deal(self, rng: Rng = None) -> NDArray[np.int8]:
        """A shuffled deck: as many +1 as -1, and a blank 0 where n is odd."""
        return shuffled_deck(self.sorted_deck, rng)

    def _epsilon(self, view: View, colluders: int) -> float:
        if view == "paper":
            return loss.theorem2(self.signed, Fraction(self.p), Fraction(self.s), colluders)
        return loss.joint(self.law, view, colluders)

    def _in_refusals(self) -> str:
        return f"JRR with k={self.k}"

    def losses(
        self, colluders: int = 0, *, ones: int | None = None, frequency: Frequency = None
    ) -> Losses:
        """The law of the loss in the view "everything"."""
        return joint_losses(self.law, ones, colluders, frequency)

    def shuffled(
        self, n: int | None = None, ones: int | None = None, colluders: int = 0
    ) -> ShuffledSurvey:
        """What a collector sees behind a shuffler."""
        if self.k > 2:
            return super().shuffled(n, ones, colluders)
        return shuffled_joint(self.law, n, ones, colluders)

    def instructions(self) -> str:
        """What a contributor's device does, in one sentence."""
        return (
            "The device was dealt a secret card: with a plus card it sends your true answer "
            f"{of_hundred(self.p + self.s)}, with a minus card {of_hundred(self.p - self.s)}, "
            "otherwise another answer; the collector does not know your card."
        )

    def resized(self, n: int) -> "JRR":
        """The same probabilities with decks of n cards."""
        return JRR(n, self.p, k=self.k, s=self.s)

    def card_laws(self) -> list[CardLaw]:
        """Plus, minus and, in an odd deck, the blank card."""
        half, blank = self.signed / 2 / self.n, 1 - self.signed / self.n
        law = self.law
        kinds = [(1, half, law.lie_plus), (-1, half, law.lie_minus), (0, blank, law.lie_blank)]
        return [CardLaw(c, share, shift_law(self.k, lie)) for c, share, lie in kinds if share]

    def simulated_support(
        self, counts: Ints, runs: int, rng: np.random.Generator, *, with_cards: bool
    ) -> Ints:
        """How many reports support each value, one row per run."""
        truthful = self.simulated_truths(counts, runs, rng, with_cards=with_cards)
        return spread_lies(counts, truthful, rng)

    def simulated_truths(
        self, counts: Ints, runs: int, rng: np.random.Generator, *, with_cards: bool
    ) -> Ints:
        """How many holders of each value report truthfully, one row per run."""
        p, s = self.p, self.s
        if not with_cards:
            return rng.binomial(counts, p, (runs, len(counts)))
        half = self.signed // 2
        left = np.tile(np.array([half, half, self.n - self.signed]), (runs, 1))
        truthful = np.empty((runs, len(counts)), np.int64)
        for value, holders in enumerate(counts):
            cards = drawn_from(left, np.full(runs, holders), rng)
            left -= cards
            chances = np.array([chance(p + s), chance(p - s), p])
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
