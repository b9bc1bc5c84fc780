"""What a draft costs and how exact it is: one total ε, split among its sensitive questions.

Items are perturbed independently, so losses add up in every view: the total is the sum of the
questions', whatever the answers. "Several of" is one yes or no for each label.
"""

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, partial
from typing import Any, ClassVar

import numpy as np

from jrr._base import checks
from jrr.dealing.interface import Dealing
from jrr.errors import ArgumentError
from jrr.estimation.estimates import quantile
from jrr.estimation.groups import MIN_CELL
from jrr.mechanisms.base import Mechanism
from jrr.mechanisms.registry import families
from jrr.mechanisms.request import DEALER_ABOVE, LOST, Frequency, Request
from jrr.planning.blocks import BlockPlan, plan_block
from jrr.planning.choice import AUTO, cardless_words
from jrr.planning.effects import group_stderr
from jrr.planning.numbers import MASKED, PIECEWISE, NumberPlan, plan_number
from jrr.planning.plans import DELTA, Plan, plan
from jrr.privacy.cost_table import CostTable, added, cost_row, same_in_every_wave
from jrr.survey.analyses import cells_of
from jrr.survey.draft import Draft
from jrr.survey.promises import EVERYTHING, informed_epsilon
from jrr.survey.question import Question
from jrr.survey.survey_document import Together

TOGETHER = "together"
_GRID = 13  # budgets at which a question's margin is looked at, where margins decide the split
_BLOCK_GRID = 7  # the same where some share a coin, whose plan takes longer
_MASKED = 500  # values up to which masks are tried without looking at everything else
_LEAST_SHARE = 0.01  # of the budget for a question
_MOST_PEOPLE = 10**9
_FIRST_GUESS = 1_000  # people, and how often the next guess follows from the margins there
_GUESSES = 8


@dataclass(frozen=True)
class ItemPlan:
    """One answer of several that share a coin."""

    block: BlockPlan
    number: int  # of the question in the block
    unit: ClassVar[float] = 1.0  # of shares

    @cached_property
    def mechanism(self) -> Mechanism:
        """Of the answer by itself."""
        made: Mechanism = self.block.item(self.number)
        return made

    @property
    def request(self) -> Request:
        """What was asked for."""
        return self.block.request

    @cached_property
    def guarantees(self) -> Mapping[str, float]:
        """View -> the ε of all answers that share the coin."""
        found: dict[str, float] = self.block.mechanism.guarantees(self.request.colluders)
        return found

    def stderr(self, frequency: float | None = None) -> float:
        """Of the share of one of its values."""
        return self.block.stderr(self.number, frequency)

    @property
    def stated_stderr(self) -> float:
        """What estimates will state."""
        return self.stderr()


@dataclass(frozen=True, kw_only=True)
class QuestionPlan:
    """How one sensitive question is asked."""

    question: Question
    epsilon: float  # of all its answers together
    plan: Plan | NumberPlan | ItemPlan  # of one answer: of each label, for "several"
    sums: int = 1  # of cells, which add up to the total

    @cached_property
    def margin(self) -> float:
        """Half of the expected interval of 95%: of a share, or in the unit of a number."""
        return self.margin_among(1.0, self.sums)

    def margin_among(self, part: float, sums: float) -> float:
        """The same for a part of those who answer, for whom so many sums are added."""
        if (part, sums) == (1, 1):
            return quantile(0.95) * self.plan.stated_stderr
        return quantile(0.95) * group_stderr(self.plan, part * self.plan.request.reporters, sums)

    @property
    def bytes(self) -> int:
        """Of a report."""
        return self.question.perturbed * self.plan.mechanism.report_format.width

    @property
    def block(self) -> BlockPlan | None:
        """How it is asked together with other questions; None: it has coins of its own."""
        return self.plan.block if isinstance(self.plan, ItemPlan) else None

    @property
    def asked(self) -> float:
        """The share of people who are asked it."""
        return 1.0 if self.block is None else self.block.share

    def loss(self, view: str) -> float:
        """ε in a view, of all its answers together; in "everything" at `delta`.

        Of questions that share a coin it is that of all of them.
        """
        if isinstance(self.plan, ItemPlan):
            return self.plan.guarantees["cards" if view == EVERYTHING else view]
        if view == EVERYTHING:
            mechanism, colluders = self.plan.mechanism, self.plan.request.colluders
            one = informed_epsilon(mechanism, colluders if mechanism.deals else 0, DELTA)
        else:
            one = self.plan.guarantees[view]
        return added([one] * self.question.perturbed)

    @property
    def delta(self) -> float:
        """The δ of all its answers together in the view "everything"; 0 where losses are pure."""
        return 0.0 if self.plan.mechanism.pure else added([DELTA] * self.question.perturbed)


@dataclass(frozen=True, kw_only=True)
class DraftPlan:
    """All questions, and what they cost together.

    Attributes:
        draft: what is asked.
        people: how many are invited.
        response: the share of them who answer.
        epsilon: the total asked for.
        questions: the sensitive questions.
    """

    draft: Draft
    people: int
    response: float
    epsilon: float
    questions: tuple[QuestionPlan, ...]

    @cached_property
    def guarantees(self) -> Mapping[str, float]:
        """View -> the total ε; a sum that rounding has not made too small."""
        return {view: self.guarantee(view) for view in ("cards", EVERYTHING, "dealer")}

    def guarantee(self, view: str) -> float:
        """The total ε in one view: "everything" of dealt cards can take seconds to compute."""
        shared = {id(one.block): one for one in self.questions if one.block is not None}
        alone = [one for one in self.questions if one.block is None]
        return added(one.loss(view) for one in (*shared.values(), *alone))

    @property
    def together(self) -> tuple[Together, ...]:
        """The questions that share a coin, as a document has them."""
        blocks = {id(one.block): one.block for one in self.questions if one.block is not None}
        return tuple(
            Together(
                tuple(one.question.name for one in self.questions if one.block is block),
                block.asked,
                block.keep,
                block.keep_alone,
            )
            for block in blocks.values()
        )

    @cached_property
    def costs(self) -> CostTable:
        """What one answer, one wave and all waves can tell, and whom."""
        deals = any(one.plan.mechanism.deals for one in self.questions)
        view = EVERYTHING if deals else "report"
        wave = cost_row(
            self.guarantee(view), self.delta, view, self.guarantee("dealer") if deals else None
        )
        answer = cost_row(
            max(one.loss(view) for one in self.questions),
            max(one.delta for one in self.questions),
            view,
            max(one.loss("dealer") for one in self.questions) if deals else None,
        )
        waves = self.draft.waves
        return same_in_every_wave(answer, wave, questions=len(self.questions), waves=waves)

    @property
    def delta(self) -> float:
        """The δ of the view "everything": every answer has its own."""
        return added(question.delta for question in self.questions if question.delta)

    @property
    def bytes(self) -> int:
        """Of all reports of one person."""
        return sum(question.bytes for question in self.questions)

    @property
    def within(self) -> bool:
        """Whether every question is as exact as its `margin` asks."""
        return all(question.margin <= question.question.margin for question in self.questions)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {
            "title": next(iter(self.draft.title.values())),
            "people": self.people,
            "response": self.response,
            "expected_reports": expected_reports(self.people, self.response),
            "epsilon": self.epsilon,
            "split": self.draft.split,
            "guarantees": dict(self.guarantees),
            "delta": self.delta,
            "waves": self.draft.waves,
            "learnt": self.costs.to_dict(),
            "bytes": self.bytes,
            "questions": [
                {
                    "name": one.question.name,
                    "kind": one.question.kind,
                    "epsilon": one.epsilon,
                    "margin": one.margin,
                    "margin_wanted": one.question.margin,
                    "asked": one.asked,
                    "mechanism": one.plan.mechanism.to_dict(),
                    "bytes": one.bytes,
                }
                for one in self.questions
            ],
            "open_questions": [one.name for one in self.draft.open],
        }


@dataclass(frozen=True, kw_only=True)
class PlanOptions:
    """What a plan of a draft may be told besides the people and the budget."""

    dealer_epsilon: float | None = None  # the total for dealer and collector together; None: ε + 2
    lost: float = LOST  # share of cards that are dealt and never reported with
    announced: bool | int = True  # how many sums of a card the dealer may announce; False: none
    mechanism: str = AUTO  # a family for every question
    colluders: int | None = None  # None: as `jrr.plan`
    view: str = "cards"  # in which ε must hold
    delta: float = DELTA  # of the view "everything"
    frequency: Frequency = None  # what is known of the answer, where there is one question
    deck: int | None = None  # cards in one deck; None: as many as answers are expected
    dealing: Dealing | None = None  # who deals; None: nothing is ruled out
    wave: int = 1  # which is planned: a later one has more cells
    fewest: int = MIN_CELL  # answers that a question needs for a result

    @property
    def more(self) -> dict[str, Any]:
        """What `jrr.plan` is told only where it was said here."""
        found: dict[str, Any] = {}
        if self.colluders is not None:
            found["colluders"] = self.colluders
        if self.view != "cards":
            found |= {"view": self.view, "delta": self.delta}
        if self.frequency is not None:
            found["frequency"] = self.frequency
        return found


def plan_draft(
    draft: Draft,
    people: int,
    *,
    response: float = 1.0,
    epsilon: float | None = None,
    options: PlanOptions | None = None,
) -> DraftPlan:
    """Plan every sensitive question within one total budget.

    Args:
        draft: what is asked.
        people: how many are invited.
        response: the share of them who answer.
        epsilon: the total; None: as the draft says.
        options: how cards are dealt, and what else is known.

    Returns:
        The plan: its questions with their margins, and the total guarantees.

    Raises:
        ArgumentError: for fewer than two expected answers, or as `jrr.plan` does.

    Example:
        >>> asked = Draft.from_dict(
        ...     {"title": "T", "questions": [{"name": "a", "kind": "yes-no", "text": "A?"}]}
        ... )
        >>> plan_draft(asked, 2_000, response=0.6).guarantees["everything"] <= 1.0001
        True
    """
    wish = options or PlanOptions()
    people = checks.integer("people", people, 2, _MOST_PEOPLE)
    response = checks.real("response", response, "in (0, 1]", 0.0, 1.0, open_low=True)
    n = expected_reports(people, response)
    if n < 2:
        raise checks.refusal("people", people, f"enough for 2 answers at response={response!r}")
    if wish.deck is not None:
        n = checks.integer("deck", wish.deck, 2, _MOST_PEOPLE)
    if wish.frequency is not None and len(draft.sensitive) > 1:
        raise checks.refusal("frequency", wish.frequency, "left out with several questions")
    total = draft.epsilon if epsilon is None else checks.epsilon("epsilon", epsilon)
    cap = total + DEALER_ABOVE if wish.dealer_epsilon is None else wish.dealer_epsilon
    asked = _SharedPlan(n, total, cap, wish, cells_of(draft, wish.wave))
    questions = asked.questions(draft.sensitive, _shares(draft, asked), {})
    if draft.split == TOGETHER:
        shares = _shares_together(draft, asked)
        items = asked.items(draft.sensitive, shares, draft.ask)
        if items:
            together = asked.questions(draft.sensitive, shares, items)
            some = isinstance(draft.ask, int)  # a wish, whatever would be more exact
            questions = together if some else min(questions, together, key=_worst_margin)
    return DraftPlan(
        draft=draft, people=people, response=response, epsilon=total, questions=questions
    )


def people_for_margins(draft: Draft, **options: Any) -> int:
    """The fewest people to invite so that every question is as exact as its `margin` asks.

    Args:
        draft: what is asked.
        options: as for `plan_draft`, but people.

    Raises:
        ArgumentError: if a billion people are not enough.
    """
    # What is nearly always chosen, and quick to plan.
    options.setdefault("options", PlanOptions(mechanism="mrr"))
    low, high = 1, _MOST_PEOPLE + 1  # too few, and enough
    people = max(_FIRST_GUESS, math.ceil(3 / options.get("response", 1.0)))
    for tries in itertools.count(1):
        worst = _worst_margin(plan_draft(draft, people, **options).questions)
        low, high = (people, high) if worst > 1 else (low, people)
        if high - low <= max(1, low // 200):  # to half a percent
            break
        # Margins fall about as the root of the people: a little beyond what that says is tried.
        guess = people * worst**2 * (1.002 if worst > 1 else 0.998)
        middle = (low + high) // 2 if high <= _MOST_PEOPLE else 2 * low
        is_inside = low < guess < high and tries < _GUESSES
        people = min(max(int(guess) if is_inside else middle, low + 1), high - 1)
    if high > _MOST_PEOPLE:
        raise checks.refusal(
            "margin",
            [question.margin for question in draft.sensitive],
            f"reachable with at most {_MOST_PEOPLE:,} people",
        )
    return high


def expected_reports(people: int, response: float) -> int:
    """How many are expected to answer."""
    return round(people * response)


_planned = lru_cache(maxsize=256)(plan)  # questions that are alike have the same plan
_planned_number = lru_cache(maxsize=256)(plan_number)


@dataclass(frozen=True)
class _SharedPlan:
    """What all questions have in common."""

    n: int
    total: float
    cap: float
    wish: PlanOptions
    sums: int = 1

    def plan(self, question: Question, share: float, mechanism: str = AUTO) -> Plan | NumberPlan:
        """One answer of a question that has this share of the budget."""
        part = share / question.perturbed
        options: dict[str, Any] = {
            "dealer_epsilon": part * self.cap,
            "lost": self.wish.lost,
            "announced": self.wish.announced,
            "mechanism": mechanism if question.values <= _MASKED else AUTO,
        } | self.wish.more
        if question.kind == "number":
            return self._number(question, part, options)
        n = self._deck(question.values)
        # What is known of the answer may be a list, of which nothing is remembered.
        planned = plan if "frequency" in options else _planned
        chosen = planned(n, part * self.total, k=question.values, **options)
        if self._can_deal(chosen.mechanism) or options["mechanism"] != AUTO:
            return chosen
        return self._best_that_can_be_dealt(n, part * self.total, question.values, options)

    def questions(
        self, asked: Sequence[Question], shares: Sequence[float], items: Mapping[str, ItemPlan]
    ) -> tuple[QuestionPlan, ...]:
        """Every question with its share; `items` are those that share a coin."""
        return tuple(
            QuestionPlan(
                question=one,
                epsilon=share * self.total,
                plan=items.get(one.name) or self.plan(one, share, self.wish.mechanism),
                sums=self.sums,
            )
            for one, share in zip(asked, shares, strict=True)
        )

    def items(
        self, questions: Sequence[Question], shares: Sequence[float], ask: int | str
    ) -> dict[str, ItemPlan]:
        """The questions that share a coin; none where it cannot be.

        Everything but numbers can; what each of them has of the budget is the share of all.

        Raises:
            ArgumentError: It cannot be, and `ask` says that each person is asked some.
        """
        sharing = [one for one in questions if one.kind != "number"]
        sizes = [(one.values,) * one.perturbed for one in sharing]
        insists, bare = isinstance(ask, int), self.wish.mechanism == "rr"
        if sum(map(len, sizes)) < 2 or not (bare or self.wish.mechanism in (AUTO, "mrr")):
            if insists:
                allowed = "'auto' or 'all' without two answers that can share a coin by masks or RR"
                raise checks.refusal("ask", ask, allowed)
            return {}
        share = next(part for one, part in zip(questions, shares, strict=True) if one in sharing)
        try:
            block = plan_block(
                self._deck(),
                share * self.total,
                sizes,
                ask=ask,
                margins=[one.margin for one in sharing],
                colluders=self.wish.colluders,
                dealer_epsilon=share * self.cap,
                announced=self.wish.announced or bare,
                lost=self.wish.lost,
                mechanism="rr" if bare else "mrr",
                fewest=self.wish.fewest,
            )
            if not self._can_deal(block.item(0)):
                raise checks.refusal("ask", ask, "'auto' or 'all' where nobody deals masks")
        except ArgumentError:  # too many combinations, or no room for cards below the cap
            if insists:
                raise
            return {}
        return {one.name: ItemPlan(block, number) for number, one in enumerate(sharing)}

    def _deck(self, k: int = 2) -> int:
        dealing = self.wish.dealing
        return self.n if dealing is None else dealing.deck_for(self.n, k)

    def _can_deal(self, mechanism: Mechanism) -> bool:
        return self.wish.dealing is None or self.wish.dealing.can_deal(mechanism)

    def _best_that_can_be_dealt(
        self, n: int, epsilon: float, k: int, options: dict[str, Any]
    ) -> Plan:
        """The most accurate of those mechanisms whose cards can be dealt in this way."""
        words = [key for key, family in families().items() if family.chosen and not family.encodes]
        given = options | {"announced": False}
        plans = [plan(n, epsilon, k=k, **given | {"mechanism": word}) for word in words]
        return min((one for one in plans if self._can_deal(one.mechanism)), key=Plan.stderr)

    def _number(self, question: Question, part: float, options: dict[str, Any]) -> NumberPlan:
        """By a window of numbers, or rounded to one of two ends where that is better."""
        n = self._deck()
        known = options.pop("frequency", None)
        if isinstance(known, int | float):
            options["mean"] = question.low + float(known) * (question.high - question.low)
        word = options["mechanism"]
        if word == AUTO:
            words: tuple[str, ...] = (MASKED,)
        else:  # without cards, whatever answers are perturbed by
            words = ("rr", PIECEWISE) if word in cardless_words() else (word,)
        plans = [
            _planned_number(
                n, part * self.total, question.low, question.high, **options | {"mechanism": one}
            )
            for one in words
        ]
        chosen = min(plans, key=NumberPlan.stderr)
        if self._can_deal(chosen.mechanism) or word != AUTO:
            return chosen
        rows = [row for row in chosen.compare() if self._can_deal(row.question.mechanism)]
        return replace(chosen, question=min(rows, key=lambda row: row.stderr).question)


def _shares(draft: Draft, asked: _SharedPlan) -> list[float]:
    """The share of the budget that each sensitive question gets."""
    questions = draft.sensitive
    if draft.split == "margin" and len(questions) > 1:
        return _equally_missed([partial(_miss_of, asked, one) for one in questions], _GRID)
    weights = [question.weight if draft.split == "weight" else 1.0 for question in questions]
    return [weight / sum(weights) for weight in weights]


def _shares_together(draft: Draft, asked: _SharedPlan) -> list[float]:
    """All questions that share a coin have one share, each number one of its own."""
    questions = draft.sensitive
    sharing = [one for one in questions if one.kind != "number"]
    numbers = [one for one in questions if one.kind == "number"]

    def miss(share: float) -> float:
        parts = [share] * len(sharing)
        try:
            items = asked.items(sharing, parts, draft.ask)
        except ArgumentError:  # it says so where the budget is the final one
            items = {}
        return _worst_margin(asked.questions(sharing, parts, items)) if items else math.inf

    if not numbers or not sharing:
        return [1 / max(1, len(numbers))] * len(questions)
    misses: list[Callable[[float], float]] = [miss]
    misses += [partial(_miss_of, asked, one) for one in numbers]
    shared, *others = _equally_missed(misses, _BLOCK_GRID)
    own = iter(others)
    return [next(own) if one.kind == "number" else shared for one in questions]


def _worst_margin(questions: Sequence[QuestionPlan]) -> float:
    """The largest quotient of a margin and the one that is wanted."""
    return max(one.margin / one.question.margin for one in questions)


def _miss_of(asked: _SharedPlan, question: Question, share: float) -> float:
    """That quotient for one question with so large a share of the budget."""
    word = "mrr" if asked.wish.mechanism == AUTO else asked.wish.mechanism  # mostly, and quick
    return quantile(0.95) * asked.plan(question, share, word).stated_stderr / question.margin


def _equally_missed(misses: Sequence[Callable[[float], float]], points: int) -> list[float]:
    """Shares at which every margin is missed, or beaten, by the same factor."""
    grid = np.geomspace(_LEAST_SHARE / len(misses), 1.0, points)
    curves = []
    for miss in misses:
        found = np.array([miss(float(share)) for share in grid])
        can_be = np.isfinite(found)
        if not can_be.any():
            return [1 / len(misses)] * len(misses)
        curves.append((np.log(np.maximum(found[can_be], 1e-300)), np.log(grid[can_be])))

    def shares_at(factor: float) -> list[float]:
        # Margins fall as budgets grow: read the budget off the curve.
        return [float(np.exp(np.interp(-factor, -missed, at))) for missed, at in curves]

    low = min(float(missed.min()) for missed, _ in curves) - 1
    high = max(float(missed.max()) for missed, _ in curves) + 1
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if sum(shares_at(middle)) > 1 else (low, middle)
    shares = shares_at(high)
    return [share / sum(shares) for share in shares]
