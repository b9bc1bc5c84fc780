"""The coin that names some of the k values: subset selection (Ye and Barg 2018)."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from jrr._base import checks
from jrr._base.exact import SCALE, log_ratio_up, private_side, words_down
from jrr._base.wording import of_hundred
from jrr.mechanisms.coins.interface import Coin, Ints, Strength
from jrr.privacy.masked import masked_subset, subset_step

if TYPE_CHECKING:
    from jrr._base.randomness import RandomSource

_MOST_PLANNED = 1_000  # values: beyond, `Bits` is as accurate and quicker


@dataclass(frozen=True)
class Subset(Coin):
    """A set of `size` of the k values: with probability p the true one is among them.

    The most accurate coin for some dozen values; its best size is about k/(e^own + 1).

    Args:
        k: possible values, at least 3.
        size: values in a set, 1..k-1.

    Example:
        >>> coin = Subset(20, 2)
        >>> round(coin.truth_for(3.0), 4)
        0.6906
    """

    k: int
    size: int
    name: ClassVar[str] = "subset"

    def __post_init__(self) -> None:
        """Check the sizes."""
        checks.integer("k", self.k, 3, 1 << 12)
        checks.integer("size", self.size, 1, self.k - 1)

    @classmethod
    def planned(cls, k: int, own: float) -> list[Coin]:
        """The two sizes next to the best; of one value alone, `Choice` is the same."""
        best = k / (math.exp(min(own, 50.0)) + 1)
        sizes = {math.floor(best), math.ceil(best)} - {0, 1}
        return [cls(k, size) for size in sorted(sizes)] if 2 < k <= _MOST_PLANNED else []

    @classmethod
    def with_numbers(cls, k: int, numbers: tuple[int, ...]) -> "Coin":
        """From its size."""
        if len(numbers) != 1:
            raise checks.refusal("coin", [cls.name, *numbers], '["subset", size]')
        return cls(k, *numbers)

    @property
    def document(self) -> Any:
        """Its name and size."""
        return [self.name, self.size]

    @property
    def words(self) -> int:
        """One for the truth, and one for each value in the set."""
        return 1 + self.size

    @property
    def fixed_sums(self) -> tuple[tuple[int, int, int], ...]:
        """The set has always the same size."""
        return ((0, self.k, self.size),)

    def truth_for(self, epsilon: float) -> float:
        """The largest p whose loss is ε, on the private side of rounding."""
        best = self.ideal_chances(epsilon)[0]
        least = self.size / self.k
        p = private_side(best, least, lambda p: self.loss(self.lie_words(p)) <= epsilon)
        if not p > least:
            raise checks.refusal("epsilon", epsilon, "large enough for p to exceed size/k")
        return p

    def check_truth(self, argument: str, p: object) -> float:
        """A chance to be in the set that is better than anybody's."""
        allowed = f"in ({self.size}/{self.k}, 1]"
        return checks.real(argument, p, allowed, self.size / self.k, 1.0, open_low=True)

    def lie_words(self, p: float) -> Strength:
        """Words that leave the true value out."""
        return SCALE - words_down(Fraction(p))

    def chances(self, lies: Strength) -> tuple[Fraction, Fraction]:
        """Of a value to be in the set: the true one, and each other."""
        p = 1 - Fraction(lies, SCALE)
        return p, (self.size - p) / (self.k - 1)

    def ideal_chances(self, epsilon: float) -> tuple[float, float]:
        """The same, as a loss ε allows."""
        p = 1 / (1 + (self.k - self.size) / self.size * math.exp(-epsilon))
        return p, (self.size - p) / (self.k - 1)

    def loss(self, lies: Strength) -> float:
        """Of a set that has one value and not another."""
        named, unnamed = (SCALE - lies) * (self.k - self.size), lies * self.size
        return log_ratio_up(max(named, unnamed), min(named, unnamed)) + self._uneven

    def masked_loss(self, lies: Strength, step: Fraction) -> float:
        """Every number has a mask; the worst weights are searched."""
        truth = 1 - Fraction(lies, SCALE)
        return masked_subset(self.k, self.size, truth, step) + self._uneven

    @property
    def _uneven(self) -> float:
        """What drawing one of up to k by a word of 64 bits adds: no chance is off by k/2^64."""
        return 4 * self.size * self.k * 2.0**-64

    def step_for(self, epsilon: float, own: float) -> float:
        """The inverse of `masked_loss`."""
        return subset_step(self.k, self.size, epsilon, own)

    def toss(self, value: int, words: list[int], lies: Strength) -> list[int]:
        """A 1 for each value in the set.

        The others in it are drawn by Floyd's method, one word each, as places among all but the
        true value.
        """
        truthful = words[0] >> 1 < SCALE - lies
        chosen: set[int] = set()
        first = self.k - 1 - (self.size - truthful)
        for last, word in zip(range(first, self.k - 1), words[1:], strict=False):
            place = word * (last + 1) >> 64
            chosen.add(last if place in chosen else place)
        named = {place + (place >= value) for place in chosen} | ({value} if truthful else set())
        return [int(v in named) for v in range(self.k)]

    def toss_all(
        self, values: NDArray[Any], lies: Strength, source: "RandomSource", out: NDArray[Any]
    ) -> None:
        """The same for many people."""
        words = source.words(len(values) * self.words).reshape(-1, self.words)
        truthful = words[:, 0] >> np.uint64(1) < np.uint64(SCALE - lies)
        out[:] = 0
        for is_in in (False, True):
            rows = np.flatnonzero(truthful == is_in)
            chosen = np.zeros((len(rows), self.k), out.dtype)
            at = np.arange(len(rows))
            count = self.size - is_in
            for draw, last in enumerate(range(self.k - 1 - count, self.k - 1)):
                place = _below(words[rows, 1 + draw], last + 1)
                place = np.where(chosen[at, place] == 1, last, place)
                chosen[at, place] = 1
            # Places at and after the true value move up by one to make room for it.
            held = values[rows].astype(np.int64)[:, None]
            column = np.arange(self.k)[None, :]
            named = np.take_along_axis(chosen, np.maximum(column - (column > held), 0), axis=1)
            named[at, held[:, 0]] = is_in
            out[rows] = named

    def instructions(self, p: float) -> str:
        """Some answers, yours likely among them."""
        return (
            f"The device marks {self.size} of the {self.k} answers, {of_hundred(p)} yours among "
            "them, the others drawn at random"
        )

    def can_say(self, numbers: NDArray[Any]) -> bool:
        """0 or 1 each, as many ones as the set has values."""
        return bool(np.isin(numbers, (0, 1)).all()) and int(numbers.sum()) == self.size

    def simulated_support(
        self, counts: Ints, runs: int, chances: tuple[float, float], rng: np.random.Generator
    ) -> Ints:
        """Sets are drawn person by person: a hypergeometric law for those who share a value."""
        support: Ints = np.zeros((runs, self.k), np.int64)
        for value, holders in enumerate(counts.tolist()):
            truths = rng.binomial(holders, chances[0], runs)
            for run, truthful in enumerate(truths.tolist()):
                support[run, value] += truthful
                for people, size in ((truthful, self.size - 1), (holders - truthful, self.size)):
                    keys = rng.random((people, self.k))
                    keys[:, value] = 2.0
                    if size and people:
                        sets = np.argpartition(keys, size - 1, axis=1)[:, :size]
                        support[run] += np.bincount(sets.ravel(), minlength=self.k)
        return support


def _below(words: NDArray[np.uint64], limit: int) -> NDArray[np.int64]:
    """floor(word · limit / 2^64) for limits below 2^32."""
    half, low = np.uint64(32), np.uint64(0xFFFFFFFF)
    n = np.uint64(limit)
    high = (words >> half) * n + ((words & low) * n >> half)
    return (high >> half).astype(np.int64)
