"""Audits of masked reports: true claims stand, and each planted bug is found."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from jrr import MRR
from jrr._base.randomness import RandomSource, source
from jrr.mechanisms.base import Cards, Ints, Reports, Rng
from jrr.mechanisms.masked_deck import discrete_laplace
from jrr.research.audit import (
    CardedReportView,
    DealerView,
    EverythingView,
    audit,
)
from jrr.research.audit.views import VIEWS, claim_of, subject_of

CLOSED: dict[str, Any] = {"n": 2, "own": 2.0, "card_rate": 0.5, "total_rate": 0.5}
ANNOUNCED: dict[str, Any] = {"n": 2, "own": 2.0, "card_rate": 0.3, "announced_rate": 0.8}
STRONG_CARDS: dict[str, Any] = {"n": 2, "own": 1.0, "card_rate": 1.5, "total_rate": 1.5}


# -- what is right is not accused ------------------------------------------------------------


def kept(mechanism: MRR, view: str, trials: int) -> float:
    """The share of the claim that an audit reaches; more than 1 is a refutation."""
    colluders = mechanism.n - 2
    claim = claim_of(mechanism, view, colluders)
    found = audit(subject_of(mechanism, view, colluders=colluders), claim, trials, 1, workers=1)
    assert not found.violates, found.sentence
    return found.lower_bound / claim


@pytest.mark.slow_variants("closed]")
@pytest.mark.statistical
@pytest.mark.parametrize(
    ("mechanism", "reached"),
    [
        (MRR(**CLOSED), {"report": 0.7, "cards": 0.3, "everything": 0.2, "dealer": 0.8}),
        (MRR(**ANNOUNCED), {"report": 0.7, "cards": 0.0, "everything": 0.2, "dealer": 0.8}),
    ],
    ids=["closed", "announced"],
)
def test_masked_reports_keep_their_word_in_every_view(
    mechanism: MRR, reached: dict[str, float]
) -> None:
    """Few trials: they must come near enough to the claim to show that something is measured."""
    for view in VIEWS:
        assert kept(mechanism, view, 6_000) >= reached.get(view, 0.0)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mechanism", "reached"),
    [
        (MRR(**CLOSED), 0.8),
        (MRR(**ANNOUNCED), 0.8),
        (MRR(2, 2.0, card_rate=0.6, total_rate=0.6, k=3), 0.4),
        (MRR(2, 2.0, card_rate=0.6, announced_rate=0.6, k=5, coin="oue"), 0.1),
    ],
    ids=["closed", "announced", "three answers", "five bits"],
)
def test_many_trials_come_near_the_claim_against_everything(mechanism: MRR, reached: float) -> None:
    assert kept(mechanism, "everything", 200_000) >= reached
    for view in ("cards", "dealer", "rounds"):
        kept(mechanism, view, 20_000)


# -- planted bugs ----------------------------------------------------------------------------


class CardsThatCancel(MRR):
    """Cards that sum to 0 exactly, where the sum should be random."""

    def deal(self, rng: Rng = None) -> Cards:
        cards = discrete_laplace(self.card_rate, self.n, source(rng))
        cards[-1] = -cards[:-1].sum()
        return cards.astype(np.int16)


class NoOwnCoin(MRR):
    """Adds the card to the true answer."""

    def respond(self, values: Any, cards: Any = None, rng: Rng = None) -> Reports:
        return np.asarray(values + np.asarray(cards), np.int16)


class ClampedCards(MRR):
    """Brings cards instead of reports into a small range."""

    def deal(self, rng: Rng = None) -> Cards:
        return np.asarray(np.clip(super().deal(rng), -1, 1))


class ShortTailOfTotals(MRR):
    """Deals again until the sum is small."""

    def deal(self, rng: Rng = None) -> Cards:
        words = source(rng)
        while True:
            cards = super().deal(words)
            if abs(int(cards.sum())) <= 1:
                return cards


class ShortTailOfNoise(MRR):
    """Cuts the noise of the announced sum."""

    def announce(self, cards: Any, named: Any = None, rng: Rng = None) -> Any:
        noise = int(discrete_laplace(self.announced_rate, 1, source(rng))[0])
        return int(np.sum(cards)) + max(-1, min(1, noise))


class TwoAnnouncements(MRR):
    """Announces the sum of the same cards twice."""

    def published(self, decks: Cards, rng: Rng = None) -> Ints | None:
        both = [super(TwoAnnouncements, self).published(decks, rng) for _ in range(2)]
        return np.hstack([part for part in both if part is not None])

    def observed_together(
        self,
        target: Reports,
        others: Reports,
        known: Cards,
        published: Ints | None,
        values: tuple[int, ...],
    ) -> Ints:
        assert published is not None
        rows = [
            super(TwoAnnouncements, self).observed_together(target, others, known, told, values)
            for told in (published[:, :1], published[:, 1:])
        ]
        both = np.hstack((rows[0], rows[1][:, 1:]))
        near: Ints = np.clip(both, -1, 2)  # so few kinds that they are met again
        return near


class TwoReportsOfOneCard(CardedReportView):
    """Draws the own coin twice and adds the same card."""

    def observe(self, value: Any, trials: int, rng: RandomSource) -> NDArray[Any]:
        cards = np.asarray(self.deal(1, trials, rng)[:, 0])
        return np.column_stack([self._reports(value, cards, trials, rng) for _ in range(2)])


class OnlyWithAGoodCard(CardedReportView):
    """Sends a report only where the card is not negative."""

    def observe(self, value: Any, trials: int, rng: RandomSource) -> NDArray[Any]:
        cards = np.asarray(self.deal(1, trials, rng)[:, 0])
        reports = self._reports(value, cards, trials, rng)
        return np.where(cards >= 0, reports, -100).astype(np.int64)[:, None]


BUGS: dict[str, tuple[Any, int]] = {
    "cards that cancel": (EverythingView(CardsThatCancel(**CLOSED)), 10_000),
    "no own coin, everything": (EverythingView(NoOwnCoin(**STRONG_CARDS)), 4_000),
    "no own coin, dealer": (DealerView(NoOwnCoin(**STRONG_CARDS)), 2_000),
    "two coins for one card": (TwoReportsOfOneCard(MRR(**STRONG_CARDS)), 10_000),
    "clamped cards": (CardedReportView(ClampedCards(**CLOSED)), 10_000),
    "totals without a tail": (EverythingView(ShortTailOfTotals(**CLOSED)), 10_000),
    "noise without a tail": (EverythingView(ShortTailOfNoise(**ANNOUNCED)), 10_000),
    "two announcements": (EverythingView(TwoAnnouncements(**ANNOUNCED | {"own": 4.0})), 20_000),
    "only with a good card": (OnlyWithAGoodCard(MRR(**CLOSED)), 10_000),
}


@pytest.mark.slow_variants(
    "noise without",
    "clamped",
    "totals",
    "two announcements]",
    "two coins",
    "no own coin, dealer]",
    "only with a good card",
)
@pytest.mark.parametrize("bug", BUGS)
def test_planted_bugs_of_masks_are_found(bug: str) -> None:
    subject, trials = BUGS[bug]
    view = "dealer" if isinstance(subject, DealerView) else "everything"
    claim = claim_of(subject.mechanism, view)
    found = audit(subject, claim, trials, 1, workers=1)
    assert found.violates, found.sentence
