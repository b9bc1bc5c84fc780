"""Dealt randomized response: the random decoy answers come from a balanced deck (DRR).

A contributor reports the true value with probability `truth`, the card with probability
`dealt`, and a value drawn by itself with probability `own`. The deck holds known numbers of
each value, so the decoys' noise cancels whatever the true frequencies are; `own` bounds what
a dealer that colludes with the collector can learn.
"""

import bisect
import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jrr._base import checks, randomness
from jrr._base.exact import SCALE, words_down, words_up
from jrr.errors import ArgumentError
from jrr.estimation.moments import Moments
from jrr.mechanisms.base import Cards, Reports, Rng, check_view
from jrr.mechanisms.categorical import Categorical
from jrr.privacy import loss
from jrr.privacy.loss import DealtLaw


@dataclass(frozen=True, init=False)
class DRR(Categorical):
    """Dealt randomized response for decks of n contributors over k values."""

    n: int  # contributors per deck
    truth: float  # probability of reporting the true value
    own: float  # probability of reporting a value drawn by oneself
    k: int  # size of the domain
    deck: tuple[int, ...]  # cards of each value; even unless given
    name: ClassVar[str] = "DRR"

    def __init__(
        self,
        n: int,
        truth: float,
        own: float = 0.0,
        k: int = 2,
        deck: Sequence[int] | None = None,
    ) -> None:
        k = checks.domain(k, 1 << 20)
        n = checks.deck_size(n)
        truth = checks.real("truth", truth, "in (0, 1] and at least 2**-52", 2.0**-52, 1.0)
        own = checks.real("own", own, f"in 0..1-truth ({1 - truth!r})", 0.0, 1 - truth + 1e-15)
        cards = even_deck(n, k) if deck is None else _check_deck(deck, n, k)
        values = (("n", n), ("truth", truth), ("own", min(own, 1 - truth)), ("k", k))
        for name, value in (*values, ("deck", cards)):
            object.__setattr__(self, name, value)

    @property
    def dealt(self) -> float:
        """Probability of reporting the card."""
        return max(0.0, 1 - self.truth - self.own)

    @cached_property
    def law(self) -> DealtLaw:
        """The mechanism in whole numbers of random words, in the order own, dealt, truth."""
        own = min(words_up(Fraction(self.own), self.k), SCALE // self.k * self.k)
        truth = min(words_down(Fraction(self.truth)), SCALE - own)
        dealt = SCALE - own - truth
        ends = [dealt * cards // self.n for cards in (0, *itertools.accumulate(self.deck))]
        alone = tuple(end - start for start, end in itertools.pairwise(ends))
        return DealtLaw(truth, dealt, own, self.deck, alone)

    @cached_property
    def _card_ends(self) -> tuple[int, ...]:
        """Where each value's share of the `dealt` words ends, for a decoy drawn by oneself."""
        return tuple(self.law.own + end for end in itertools.accumulate(self.law.alone))

    @cached_property
    def moments(self) -> Moments:
        """First and second moments of the reports."""
        share = np.asarray(self.deck, np.float64) / self.n
        q = self.dealt * share + self.own / self.k
        lean = self.dealt * np.sqrt(share * (1 - share))
        return Moments(self.truth + q, q, np.full(self.k, self.truth), lean, lean, self.n, self.n)

    def epsilon(self, view: str = "report", colluders: int = 0) -> float:
        """The privacy loss against an adversary with this view; math.inf where unbounded."""
        check_view(view, self.name)
        colluders = checks.integer("colluders", colluders, 0, self.n - 1)
        return loss.dealt(self.law, view, colluders)

    def to_dict(self) -> dict[str, Any]:
        """The parameters as plain JSON values."""
        return {
            "mechanism": self.name,
            "n": self.n,
            "truth": self.truth,
            "own": self.own,
            "k": self.k,
            "deck": list(self.deck),
        }

    def deal(self, rng: Rng = None) -> NDArray[Any]:
        """A shuffled deck of decoy values."""
        kind = np.min_scalar_type(self.k - 1)
        deck = np.repeat(np.arange(self.k, dtype=kind), self.deck)
        return randomness.shuffled(deck, randomness.source(rng))

    def report_from_word(self, value: int, card: int | None, word: int) -> int:
        """The report that one random word makes of a value."""
        u, law = word >> 1, self.law
        # Looked up whether it is needed or not, so that time does not tell which it was.
        decoy = bisect.bisect_right(self._card_ends, u) if card is None else card
        if u < law.own:
            return u // (law.own // self.k)
        return decoy if u < law.own + law.dealt else value

    def _respond_block(
        self, values: NDArray[Any], cards: Cards | None, u: randomness.Words, out: Reports
    ) -> None:
        law = self.law
        if cards is None:
            ends = np.asarray(self._card_ends, np.uint64)
            cards = np.searchsorted(ends, u, side="right")
        decoys = cards.astype(out.dtype, copy=False)
        true = values.astype(out.dtype, copy=False)
        # All bits set where the truth is told: chooses without branching.
        truthful = np.negative((u >= np.uint64(law.own + law.dealt)).astype(out.dtype))
        np.bitwise_xor(decoys, (decoys ^ true) & truthful, out=out)
        if law.own:
            by_oneself = np.flatnonzero(u < np.uint64(law.own))
            out[by_oneself] = u[by_oneself] // np.uint64(law.own // self.k)

    def _check_cards(self, cards: ArrayLike, length: int) -> Cards:
        array = checks.symbols("cards", cards, self.k)
        checks.same_length("cards", array, "values", length)
        return array

    def _check_card(self, card: int) -> int:
        return checks.integer("card", card, 0, self.k - 1)


def even_deck(n: int, k: int) -> tuple[int, ...]:
    """Spread n cards over k values; the first n mod k values get one more."""
    return tuple(n // k + (value < n % k) for value in range(k))


def _check_deck(deck: Sequence[int], n: int, k: int) -> tuple[int, ...]:
    if not isinstance(deck, Sequence | np.ndarray):
        raise checks.refusal("deck", deck, f"{k} counts that add up to n={n}")
    cards = tuple(checks.integer("deck counts", count, 0) for count in deck)
    if len(cards) != k or sum(cards) != n:
        raise ArgumentError(
            f"deck must hold {k} counts that add up to n={n}, "
            f"got {len(cards)} that add up to {sum(cards)}"
        )
    return cards
