"""What a questionnaire costs and how exact it is: one total ε, split among its sensitive items.

Items are perturbed independently, so losses add up in every view: the total is the sum of the
items', whatever the answers. "Several of" is one yes or no for each label.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from jrr._base import checks
from jrr.estimation.estimates import quantile
from jrr.planning.choice import AUTO
from jrr.planning.defaults import DEALER_ABOVE, LOST
from jrr.planning.numbers import NumberPlan, plan_number
from jrr.planning.plans import DELTA, Plan, plan
from jrr.reporting.cost_table import CostTable, added, cost_row, same_in_every_wave
from jrr.survey.promises import EVERYTHING, informed_epsilon
from jrr.survey.questionnaire import Item, Questionnaire

_GRID = 13  # budgets at which an item's margin is looked at, where margins decide the split
_MASKED = 500  # values up to which masks are tried without looking at everything else
_LEAST_SHARE = 0.01  # of the budget for an item
_MOST_PEOPLE = 10**9


@dataclass(frozen=True, kw_only=True)
class ItemPlan:
    """How one sensitive item is asked."""

    item: Item
    epsilon: float  # of all its answers together
    plan: Plan | NumberPlan  # of one answer: of each label, for "several"

    @cached_property
    def margin(self) -> float:
        """Half of the expected interval of 95%: of a share, or in the unit of a number."""
        return quantile(0.95) * self.plan.stderr()

    @property
    def bytes(self) -> int:
        """Of a report."""
        return self.item.questions * self.plan.mechanism.report_format.width

    def loss(self, view: str) -> float:
        """ε in a view, of all its answers together; in "everything" at `delta`."""
        if view == EVERYTHING:
            mechanism, colluders = self.plan.mechanism, self.plan.request.colluders
            one = informed_epsilon(mechanism, colluders if mechanism.deals else 0, DELTA)
        else:
            one = self.plan.guarantees[view]
        return added([one] * self.item.questions)

    @property
    def delta(self) -> float:
        """The δ of all its answers together in the view "everything"; 0 where losses are pure."""
        return 0.0 if self.plan.mechanism.pure else added([DELTA] * self.item.questions)


@dataclass(frozen=True, kw_only=True)
class QuestionnairePlan:
    """All items, and what they cost together.

    Attributes:
        questionnaire: what is asked.
        people: how many are invited.
        response: the share of them who answer.
        epsilon: the total asked for.
        items: the sensitive items.
    """

    questionnaire: Questionnaire
    people: int
    response: float
    epsilon: float
    items: tuple[ItemPlan, ...]

    @cached_property
    def guarantees(self) -> Mapping[str, float]:
        """View -> the total ε; a sum that rounding has not made too small."""
        return {view: self.guarantee(view) for view in ("cards", EVERYTHING, "dealer")}

    def guarantee(self, view: str) -> float:
        """The total ε in one view: "everything" of dealt cards can take seconds to compute."""
        return added(item.loss(view) for item in self.items)

    @cached_property
    def costs(self) -> CostTable:
        """What one answer, one wave and all waves can tell, and whom."""
        deals = any(one.plan.mechanism.deals for one in self.items)
        view = EVERYTHING if deals else "report"
        wave = cost_row(
            self.guarantee(view), self.delta, view, self.guarantee("dealer") if deals else None
        )
        answer = cost_row(
            max(one.loss(view) for one in self.items),
            max(one.delta for one in self.items),
            view,
            max(one.loss("dealer") for one in self.items) if deals else None,
        )
        waves = self.questionnaire.waves
        return same_in_every_wave(answer, wave, questions=len(self.items), waves=waves)

    @property
    def delta(self) -> float:
        """The δ of the view "everything": every answer has its own."""
        return added(item.delta for item in self.items if item.delta)

    @property
    def bytes(self) -> int:
        """Of all reports of one person."""
        return sum(item.bytes for item in self.items)

    @property
    def within(self) -> bool:
        """Whether every item is as exact as its `margin` asks."""
        return all(item.margin <= item.item.margin for item in self.items)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {
            "title": next(iter(self.questionnaire.title.values())),
            "people": self.people,
            "response": self.response,
            "expected_reports": expected_reports(self.people, self.response),
            "epsilon": self.epsilon,
            "split": self.questionnaire.split,
            "guarantees": dict(self.guarantees),
            "delta": self.delta,
            "waves": self.questionnaire.waves,
            "learnt": self.costs.to_dict(),
            "bytes": self.bytes,
            "items": [
                {
                    "name": one.item.name,
                    "kind": one.item.kind,
                    "epsilon": one.epsilon,
                    "margin": one.margin,
                    "margin_wanted": one.item.margin,
                    "mechanism": one.plan.mechanism.to_dict(),
                    "bytes": one.bytes,
                }
                for one in self.items
            ],
            "open_items": [one.name for one in self.questionnaire.items if not one.sensitive],
        }


def plan_questionnaire(
    questionnaire: Questionnaire,
    people: int,
    *,
    response: float = 1.0,
    epsilon: float | None = None,
    dealer_epsilon: float | None = None,
    lost: float = LOST,
    announced: bool = True,
    mechanism: str = AUTO,
    rounded: bool = True,
) -> QuestionnairePlan:
    """Plan every sensitive item within one total budget.

    Args:
        questionnaire: what is asked.
        people: how many are invited.
        response: the share of them who answer.
        epsilon: the total; None: as the questionnaire says.
        dealer_epsilon: the total that dealer and collector together may learn; None: ε + 2.
        lost: the share of cards that are dealt and never reported with.
        announced: whether the dealer announces sums at the end, as campaigns do.
        mechanism: a family for every item, or "auto".
        rounded: whether numbers are asked for by their two ends, as campaigns do, and not in steps
            of noise.

    Returns:
        The plan: its items with their margins, and the total guarantees.

    Raises:
        ArgumentError: for fewer than two expected answers, or as `jrr.plan` does.

    Example:
        >>> asked = Questionnaire.from_dict(
        ...     {"title": "T", "items": [{"name": "a", "kind": "yes-no", "text": "A?"}]}
        ... )
        >>> plan_questionnaire(asked, 2_000, response=0.6).guarantees["everything"] <= 1.0001
        True
    """
    people = checks.integer("people", people, 2, _MOST_PEOPLE)
    response = checks.real("response", response, "in (0, 1]", 0.0, 1.0, open_low=True)
    n = expected_reports(people, response)
    if n < 2:
        raise checks.refusal("people", people, f"enough for 2 answers at response={response!r}")
    total = questionnaire.epsilon if epsilon is None else checks.epsilon("epsilon", epsilon)
    cap = total + DEALER_ABOVE if dealer_epsilon is None else dealer_epsilon
    asked = _Asked(n, total, cap, lost, announced, rounded)
    shares = _shares(questionnaire, asked)
    items = tuple(
        ItemPlan(item=item, epsilon=share * total, plan=asked.plan(item, share, mechanism))
        for item, share in zip(questionnaire.sensitive, shares, strict=True)
    )
    return QuestionnairePlan(
        questionnaire=questionnaire, people=people, response=response, epsilon=total, items=items
    )


def people_for_margins(questionnaire: Questionnaire, **options: Any) -> int:
    """The fewest people to invite so that every item is as exact as its `margin` asks.

    Args:
        questionnaire: what is asked.
        options: as for `plan_questionnaire`, but people.

    Raises:
        ArgumentError: if a billion people are not enough.
    """
    options.setdefault("mechanism", "mrr")  # what is nearly always chosen, and quick to plan
    low, high = 1, 64
    while not plan_questionnaire(questionnaire, high, **options).within:
        low, high = high, 2 * high
        if high > _MOST_PEOPLE:
            raise checks.refusal(
                "margin",
                [item.margin for item in questionnaire.sensitive],
                f"reachable with at most {_MOST_PEOPLE:,} people",
            )
    while high - low > max(1, low // 200):  # to half a percent
        middle = (low + high) // 2
        enough = plan_questionnaire(questionnaire, middle, **options).within
        low, high = (low, middle) if enough else (middle, high)
    return high


def expected_reports(people: int, response: float) -> int:
    """How many are expected to answer."""
    return round(people * response)


_planned = lru_cache(maxsize=256)(plan)  # items that are alike have the same plan


@dataclass(frozen=True)
class _Asked:
    """What all items have in common."""

    n: int
    total: float
    cap: float
    lost: float
    announced: bool
    rounded: bool

    def plan(self, item: Item, share: float, mechanism: str = AUTO) -> Plan | NumberPlan:
        """One answer of an item that has this share of the budget."""
        part = share / item.questions
        options: dict[str, Any] = {
            "dealer_epsilon": part * self.cap,
            "lost": self.lost,
            "announced": self.announced,
            "mechanism": mechanism if item.values <= _MASKED else AUTO,
        }
        if item.kind == "number":
            if self.rounded and options["mechanism"] == AUTO:
                options["mechanism"] = "mrr"
            return plan_number(self.n, part * self.total, item.low, item.high, **options)
        return _planned(self.n, part * self.total, k=item.values, **options)


def _shares(questionnaire: Questionnaire, asked: _Asked) -> list[float]:
    """The share of the budget that each sensitive item gets."""
    items = questionnaire.sensitive
    if questionnaire.split == "margin" and len(items) > 1:
        return _shares_by_margin(items, asked)
    weights = [item.weight if questionnaire.split == "weight" else 1.0 for item in items]
    return [weight / sum(weights) for weight in weights]


def _shares_by_margin(items: tuple[Item, ...], asked: _Asked) -> list[float]:
    """Shares at which every item misses its wanted margin, or beats it, by the same factor."""
    grid = np.geomspace(_LEAST_SHARE / len(items), 1.0, _GRID)
    curves = []
    for item in items:
        plans = [asked.plan(item, float(share), "mrr") for share in grid]
        margins = [quantile(0.95) * one.stderr() for one in plans]
        curves.append(np.log(np.maximum(margins, 1e-300) / item.margin))

    def shares_at(factor: float) -> list[float]:
        # Margins fall as budgets grow: read the budget off the curve.
        return [float(np.exp(np.interp(-factor, -curve, np.log(grid)))) for curve in curves]

    low = min(float(curve.min()) for curve in curves) - 1
    high = max(float(curve.max()) for curve in curves) + 1
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if sum(shares_at(middle)) > 1 else (low, middle)
    found = shares_at(high)
    return [share / sum(found) for share in found]
