"""What a coin is: a channel from one of k values to a few whole numbers.

Behind masks a device reports the coin's numbers, each with a secret number added. Whoever knows
the secret numbers sees the coin bare; to everybody else one more or less of a number is blurred by
a factor of e^c at most, c being the rates of the masks together. So a coin says two losses, bare
and behind masks, and MRR needs to know nothing else of it.

A new coin is a class below `Coin` in a file of its own and its name in jrr.mechanisms.coins.named.
"""

from abc import ABC, abstractmethod
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jrr._base import checks
from jrr.estimation.masks import Masks
from jrr.estimation.moments import Moments

if TYPE_CHECKING:
    from jrr._base.randomness import RandomSource

Ints = NDArray[np.int64]
Strength = int  # of a coin: how many of 2**63 random words make it lie


class Coin(ABC):
    """One kind of coin for k values; how strong it is comes with every call.

    A strength is given as a probability p, larger is less private, and used as a whole number of
    random words (`lie_words`): what is accounted for is what runs.
    """

    k: int  # values
    name: ClassVar[str]  # in documents
    largest: int = 1  # number that it says; the least is 0
    steps: int = 1  # from value 0 to value 1, where numbers in between can be told (jrr.Numbers)

    @classmethod
    @abstractmethod
    def planned(cls, k: int, own: float) -> "list[Coin]":
        """The coins of this kind that a plan tries for k values; none where it is not for them.

        Args:
            k: values.
            own: the loss of the strongest coin that is allowed.
        """

    # -- in documents ------------------------------------------------------------------------

    @classmethod
    def with_numbers(cls, k: int, numbers: tuple[int, ...]) -> "Coin":
        """The coin for k values that a document describes by its name and these numbers.

        Args:
            k: values.
            numbers: what the document has after the name.
        """
        if numbers:
            raise checks.refusal("coin", [cls.name, *numbers], f'"{cls.name}" without numbers')
        return cls(k)  # type: ignore[call-arg]  # every coin without numbers is made from k

    @property
    def document(self) -> Any:
        """The coin in JSON: its name; one that needs more than k, a list of name and shape."""
        return self.name

    # -- values ------------------------------------------------------------------------------

    @property
    def items(self) -> tuple[int, ...]:
        """Possible answers of each item that is asked together; most coins are for one."""
        return (self.k,)

    def check_values(self, argument: str, values: ArrayLike) -> NDArray[Any]:
        """True values of many people as numbers below k, or a refusal.

        Args:
            argument: its name, for the refusal.
            values: one per person.
        """
        return checks.symbols(argument, values, self.k)

    def check_value(self, argument: str, value: object) -> int:
        """The same for one person.

        Args:
            argument: its name, for the refusal.
            value: what the person answers.
        """
        return checks.symbol(argument, value, self.k)

    # -- its numbers -----------------------------------------------------------------------

    @property
    def numbers(self) -> int:
        """How many whole numbers it says, each of which gets a mask; yes or no need one."""
        return 1 if self.k == 2 else self.k

    @property
    @abstractmethod
    def words(self) -> int:
        """How many random words one toss takes."""

    @property
    def fixed_sums(self) -> tuple[tuple[int, int, int], ...]:
        """Neighbours whose sum is always the same: the first, one behind the last, and the sum."""
        return ()

    def support(self, sums: Any, n: Any) -> Any:
        """How many of n reports support each value, from the sums of their numbers.

        Args:
            sums: one for each number, along the last axis.
            n: reports, or their weight; 0: what is added to sums, such as masks.
        """
        if self.numbers == self.k:
            return sums
        return np.stack((n - sums[..., 0], sums[..., 0]), axis=-1)

    # -- its strength ----------------------------------------------------------------------

    @abstractmethod
    def truth_for(self, epsilon: float) -> float:
        """The largest p whose loss is ε at most.

        Args:
            epsilon: the most that the coin may lose.
        """

    @abstractmethod
    def check_truth(self, argument: str, p: object) -> float:
        """A p that tells something, or a refusal.

        Args:
            argument: its name, for the refusal.
            p: the strength, as a probability.
        """

    @abstractmethod
    def lie_words(self, p: float) -> Strength:
        """The words that p leaves for lies, rounded up.

        Args:
            p: the strength, as a probability.
        """

    @abstractmethod
    def chances(self, lies: Strength) -> tuple[Fraction, Fraction]:
        """How likely it marks a value that is held, and one that is not.

        Args:
            lies: how strong the coin is.
        """

    @abstractmethod
    def ideal_chances(self, epsilon: float) -> tuple[float, float]:
        """The same for a loss ε in floating point: what a search compares.

        Args:
            epsilon: the loss of the bare coin.
        """

    def moments(self, p: float, q: float, gain: float, masks: Masks | None, **more: Any) -> Moments:
        """Of reports, p and q being as `chances` says, gain being p - q to the last digit.

        Args:
            p: how likely it marks a value that is held.
            q: how likely it marks another value.
            gain: p - q to the last digit.
            masks: the whole numbers that cards add; None where they add none.
            more: other fields of `Moments`.
        """
        return Moments.same_for_all(
            p=p, q=q, gain=gain, exclusive=self.numbers == 1, masks=masks, **more
        )

    def rounding(self, own: float, between: float = 0.0) -> float:
        """The variance per person that numbers between two values add to that of the two: none.

        Args:
            own: the loss of the bare coin.
            between: the mean of t(1-t), numbers t being in 0..1.
        """
        return 0.0

    # -- its losses ------------------------------------------------------------------------

    @abstractmethod
    def loss(self, lies: Strength) -> float:
        """ε of the bare coin: of somebody who knows the masks.

        Args:
            lies: how strong the coin is.
        """

    @abstractmethod
    def masked_loss(self, lies: Strength, step: Fraction) -> float:
        """ε behind masks.

        Args:
            lies: how strong the coin is.
            step: c: what is seen is at most e^c times as likely with a number one more or less.
        """

    @abstractmethod
    def step_for(self, epsilon: float, own: float) -> float:
        """The c at which a coin of loss `own` has loss ε behind masks, in floating point.

        Infinite where masks are not needed; 0 where none are enough.

        Args:
            epsilon: the loss behind masks.
            own: the loss of the bare coin.
        """

    # -- the device ------------------------------------------------------------------------

    @abstractmethod
    def toss(self, value: int, words: list[int], lies: Strength) -> list[int]:
        """What random 64-bit words make of a value (docs/protocol.md).

        Args:
            value: what the person answers, 0..k-1.
            words: as many random words as `words` says.
            lies: how strong the coin is.
        """

    @abstractmethod
    def toss_all(
        self, values: NDArray[Any], lies: Strength, source: "RandomSource", out: NDArray[Any]
    ) -> None:
        """The same for many people: a row of `out` each, or an entry where it says one number.

        Args:
            values: one per person.
            lies: how strong the coin is.
            source: where random words come from.
            out: where what is said is written.
        """

    @abstractmethod
    def instructions(self, p: float) -> str:
        """What the device does before it adds a mask, as the beginning of a sentence.

        Args:
            p: the strength, as a probability.
        """

    # -- the collector ---------------------------------------------------------------------

    @abstractmethod
    def can_say(self, numbers: NDArray[Any]) -> bool:
        """Whether these are numbers that it can say: reports without a card must be.

        Args:
            numbers: of one report, or of many in rows.
        """

    @abstractmethod
    def simulated_support(
        self, counts: Ints, runs: int, chances: tuple[float, float], rng: np.random.Generator
    ) -> Ints:
        """How many people it marks for each value, one row per run.

        Args:
            counts: people with each value.
            runs: surveys.
            chances: how likely a value that is held is marked, and one that is not.
            rng: where random numbers come from.
        """
