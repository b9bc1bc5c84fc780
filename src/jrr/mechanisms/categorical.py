"""Mechanisms whose report is a value 0..k-1, made from one random word."""

from abc import abstractmethod
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jrr._base import checks, randomness
from jrr.estimation.moments import Floats
from jrr.estimation.tally import Tally
from jrr.mechanisms.base import Cards, Mechanism, Reports, Rng, check_countable
from jrr.mechanisms.marked_arrays import MarkedReports, spend
from jrr.mechanisms.report_formats import NumberFormat
from jrr.privacy.informed.dealt import dealt_losses
from jrr.privacy.informed.distribution import Frequency, Losses, independent_losses
from jrr.privacy.informed.joint import joint_losses
from jrr.privacy.loss import DealtLaw, IndependentLaw, JointLaw
from jrr.privacy.shuffled.question import ShuffledSurvey, shuffled_deck, shuffled_independent
from jrr.privacy.views import View

_LOSSES: dict[type, Callable[..., Losses]] = {
    IndependentLaw: independent_losses,
    JointLaw: joint_losses,
    DealtLaw: dealt_losses,
}


class Categorical(Mechanism):
    """One value in, one value out, one word."""

    @property
    def law(self) -> IndependentLaw | JointLaw | DealtLaw | None:
        """The mechanism in whole numbers of random words; None where it is none of these."""
        return None

    @abstractmethod
    def report_from_word(self, value: int, card: int | None, word: int) -> int:
        """The report that one random 64-bit word makes of a value (docs/protocol.md).

        Args:
            value: the true one.
            card: the card; None without one.
            word: a random 64-bit word.
        """

    @abstractmethod
    def _respond_block(
        self, values: NDArray[Any], cards: Cards | None, u: randomness.Words, out: Reports
    ) -> None:
        """Whole arrays of `report_from_word`; u holds the upper 63 bits of the words."""

    @property
    def report_format(self) -> NumberFormat:
        """A whole number."""
        return _format(self.k)

    def report_bytes(self, document: object) -> bytes:
        """A report in JSON as the bytes that are stored; out of the domain is refused."""
        return self.report_format.from_json(document)  # a number below k: all there is to check

    def _check_cards(self, cards: ArrayLike, length: int) -> Cards:
        """The cards as an array, or a refusal."""
        deck = self.sorted_deck
        if deck is None:
            raise checks.refusal("cards", cards, f"None for {self.name}, which deals no cards")
        allowed = f"cards of {self.name}'s deck"
        array = checks.array_of("cards", cards, allowed)
        checks.same_length("cards", array, "values", length)
        if not np.isin(array, deck.faces).all():
            raise checks.refusal("cards", cards, allowed)
        return array

    def _check_card(self, card: int) -> int:
        """The card as a plain integer, or a refusal."""
        deck = self.sorted_deck
        if deck is None:
            raise checks.refusal("card", card, f"None for {self.name}, which deals no cards")
        return int(deck.check_card(card))

    def _epsilon(self, view: View, colluders: int) -> float:
        assert self.law is not None  # others say it themselves
        return self.law.epsilon(view, colluders)

    def losses(
        self, colluders: int = 0, *, ones: int | None = None, frequency: Frequency = None
    ) -> Losses | None:
        """The law of the loss in the view "everything", or a bound of it."""
        law = self.law
        return None if law is None else _LOSSES[type(law)](law, ones, colluders, frequency)

    def shuffled(
        self, n: int | None = None, ones: int | None = None, colluders: int = 0
    ) -> ShuffledSurvey:
        """What a collector sees behind a shuffler."""
        if isinstance(self.law, IndependentLaw):
            return shuffled_independent(self.law, n, ones, colluders)
        if self.law is None or self.k > 2:
            return super().shuffled(n, ones, colluders)
        return shuffled_deck(self.law, n, ones, colluders)

    def respond(
        self, values: ArrayLike, cards: ArrayLike | None = None, rng: Rng = None
    ) -> Reports:
        """Perturbed reports of true values; without cards by the mechanism's own marginal."""
        checked = checks.symbols("values", values, self.k)
        dealt = None if cards is None else self._check_cards(cards, len(checked))
        spend(cards)
        source = randomness.source(rng)
        out = np.empty(len(checked), np.min_scalar_type(self.k - 1))
        for start in range(0, len(checked), randomness.BLOCK):
            block = slice(start, start + randomness.BLOCK)
            u = source.words(len(out[block])) >> np.uint64(1)
            self._respond_block(
                checked[block], None if dealt is None else dealt[block], u, out[block]
            )
        return MarkedReports.of(out, carded=cards is not None)

    def respond_one(self, value: int, card: int | None = None, rng: Rng = None) -> int:
        """One report without arrays, for a contributor's own device."""
        value = checks.symbol("value", value, self.k)
        if card is not None:
            card = self._check_card(card)
        report = self.report_from_word(value, card, randomness.source(rng).word())
        return self._marked(report, card)

    def _check_reports(self, reports: ArrayLike) -> Reports:
        return checks.symbols("reports", reports, self.k)

    def _check_tally(self, tally: Tally) -> None:
        super()._check_tally(tally)
        if (sum(tally.carded), sum(tally.cardless)) != (tally.n_carded, tally.n_cardless):
            raise checks.refusal("reports", tally, "a tally that counts every report once")

    def _support(self, reports: Reports) -> tuple[int, ...]:
        if self.k == 2 and reports.dtype.itemsize == 1:  # checked 0 or 1: can be read as flags
            ones = int(np.count_nonzero(reports.view(np.bool_)))
            return (len(reports) - ones, ones)
        check_countable(self.k)
        counts = np.bincount(reports.astype(np.intp, copy=False), minlength=self.k)
        return tuple(counts.tolist())

    def _weighted_support(self, reports: Reports, weights: Floats) -> Floats:
        check_countable(self.k)
        at = reports.astype(np.intp, copy=False)
        return np.bincount(at, weights, minlength=self.k).astype(np.float64, copy=False)


@lru_cache(maxsize=256)
def _format(k: int) -> NumberFormat:
    """Made once: a server asks for every report."""
    return NumberFormat(k)
