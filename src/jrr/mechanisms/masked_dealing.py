"""The dealer's part of masks: whole numbers are dealt, and at the end their sum may be told."""

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jrr._base import checks, randomness
from jrr.errors import ArgumentError
from jrr.mechanisms.base import Cards, Ints, Mechanism, Rng
from jrr.mechanisms.cards import MaskCards
from jrr.mechanisms.marked_arrays import AnnouncedNumber, AnnouncedRow, DealtCards, note_announced
from jrr.mechanisms.masked_deck import closed_deck
from jrr.mechanisms.whole_noise import discrete_laplace

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
