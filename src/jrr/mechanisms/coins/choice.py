"""The coin that tells one of the k values: randomized response (RR, GRR)."""

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from jrr._base import checks
from jrr._base.exact import SCALE, private_side, words_up
from jrr._base.wording import of_hundred
from jrr.mechanisms.coins.interface import Coin, Ints, Strength
from jrr.mechanisms.draws import spread_lies
from jrr.mechanisms.shifts import (
    check_gain,
    check_truth_probability,
    shift_block,
    shift_from_word,
    shifts,
    truth_probability,
)
from jrr.privacy import loss
from jrr.privacy.masked import masked_value, seen_step

if TYPE_CHECKING:
    from jrr._base.randomness import RandomSource


@dataclass(frozen=True)
class Choice(Coin):
    """One of k values: the true one with probability p, otherwise any other.

    It says one number for two values, and for more a 1 at the value it tells and 0 elsewhere.

    Args:
        k: possible values.

    Example:
        >>> coin = Choice(4)
        >>> coin.numbers, round(coin.truth_for(1.0), 4)
        (4, 0.4754)
    """

    k: int = 2
    name: ClassVar[str] = "rr"

    def __post_init__(self) -> None:
        """Check k."""
        checks.domain(self.k)

    @classmethod
    def planned(cls, k: int, own: float) -> list[Coin]:
        """One for any number of values."""
        return [cls(k)]

    @property
    def words(self) -> int:
        """One."""
        return 1

    @property
    def fixed_sums(self) -> tuple[tuple[int, int, int], ...]:
        """Of more than two values one is told."""
        return ((0, self.k, 1),) if self.k > 2 else ()

    def truth_for(self, epsilon: float) -> float:
        """The largest p whose loss is ε, on the private side of rounding."""
        p = private_side(
            truth_probability(epsilon, self.k),
            1 / self.k,
            lambda p: self.loss(self.lie_words(p)) <= epsilon,
        )
        if not p > 1 / self.k:
            raise checks.refusal("epsilon", epsilon, "large enough for p to exceed 1/k")
        return p

    def check_truth(self, argument: str, p: object) -> float:
        """A probability of the truth, better than guessing."""
        return check_truth_probability(argument, p, self.k)

    def lie_words(self, p: float) -> Strength:
        """Words that make a lie; each other value has the same number of them."""
        return words_up(1 - Fraction(p), self.k - 1)

    def chances(self, lies: Strength) -> tuple[Fraction, Fraction]:
        """Of the truth, and of each single other value."""
        lie = Fraction(lies, SCALE)
        p, q = 1 - lie, lie / (self.k - 1)
        check_gain(self.k, float(p - q))
        return p, q

    def ideal_chances(self, epsilon: float) -> tuple[float, float]:
        """The same, as a loss ε allows."""
        p = truth_probability(epsilon, self.k)
        return p, (1 - p) / (self.k - 1)

    def loss(self, lies: Strength) -> float:
        """That of randomized response."""
        return loss.independent(self.k, lies)

    def masked_loss(self, lies: Strength, step: Fraction) -> float:
        """Two numbers change with the value where there are more than two values."""
        return masked_value(self.k, Fraction(lies, SCALE), step)

    def step_for(self, epsilon: float, own: float) -> float:
        """The inverse of `masked_loss`."""
        exponent = seen_step(self.k, epsilon, own)
        return exponent if self.k == 2 else exponent / 2

    def toss(self, value: int, words: list[int], lies: Strength) -> list[int]:
        """The value that is told, or a 1 at its place."""
        told = shift_from_word(self.k, value, lies, words[0])
        return [told] if self.k == 2 else [int(v == told) for v in range(self.k)]

    def toss_all(
        self, values: NDArray[Any], lies: Strength, source: "RandomSource", out: NDArray[Any]
    ) -> None:
        """The same for many people."""
        u = source.words(len(values)) >> np.uint64(1)
        told = np.empty(len(values), np.min_scalar_type(self.k - 1))
        shift_block(self.k, values, shifts(self.k, lies, u), told)
        if self.k == 2:
            out[:] = told
            return
        out[:] = 0
        out[np.arange(len(values)), told] = 1

    def instructions(self, p: float) -> str:
        """The truth, or another answer."""
        return (
            f"{of_hundred(p, start=True)} the device takes your true answer, otherwise another "
            "one drawn at random"
        )

    def can_say(self, numbers: NDArray[Any]) -> bool:
        """0 or 1; of more than two values a single 1."""
        marks = bool(np.isin(numbers, (0, 1)).all())
        return marks and (self.k == 2 or int(numbers.sum()) == 1)

    def simulated_support(
        self, counts: Ints, runs: int, chances: tuple[float, float], rng: np.random.Generator
    ) -> Ints:
        """Truths by value, and lies spread over the others."""
        return spread_lies(counts, rng.binomial(counts, chances[0], (runs, self.k)), rng)
