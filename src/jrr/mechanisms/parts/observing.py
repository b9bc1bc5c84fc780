"""What simulations draw, and what audits, attacks and analyses look at."""

import numpy as np
from numpy.typing import ArrayLike

from jrr._base import checks
from jrr._base.randomness import Rng
from jrr.mechanisms.cards import CardLaw
from jrr.mechanisms.parts.arrays import Cards, Ints, Reports
from jrr.mechanisms.parts.describing import Describing
from jrr.mechanisms.readings import Reading


class Observing(Describing):
    """Reports and cards as an adversary, or an analyst, sees them."""

    @property
    def most_support(self) -> int:
        """How much a single report can add to the support of one value: a liar's reach."""
        return 1

    def card_laws(self) -> list[CardLaw]:
        """Every kind of card, how often it is dealt and what its holders report."""
        raise checks.refusal("mechanism", self, "RR, JRR or DRR")

    @property
    def reading(self) -> Reading:
        """What single reports say of an answer; refused where they are not one of few symbols."""
        return Reading.of_cards(self.card_laws(), self.moments.deck)

    def read(self, reports: ArrayLike) -> Ints:
        """Reports as the symbols of `reading`."""
        if isinstance(reports, list | tuple):
            reports = self.report_format.from_list(reports)
        return np.asarray(self._check_reports(reports)).astype(np.int64)

    def observed(self, reports: Reports, values: tuple[int, ...]) -> Ints:
        """Reports as rows of a few whole numbers, so that an audit meets the same report again.

        values: those that are compared. It may be less than the adversary has, never more.
        """
        return reports.astype(np.int64)[:, None]

    def observed_cards(self, cards: Cards) -> Ints:
        """What the cards of colluders tell, trial by trial: cards[trial, colluder]."""
        return np.sort(cards, axis=1).astype(np.int64)

    def observed_with_card(self, reports: Reports, cards: Cards, values: tuple[int, ...]) -> Ints:
        """Reports beside the cards that they were made with."""
        held = np.asarray(cards).reshape(len(reports), -1).astype(np.int64)
        return np.hstack((self.observed(reports, values), held))

    def published(self, decks: Cards, rng: Rng = None) -> Ints | None:
        """What the dealer publishes of each deck at the end: decks[trial, place]; mostly nothing.

        Args:
            decks: whole decks, all of whose cards were used.
            rng: where randomness comes from.
        """
        return None

    def observed_together(
        self,
        target: Reports,
        others: Reports,
        known: Cards,
        published: Ints | None,
        values: tuple[int, ...],
    ) -> Ints:
        """What somebody sees who has all reports and some cards, as rows of a few whole numbers.

        Args:
            target: the report that is asked about, one a trial.
            others: others[trial, person]: the reports of those whose cards are not known.
            known: known[trial, colluder]: cards.
            published: what `published` returned.
            values: those that are compared.

        Returns:
            The target's report, how often the others made each, and what the cards tell: at most
            what the adversary has.
        """
        shown = self.observed(others.reshape(-1, *others.shape[2:]), values)
        if shown.shape[1] == 1:
            shown = (shown == np.array(values[1:], np.int64)).astype(np.int64)
        seen = shown.reshape(*others.shape[:2], -1).sum(axis=1)
        parts = [self.observed(target, values), seen]
        if known.shape[1]:
            parts.append(self.observed_cards(known))
        return np.hstack(parts)
