"""What several answers cost together: exact or an upper bound, in every view."""

import itertools
import json
import math
from typing import Any

import pytest

from jrr import DRR, JRR, RR, Mechanism
from jrr.errors import DamagedError, ProtocolError
from jrr.privacy.informed import composed
from jrr.survey.sensitive import SensitiveQuestion
from jrr.survey.spending import (
    MOST_REPEATS,
    PURE_VIEWS,
    Expense,
    Limits,
    check_limits,
    expenses_of,
    total,
)
from tests.survey import survey_by

MECHANISMS: list[Mechanism] = [
    RR(2, 1.0),
    JRR(50, p=0.6, s=0.2),
    DRR(40, truth=0.3, own=0.1),
    DRR(60, truth=0.3, own=0.1, k=3),
]


def question_by(mechanism: Mechanism, **more: Any) -> SensitiveQuestion:
    """The only question of a survey with five colluders."""
    colluders = more.pop("colluders", 5 if mechanism.deals else 0)
    (question,) = survey_by(mechanism, colluders=colluders, **more).sensitive
    return question


def expenses(asked: SensitiveQuestion, answers: int) -> list[Expense]:
    return [expenses_of([asked])[0]] * answers


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=str)
def test_one_answer_costs_what_its_survey_promises(mechanism: Mechanism) -> None:
    asked = question_by(mechanism)
    spent = total([expenses_of([asked])[0]], asked.delta)
    assert (spent.answers, spent.epsilon) == (1, asked.cost)
    assert spent.pure == {view: asked.guarantee(view) for view in PURE_VIEWS}


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=str)
@pytest.mark.parametrize("answers", [2, 3, 10, MOST_REPEATS + 1])
def test_answers_by_one_mechanism_add_up(mechanism: Mechanism, answers: int) -> None:
    asked = question_by(mechanism)
    spent = total(expenses(asked, answers), 1e-6)
    for view in PURE_VIEWS:
        assert spent.pure[view] >= answers * asked.guarantee(view) * (1 - 1e-15)
        assert spent.pure[view] <= answers * asked.guarantee(view) * (1 + 1e-12)
    law = mechanism.losses(asked.colluders) if mechanism.deals else None
    outright = asked.guarantee("report") if law is None else law.pure
    assert spent.epsilon <= answers * outright * (1 + 1e-12)
    if law is not None and answers <= MOST_REPEATS:
        assert spent.epsilon <= composed(law, answers).epsilon(1e-6) * (1 + 1e-12)
    if law is None:
        assert spent.epsilon >= answers * outright * (1 - 1e-15)


def test_two_answers_by_another_way() -> None:
    """δ of two answers, from all pairs of sights: the total's ε keeps it, 30% less does not."""
    mechanism = JRR(10, p=0.6, s=0.3)
    asked = question_by(mechanism, colluders=1)
    spent = total(expenses(asked, 2), 1e-3)
    law = mechanism.losses(1)
    assert law is not None

    def delta(epsilon: float) -> float:
        worst = 0.0
        for one, two in itertools.product(law.cases, repeat=2):
            for (a, b), (c, d) in itertools.product(
                ((one.first, one.second), (one.second, one.first)),
                ((two.first, two.second), (two.second, two.first)),
            ):
                whole = (a[:, None] * c - math.exp(epsilon) * (b[:, None] * d)).ravel()
                worst = max(worst, float(whole[whole > 0].sum()))
        return worst

    assert delta(spent.epsilon) <= 1e-3
    assert delta(0.7 * spent.epsilon) > 1e-3


def test_different_surveys_share_delta() -> None:
    several = [question_by(mechanism) for mechanism in MECHANISMS]
    spent = total([expenses_of([asked])[0] for asked in several], 1e-6)
    random = [asked for asked in several if asked.deals]
    least = sum(asked.cost for asked in several)
    most = several[0].cost + sum(
        asked.mechanism.epsilon("everything", 5, 2.0**-22) for asked in random
    )
    assert least <= spent.epsilon <= most * (1 + 1e-12)
    assert total([], 1e-6).epsilon == 0.0


def test_no_delta_is_the_largest_loss() -> None:
    asked = question_by(JRR(50, p=0.6, s=0.2))
    law = asked.mechanism.losses(5)
    assert law is not None
    assert total(expenses(asked, 1), 0.0).epsilon == law.pure
    unbounded = question_by(DRR(20, truth=0.5), delta=0.01)
    assert total(expenses(unbounded, 1), 0.0).epsilon == math.inf


@pytest.mark.parametrize("mechanism", [RR(2, 1.0), JRR(1_000, p=0.7, s=0.1)], ids=str)
def test_two_answers_do_not_pass_a_limit_that_one_keeps(mechanism: Mechanism) -> None:
    one, other = question_by(mechanism), question_by(mechanism, question="Else?")
    assert check_limits([one], Limits(one.cost)).answers == 1
    with pytest.raises(ProtocolError, match=r"more than your limit .*, beside .* spent before"):
        check_limits([other], Limits(one.cost), [expenses_of([one])[0]])
    after = check_limits([other], Limits(20 * one.cost), [expenses_of([one])[0]])
    assert after.answers == 2
    again = check_limits([], Limits(one.cost), [expenses_of([one])[0]])  # sent again: nothing new
    assert again.answers == 1


def test_the_dealers_limit_is_for_all_answers_too() -> None:
    asked = question_by(DRR(40, truth=0.3, own=0.1))
    dealer, before = asked.guarantee("dealer"), [expenses_of([asked])[0]]
    check_limits([asked], Limits(700.0, 2 * dealer * (1 + 1e-12)), before)
    with pytest.raises(ProtocolError, match="view: dealer"):
        check_limits([asked], Limits(700.0, 1.9 * dealer), before)


@pytest.mark.parametrize("mechanism", [*MECHANISMS, DRR(20, truth=0.5)], ids=str)
def test_an_expense_is_read_as_it_was_written(mechanism: Mechanism) -> None:
    entry = expenses_of([question_by(mechanism)])[0]
    assert Expense.from_dict(json.loads(json.dumps(entry.to_dict()))) == entry


@pytest.mark.parametrize("change", [{"colluders": -1}, {"pure": {}}, {"steps": [1]}, {"more": 1}])
def test_a_damaged_expense(change: dict[str, Any]) -> None:
    document = expenses_of([question_by(RR(2, 1.0))])[0].to_dict()
    with pytest.raises(DamagedError, match="ledger"):
        Expense.from_dict(document | change)
    with pytest.raises(DamagedError):
        Expense.from_dict(None)
