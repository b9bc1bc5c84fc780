"""Randomized response: tell the truth with probability p, else any other value (RR, GRR)."""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jrr._base import checks, randomness
from jrr._base.exact import SCALE, private_side, words_up
from jrr.errors import ArgumentError
from jrr.estimation.moments import Moments
from jrr.mechanisms.base import Cards, Reports, Rng, check_truth_probability, check_view
from jrr.mechanisms.categorical import Categorical
from jrr.privacy import loss


def truth_probability(epsilon: float, k: int) -> float:
    """P(ε): the largest p whose report has privacy loss ε."""
    return 1 / (1 + (k - 1) * math.exp(-epsilon))


def private_truth_probability(epsilon: float, k: int) -> float:
    """P(ε) in floating point, on the private side of rounding."""
    return private_side(
        truth_probability(epsilon, k),
        1 / k,
        lambda p: loss.independent(k, _lie_words(p, k)) <= epsilon,
    )


def _lie_words(p: float, k: int) -> int:
    return words_up(1 - Fraction(p), k - 1)


@dataclass(frozen=True, init=False)
class RR(Categorical):
    """Plain randomized response over k values: the baseline, and the fall-back without a card.

    Give either `epsilon` or `p`.
    """

    k: int  # size of the domain
    p: float  # probability of a truthful report
    name: ClassVar[str] = "RR"

    def __init__(self, k: int = 2, epsilon: float | None = None, p: float | None = None) -> None:
        k = checks.domain(k)
        if (epsilon is None) == (p is None):
            raise ArgumentError(
                f"exactly one of epsilon and p must be given, got epsilon={epsilon!r}, p={p!r}"
            )
        object.__setattr__(self, "k", k)
        if p is not None:
            object.__setattr__(self, "p", check_truth_probability("p", p, k))
            return
        chance = private_truth_probability(checks.positive("epsilon", epsilon), k)
        if not chance > 1 / k:
            raise checks.refusal("epsilon", epsilon, "large enough for p to exceed 1/k")
        object.__setattr__(self, "p", chance)

    @property
    def q(self) -> float:
        """Probability of each single other value."""
        return (1 - self.p) / (self.k - 1)

    @cached_property
    def lie_words(self) -> int:
        """Words that make a lie; each other value has the same number of them."""
        return _lie_words(self.p, self.k)

    @cached_property
    def moments(self) -> Moments:
        """First and second moments of the reports."""
        return marginal_moments(self.k, Fraction(self.lie_words, SCALE))

    def epsilon(self, view: str = "report", colluders: int = 0) -> float:
        """The privacy loss; there are no cards, so every view is that of the report alone."""
        check_view(view, self.name)
        checks.integer("colluders", colluders, 0)
        return loss.independent(self.k, self.lie_words)

    def to_dict(self) -> dict[str, Any]:
        """The parameters as plain JSON values."""
        return {"mechanism": self.name, "k": self.k, "p": self.p}

    def deal(self, rng: Rng = None) -> None:
        """There are no cards."""
        return None

    def report_from_word(self, value: int, card: int | None, word: int) -> int:
        """The report that one random word makes of a value."""
        return shift_from_word(self.k, value, self.lie_words, word)

    def _respond_block(
        self, values: NDArray[Any], cards: Cards | None, u: randomness.Words, out: Reports
    ) -> None:
        shift_block(self.k, values, shifts(self.k, self.lie_words, u), out)

    def _check_cards(self, cards: ArrayLike, length: int) -> Cards:
        raise checks.refusal("cards", cards, "None for RR, which deals no cards")

    def _check_card(self, card: int) -> int:
        raise checks.refusal("card", card, "None for RR, which deals no cards")


def marginal_moments(
    k: int,
    lie: Fraction,
    lean_holder: float = 0.0,
    lean_other: float = 0.0,
    deck: int | None = None,
    signed: int | None = None,
) -> Moments:
    """Moments of a mechanism whose reports are, one by one, those of randomized response.

    From the words that run: for very large k they are not quite the parameters.
    """
    p, q = 1 - lie, lie / (k - 1)
    gain = float(p - q)
    if not gain > 0:
        raise checks.refusal("k", k, "small enough for the truth to be likelier than a lie")
    return Moments.same_for_all(float(p), float(q), gain, lean_holder, lean_other, deck, signed)


def shift_from_word(k: int, value: int, lie_words: int, word: int) -> int:
    """Lie by the j-th other value where the word falls into the j-th of k-1 equal parts."""
    step = lie_words // (k - 1)
    part = (word >> 1) // step if step else k
    return (value + part + 1) % k if part < k - 1 else value


def shifts(k: int, lie_words: int, u: randomness.Words) -> NDArray[Any]:
    """By how much each report is moved: 0 for the truth, 1..k-1 for a lie."""
    if k == 2:
        return (u < np.uint64(lie_words)).view(np.uint8)
    step = lie_words // (k - 1)
    if step == 0:
        return np.zeros_like(u)
    part = u // np.uint64(step)
    return (part + np.uint64(1)) * (part < np.uint64(k - 1))


def shift_block(k: int, values: NDArray[Any], moved: NDArray[Any], out: Reports) -> None:
    """Move values around the circle 0..k-1."""
    if k == 2:
        np.bitwise_xor(values.astype(np.uint8, copy=False), moved, out=out)
        return
    total = values.astype(np.uint64) + moved
    np.subtract(total, np.uint64(k) * (total >= np.uint64(k)), out=out, casting="unsafe")
