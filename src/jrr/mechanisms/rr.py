"""Randomized response: tell the truth with probability p, else any other value (RR, GRR)."""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from jrr._base import checks, randomness
from jrr._base.exact import SCALE
from jrr.estimation.moments import Moments
from jrr.mechanisms.base import Cards, Ints, Reports
from jrr.mechanisms.cards import CardLaw
from jrr.mechanisms.categorical import Categorical
from jrr.mechanisms.coins.choice import Choice
from jrr.mechanisms.draws import spread_lies
from jrr.mechanisms.request import Family, Request
from jrr.mechanisms.shifts import marginal_moments, shift_block, shift_from_word, shift_law, shifts
from jrr.privacy.loss import IndependentLaw


@dataclass(frozen=True, init=False)
class RR(Categorical):
    """Plain randomized response over k values: the baseline, and the fall-back without a card.

    Args:
        k: possible values.
        epsilon: the privacy loss; p is then the largest that keeps it.
        p: the probability of a truthful report, instead of epsilon.

    Example:
        >>> RR(epsilon=1.0).epsilon() <= 1.0
        True
    """

    k: int  # size of the domain
    p: float  # probability of a truthful report
    name: ClassVar[str] = "RR"
    title: ClassVar[str] = "randomized response"
    parameters: ClassVar[tuple[str, ...]] = ("k", "p")
    colour: ClassVar[str] = "#7f7f7f"

    def __init__(self, k: int = 2, epsilon: float | None = None, *, p: float | None = None) -> None:
        k = checks.domain(k)
        checks.exactly_one(epsilon=epsilon, p=p)
        coin = Choice(k)
        if p is None:
            p = coin.truth_for(checks.positive("epsilon", epsilon))
        self._set(k=k, p=coin.check_truth("p", p))

    @property
    def q(self) -> float:
        """Probability of each single other value."""
        return (1 - self.p) / (self.k - 1)

    @cached_property
    def lie_words(self) -> int:
        """Words that make a lie; each other value has the same number of them."""
        return Choice(self.k).lie_words(self.p)

    @cached_property
    def moments(self) -> Moments:
        """First and second moments of the reports."""
        return marginal_moments(self.k, Fraction(self.lie_words, SCALE))

    @classmethod
    def families(cls) -> tuple[Family, ...]:
        """At the whole budget: what no other choice may be worse than."""
        return (
            cls._family(
                cls.best,
                cards=False,
                best_informed=lambda request, delta: cls.best(request),
                pure=True,
                caption="everybody lies alone",
            ),
        )

    @classmethod
    def best(cls, request: Request) -> "RR":
        """Randomized response at the whole budget."""
        return cls(request.k, epsilon=request.budget)

    @cached_property
    def law(self) -> IndependentLaw:
        """The mechanism in whole numbers of random words."""
        return IndependentLaw(self.k, self.lie_words)

    def card_laws(self) -> list[CardLaw]:
        """One law: there are no cards."""
        return [CardLaw(None, 1.0, shift_law(self.k, self.lie_words))]

    def simulated_support(
        self, counts: Ints, runs: int, rng: np.random.Generator, *, with_cards: bool
    ) -> Ints:
        """How many reports support each value, one row per run."""
        return spread_lies(counts, rng.binomial(counts, self.p, (runs, self.k)), rng)

    def report_from_word(self, value: int, card: int | None, word: int) -> int:
        """The report that one random word makes of a value."""
        return shift_from_word(self.k, value, self.lie_words, word)

    def _respond_block(
        self, values: NDArray[Any], cards: Cards | None, u: randomness.Words, out: Reports
    ) -> None:
        shift_block(self.k, values, shifts(self.k, self.lie_words, u), out)
