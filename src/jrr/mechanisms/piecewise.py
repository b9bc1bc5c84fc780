"""The piecewise mechanism in whole steps: a number is told by a window of numbers around it.

No cards, no dealer: the coin `Window` on its own, as RR is `Choice` on its own (jrr.Numbers).
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from jrr._base import checks, randomness
from jrr.errors import ArgumentError
from jrr.estimation.moments import Floats, Moments
from jrr.mechanisms.base import Ints, Mechanism, Reports, Rng
from jrr.mechanisms.coins.window import ROUNDING, Window, windows_tried
from jrr.mechanisms.marked_arrays import MarkedReports
from jrr.mechanisms.report_formats import MaskedFormat
from jrr.mechanisms.request import Request, least
from jrr.privacy.views import View


@dataclass(frozen=True, init=False)
class Piecewise(Mechanism):
    """A number of 0..steps is told as one of 0..steps+width-1, a window around it likelier.

    Its two values are the two ends.

    Args:
        epsilon: the privacy loss; p is then the largest that keeps it.
        steps: from the smallest number to the largest.
        width: numbers of the window.
        p: the chance of a number of the window, instead of epsilon.

    Example:
        >>> m = Piecewise(epsilon=1.0)
        >>> 0.999999 < m.epsilon() <= 1.0, m.steps
        (True, 16)
    """

    steps: int
    width: int
    p: float
    k = 2  # the two ends
    name: ClassVar[str] = "Piecewise"
    title: ClassVar[str] = "the piecewise mechanism"
    parameters: ClassVar[tuple[str, ...]] = ("steps", "width", "p")
    colour: ClassVar[str] = "#a6761d"

    def __init__(
        self,
        epsilon: float | None = None,
        *,
        steps: int = 16,
        width: int = 8,
        p: float | None = None,
    ) -> None:
        coin = Window(steps, width)
        checks.exactly_one(epsilon=epsilon, p=p)
        if p is None:
            p = coin.truth_for(checks.epsilon("epsilon", epsilon))
        self._set(steps=steps, width=width, p=coin.check_truth("p", p))

    @classmethod
    def windows(cls, request: Request, between: float = ROUNDING) -> list[Self]:
        """At the whole budget, in more steps or fewer; `jrr.plan_number` chooses."""
        coins = windows_tried(request.budget, between)
        return [cls(request.budget, steps=coin.steps, width=coin.width) for coin in coins]

    @classmethod
    def _most_accurate(cls, request: Request, *, cards: bool) -> Self:
        return least(cls.windows(request), request)

    # -- what it says of itself -------------------------------------------------------------

    @property
    def coin(self) -> Window:
        """What the device does."""
        return Window(self.steps, self.width)

    @cached_property
    def lie_words(self) -> int:
        """Words that say a number that is not of the window."""
        return self.coin.lie_words(self.p)

    @cached_property
    def moments(self) -> Moments:
        """First and second moments of the reports, which count in steps."""
        p, q = self.coin.chances(self.lie_words)
        return self.coin.moments(float(p), float(q), float(p - q), None)

    @property
    def most_support(self) -> int:
        """The largest number."""
        return self.coin.largest

    @property
    def report_format(self) -> MaskedFormat:
        """A whole number of 16 bits."""
        return MaskedFormat(1, 0, self.coin.largest, 1)

    def instructions(self) -> str:
        """What a contributor's device does, in one sentence."""
        return f"{self.coin.instructions(self.p)}, and sends only that."

    # -- privacy ----------------------------------------------------------------------------

    def _epsilon(self, view: View, colluders: int) -> float:
        """There are no cards, so every view is that of the report alone."""
        return self.coin.loss(self.lie_words)

    # -- contributor ------------------------------------------------------------------------

    def deal(self, rng: Rng = None) -> None:
        """There are no cards."""
        return None

    def respond_one(self, value: int, card: Any = None, rng: Rng = None) -> int:
        """One report: a whole number."""
        return self.respond_one_step(checks.symbol("value", value, 2) * self.steps, card, rng)

    def respond_one_step(self, step: int, card: Any = None, rng: Rng = None) -> int:
        """The same of a whole number of steps."""
        self._refuse_cards(card)
        return self.report_from_word(
            checks.symbol("value", step, self.steps + 1), None, randomness.source(rng).word()
        )

    def report_from_word(self, value: int, card: None, word: int) -> int:
        """The report that one random word makes of a step (docs/protocol.md).

        Args:
            value: a step.
            card: None: it has no cards.
            word: a random 64-bit word.
        """
        return self.coin.toss(value, [word], self.lie_words)[0]

    def _refuse_cards(self, cards: object) -> None:
        if cards is not None:
            raise ArgumentError(f"cards must be None for {self.name}, which deals none")

    def respond(
        self, values: ArrayLike, cards: ArrayLike | None = None, rng: Rng = None
    ) -> Reports:
        """Perturbed reports of the two ends; of several people."""
        ends = checks.symbols("values", values, 2).astype(np.int64) * self.steps
        return self.respond_steps(ends, cards, rng)

    def respond_steps(
        self, steps: ArrayLike, cards: ArrayLike | None = None, rng: Rng = None
    ) -> Reports:
        """Perturbed reports of whole numbers of steps."""
        self._refuse_cards(cards)
        whole = checks.symbols("steps", steps, self.steps + 1)
        source, out = randomness.source(rng), np.empty(len(whole), np.int16)
        for start in range(0, len(whole), randomness.BLOCK):
            block = slice(start, start + randomness.BLOCK)
            self.coin.toss_all(whole[block], self.lie_words, source, out[block])
        return MarkedReports.of(out, carded=False)

    # -- collector --------------------------------------------------------------------------

    def _check_reports(self, reports: ArrayLike) -> Reports:
        return self.report_format.check(reports)

    def _support(self, reports: Reports) -> tuple[int, ...]:
        total = reports.sum(dtype=np.int64, keepdims=True)
        return tuple(self.coin.support(total, len(reports)).tolist())

    def _weighted_support(self, reports: Reports, weights: Floats) -> Floats:
        total = np.array([weights @ reports.astype(np.float64)])
        support: Floats = self.coin.support(total, weights.sum())
        return support

    def simulated_support(
        self, counts: Ints, runs: int, rng: np.random.Generator, *, with_cards: bool
    ) -> Ints:
        """Numbers towards each end, one row per run."""
        p, q = self.coin.chances(self.lie_words)
        return self.coin.simulated_support(counts, runs, (float(p), float(q)), rng)
