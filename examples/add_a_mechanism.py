"""A mechanism in one file: joint randomized response whose plus cards always tell the truth.

Half the deck is plus, half minus; an odd deck has one blank card. Who holds a plus card reports the
truth, who holds a minus card lies twice as often as plain randomized response would, who holds a
blank card or none lies as plain randomized response does. CONTRIBUTING.md walks through this file.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from jrr._base import checks
from jrr._base.exact import SCALE, log_ratio_up, words_up
from jrr._base.randomness import Words
from jrr._base.wording import of_hundred
from jrr.estimation.moments import Moments
from jrr.mechanisms.base import Cards, Reports
from jrr.mechanisms.cards import SortedDeck
from jrr.mechanisms.categorical import Categorical
from jrr.mechanisms.request import Family, Request
from jrr.privacy.views import View


def _truth_probability(p: object) -> float:
    return checks.real("p", p, "in (1/2, 1)", 0.5, 1.0, open_low=True, open_high=True)


@dataclass(frozen=True, init=False)
class Corner(Categorical):
    """Yes or no for decks of n contributors; a report is true with probability p on average."""

    n: int  # contributors per deck
    p: float  # probability of a truthful report, averaged over the deck
    k: int = 2  # two answers, always
    name: ClassVar[str] = "Corner"
    title: ClassVar[str] = "joint randomized response with truthful plus cards"
    parameters: ClassVar[tuple[str, ...]] = ("n", "p")

    def __init__(self, n: int, p: float) -> None:
        object.__setattr__(self, "n", checks.deck_size(n))
        object.__setattr__(self, "p", _truth_probability(p))

    # 1. Probabilities, as whole numbers of random words: what runs is what is accounted for.

    @cached_property
    def _lies(self) -> dict[int, int]:
        """Words that make a lie, by card."""
        lie = 1 - Fraction(self.p)
        return {1: 0, -1: words_up(2 * lie), 0: words_up(lie)}

    @property
    def _signed(self) -> int:
        return self.n - self.n % 2

    @cached_property
    def moments(self) -> Moments:
        """First and second moments: a card moves a holder of v by s, and anybody else by -s."""
        s = 1 - self.p
        return Moments.same_for_all(
            p=self.p,
            q=1 - self.p,
            gain=2 * self.p - 1,
            lean_holder=s,
            lean_other=-s,
            deck=self.n,
            signed=self._signed,
        )

    # 2. Cards.

    @cached_property
    def sorted_deck(self) -> SortedDeck:
        """Plus, minus and, where n is odd, one blank card."""
        half = self._signed // 2
        return SortedDeck(self.n, np.array([1, -1, 0], np.int8), (half, half, self.n % 2))

    # 3. From a random word to a report, one by one and by the array.

    def report_from_word(self, value: int, card: int | None, word: int) -> int:
        """Lie where the upper 63 bits of the word fall below the card's words."""
        return value ^ int(word >> 1 < self._lies[card or 0])

    def _respond_block(
        self, values: NDArray[Any], cards: Cards | None, u: Words, out: Reports
    ) -> None:
        held = np.zeros(len(values), np.int8) if cards is None else cards
        limits = np.array([self._lies[card] for card in (-1, 0, 1)], np.uint64)
        lies = (u < limits[held.astype(np.intp) + 1]).astype(out.dtype)
        np.bitwise_xor(values.astype(out.dtype), lies, out=out)

    # 4. What each adversary can learn, never rounded down.

    def _epsilon(self, view: View, colluders: int) -> float:
        blank = self._loss(Fraction(self._lies[0], SCALE))
        plus = {"report": Fraction(1, 2), "dealer": Fraction(1)}.get(view)
        if plus is None:  # cards, and truths, which tell less: colluders hold minus cards only
            known = min(colluders, self._signed // 2)
            plus = Fraction(self._signed // 2, self._signed - known)
        minus_lie = Fraction(self._lies[-1], SCALE)
        # The belief in a plus card lies between 1 - plus and plus, and the loss grows with it.
        return max(blank, *(self._loss((1 - b) * minus_lie) for b in (plus, 1 - plus)))

    @staticmethod
    def _loss(lie: Fraction) -> float:
        return log_ratio_up(max(lie, 1 - lie), min(lie, 1 - lie))

    # 5. How a plan chooses it, and how it is explained.

    @classmethod
    def families(cls) -> tuple[Family, ...]:
        """The largest p that keeps the request."""
        caption = "plus cards are true"
        return (Family(key="corner", label="Corner", cards=True, best=cls.best, caption=caption),)

    @classmethod
    def best(cls, request: Request) -> "Corner":
        """By bisection: more truth is less private."""
        if request.k != cls.k:
            raise checks.refusal("k", request.k, "2 for Corner")
        low, high = 0.5 + 2.0**-40, 1.0 - 2.0**-40
        if not request.allows(cls(request.n, low)):
            raise checks.refusal("epsilon", request.epsilon, "large enough for Corner")
        for _ in range(50):
            middle = (low + high) / 2
            if request.allows(cls(request.n, middle)):
                low = middle
            else:
                high = middle
        return cls(request.n, low)

    def instructions(self) -> str:
        """What a contributor's device does, in one sentence."""
        return (
            "With a plus card the device sends your true answer, with a minus card "
            f"{of_hundred(2 * self.p - 1)}, otherwise the other answer."
        )
