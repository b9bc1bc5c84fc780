"""The collector's part of masks: sums of reports, what dealers told of them, and estimates.

Also what simulations draw and what audits look at, which is the collector's view too.
"""

import math
from abc import abstractmethod
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from jrr._base import checks
from jrr.errors import ArgumentError
from jrr.estimation.estimates import Estimate
from jrr.estimation.masks import Masks
from jrr.estimation.moments import Floats
from jrr.estimation.tally import Tally, WeightedTally
from jrr.mechanisms.base import Cards, Ints, Mechanism, Reports, Rng
from jrr.mechanisms.cards import Reading
from jrr.mechanisms.marked_arrays import cards_in
from jrr.mechanisms.report_formats import MaskedFormat


class MaskedCollecting(Mechanism):
    """What a collector of masked reports does."""

    n: int
    dealers: int = 1  # whose cards are added

    @property
    @abstractmethod
    def masks(self) -> Masks:
        """How the cards are drawn."""

    @property
    @abstractmethod
    def report_format(self) -> MaskedFormat:
        """Whole numbers."""

    def _check_reports(self, reports: ArrayLike) -> Reports:
        return self.report_format.check(reports)

    def _from_sums(self, sums: Any, n: Any) -> Any:
        """How many of n reports support each value, from the sums of their numbers."""
        return np.stack((n - sums[..., 0], sums[..., 0]), axis=-1)

    def _support(self, reports: Reports) -> tuple[int, ...]:
        rows = reports.reshape(-1, self.report_format.numbers)
        sums = np.einsum("ij->j", rows, dtype=np.int64)  # of few columns far faster than `sum`
        return tuple(self._from_sums(sums, len(reports)).tolist())

    def _weighted_support(self, reports: Reports, weights: Floats) -> Floats:
        sums = weights @ reports.reshape(-1, self.report_format.numbers).astype(np.float64)
        support: Floats = self._from_sums(sums, weights.sum())
        return support

    def settle(
        self,
        tally: Tally,
        *,
        announced: ArrayLike | None = None,
        undealt: tuple[ArrayLike, int] | None = None,
        cards: int | None = None,
    ) -> Tally:
        """Take off a tally what the dealer told of the masks in it.

        Args:
            tally: of all reports that were named to the dealer.
            announced: what `announce` returned, or a list of that for several decks or groups;
                refused where it remembers that it is of other cards than these reports have.
                Plain numbers remember nothing: then say `cards`, or be sure of it.
            undealt: for a closed deck: what `undealt_sum` returned, and of how many cards.
            cards: of how many cards the announced sums are, where they do not remember it;
                refused where the reports are not as many.

        Returns:
            The tally of reports whose masks are gone but for noise; `estimate` takes it.

        Raises:
            ArgumentError: for numbers that are none, or that this kind of deck has not.
        """
        if not tally.masked:
            raise checks.refusal("tally", tally, "one of masked reports")
        masks, known = np.zeros(self.report_format.numbers, np.int64), tally.known
        uncovered = tally.n_carded - known.covered
        if cards is not None and checks.integer("cards", cards, 0) != uncovered:
            raise checks.refusal("cards", cards, f"{uncovered}, as many reports as have masks left")
        if announced is not None and uncovered <= 0:
            raise checks.refusal("announced", announced, "None: the masks are off these reports")
        if announced is not None:
            if not self.announced:
                raise checks.refusal("announced", announced, "None for a closed deck")
            rows = self._sums("announced", announced)
            self._check_covered(announced, uncovered)
            masks = masks + rows.sum(axis=0)
            known = known._replace(
                announcements=known.announcements + len(rows), covered=tally.n_carded
            )
        if undealt is not None:
            if self.announced:
                raise checks.refusal("undealt", undealt, "None where sums are announced")
            total, count = undealt
            count = checks.integer("undealt count", count, 0, self.n * max(1, len(tally.decks)))
            masks = masks - self._sums("undealt", total).sum(axis=0)
            known = known._replace(undealt=known.undealt + count)
        off = self._from_sums(masks, 0).tolist()
        carded = tuple(count - mask for count, mask in zip(tally.carded, off, strict=True))
        return replace(tally, carded=carded, known=known)

    def _check_covered(self, announced: ArrayLike, reports: int) -> None:
        """Refuse sums of more or fewer cards than these reports have, where they remember it."""
        cards = cards_in(announced)
        if cards is None:
            return
        # Every report has a card of one dealer at least, and one of each dealer at most.
        most = sum(cards)
        least = max(*cards, -(-most // self.dealers))
        if not least <= reports <= most:
            raise ArgumentError(
                f"announced must be the sum of the cards of these {reports} reports with a card, "
                f"got one of {most} cards. Who vanished is left out of it: announce(cards, "
                "named=the places in the deck of those who reported)"
            )

    def _sums(self, argument: str, sums: ArrayLike) -> Ints:
        width = self.report_format.numbers
        allowed = "a whole number" if width == 1 else f"{width} whole numbers"
        array = np.asarray(sums)
        if array.dtype.kind not in "iu" or array.size % width or not array.size:
            raise checks.refusal(argument, sums, f"{allowed}, or a list of such")
        return array.astype(np.int64).reshape(-1, width)

    def estimate(
        self,
        reports: ArrayLike | Tally | WeightedTally,
        decks: int | None = None,
        *,
        carded: ArrayLike | bool | None = None,
        announced: ArrayLike | None = None,
        undealt: tuple[ArrayLike, int] | None = None,
        **population: Any,
    ) -> Estimate:
        """Unbiased counts with error bars; arguments as for `Mechanism.estimate` and `settle`."""
        tally = self._tally_of(reports, carded)
        if isinstance(tally, Tally):
            if announced is not None or undealt is not None:
                tally = self.settle(tally, announced=announced, undealt=undealt)
            if self.announced and tally.n_carded > tally.known.covered:
                raise ArgumentError(
                    "announced must be the sum that the dealer announced for these reports (or "
                    "settle the tally with it): without it their masks hide everything; got it for "
                    f"{tally.known.covered} of {tally.n_carded} reports"
                )
            fewest = self.fewest_decks(tally.n_carded + tally.known.undealt)
            if tally.known.undealt and decks is None and fewest > max(1, len(tally.decks)):
                raise ArgumentError(
                    f"reports and undealt cards must be at most {self.n} for each deck, got "
                    f"{tally.n_carded} and {tally.known.undealt}"
                )
        elif self.announced and tally.n_carded > tally.known.covered:
            raise ArgumentError(
                "weights must be the same for everybody whose cards are in one announced sum, "
                "which is of cards without weights: weigh the cells that the survey was closed on "
                "(Cells.weighted), or ask by a mechanism whose single reports count, as RR"
            )
        return self._estimated(tally, decks, **population)

    def _estimated(
        self, tally: Tally | WeightedTally, decks: int | None, **population: Any
    ) -> Estimate:
        """The estimate of a tally whose masks are off."""
        return super().estimate(tally, decks, **population)

    # -- what one report says -----------------------------------------------------------------

    @cached_property
    def reading(self) -> Reading:
        """A report as one of two symbols: above 0, or not.

        Of an announced sum's cards that is all that a report says of the answer; of a closed
        deck's all but a trace (docs/theory-uses.md, Theorem A1).
        """
        if self.k > 2:
            raise checks.refusal("k", self.k, "2: single masked reports of more are not read")
        if self.steps > 1:
            raise checks.refusal("steps", self.steps, "1: single reports of numbers are not read")
        law = self.masks.card_law()
        above = float(law.chances[law.numbers >= 0].sum())  # that a yes stays above 0
        truth = float(self.moments.p[0])
        chance = truth * above + (1 - truth) * (1 - above)
        pull = float(law.chances @ np.abs(law.numbers)) / 2  # E[z; z above 0]
        decks_tie = self.masks.tie(1) * (self.n - 1)
        lean = pull / self.masks.single * math.sqrt(max(0.0, decks_tie))
        alone = float(self.moments.without_cards().p[0])
        return Reading(
            law=np.array([[chance, 1 - chance], [1 - chance, chance]]),
            alone=np.array([[alone, 1 - alone], [1 - alone, alone]]),
            leans=np.array([[[-lean, lean]] * 2]),
            deck=self.n,
        )

    def read(self, reports: ArrayLike) -> Ints:
        """Whether each report is above 0."""
        return (super().read(reports) > 0).astype(np.int64)

    # -- simulation and audit ----------------------------------------------------------------

    def _masks_left(self, reporters: int, runs: int, rng: np.random.Generator) -> Ints:
        """What masks leave in the support of each value once the dealer told of them."""
        law = self.masks.law(reporters, 1)
        shape = (runs, self.report_format.numbers)
        left = law.first + rng.choice(len(law.chances), shape, p=law.chances)
        support: Ints = self._from_sums(left, 0)
        return support

    def observed(self, reports: Reports, values: tuple[int, ...]) -> Ints:
        """The numbers of the values that are compared."""
        whole = np.asarray(reports).astype(np.int64)
        # What one more or less changes depends on which side of 1/2 the number is; rows of many
        # whole numbers would never be met again.
        return whole[:, None] if whole.ndim == 1 else np.clip(whole[:, list(values)], 0, 1)

    def observed_cards(self, cards: Cards) -> Ints:
        """What the cards of colluders tell: weights depend on their sum alone."""
        sums: Ints = np.asarray(cards).astype(np.int64).sum(axis=1)
        shown: Ints = sums[:, None] if sums.ndim == 1 else np.sign(sums)
        return shown

    def observed_with_card(self, reports: Reports, cards: Cards, values: tuple[int, ...]) -> Ints:
        """Reports with their cards taken off: what the own coin told."""
        bare: Ints = np.asarray(reports).astype(np.int64) - np.asarray(cards)
        return bare[:, None] if bare.ndim == 1 else bare[:, list(values)]

    def published(self, decks: Cards, rng: Rng = None) -> Ints | None:
        """The announced sums, one for each deck."""
        if not self.announced:
            return None
        sums = [self.announce(deck, rng=rng) for deck in decks]
        return np.array(sums, np.int64).reshape(len(decks), -1)

    def observed_together(
        self,
        target: Reports,
        others: Reports,
        known: Cards,
        published: Ints | None,
        values: tuple[int, ...],
    ) -> Ints:
        """The target's report, and all reports and known cards less the announced sum."""
        total = np.asarray(target).astype(np.int64).reshape(len(target), -1)
        for part in (others, known):
            total += np.asarray(part).astype(np.int64).sum(axis=1).reshape(total.shape)
        if published is not None:
            total -= published
        if self.report_format.numbers > 1:
            total = np.clip(total[:, list(values)], -1, 2)
        return np.hstack((self.observed(target, values), total))
