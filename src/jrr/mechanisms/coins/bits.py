"""The coin that decides for every value whether to mark it: optimised unary encoding (OUE)."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from jrr._base import checks
from jrr._base.exact import SCALE
from jrr.mechanisms.coins.choice import Choice
from jrr.mechanisms.coins.interface import Coin, Ints, Strength
from jrr.privacy.masked import masked_bits, seen_step

if TYPE_CHECKING:
    from jrr._base.randomness import RandomSource

_HALF = SCALE >> 1
_BIT = Choice(2)  # two values differ in two bits, whose losses add up to that of one yes or no


@dataclass(frozen=True)
class Bits(Coin):
    """A mark for each of k values: half the time where it is held, with 1 - p where it is not.

    Better than `Choice` for many values.

    Args:
        k: possible values, at least 3.
    """

    k: int
    name: ClassVar[str] = "oue"

    def __post_init__(self) -> None:
        """Check k: of two values a single number tells as much."""
        checks.integer("k", self.k, 3)

    @classmethod
    def planned(cls, k: int, own: float) -> list[Coin]:
        """None for two values, of which a single number tells as much."""
        return [cls(k)] if k > 2 else []

    @property
    def words(self) -> int:
        """One for each value."""
        return self.k

    def truth_for(self, epsilon: float) -> float:
        """The largest chance that the mark of a value that is not held stays at 0."""
        return _BIT.truth_for(epsilon)

    def check_truth(self, argument: str, p: object) -> float:
        """That chance, better than guessing."""
        return _BIT.check_truth(argument, p)

    def lie_words(self, p: float) -> Strength:
        """Words that mark a value that is not held."""
        return _BIT.lie_words(p)

    def chances(self, lies: Strength) -> tuple[Fraction, Fraction]:
        """One half, and that of a lie."""
        return Fraction(1, 2), Fraction(lies, SCALE)

    def ideal_chances(self, epsilon: float) -> tuple[float, float]:
        """The same, as a loss ε allows."""
        return 0.5, 1 / (1 + math.exp(epsilon))

    def loss(self, lies: Strength) -> float:
        """That of one yes or no: the two bits that change share it."""
        return _BIT.loss(lies)

    def masked_loss(self, lies: Strength, step: Fraction) -> float:
        """Two bits change with the value, and one mask with each."""
        return masked_bits(Fraction(lies, SCALE), step)

    def step_for(self, epsilon: float, own: float) -> float:
        """The inverse of `masked_loss`."""
        return seen_step(2, epsilon, own)

    def toss(self, value: int, words: list[int], lies: Strength) -> list[int]:
        """One mark for each value."""
        return [int((word >> 1) < (_HALF if v == value else lies)) for v, word in enumerate(words)]

    def toss_all(
        self, values: NDArray[Any], lies: Strength, source: "RandomSource", out: NDArray[Any]
    ) -> None:
        """The same for many people."""
        u = source.words(len(values) * self.k).reshape(-1, self.k) >> np.uint64(1)
        np.less(u, np.uint64(lies), out=out, casting="unsafe")
        held = np.arange(len(values)), values
        out[held] = u[held] < np.uint64(_HALF)

    def instructions(self, p: float) -> str:
        """Yours is marked more often than others."""
        return "The device decides for every answer by a coin whether to mark it, yours oftener"

    def can_say(self, numbers: NDArray[Any]) -> bool:
        """0 or 1 each."""
        return bool(np.isin(numbers, (0, 1)).all())

    def simulated_support(
        self, counts: Ints, runs: int, chances: tuple[float, float], rng: np.random.Generator
    ) -> Ints:
        """Marks of holders, and of all others."""
        p, q = chances
        held = rng.binomial(counts, p, (runs, self.k))
        return held + rng.binomial(counts.sum() - counts, q, (runs, self.k))
