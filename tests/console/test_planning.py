"""What the plan says: sampling, branches, other ε and people, and refusals in the page's words."""

import json
import math

import numpy as np
import pytest

import jrr
from jrr.console.pages import in_words
from jrr.console.plan_tables import (
    PlanWish,
    margin_of,
    margins,
    plans,
    what_if,
    with_sampling,
    yes_no_questions,
)
from jrr.errors import ArgumentError
from jrr.survey.plan import DraftPlan, QuestionPlan
from tests.console import Visitor

Z = 1.959963984540054
BRANCHED = {
    "title": "Branches",
    "questions": [
        {
            "name": "sector",
            "kind": "choice",
            "text": "Where?",
            "labels": ["office", "field"],
            "sensitive": False,
        },
        {"name": "a", "kind": "yes-no", "text": "A?"},
        {"name": "b", "kind": "yes-no", "text": "B?", "only_if": {"sector": ["field"]}},
    ],
}


def first_of(wish: PlanWish) -> QuestionPlan:
    made = plans(wish)["mrr"]
    assert isinstance(made, DraftPlan)
    return made.questions[0]


def test_the_error_of_sampling_comes_on_top_and_less_of_it_in_small_populations() -> None:
    wish = PlanWish(draft=json.dumps(yes_no_questions(1)), people=2_000, response=0.5)
    one = first_of(wish)
    everybody = Z * 0.5 / math.sqrt(1_000)
    assert with_sampling(one, wish) == pytest.approx(math.hypot(one.margin, everybody))
    whole = PlanWish(draft=wish.draft, people=2_000, response=0.5, population=1_000)
    assert with_sampling(one, whole) == pytest.approx(one.margin)  # nobody is left out
    # Drawn without putting back, of 4,000: the hypergeometric law by simulation.
    some = PlanWish(draft=wish.draft, people=2_000, response=0.5, population=4_000)
    drawn = np.random.default_rng(5).hypergeometric(2_000, 2_000, 1_000, 200_000) / 1_000
    sampled = Z * float(drawn.std())
    assert with_sampling(one, some) == pytest.approx(math.hypot(one.margin, sampled), rel=3e-3)
    assert margins(some).sampled[0].startswith("±")


def test_a_branch_has_the_margin_of_those_who_are_asked_it() -> None:
    wish = PlanWish(draft=json.dumps(BRANCHED), people=2_000, branches=(("b", 0.25),))
    made = plans(wish)["mrr"]
    assert isinstance(made, DraftPlan)
    whole, branch = made.questions
    assert margin_of(whole, wish) == whole.margin
    # 300 of 1,200 answers, and the same announced noise: by the closed form.
    mechanism = branch.plan.mechanism
    assert isinstance(mechanism, jrr.MRR)
    counts = np.array([270, 30])
    runs = jrr.simulate(mechanism, counts, 20_000, rng=jrr.SeededRandom(3))[:, 1] / 300
    assert margin_of(branch, wish) == pytest.approx(Z * float(runs.std()), rel=0.02)
    assert margin_of(branch, wish) > 1.3 * branch.margin


def test_a_branch_of_which_some_are_asked() -> None:
    """Of 1,200 a quarter are concerned, of whom one in three is asked: 100, drawn by chance."""
    questions = [*BRANCHED["questions"], {"name": "c", "kind": "yes-no", "text": "C?"}]
    draft = BRANCHED | {"questions": questions, "split": "together", "ask": 1}
    wish = PlanWish(draft=json.dumps(draft), people=2_000, branches=(("b", 0.25),))
    made = plans(wish)["mrr"]
    assert isinstance(made, DraftPlan)
    branch = made.questions[1]
    assert branch.asked == pytest.approx(1 / 3)
    mechanism, rng = branch.plan.mechanism, np.random.default_rng(4)
    concerned = np.arange(300) < 150
    shares = []
    for ones in rng.hypergeometric(150, 150, 100, 2_000):
        counts = np.array([100 - ones, ones])
        shares.append(jrr.simulate(mechanism, counts, 1, rng=rng)[0, 1] / 100 - concerned.mean())
    assert margin_of(branch, wish) == pytest.approx(Z * float(np.std(shares)), rel=0.08)


def test_other_epsilons_and_people_are_planned_as_the_plan_itself() -> None:
    wish = PlanWish(draft=json.dumps(yes_no_questions(2)), people=2_000)
    head, half, same, double = what_if(wish)
    assert head[1] == ["1,000 invited", "2,000 invited", "4,000 invited"]
    assert same[1][1] == f"±{100 * first_of(wish).margin:.2g}"
    assert [row[0] for row in (half, same, double)] == ["ε = 0.5", "ε = 1", "ε = 2"]
    numbers = [[float(cell[1:]) for cell in row[1]] for row in (half, same, double)]
    assert all(row == sorted(row, reverse=True) for row in numbers)
    assert all(list(one) == sorted(one, reverse=True) for one in zip(*numbers, strict=True))


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("response=160", "Response rate, % must be above 0 and at most 100, got 160"),
        ("lost=120", "Cards lost, % must be from 0 and at most 99, got 120"),
        ("margin=0", "Margin, ± points must be above 0 and at most 100, got 0"),
        ("people=1", "People to invite must be"),
        (
            "people=2000&population=1999",
            "People in the whole population must be at least the 2,000 people to invite, got 1999",
        ),
        ("epsilon=no", "Privacy, ε must be a number"),
    ],
)
def test_refusals_name_the_field_and_the_number_that_was_typed(
    visitor: Visitor, query: str, words: str
) -> None:
    assert words in visitor.get(f"/plan?{query}").words


def test_the_plan_has_no_words_that_only_its_makers_know(visitor: Visitor) -> None:
    page = visitor.get("/plan?people=2000&population=5000").words
    page += visitor.get("/plan/more?people=2000").words
    assert "with the error of sampling" in page
    assert "What if?" in page
    for jargon in ("view:", "ε + 2", "min_cell", "card_rate", "serials", "e-06", "without masks"):
        assert jargon not in page


def test_only_the_name_of_a_field_is_put_in_the_pages_words() -> None:
    error = ArgumentError("min_cell must be at least 1, got 0")
    assert in_words(error) == "Smallest group shown must be at least 1, got 0"
    assert in_words(ArgumentError("something else must be")) == "Something else must be"
