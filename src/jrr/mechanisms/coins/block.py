"""The coin that answers several items together: all truly, or any other combination of answers.

One coin for all leaves each answer far more of the privacy budget than a coin for each would
(docs/theory.md, section on blocks).
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jrr._base import checks
from jrr._base.wording import of_hundred
from jrr.mechanisms.coins.choice import Choice
from jrr.mechanisms.coins.interface import Coin, Ints, Strength
from jrr.mechanisms.draws import spread_lies
from jrr.mechanisms.shifts import shift_block, shift_from_word, shifts
from jrr.privacy.masked import block_step, masked_block

if TYPE_CHECKING:
    from jrr._base.randomness import RandomSource

MOST_COMBINATIONS = 1 << 12


@dataclass(frozen=True)
class Block(Coin):
    """The answers to several items as one of all their combinations: true with probability p.

    Of an item with two answers it says one number, of one with more a number for each answer.

    Args:
        sizes: possible answers of each item; two items at least, 4,096 combinations at most.

    Example:
        >>> coin = Block((2, 2, 3))
        >>> coin.k, coin.numbers, round(coin.truth_for(3.0), 4)
        (12, 5, 0.6461)
    """

    sizes: tuple[int, ...]
    name: ClassVar[str] = "block"

    def __post_init__(self) -> None:
        """Check the sizes."""
        allowed = "two or more whole numbers from 2 on (one item alone is Choice)"
        if np.ndim(self.sizes) != 1 or len(self.sizes) < 2:
            raise checks.refusal("sizes", self.sizes, allowed)
        sizes = tuple(checks.integer("sizes", size, 2, MOST_COMBINATIONS) for size in self.sizes)
        if math.prod(sizes) > MOST_COMBINATIONS:
            product = (
                f"with a product of at most {MOST_COMBINATIONS:,}, which is {math.prod(sizes):,}"
            )
            raise checks.refusal("sizes", self.sizes, product)
        object.__setattr__(self, "sizes", sizes)

    @property
    def k(self) -> int:  # type: ignore[override]  # follows from the sizes
        """Combinations of answers."""
        return math.prod(self.sizes)

    @classmethod
    def planned(cls, k: int, own: float) -> list[Coin]:
        """None for one item."""
        return []

    @classmethod
    def with_numbers(cls, k: int, numbers: tuple[int, ...]) -> "Coin":
        """From its sizes."""
        return cls(numbers)

    @property
    def document(self) -> Any:
        """Its name and sizes."""
        return [self.name, *self.sizes]

    # -- items and combinations --------------------------------------------------------------

    @property
    def items(self) -> tuple[int, ...]:
        """Possible answers of each."""
        return self.sizes

    @property
    def numbers(self) -> int:
        """One for an item with two answers, otherwise one for each answer."""
        return sum(widths(self.sizes))

    @property
    def fixed_sums(self) -> tuple[tuple[int, int, int], ...]:
        """Of an item with more than two answers one is told."""
        edges = np.cumsum((0, *widths(self.sizes))).tolist()
        return tuple((start, end, 1) for start, end in pairwise(edges) if end > start + 1)

    @cached_property
    def _strides(self) -> NDArray[np.int64]:
        """What the answer to each item counts in the number of a combination."""
        return np.cumprod((1, *self.sizes[:0:-1]))[::-1].astype(np.int64)

    def check_values(self, argument: str, values: ArrayLike) -> NDArray[Any]:
        """Combinations of rows with an answer to each item."""
        allowed = f"rows of {len(self.sizes)} answers, one for each item"
        array = checks.array_of(argument, values, allowed)
        if array.ndim != 2 or array.shape[1] != len(self.sizes):
            raise checks.refusal(argument, values, allowed)
        combined: Ints = np.zeros(len(array), np.int64)
        for item, (size, stride) in enumerate(zip(self.sizes, self._strides, strict=True)):
            column = checks.symbols(f"{argument} of item {item}", array[:, item], size)
            combined += column.astype(np.int64) * stride
        return combined

    def check_value(self, argument: str, value: object) -> int:
        """The combination of one answer to each item."""
        if not isinstance(value, tuple | list | np.ndarray) or len(value) != len(self.sizes):
            raise checks.refusal(argument, value, f"{len(self.sizes)} answers, one for each item")
        pairs = zip(value, self.sizes, strict=True)
        answers = [
            checks.symbol(f"{argument} of item {item}", one, size)
            for item, (one, size) in enumerate(pairs)
        ]
        return int(np.dot(answers, self._strides))

    def support(self, sums: Any, n: Any) -> Any:
        """How many of n reports support each answer of the first item, of the second, and so on."""
        parts, at = [], 0
        for size, width in zip(self.sizes, widths(self.sizes), strict=True):
            part = sums[..., at : at + width]
            parts.append(part if width == size else np.concatenate((n - part, part), axis=-1))
            at += width
        return np.concatenate(parts, axis=-1)

    def item_truth(self, lies: Strength, item: int) -> float:
        """The chance that the answer to one item is true, whatever becomes of the others.

        Args:
            lies: how strong the coin is.
            item: its number, from 0.
        """
        p, q = Choice(self.k).chances(lies)
        return float(p + (self.k // self.sizes[item] - 1) * q)

    # -- strength and losses, as of one value of so many ---------------------------------------

    @property
    def words(self) -> int:
        """One."""
        return 1

    def truth_for(self, epsilon: float) -> float:
        """The largest p whose loss is ε."""
        return Choice(self.k).truth_for(epsilon)

    def check_truth(self, argument: str, p: object) -> float:
        """A probability of the truth, better than guessing."""
        return Choice(self.k).check_truth(argument, p)

    def lie_words(self, p: float) -> Strength:
        """Words that make a lie; each other combination has the same number of them."""
        return Choice(self.k).lie_words(p)

    def chances(self, lies: Strength) -> tuple[Fraction, Fraction]:
        """Of the truth, and of each other combination."""
        return Choice(self.k).chances(lies)

    def ideal_chances(self, epsilon: float) -> tuple[float, float]:
        """Of an answer to the item with most answers, as a loss ε allows."""
        truth, lie = Choice(self.k).ideal_chances(epsilon)
        same = self.k // max(self.sizes)  # combinations with one answer to it
        return truth + (same - 1) * lie, same * lie

    def loss(self, lies: Strength) -> float:
        """That of randomized response."""
        return Choice(self.k).loss(lies)

    def masked_loss(self, lies: Strength, step: Fraction) -> float:
        """One number moves for an item with two answers, two for one with more."""
        return masked_block(self.sizes, Fraction(lies, 1 << 63), step)

    def step_for(self, epsilon: float, own: float) -> float:
        """The inverse of `masked_loss`."""
        return block_step(self.sizes, epsilon, own)

    # -- the device and the collector ----------------------------------------------------------

    def toss(self, value: int, words: list[int], lies: Strength) -> list[int]:
        """The answers that are told, as numbers."""
        told = shift_from_word(self.k, value, lies, words[0])
        out: list[int] = []
        for size, stride in zip(self.sizes, self._strides.tolist(), strict=True):
            answer = told // stride % size
            out += [answer] if size == 2 else [int(v == answer) for v in range(size)]
        return out

    def toss_all(
        self, values: NDArray[Any], lies: Strength, source: "RandomSource", out: NDArray[Any]
    ) -> None:
        """The same for many people."""
        u = source.words(len(values)) >> np.uint64(1)
        told = np.empty(len(values), np.int64)
        shift_block(self.k, values, shifts(self.k, lies, u), told)
        np.take(self._shown, told, axis=0, out=out)

    @cached_property
    def _shown(self) -> NDArray[np.int16]:
        """The numbers of each combination."""
        combinations = np.arange(self.k)
        columns = []
        for size, stride in zip(self.sizes, self._strides, strict=True):
            answer = combinations // stride % size
            columns += [answer] if size == 2 else [answer == v for v in range(size)]
        return np.stack(columns, axis=1).astype(np.int16)

    def instructions(self, p: float) -> str:
        """All true answers, or others."""
        return (
            f"{of_hundred(p, start=True)} the device takes your true answers, otherwise other "
            "ones drawn at random for all of them together"
        )

    def can_say(self, numbers: NDArray[Any]) -> bool:
        """0 or 1; a single 1 among those of an item with more than two answers."""
        at = 0
        for size, width in zip(self.sizes, widths(self.sizes), strict=True):
            part = numbers[at : at + width]
            if not np.isin(part, (0, 1)).all() or (size > 2 and int(part.sum()) != 1):
                return False
            at += width
        return True

    def simulated_support(
        self, counts: Ints, runs: int, chances: tuple[float, float], rng: np.random.Generator
    ) -> Ints:
        """Of counts of all combinations, the support of each item's answers."""
        told = spread_lies(counts, rng.binomial(counts, chances[0], (runs, self.k)), rng)
        support: Ints = self.support(told @ self._shown.astype(np.int64), counts.sum())
        return support


def widths(sizes: tuple[int, ...]) -> list[int]:
    """How many numbers each item has."""
    return [1 if size == 2 else size for size in sizes]
