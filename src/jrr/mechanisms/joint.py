"""Joint randomized response: half plus and half minus cards, so that lies cancel (JRR, k-JRR).

A plus card leans its holder towards the truth, a minus card away from it:
Pr[truth | card] = p + s·card. Averaged over the secret deck this is the paper's mechanism of
secret pairs with correlation ρ = -s²/(pq) (docs/theory.md, Theorem 1).
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jrr._base import checks, randomness
from jrr._base.exact import SCALE, words_up
from jrr.errors import ArgumentError
from jrr.estimation.moments import Moments
from jrr.mechanisms.base import Cards, Reports, Rng, check_truth_probability, check_view
from jrr.mechanisms.categorical import Categorical
from jrr.mechanisms.rr import marginal_moments, shift_block, shift_from_word, shifts
from jrr.privacy import loss
from jrr.privacy.loss import JointLaw

_ROUNDING = 1e-12  # how far s or ρ may miss its limit and still mean the limit


@dataclass(frozen=True, init=False)
class JRR(Categorical):
    """Joint randomized response for decks of n contributors; give either `rho` or `s`."""

    n: int  # contributors per deck
    p: float  # probability of a truthful report
    s: float  # how far a card leans: 0 <= s <= min(p, 1-p)
    k: int  # size of the domain
    name: ClassVar[str] = "JRR"

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
        return JointLaw(self.k, self.signed, plus, minus, blank)

    @cached_property
    def moments(self) -> Moments:
        """First and second moments of the reports."""
        other = -self.s / (self.k - 1)
        lie = Fraction(min(SCALE, self.law.lie_minus) + self.law.lie_plus, 2 * SCALE)
        return marginal_moments(self.k, lie, self.s, other, self.n, self.signed)

    def epsilon(self, view: str = "report", colluders: int = 0) -> float:
        """The privacy loss against an adversary with this view; math.inf where unbounded."""
        check_view(view, self.name)
        colluders = checks.integer("colluders", colluders, 0, self.n - 1)
        if view != "paper":
            return loss.joint(self.law, view, colluders)
        if self.k > 2:
            raise loss.no_paper_view(f"JRR with k={self.k}")
        return loss.theorem2(self.signed, Fraction(self.p), Fraction(self.s), colluders)

    def to_dict(self) -> dict[str, Any]:
        """The parameters as plain JSON values."""
        return {"mechanism": self.name, "n": self.n, "p": self.p, "s": self.s, "k": self.k}

    def deal(self, rng: Rng = None) -> NDArray[np.int8]:
        """A shuffled deck: as many +1 as -1, and a blank 0 where n is odd."""
        deck = np.zeros(self.n, np.int8)
        deck[: self.signed // 2] = 1
        deck[self.signed // 2 : self.signed] = -1
        return randomness.shuffled(deck, randomness.source(rng))

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
