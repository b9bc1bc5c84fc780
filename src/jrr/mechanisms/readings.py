"""What single reports say of an answer, symbol by symbol: what analyses beyond shares need.

A share needs only how many reports support a value (jrr.estimation.moments). A regression, or the
table of two questions, needs the chance of each single report, and how the cards of one deck tie
the reports of two people together.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from jrr.mechanisms.cards import CardLaw, Matrix


@dataclass(frozen=True, eq=False, kw_only=True)
class Reading:
    """Reports as one of few symbols, with the chance of each.

    Attributes:
        law: chance of each symbol (column), by true value (row), for people with a card; where
            there are no cards, for everybody.
        alone: the same for people without a card.
        leans: what a card of each kind adds to `law`, times the root of how often it is dealt.
            Two people of one deck have the covariance -Σ lean·lean/(deck - 1).
        deck: contributors per deck; None where no cards are dealt.

    Example:
        >>> import jrr
        >>> reading = jrr.DRR(10, truth=0.5, own=0.1).reading
        >>> reading.law.round(2).tolist(), reading.independent
        ([[0.75, 0.25], [0.25, 0.75]], False)
    """

    law: "Matrix"
    alone: "Matrix"
    leans: NDArray[np.float64]
    deck: int | None

    @classmethod
    def of_cards(cls, laws: "Sequence[CardLaw]", deck: int | None) -> "Reading":
        """From what the holders of every kind of card report."""
        shares = np.array([law.share for law in laws])
        each = np.stack([law.reports for law in laws])
        mean: Matrix = np.einsum("a,avr->vr", shares, each) / shares.sum()
        leans = np.sqrt(shares)[:, None, None] * (each - mean)
        return cls(law=mean, alone=mean, leans=leans, deck=deck)

    @property
    def independent(self) -> bool:
        """Whether people's reports are independent, so that likelihoods are exact."""
        return self.deck is None or not self.leans.any()

    def tie(self, decks: int) -> float:
        """By what sums of products of leans enter the covariance of two contributors, negatively.

        Two contributors share one of the decks with probability (n-1)/(n·decks-1).
        """
        return 0.0 if self.deck is None else 1 / (self.deck * decks - 1)
