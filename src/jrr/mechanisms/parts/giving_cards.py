"""The dealer's part: cards, and what is told of them at the end."""

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from jrr._base import checks, randomness
from jrr._base.randomness import Rng
from jrr.mechanisms.marked_arrays import DealtCards
from jrr.mechanisms.parts.describing import WITH_MASKS, Describing

if TYPE_CHECKING:
    from jrr.mechanisms.cards import MaskCards, SortedDeck


class GivingCards(Describing):
    """One secret card for every contributor of a deck, or none."""

    @property
    def sorted_deck(self) -> "SortedDeck | None":
        """The contents of a deck; None where no cards are dealt, or no deck is like another."""
        return None

    @property
    def card_format(self) -> "SortedDeck | MaskCards | None":
        """How a card is written and checked; None where no cards are dealt."""
        return self.sorted_deck

    @property
    def announced(self) -> bool:
        """Whether the dealer announces, at the end, the sum of the cards that were used."""
        return False

    def for_dealers(self, dealers: int) -> Self:
        """The same where so many dealers give everybody a card, all of which are added (MRR)."""
        if dealers != 1:
            raise checks.refusal("dealers", dealers, "1: only cards that are numbers add up")
        return self

    def deal(self, rng: Rng = None) -> Any:
        """One secret card per contributor of a deck, in uniformly random order.

        Args:
            rng: where randomness comes from; None: the system's cryptographic randomness.

        Returns:
            An array with one card per contributor, or None where no cards are dealt.

        Example:
            >>> import jrr
            >>> sorted(jrr.JRR(5, p=0.6, s=0.4).deal().tolist())
            [-1, -1, 0, 1, 1]
        """
        deck = self.sorted_deck
        if deck is None:
            return None
        faces = np.repeat(deck.faces, deck.counts)
        return DealtCards.of(randomness.shuffled(faces, randomness.source(rng)))

    def announce(self, cards: ArrayLike, named: ArrayLike | None = None, rng: Rng = None) -> Any:
        """The noisy sum of the cards that were used, where sums are announced (MRR)."""
        raise checks.refusal("mechanism", self, WITH_MASKS)

    def undealt_sum(self, cards: ArrayLike, named: ArrayLike | None = None) -> Any:
        """The sum of cards that nobody fetched, for closed decks of whole numbers (MRR)."""
        raise checks.refusal("mechanism", self, WITH_MASKS)

    def resized(self, n: int) -> Self:
        """The same probabilities with decks of n cards."""
        if not self.deals or "n" not in self.parameters:
            raise checks.refusal("mechanism", self, "one with decks of any size, as JRR or DRR")
        arguments: dict[str, Any] = {name: getattr(self, name) for name in self.parameters}
        return type(self)(**arguments | {"n": n})
