"""Mechanisms as their adversaries see them: subjects for the views of docs/theory.md, section 1.

Every trial is independent of every other: where cards are seen, each trial deals a deck of its
own and looks at one target. Audit small decks, then: a trial costs a whole deal.
"""

import math
from itertools import product
from typing import Any, ClassVar

import numpy as np

from jrr._base import checks
from jrr._base.randomness import RandomSource
from jrr.errors import ArgumentError
from jrr.mechanisms.base import Cards, Mechanism, Reports, checked_mechanism
from jrr.research.audit.subject import Observations, Subject

_MOST_SEQUENCES = 27  # sequences of answers that rounds are compared by


class ReportView(Subject):
    """View `report`: one report, made without a card."""

    def __init__(self, mechanism: Mechanism) -> None:
        self.mechanism = checked_mechanism(mechanism)
        self.values = compared_values(mechanism.k)
        self.name = f"{mechanism.brief()}, one report without a card"

    def observe(self, value: Any, trials: int, rng: RandomSource) -> Observations:
        """Reports."""
        return self.mechanism.observed(self._reports(value, None, trials, rng), self.values)

    def _reports(self, value: int, cards: Cards | None, trials: int, rng: RandomSource) -> Reports:
        return self.mechanism.respond(np.full(trials, value, np.int64), cards, rng)


class _DeckView(ReportView):
    """Views with cards: every trial deals a fresh deck; the target gets its first card."""

    chunk: ClassVar[int] = 1 << 14

    def __init__(self, mechanism: Mechanism) -> None:
        super().__init__(mechanism)
        if not mechanism.deals:
            raise ArgumentError(f"mechanism must deal cards for this view, got {mechanism!r}")

    def deal(self, seats: int, trials: int, rng: RandomSource) -> Cards:
        """The cards of the first seats, of one deck per trial."""
        decks = []
        for _ in range(trials):
            cards = self.mechanism.deal(rng)
            assert cards is not None  # it deals: see above
            decks.append(cards[:seats])
        return np.stack(decks)


class CardedReportView(_DeckView):
    """View `report`: one report, made with a card from a fresh deck that nobody else sees."""

    def __init__(self, mechanism: Mechanism) -> None:
        super().__init__(mechanism)
        self.name = f"{mechanism.brief()}, one report with a card"

    def observe(self, value: Any, trials: int, rng: RandomSource) -> Observations:
        """Reports."""
        cards = self.deal(1, trials, rng)[:, 0]
        return self.mechanism.observed(self._reports(value, cards, trials, rng), self.values)


class CardsView(_DeckView):
    """View `cards`: the target's report beside the cards of M colluders."""

    def __init__(self, mechanism: Mechanism, colluders: int) -> None:
        super().__init__(mechanism)
        most = (mechanism.moments.deck or 0) - 1
        self.colluders = checks.integer("colluders", colluders, 0, most)
        self.name = f"{mechanism.brief()}, one report and the cards of {colluders} colluders"

    def observe(self, value: Any, trials: int, rng: RandomSource) -> Observations:
        """Reports, then the colluders' cards, which have no order."""
        cards = self.deal(1 + self.colluders, trials, rng)
        reports = self._reports(value, cards[:, 0], trials, rng)
        seen = self.mechanism.observed(reports, self.values)
        known = self.mechanism.observed_cards(cards[:, 1:])
        return np.hstack((seen, known))


class DealerView(_DeckView):
    """View `dealer`: the target's report beside its own card."""

    def __init__(self, mechanism: Mechanism) -> None:
        super().__init__(mechanism)
        self.name = f"{mechanism.brief()}, one report and its card"

    def observe(self, value: Any, trials: int, rng: RandomSource) -> Observations:
        """Reports and cards."""
        cards = self.deal(1, trials, rng)[:, 0]
        reports = self._reports(value, cards, trials, rng)
        return self.mechanism.observed_with_card(reports, cards, self.values)


class EverythingView(_DeckView):
    """View `everything`: all reports, everybody else's answer, and the cards of M colluders.

    Beside them whatever the dealer publishes at the end. Everybody else holds the same value. What
    is kept of their reports is how often each was made, by one number for each value, or their
    sum: never more than the adversary has.
    """

    def __init__(self, mechanism: Mechanism, colluders: int = 0, others: int = 0) -> None:
        super().__init__(mechanism)
        self.people = mechanism.moments.deck or 0
        self.colluders = checks.integer("colluders", colluders, 0, self.people - 2)
        self.others = checks.integer("others", others, 0, mechanism.k - 1)
        self.name = (
            f"{mechanism.brief()}, all reports, everybody else's answer and the cards of "
            f"{colluders} colluders"
        )

    def observe(self, value: Any, trials: int, rng: RandomSource) -> Observations:
        """The target's report, the others' together, the colluders' cards, what is published."""
        cards = self.deal(self.people, trials, rng)
        target = self._reports(value, cards[:, 0], trials, rng)
        known = cards[:, 1 : 1 + self.colluders]
        rest = cards[:, 1 + self.colluders :]
        number = trials * rest.shape[1]
        reports = self._reports(self.others, rest.reshape(number, *rest.shape[2:]), number, rng)
        others = reports.reshape(trials, rest.shape[1], *reports.shape[1:])
        published = self.mechanism.published(cards, rng)
        return self.mechanism.observed_together(target, others, known, published, self.values)


class RoundsView(_DeckView):
    """View `report`, several times: the reports of one person in rounds with decks of their own.

    Values are sequences of answers. The claim is ε for each round in which two of them differ:
    rounds·ε where all do.
    """

    def __init__(self, mechanism: Mechanism, rounds: int = 2) -> None:
        super().__init__(mechanism)
        self.rounds = checks.integer("rounds", rounds, 1, 4)
        self.answers = tuple(range(min(mechanism.k, 3)))
        while len(self.answers) ** rounds > _MOST_SEQUENCES:
            self.answers = self.answers[:-1]
        self.values = tuple(product(self.answers, repeat=rounds))
        self.name = f"{mechanism.brief()}, one person's reports in {rounds} rounds"

    def times(self, value: Any, other: Any) -> int:
        """In how many rounds two sequences of answers differ."""
        return sum(a != b for a, b in zip(value, other, strict=True))

    def cards(self, trials: int, rng: RandomSource) -> list[Cards]:
        """The target's cards, round after round."""
        return [self.deal(1, trials, rng)[:, 0] for _ in range(self.rounds)]

    def observe(self, value: Any, trials: int, rng: RandomSource) -> Observations:
        """The reports of all rounds side by side."""
        rounds = zip(value, self.cards(trials, rng), strict=True)
        return np.hstack(
            [
                self.mechanism.observed(self._reports(answer, cards, trials, rng), self.answers)
                for answer, cards in rounds
            ]
        )


def compared_values(k: int) -> tuple[int, ...]:
    """All of a few values; of many the ends and the middle, since mechanisms treat them alike."""
    return tuple(range(k)) if k <= 4 else (0, 1, k // 2, k - 1)


VIEWS = ("report", "cards", "everything", "dealer", "rounds")
SMALL_SURVEY = {"n": 20, "colluders": 3}  # the defaults where every trial deals a whole deck
MOST_CARDS = 1_000  # in such a deck


def deals_decks(view: str, *, with_cards: bool) -> bool:
    """Whether every trial deals a whole deck, which must then be small."""
    return with_cards or view != "report"


def check_deck(n: int) -> int:
    """A deck that may be dealt for every trial.

    Raises:
        ArgumentError: where it is too large.
    """
    if n > MOST_CARDS:
        raise ArgumentError(
            f"n must be at most {MOST_CARDS} where every trial deals a deck, got n={n}"
        )
    return n


def subject_of(
    mechanism: Mechanism,
    view: str,
    *,
    colluders: int = 0,
    rounds: int = 2,
    with_cards: bool = False,
) -> Subject:
    """What the adversary of a view sees of a mechanism.

    Args:
        mechanism: the one to audit.
        view: "report", "cards", "everything", "dealer" or "rounds".
        colluders: in the views "cards" and "everything", how many hand over theirs.
        rounds: in the view "rounds", how many.
        with_cards: in the view "report", whether the report is made with a card, freshly dealt.

    Raises:
        ArgumentError: for another view, or one that is about cards where none are dealt.
    """
    checks.one_of("view", view, VIEWS)
    if deals_decks(view, with_cards=with_cards) and not mechanism.deals:
        raise ArgumentError(
            f"mechanism must deal cards for this, but the one that was planned is "
            f"{mechanism.brief()}, which deals none: there the view report is all there is, and "
            "holds in every other view too. Audit --view report, or ask for cards by "
            "--mechanism mrr, jrr or drr, more people (-n) or fewer colluders (-M)"
        )
    if view == "cards":
        return CardsView(mechanism, colluders)
    if view == "everything":
        return EverythingView(mechanism, colluders)
    if view == "dealer":
        return DealerView(mechanism)
    if view == "rounds":
        return RoundsView(mechanism, rounds)
    return CardedReportView(mechanism) if with_cards else ReportView(mechanism)


def claim_of(mechanism: Mechanism, view: str, colluders: int = 0, delta: float = 0.0) -> float:
    """The ε that the mechanism states; for rounds that of one report, once per round.

    delta: at which the view "everything" states it.

    Raises:
        ArgumentError: for another view, or one without a bound: nothing could refute it.
    """
    checks.one_of("view", view, VIEWS)
    stated = "report" if view == "rounds" else view
    with_colluders = colluders if view in ("cards", "everything") else 0
    claim = mechanism.epsilon(stated, with_colluders, delta if view == "everything" else 0.0)
    if math.isinf(claim):
        raise ArgumentError(
            f"view {view} must have a bound to refute, and {mechanism.brief()} has none: "
            "leave --no-dealer-cap out, or give --claimed"
        )
    return claim
