"""Masked Laplace noise: a number in whole steps, own noise, and a secret card that is added.

As masked randomized response, with noise in place of the own coin. Noise and card protect each by
itself: whoever knows the card sees the number behind the noise, everybody else behind the weaker
of the two (docs/theory.md, section on numbers).
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import optimize

from jrr._base import checks, randomness
from jrr.estimation.masks import ClosedMasks
from jrr.estimation.moments import Moments
from jrr.estimation.own_noise import OwnNoise
from jrr.mechanisms.base import Ints, Reports, Rng
from jrr.mechanisms.in_steps import InSteps, noise_sums, noisy_moments
from jrr.mechanisms.laplace import LEAST_RATE, MOST_STEPS, STEPS, Laplace, rate_for
from jrr.mechanisms.marked_arrays import MarkedReports, spend
from jrr.mechanisms.masked_optimum import LEAST_CARD_RATE
from jrr.mechanisms.masking import Masking
from jrr.mechanisms.parts.planned import needs_deck
from jrr.mechanisms.report_formats import MaskedFormat
from jrr.mechanisms.request import Request
from jrr.mechanisms.whole_noise import discrete_laplace
from jrr.privacy.masked import masked_steps
from jrr.privacy.views import View

_CLAMPED = 40.0  # reports are clamped where own noise is that many times 1/rate: e^-40
WIDEST_STEP = _CLAMPED / 700  # the least rate of own noise: it is counted 700 steps far at most
_UNCAPPED = 20.0  # the own noise's loss where nobody asked for a cap
_ANNOUNCED_SHARE = 0.03  # of c for cards whose sum is announced


@dataclass(frozen=True, init=False, repr=False)
class MaskedLaplace(InSteps, Masking):
    """Numbers in whole steps with own noise and masks, for decks of n contributors.

    Args:
        n: contributors per deck, at least 2.
        own: the privacy loss of the own noise: what somebody who knows the card can learn.
        card_rate: as for MRR, in steps.
        total_rate: as for MRR: a closed deck.
        announced_rate: as for MRR: the dealer announces sums.
        steps: from the smallest number to the largest.
        rate: of the own noise, instead of own.
        alone_rate: of the noise of somebody without a card; by default the largest that keeps ε.

    Example:
        >>> m = MaskedLaplace(1_000, own=3.0, card_rate=0.03, total_rate=0.03, steps=16)
        >>> m.epsilon("everything", colluders=500), m.epsilon("dealer")
        (0.96, 3.0)
    """

    n: int
    steps: int
    rate: float
    card_rate: float
    total_rate: float
    announced_rate: float
    alone_rate: float
    k = 2  # the two ends
    numbers = 1
    name: ClassVar[str] = "MaskedLaplace"
    title: ClassVar[str] = "masked Laplace noise"
    parameters: ClassVar[tuple[str, ...]] = (
        "n",
        "steps",
        "rate",
        "card_rate",
        "total_rate",
        "announced_rate",
        "alone_rate",
    )
    colour: ClassVar[str] = "#e7298a"

    def __init__(
        self,
        n: int,
        own: float | None = None,
        *,
        card_rate: float = 0.0,
        total_rate: float = 0.0,
        announced_rate: float = 0.0,
        steps: int = STEPS,
        rate: float | None = None,
        alone_rate: float | None = None,
    ) -> None:
        steps = checks.integer("steps", steps, 1, MOST_STEPS)
        checks.exactly_one(own=own, rate=rate)
        if rate is None:
            rate = rate_for("own", own, steps)
        allowed = f"at least {WIDEST_STEP:.3g} (own: for each of the {steps} steps)"
        object.__setattr__(self, "steps", steps)
        object.__setattr__(self, "rate", checks.real("rate", rate, allowed, WIDEST_STEP, 700.0))
        self._set_masks(n, card_rate, total_rate, announced_rate)
        most = float(min(Fraction(self.rate), self.step))
        if Fraction(most) > self.step:
            most = math.nextafter(most, 0.0)
        given = most if alone_rate is None else alone_rate
        allowed = f"in {LEAST_RATE}..{most!r}, so that ε is kept"
        alone_rate = checks.real("alone_rate", given, allowed, LEAST_RATE, most)
        object.__setattr__(self, "alone_rate", alone_rate)

    @classmethod
    def best(cls, request: Request, steps: int | None = None) -> Self:
        """The most accurate one that keeps the request, with noise as weak as the cap allows.

        Args:
            request: what is asked.
            steps: from the smallest number to the largest; None: 16, or fewer where ε is small.

        Raises:
            ArgumentError: where ε is too small for so many steps.

        Example:
            >>> m = MaskedLaplace.best(Request(10_000, 1.0, dealer_epsilon=3.0))
            >>> 0.999999 < m.epsilon("everything", colluders=9_999) <= 1.0
            True
        """
        epsilon = request.budget
        own = max(request.dealer_epsilon or _UNCAPPED, epsilon)
        if steps is None:
            most = min(epsilon / (2 * LEAST_CARD_RATE), own / WIDEST_STEP)
            steps = max(1, min(STEPS, int(most)))
        steps = checks.integer("steps", steps, 1, MOST_STEPS)
        together = epsilon / steps
        if together < 2 * LEAST_CARD_RATE:
            allowed = f"at least {2 * LEAST_CARD_RATE * steps:g} with steps={steps}"
            raise checks.refusal("epsilon", epsilon, allowed)
        card = _best_card_rate(request.n, together, request.lost, request.announced)
        # A hair's breadth on the private side of rounding.
        closing = (together - card) * (1 - 1e-15)
        rates = {"announced_rate" if request.announced else "total_rate": closing}
        return cls(request.n, own, card_rate=card * (1 - 1e-15), steps=steps, **rates)

    @classmethod
    def _most_accurate(cls, request: Request, *, cards: bool) -> Self:
        if not cards:
            raise needs_deck(cls.name)
        return cls.best(request)

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.parameters)
        return f"{self.name}({shown})"

    # -- what it says of itself -------------------------------------------------------------

    @property
    def own(self) -> float:
        """The privacy loss of the own noise."""
        return masked_steps(self.steps, Fraction(self.rate))

    @cached_property
    def moments(self) -> Moments:
        """First and second moments of the reports, which count in steps."""
        return noisy_moments(
            self.steps, OwnNoise(self.rate, self.masks), self.n, self._without_card.moments
        )

    @cached_property
    def _without_card(self) -> Laplace:
        return Laplace(steps=self.steps, rate=self.alone_rate)

    @property
    def _inner(self) -> tuple[int, int]:
        """What number and card together are brought into: closer than cards are cut."""
        return self.steps - self.limit - 1, self.limit + 1

    @property
    def report_format(self) -> MaskedFormat:
        """A whole number of 16 bits, with a card or without."""
        low, high = self._inner
        noise, alone = math.ceil(_CLAMPED / self.rate), self._without_card.report_format
        return MaskedFormat(1, min(low - noise, alone.low), max(high + noise, alone.high), 2)

    def instructions(self) -> str:
        """What a contributor's device does, in one sentence."""
        return (
            "The device adds a random number and a secret number that it was dealt to yours, and "
            "sends only the sum."
        )

    def _left_out_of_brief(self) -> tuple[str, ...]:
        return ("alone_rate", "total_rate" if self.announced else "announced_rate")

    # -- privacy ----------------------------------------------------------------------------

    def _epsilon(self, view: View, colluders: int) -> float:
        return self.own if view == "dealer" else self._behind(self.step)

    def _behind(self, step: Fraction) -> float:
        return masked_steps(self.steps, Fraction(self.rate), step)

    # -- contributor ------------------------------------------------------------------------

    def respond_steps(
        self, steps: ArrayLike, cards: ArrayLike | None = None, rng: Rng = None
    ) -> Reports:
        """Perturbed reports of whole numbers of steps."""
        if cards is None:
            return self._without_card.respond_steps(steps, None, rng)
        whole = checks.symbols("steps", steps, self.steps + 1)
        dealt = self._check_cards(cards, len(whole))
        spend(cards)
        source = randomness.source(rng)
        out = np.empty(len(whole), np.int16)
        low, high = self._inner
        noise = math.ceil(_CLAMPED / self.rate)
        for start in range(0, len(whole), randomness.BLOCK):
            block = slice(start, start + randomness.BLOCK)
            told = np.add(whole[block], dealt[block], dtype=np.int64)
            # First what the card hides is clamped, so that a card that was cut makes no odds;
            # own noise comes after that, so that it hides all of it.
            np.clip(told, low, high, out=told)
            told += discrete_laplace(self.rate, len(told), source)
            np.clip(told, low - noise, high + noise, out=out[block], casting="unsafe")
        return MarkedReports.of(out, carded=True)

    # -- collector --------------------------------------------------------------------------

    def check_cardless(self, report: bytes) -> bytes:
        """What own noise makes of a number: without a card nothing is added to it."""
        self._without_card.report_format.check(np.frombuffer(report, "<i2"))
        return report

    def simulated_support(
        self, counts: Ints, runs: int, rng: np.random.Generator, *, with_cards: bool
    ) -> Ints:
        """Steps towards each end once masks are taken off, one row per run."""
        total = int(counts.sum())
        if not with_cards or not total:
            return self._without_card.simulated_support(counts, runs, rng, with_cards=False)
        told = self.steps * counts[1] + noise_sums(self.rate, total, runs, rng)
        ends = np.stack((self.steps * total - told, told), axis=1)
        return ends + self._masks_left(total, runs, rng)


def _best_card_rate(n: int, together: float, lost: float, announced: bool) -> float:
    """The card's share of the rates that card and closing have together."""
    if announced:  # the closing's noise is all that is left
        return min(max(_ANNOUNCED_SHARE * together, LEAST_CARD_RATE * (1 + 1e-12)), together / 2)

    def left(share: float) -> float:
        masks = ClosedMasks(n, share * together, (1 - share) * together)
        return masks.variance_of(n * (1 - lost))

    least = LEAST_CARD_RATE * (1 + 1e-12) / together
    grid = np.geomspace(max(least, 0.02), 0.97, 12)
    worths = [left(float(share)) for share in grid]
    at = int(np.argmin(worths))
    low, high = float(grid[max(0, at - 1)]), float(grid[min(len(grid) - 1, at + 1)])
    result = optimize.minimize_scalar(
        left, bounds=(low, high), method="bounded", options={"xatol": 1e-4}
    )
    share = float(result.x) if result.fun < worths[at] else float(grid[at])
    return share * together
