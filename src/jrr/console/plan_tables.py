"""What a plan's page shows: margins of every question and what adversaries learn, by mechanism.

Every figure is the library's (jrr.survey.plan). What takes seconds is kept apart and
computed once: the view "everything" of dealt cards, and how many people a margin needs.
"""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from jrr.errors import JrrError
from jrr.estimation.estimates import quantile
from jrr.planning.choice import AUTO
from jrr.reporting.catalogue import FALLBACK
from jrr.reporting.cost_words import ShownTable, shown_costs
from jrr.reporting.numerals import Numerals
from jrr.reporting.svg_bars import Bar, draw_bars
from jrr.survey.draft import Draft
from jrr.survey.plan import (
    DraftPlan,
    PlanOptions,
    QuestionPlan,
    expected_reports,
    people_for_margins,
    plan_draft,
)
from jrr.survey.promises import EVERYTHING

TRUST = {"1": "little", "2": "as usual", "4": "much: wider limits, narrower margins"}
MECHANISMS = ("rr", "jrr", "drr", "mrr")
VIEWS = {
    "cards": "somebody who sees the reports of one person and 5 other people's cards",
    EVERYTHING: "a collector who has all reports and knows everybody else's answers",
    "dealer": "dealer and collector together",
}


@dataclass(frozen=True, kw_only=True)
class PlanWish:
    """What is planned; the draft as JSON, so that equal wishes are found again."""

    draft: str
    people: int = 2_000
    response: float = 0.6
    epsilon: float = 1.0
    dealer_above: float = 2.0  # what dealer and collector together may learn more
    lost: float = 0.03
    population: int | None = None  # of whom those invited are drawn; None: no end of them
    branches: tuple[tuple[str, float], ...] = ()  # question -> share of people who are asked it

    def asked(self) -> Draft:
        """The draft."""
        return Draft.from_dict(json.loads(self.draft))

    def options(self, mechanism: str = AUTO) -> dict[str, Any]:
        """As `plan_draft` takes them."""
        return {
            "response": self.response,
            "epsilon": self.epsilon,
            "options": PlanOptions(
                dealer_epsilon=self.epsilon + self.dealer_above,
                lost=self.lost,
                mechanism=mechanism,
            ),
        }


def yes_no_questions(count: int) -> dict[str, Any]:
    """A draft of so many yes-no questions, where nobody has written one yet."""
    return {
        "title": "Plan",
        "questions": [
            {"name": f"question_{at}", "kind": "yes-no", "text": f"Question {at}"}
            for at in range(1, count + 1)
        ],
    }


@lru_cache(maxsize=256)
def plans(wish: PlanWish) -> Mapping[str, DraftPlan | str]:
    """Mechanism -> the plan with it, or why there is none."""
    found: dict[str, DraftPlan | str] = {}
    for mechanism in MECHANISMS:
        try:
            found[mechanism] = plan_draft(wish.asked(), wish.people, **wish.options(mechanism))
        except JrrError as error:
            found[mechanism] = str(error)
    return found


def shown_margin(one: QuestionPlan, margin: float | None = None) -> str:
    """Half an interval of 95%: in percentage points, or in the unit of a number."""
    return one.question.margin_words(one.margin if margin is None else margin)


def margin_of(one: QuestionPlan, wish: PlanWish) -> float:
    """Of a question that some people are asked only, with the noise of so many fewer answers."""
    share = dict(wish.branches).get(one.question.name, 1.0)
    answers = expected_reports(wish.people, wish.response)
    if share == 1.0 or one.question.kind == "number":
        return one.margin / math.sqrt(share)
    mechanism, asked = one.plan.mechanism, max(1, round(share * one.asked * answers))
    counts = [asked // mechanism.k] * mechanism.k
    counts[0] += asked - sum(counts)
    worst = max(map(float, np.atleast_1d(mechanism.variance(counts))))
    drawn = 0.25 * (1 - one.asked) / asked  # of whom the question is asked, by chance
    return quantile(0.95) * math.hypot(math.sqrt(worst) / asked, math.sqrt(drawn))


def with_sampling(one: QuestionPlan, wish: PlanWish) -> float | None:
    """The margin for all those whom the people were drawn from; None of a number.

    The error of drawing them at random is that of a share of 50%, where it is largest; drawing
    many of a small population leaves less of it. Both errors are independent.
    """
    if one.question.kind == "number":
        return None
    share = dict(wish.branches).get(one.question.name, 1.0)
    drawn = max(1, round(share * expected_reports(wish.people, wish.response)))
    left = 1.0
    if wish.population is not None:
        whole = max(drawn, round(share * wish.population))
        left = (whole - drawn) / max(1, whole - 1)
    return math.hypot(margin_of(one, wish), quantile(0.95) * math.sqrt(0.25 / drawn * left))


def what_if(wish: PlanWish) -> list[tuple[str, list[str]]]:
    """Widest margins of shares for other ε (rows) and other numbers of people (columns)."""
    people = [max(2, wish.people // 2), wish.people, 2 * wish.people]
    rows = []
    for factor in (0.5, 1.0, 2.0):
        epsilon, cells = factor * wish.epsilon, []
        for count in people:
            other = replace(wish, epsilon=epsilon, people=count)
            made = plans(other)["mrr"]
            shares = [] if isinstance(made, str) else made.questions
            widest = [margin_of(one, other) for one in shares if one.question.kind != "number"]
            cells.append(f"±{100 * max(widest):.2g}" if widest else "–")
        rows.append((f"ε = {epsilon:g}", cells))
    return [("", [f"{count:,} invited" for count in people]), *rows]


@dataclass(frozen=True, kw_only=True)
class MarginTable:
    """Margins: a row for each question, a column for each mechanism."""

    expected: int  # answers
    rows: list[tuple[str, list[str]]]  # question -> margins
    best: str  # mechanism
    refused: dict[str, str]  # mechanism -> why there is no plan with it
    sampled: list[str]  # beside each row: the best one's, for all whom people were drawn from
    picture: str  # SVG: the widest margin of a share, by mechanism
    learnt: ShownTable | None  # what can be found out, with the best one; None: it takes seconds


def margins(wish: PlanWish) -> MarginTable:
    """The table of a wish.

    Raises:
        ArgumentError: as `plan_draft` does, where no mechanism can be planned.
    """
    found = plans(wish)
    made = {name: one for name, one in found.items() if isinstance(one, DraftPlan)}
    if not made:  # say why
        plan_draft(wish.asked(), wish.people, **wish.options())
    questions = [one.question for one in next(iter(made.values())).questions]
    rows = [
        (
            next(iter(question.text.values())),
            [
                shown_margin(made[name].questions[at], margin_of(made[name].questions[at], wish))
                if name in made
                else "–"
                for name in MECHANISMS
            ],
        )
        for at, question in enumerate(questions)
    ]
    best = min(made, key=lambda name: max(_relative(one) for one in made[name].questions))
    drawn = [(one, with_sampling(one, wish)) for one in made[best].questions]
    sampled = ["–" if total is None else shown_margin(one, total) for one, total in drawn]
    if len(rows) > 1 and all(cells == rows[0][1] for _, cells in rows):
        rows = [(f"Each of {len(rows)} questions", rows[0][1])]
        sampled = sampled[:1]
    return MarginTable(
        sampled=sampled,
        expected=expected_reports(wish.people, wish.response),
        rows=rows,
        best=best,
        refused={name: one for name, one in found.items() if isinstance(one, str)},
        picture=_picture(made),
        learnt=shown_costs(made[best].costs, FALLBACK) if _is_quick(made[best]) else None,
    )


def _relative(one: QuestionPlan) -> float:
    """A margin as a part of what there is."""
    width = one.question.high - one.question.low if one.question.kind == "number" else 1.0
    return one.margin / width


def _picture(made: Mapping[str, DraftPlan]) -> str:
    widest = {name: max(map(_relative, one.questions)) for name, one in made.items()}
    bars = [
        Bar(label=name.upper(), value=min(1.0, value), low=min(1.0, value), high=min(1.0, value))
        for name, value in widest.items()
    ]
    words = "; ".join(f"{name.upper()} ±{100 * value:.2g} points" for name, value in widest.items())
    return draw_bars(
        bars,
        title="Widest margin of a question, by mechanism",
        description=words,
        show=lambda value: f"±{100 * value:g}",
    )


def _is_quick(made: DraftPlan) -> bool:
    """Whether what a collector with all reports learns is computed at once."""
    return all(one.plan.mechanism.pure for one in made.questions)


def learnt(wish: PlanWish) -> ShownTable:
    """What can be found out with the best mechanism; it may take seconds."""
    made = plans(wish)[margins(wish).best]
    assert isinstance(made, DraftPlan)  # the best one was planned
    return shown_costs(made.costs, FALLBACK)


@lru_cache(maxsize=1024)
def total_loss(wish: PlanWish, mechanism: str, view: str) -> str:
    """ε of all answers of one person in a view, as it is shown; rounded up."""
    made = plans(wish)[mechanism]
    if isinstance(made, str):
        return "–"
    delta = made.delta if view == EVERYTHING else 0.0
    return Numerals(FALLBACK).loss(made.guarantee(view), delta)


def losses(wish: PlanWish, *, is_quick: bool) -> list[tuple[str, list[str | None]]]:
    """Mechanism -> ε by view; is_quick: None where it takes seconds."""
    return [
        (
            name,
            [
                None if is_quick and view == EVERYTHING else total_loss(wish, name, view)
                for view in VIEWS
            ],
        )
        for name in MECHANISMS
    ]


@lru_cache(maxsize=256)
def people_needed(wish: PlanWish, margin: float, mechanism: str) -> int | None:
    """How many to invite so that every question is known to ± margin; None: nobody can say."""
    asked = json.loads(wish.draft)
    for question in asked["questions"]:
        # of a number: that part of its range, as in the picture; its usual margin is for shares
        width = question["high"] - question["low"] if question["kind"] == "number" else 1.0
        question["margin"] = margin * width
    try:
        return people_for_margins(Draft.from_dict(asked), **wish.options(mechanism))
    except JrrError:
        return None
