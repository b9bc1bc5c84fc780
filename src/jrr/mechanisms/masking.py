"""Masks over anything that a device says in whole numbers: all but the coin of MRR.

The masks' rates, how they are drawn, how far reports are clamped, and the one guarantee that holds
against everybody who does not know a card.
"""

import math
from abc import abstractmethod
from fractions import Fraction
from functools import cached_property

from jrr._base import checks
from jrr._base.exact import SCALE
from jrr.errors import ArgumentError
from jrr.estimation.masks import AnnouncedMasks, ClosedMasks, Masks
from jrr.mechanisms.masked_collecting import MaskedCollecting
from jrr.mechanisms.masked_dealing import LARGEST_CARD, MaskedDealing
from jrr.mechanisms.masked_optimum import LEAST_CARD_RATE
from jrr.mechanisms.request import MOST_ANNOUNCEMENTS
from jrr.privacy.informed.distribution import Losses
from jrr.privacy.informed.frequency import Frequency
from jrr.privacy.informed.independent import independent_losses
from jrr.privacy.loss import IndependentLaw

MOST_DEALERS = 16
_UNCLAMPED_MORE = 3.5  # for each dealer more: the chance does not grow (by the exact law)
_UNCLAMPED = 14.0  # no card of a deck reaches the clamp but with chance e^-14: below 10^-6


class Masking(MaskedDealing, MaskedCollecting):
    """A mechanism whose cards are whole numbers to add."""

    def _set_masks(
        self,
        n: int,
        card_rate: float,
        total_rate: float,
        announced_rate: float,
        dealers: int = 1,
        announcements: int = 1,
    ) -> None:
        """Check and set what masks need; `numbers` must be known."""
        allowed = f"at least {LEAST_CARD_RATE}, so that cards fit into 16 bits, and at most 700"
        self._set(
            n=checks.integer("n", n, 2, 10**9),
            card_rate=checks.real("card_rate", card_rate, allowed, LEAST_CARD_RATE, 700.0),
            total_rate=checks.real("total_rate", total_rate, "in 0..700", 0.0, 700.0),
            announced_rate=checks.real("announced_rate", announced_rate, "in 0..700", 0.0, 700.0),
            dealers=checks.integer("dealers", dealers, 1, MOST_DEALERS),
            announcements=checks.integer("announcements", announcements, 1, MOST_ANNOUNCEMENTS),
        )
        if (self.total_rate > 0) == (self.announced_rate > 0):
            raise ArgumentError(
                "exactly one of total_rate (closed deck) and announced_rate (announced sum) must "
                f"be above 0, got {total_rate!r} and {announced_rate!r}"
            )
        if self.announcements > 1 and not self.announced:
            raise checks.refusal("announcements", self.announcements, "1 for a closed deck")
        if self.dealers == 1:
            return
        if not self.announced:
            raise checks.refusal("dealers", self.dealers, "1 for a closed deck")
        if self.limit + self.most_support > LARGEST_CARD:
            # A card that is cut must not show, whatever the cards of other dealers are.
            needed = f"larger where {self.dealers} dealers deal to {self.n} people"
            raise checks.refusal("card_rate", self.card_rate, needed)

    @cached_property
    def masks(self) -> Masks:
        """How the cards are drawn."""
        if self.announced:
            return AnnouncedMasks(self.card_rate, self.announced_rate, self.dealers)
        return ClosedMasks(self.n, self.card_rate, self.total_rate)

    @property
    def limit(self) -> int:
        """B: what is reported is brought to at most B beyond what the device says on its own.

        As narrow as honest reports allow: a liar can send any number in it.
        """
        # 0.7 for each binary digit is a little more than the logarithm, and the same on every
        # machine and in every language.
        far = _UNCLAMPED + 0.7 * (self.n * self.numbers).bit_length()
        more = math.ceil(_UNCLAMPED_MORE * (self.dealers - 1) / self.card_rate)
        return min(math.ceil(far / self.card_rate) + more, 32_000)

    @property
    @abstractmethod
    def most_support(self) -> int:
        """The largest number that the collector accepts: `limit` beyond what the coin says."""

    # -- privacy ----------------------------------------------------------------------------

    @property
    def pure(self) -> bool:
        """One formula holds for everybody who does not know the card."""
        return True

    @property
    def step(self) -> Fraction:
        """c: what is seen is at most e^c times as likely with a card one more or less.

        Every announced sum that a card is in adds its rate, whichever cards it is of.
        """
        rates = (self.card_rate, self.total_rate, *[self.announced_rate] * self.announcements)
        return sum(map(Fraction, rates), Fraction(0))

    @abstractmethod
    def _behind(self, step: Fraction) -> float:
        """The loss of what the device says, behind masks of these rates together."""

    def _pure(self) -> float:
        """The loss against everybody who does not know a card."""
        return self._behind(self.step)

    def _epsilon_of_everything(self, colluders: int, delta: float) -> float:
        checks.delta(delta)
        pure = self._pure()
        return pure if delta == 0 else min(pure, super()._epsilon_of_everything(colluders, delta))

    def losses(
        self, colluders: int = 0, *, ones: int | None = None, frequency: Frequency = None
    ) -> Losses:
        """A bound: what is private at ε is no more telling than plain RR at ε."""
        pure = self._pure()
        lie = math.floor(Fraction(SCALE) / (1 + Fraction(math.exp(pure)) * Fraction(1 + 2.0**-40)))
        return independent_losses(IndependentLaw(2, max(1, lie)), ones, colluders, frequency)
