"""Masks over anything that a device says in whole numbers: all but the coin of MRR.

The dealer's part: whole numbers are dealt, and at the end their sum may be told. The masks' rates,
how they are drawn, how far reports are clamped, and the one guarantee that holds against everybody
who does not know a card.
"""

import math
from abc import abstractmethod
from collections.abc import Callable
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jrr._base import checks, randomness
from jrr._base.exact import SCALE
from jrr.errors import ArgumentError
from jrr.estimation.masks import AnnouncedMasks, ClosedMasks, Masks
from jrr.mechanisms.base import Cards, Ints, Mechanism, Rng
from jrr.mechanisms.cards import MaskCards
from jrr.mechanisms.marked_arrays import AnnouncedNumber, AnnouncedRow, DealtCards, note_announced
from jrr.mechanisms.masked_collecting import MaskedCollecting
from jrr.mechanisms.masked_deck import closed_deck, discrete_laplace
from jrr.mechanisms.masked_optimum import LEAST_CARD_RATE
from jrr.mechanisms.request import MOST_ANNOUNCEMENTS
from jrr.privacy.informed.distribution import Frequency, Losses, independent_losses
from jrr.privacy.loss import IndependentLaw

LARGEST_CARD = 32_767  # cards are cut there, far beyond the clamp of reports
FEWEST_ANNOUNCED = 2  # cards in an announced sum


class MaskedDealing(Mechanism):
    """What a dealer of masks does, whatever contributors add them to."""

    n: int
    card_rate: float
    total_rate: float
    announced_rate: float
    announcements: int = 1  # sums that a card may be in

    @property
    @abstractmethod
    def numbers(self) -> int:
        """How many whole numbers a card and a report have."""

    @property
    def announced(self) -> bool:
        """Whether the dealer announces the sum of the cards that were used."""
        return self.announced_rate > 0

    @property
    def card_format(self) -> MaskCards:
        """Whole numbers of 16 bits, in a range symmetric about 0."""
        return MaskCards(self.n, self.numbers, LARGEST_CARD)

    def deal(self, rng: Rng = None) -> Cards:
        """Whole numbers, one a contributor; for more than two values a row of them."""
        source = randomness.source(rng)
        draw: Callable[[], Ints] = (
            (lambda: discrete_laplace(self.card_rate, self.n, source))
            if self.announced
            else (lambda: closed_deck(self.n, self.card_rate, self.total_rate, source))
        )
        cards = np.empty((self.n, self.numbers), np.int16)
        for value in range(self.numbers):  # reports are clamped closer than cards are cut
            np.clip(draw(), -LARGEST_CARD, LARGEST_CARD, out=cards[:, value], casting="unsafe")
        return DealtCards.of(cards[:, 0] if self.numbers == 1 else cards)

    def announce(
        self, cards: ArrayLike, named: ArrayLike | None = None, rng: Rng = None
    ) -> AnnouncedNumber | AnnouncedRow:
        """What the dealer announces at the end: the noisy sum of the cards that were used.

        As often for every deck as was planned (`announcements`), usually once: two announced
        sums can differ by one person's card, and the guarantee counts each of them.

        Args:
            cards: the deck, as it was dealt.
            named: the places in the deck of the cards that were used; None: all of them.
            rng: where randomness comes from; None: the system's cryptographic randomness.

        Returns:
            A number; for more than two values a list with one for each. It remembers of how many
            cards it is (`cards`), and is refused for more or fewer reports.

        Raises:
            ArgumentError: for a closed deck, a deck whose planned sums were announced before, or
                places that are unknown, doubled or fewer than two.

        Example:
            >>> import jrr
            >>> m = jrr.MRR.for_epsilon(1.0, n=4)
            >>> m.announce(m.deal(), named=[0, 1, 3]).cards  # the third did not report
            3
        """
        if not self.announced:
            raise checks.refusal("mechanism", self, "one with announced_rate above 0")
        used = self._named_cards(cards, named)
        note_announced(cards, self.announcements)
        return self._noisy_sum(used, rng)

    def announce_cells(
        self, cards: ArrayLike, cells: ArrayLike, named: ArrayLike | None = None, rng: Rng = None
    ) -> dict[str, AnnouncedNumber | AnnouncedRow]:
        """The same for disjoint cells: every card is in one sum, so that ε is the same.

        Args:
            cards: the deck, as it was dealt.
            cells: the name of the cell of every card that was used.
            named: as for `announce`.
            rng: as for `announce`.

        Returns:
            Cell -> its sum, as `jrr.analysis.cells_of` takes them.

        Raises:
            ArgumentError: as for `announce`, or where a cell has fewer than two cards.

        Example:
            >>> import jrr
            >>> m = jrr.MRR.for_epsilon(1.0, n=4)
            >>> told = m.announce_cells(m.deal(), ["north", "south", "north", "south"])
            >>> {cell: one.cards for cell, one in told.items()}
            {'north': 2, 'south': 2}
        """
        if not self.announced:
            raise checks.refusal("mechanism", self, "one with announced_rate above 0")
        used = self._named_cards(cards, named)
        names = checks.array_of("cells", cells, "one name for each card").astype(str)
        checks.same_length("cells", names, "cards", len(used))
        by_cell = {name: used[names == name] for name in sorted(set(names.tolist()))}
        for name, some in by_cell.items():
            if len(some) < FEWEST_ANNOUNCED:
                raise checks.refusal("cells", name, f"of at least {FEWEST_ANNOUNCED} cards")
        note_announced(cards, self.announcements)
        return {name: self._noisy_sum(some, rng) for name, some in by_cell.items()}

    def _noisy_sum(self, used: NDArray[Any], rng: Rng) -> AnnouncedNumber | AnnouncedRow:
        noise = discrete_laplace(self.announced_rate, self.numbers, randomness.source(rng))
        told = self._plain_sum(used.sum(axis=0, dtype=np.int64) + noise)
        if isinstance(told, int):
            return AnnouncedNumber(told, len(used))
        return AnnouncedRow(told, len(used))

    def undealt_sum(self, cards: ArrayLike, named: ArrayLike | None = None) -> int | list[int]:
        """The sum of a closed deck's cards that nobody fetched, which makes error bars shorter.

        Only after dealing has ended, only once, and never of a card that may have been given away.

        Args:
            cards: the deck.
            named: the places of the cards that nobody fetched; None: all that are given.

        Returns:
            A number; for more than two values one for each.
        """
        if self.announced:
            raise checks.refusal("mechanism", self, "one with a closed deck")
        unused = self._named_cards(cards, named, fewest=0)
        return self._plain_sum(unused.sum(axis=0, dtype=np.int64))

    def _named_cards(
        self, cards: ArrayLike, named: ArrayLike | None, fewest: int = FEWEST_ANNOUNCED
    ) -> NDArray[Any]:
        deck = self._check_cards(cards, len(np.asarray(cards))).reshape(-1, self.numbers)
        if named is None:
            places: NDArray[Any] = np.arange(len(deck))
        else:
            places = checks.symbols("named", named, len(deck))
        if len(np.unique(places)) != len(places):
            raise ArgumentError("named must hold every place once, got some twice")
        if len(places) < fewest:
            raise ArgumentError(f"named must hold at least {fewest} places, got {len(places)}")
        chosen: NDArray[Any] = deck[places]
        return chosen

    def _plain_sum(self, total: Ints) -> int | list[int]:
        return int(total[0]) if self.numbers == 1 else total.tolist()

    def _check_cards(self, cards: ArrayLike, length: int) -> Cards:
        return self.card_format.check_cards(cards, length)


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
