"""Analyses that are planned: cells, margins, and what will not be possible."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from jrr.analysis import SensitiveItem, cells_of
from jrr.cli.app import run
from jrr.dealing.kinds import Dealers
from jrr.errors import ArgumentError
from jrr.estimation.told_sums import why_no_cells, why_not_by
from jrr.mechanisms.masked import MRR
from jrr.planning.effects import group_stderr
from jrr.survey.analyses import (
    analysis_lines,
    joined_by_merging,
    lost_by_closing,
    plan_analyses,
)
from jrr.survey.creation import SurveyRequest
from jrr.survey.draft import Draft
from jrr.survey.draft_toml import draft_toml
from jrr.survey.grouping import CardGrouping, merge_small
from jrr.survey.grouping import cells_of as open_answers
from jrr.survey.other_waves import why_no_pairs
from jrr.survey.plan import plan_draft
from jrr.survey.survey import read_survey

OPEN = [
    {"name": "dept", "kind": "choice", "labels": ["a", "b", "c"], "text": "?", "sensitive": False},
    {"name": "sex", "kind": "choice", "labels": ["f", "m"], "text": "?", "sensitive": False},
    {"name": "age", "kind": "number", "low": 18, "high": 90, "text": "?", "sensitive": False},
]


TWO = [{"name": name, "kind": "yes-no", "text": "?"} for name in ("a", "b")]


def request_of(*analyses: str, people: int = 2_000, **more: Any) -> SurveyRequest:
    asked = {"name": "bribed", "kind": "yes-no", "text": "?"}
    document = {"title": "T", "questions": [*OPEN, asked], "analyses": list(analyses)} | more
    return SurveyRequest(
        draft=Draft.from_dict(document),
        people=people,
        dealing=Dealers(("https://dealer.example",)),
        collector="https://collector.example",
    )


def test_cells_follow_from_analyses_and_margins_are_shown() -> None:
    request = request_of("totals", "groups: dept × sex", "groups: dept")
    survey = request.survey()
    assert survey.cells == ("dept", "sex")
    assert survey.analyses == ("totals", "groups: dept × sex", "groups: dept")
    assert Draft.from_dict(request.draft.to_dict()) == request.draft
    total, crossing, groups = request.planned_analyses()
    assert total.margins["bribed"] < groups.margins["bribed"] < crossing.margins["bribed"]
    (planned,) = request.plan().questions
    assert total.margins["bribed"] == planned.margin  # of six sums, here and there
    assert planned.margin > 1.01 * replace(planned, sums=1).margin
    assert analysis_lines([total])[0] == f"totals: bribed ±{100 * planned.margin:.2g} points"


DAYS = {"name": "days", "kind": "number", "low": 0, "high": 30, "text": "?"}


@pytest.mark.parametrize("split", ["even", "together"])
def test_margins_of_analyses_are_those_of_the_plan_and_of_the_closing(split: str) -> None:
    """Of numbers they were in no unit, and of questions asked of some as if all were asked."""
    questions = [*OPEN, *TWO, TWO[0] | {"name": "c"}, DAYS]
    more: dict[str, Any] = {"questions": questions, "split": split, "epsilon": 2.0}
    request = request_of("totals", "groups: dept", people=3_000, **more)
    survey, planned = request.survey(), request.plan()
    total, groups = request.planned_analyses()
    assert (planned.questions[0].asked < 1) == (split == "together")
    for one in planned.questions:
        name = one.question.name
        assert total.margins[name] == one.margin
        third = one.plan.request.reporters / 3
        closed = survey.by_name[name].margin_of(round(third))  # another way, of the same sums
        assert groups.margins[name] == pytest.approx(closed, rel=0.02)
    assert "days ±" in total.words
    assert "points" not in total.words.rpartition("days")[2]
    assert planned.questions[-1].question.margin == pytest.approx(0.9)  # 3% of 30 days


def test_a_later_wave_has_a_sum_for_each_of_those_who_answered_before_and_not() -> None:
    """Margins were those of half as many sums as the wave is closed on."""
    first = request_of("groups: dept × sex", waves=2)
    second = replace(first, after=first.survey())
    (planned,) = second.plan().questions
    mechanism = cast(MRR, second.survey().mechanisms["bribed"])
    people = round(planned.plan.request.reporters)
    columns = {
        "before": np.arange(people) % 2,
        "dept": np.arange(people) // 2 % 3,
        "sex": np.arange(people) // 6 % 2,
    }
    names = [" × ".join(map(str, one)) for one in zip(*columns.values(), strict=True)]
    cards = mechanism.deal(np.random.default_rng(1))[:people]
    sums = mechanism.announce_cells(cards, names, rng=np.random.default_rng(2))
    item = SensitiveItem(mechanism, mechanism.respond(np.arange(people) % 2, cards))
    error = cells_of(item, columns, announced=sums).total().stderr[1]
    assert planned.margin == pytest.approx(1.96 * error, rel=0.003)
    (of_groups,) = second.planned_analyses()
    assert of_groups.margins["bribed"] == planned.margin_among(1 / 6, 2)


def test_every_kind_of_question_has_a_margin_in_a_regression() -> None:
    """Of a scale nothing was said, and of a number it would have been log odds."""
    mood = {"name": "mood", "kind": "scale", "low": 1, "high": 3, "text": "?"}
    asked: dict[str, Any] = {"questions": [*OPEN, mood, DAYS], "split": "even", "epsilon": 4.0}
    (found,) = request_of("regression: sex", **asked).planned_analyses()
    line = analysis_lines([found])[0]
    assert re.fullmatch(r"regression: sex: mood ±[\d.]+ of the log odds, days ±[\d.]+", line), line


def test_what_other_cells_make_impossible_is_said() -> None:
    """With the sentence of afterwards; in a later wave also that pairs go."""
    first = request_of("totals", "groups: dept", "weights: sex", waves=2).survey()
    assert lost_by_closing(first, first.planned_cells()) == {}
    assert lost_by_closing(first, ("dept",)) == {"weights: sex": why_not_by(("sex",), ("dept",))}
    assert set(lost_by_closing(first, ())) == {"groups: dept", "weights: sex"}
    second = replace(request_of(waves=2), after=first).survey()
    before = second.planned_cells()
    assert lost_by_closing(second, before) == {}
    assert lost_by_closing(second, ("sex",)) == {"pairs": why_not_by(before, ("sex",))}


def test_what_merged_cells_leave_together_is_said() -> None:
    """Of a later wave: few new people, whose cells tie departments that are large enough."""
    asked = request_of("groups: dept", "groups: sex", waves=2)
    second = replace(asked, after=asked.survey()).survey()
    by = second.planned_cells()
    sizes = {name: 5 if name.startswith("no") else 60 for name in open_answers(second, by)}
    merged = merge_small(second, by, [sizes])
    assert joined_by_merging(second, merged) == {
        "groups: dept": "a + b + c",
        "groups: sex": "f + m",
    }
    assert joined_by_merging(second, merge_small(second, ("dept", "sex"), [{"a × f": 3}])) == {}
    few = merge_small(second, by, [dict.fromkeys(sizes, 0) | {"no × a × f": 9, "yes × b × f": 70}])
    assert joined_by_merging(second, few) == {"pairs": "no + yes", "groups: dept": "a + b"}
    assert joined_by_merging(second, CardGrouping(by=by)) == {}


def test_numbers_make_no_groups_whoever_deals() -> None:
    """Without masks a margin of groups by age was promised, and then there were none."""
    document = request_of("groups: age", "weights: age", "regression: age").draft.to_dict()
    request = SurveyRequest(
        draft=Draft.from_dict(document), people=2_000, mechanism="rr", collector="https://c.example"
    )
    groups, weights, regression = request.planned_analyses()
    assert groups.refused == weights.refused == why_no_cells(["age"], masked=False)
    assert regression.margins["bribed"] > 0


def test_what_will_not_be_possible_is_said() -> None:
    pairs, ages = request_of("pairs", "regression: age").planned_analyses()
    assert pairs.refused == "pairs need two waves: set waves = 2"
    assert "age makes no cells" in ages.refused
    assert "choose a mechanism without cards (rr)" in ages.refused
    assert not request_of("pairs", waves=2).planned_analyses()[0].refused
    (small,) = request_of("groups: dept × sex", people=60).planned_analyses()
    assert "on average 10 answers to a question are in a cell" in small.note
    more: dict[str, Any] = {"questions": [*OPEN, *TWO, TWO[0] | {"name": "c"}], "ask": 1}
    (asked,) = request_of("groups: dept × sex", people=240, epsilon=2.0, **more).planned_analyses()
    assert "on average 13 answers" in asked.note  # each of 40 people is asked one of three


def test_weights_and_coefficients_have_margins() -> None:
    """Of a coefficient that of two halves: by hand, open answers and perturbation at a share."""
    asked = ("totals", "weights: dept", "regression: dept, sex")
    request = request_of(*asked)
    total, weighted, coefficient = request.planned_analyses()
    assert request.survey().cells == ("dept", "sex")
    assert weighted.margins == total.margins
    (planned,) = request.plan().questions
    f, n = 0.1, round(planned.plan.request.reporters)
    of_half = group_stderr(planned.plan, n / 2, 3, f) ** 2 + f * (1 - f) / (n / 2)
    expected = 1.96 * (2 * of_half) ** 0.5 / (f * (1 - f))
    assert coefficient.margins["bribed"] == pytest.approx(expected, rel=1e-3)
    together = request_of(*asked, split="together", questions=[*OPEN, *TWO]).planned_analyses()
    assert set(together[2].margins) == {"a", "b"}
    with pytest.raises(ArgumentError, match="weights: and open questions"):
        request_of("weights").planned_analyses()


def pairs_of(*questions: dict[str, Any], **more: Any) -> Any:
    """What is said of pairs, and what a survey that was made says afterwards."""
    document = {"title": "T", "questions": [*OPEN, *questions], "waves": 2, "analyses": ["pairs"]}
    request = SurveyRequest(
        draft=Draft.from_dict(document | more.pop("draft", {})),
        people=2_000,
        dealing=Dealers(("https://dealer.example",)),
        collector="https://collector.example",
        **more,
    )
    (found,) = request.planned_analyses()
    return found, request.survey()


def test_pairs_are_refused_beforehand_with_the_sentence_of_afterwards() -> None:
    asked = {"name": "bribed", "kind": "yes-no", "text": "?"}
    some = {"name": "lied", "kind": "yes-no", "text": "?", "only_if": {"sex": ["f"]}}
    found, survey = pairs_of(asked)
    assert (found.refused, why_no_pairs(survey, "bribed")) == ("", None)
    for more in ({"closed_deck": True}, {"draft": {"announcements": 1}}):
        found, survey = pairs_of(asked, **more)
        assert found.refused == why_no_pairs(survey, "bribed")
        assert analysis_lines([found]) == [f"pairs: not possible: {found.refused}"]
    found, survey = pairs_of(asked, some)
    assert list(found.margins) == ["bribed"]
    assert found.note == f"not lied: {why_no_pairs(survey, 'lied')}"
    # A plan, which has no survey yet, says the same of it.
    document = {"title": "T", "questions": [*OPEN, asked, some], "waves": 2, "analyses": ["pairs"]}
    draft = Draft.from_dict(document)
    (planned,) = plan_analyses(draft, plan_draft(draft, 2_000), 20)
    assert (list(planned.margins), planned.note) == (list(found.margins), found.note)


def test_who_is_asked_counts_for_pairs_and_not_with_what_a_coin_is_shared() -> None:
    def wave(after: Any = None, **more: Any) -> Any:
        draft = {"title": "T", "epsilon": 3.0, "waves": 2, "questions": TWO} | more
        return SurveyRequest(
            draft=Draft.from_dict(draft),
            people=2_000,
            dealing=Dealers(("https://dealer.example",)),
            collector="https://collector.example",
            after=after,
        ).survey()

    before = wave(split="together", ask="all")
    assert before.together
    later = wave(before, split="even")
    assert not later.together
    assert why_no_pairs(before, "a", 2, later) is None
    some = wave(split="together", ask=1)
    reason = why_no_pairs(some, "a", 2, wave(some, split="even"))
    assert reason is not None
    assert "not everybody is asked a in every wave" in reason


def test_pairs_of_numbers_in_steps_without_cards_need_no_sums() -> None:
    """Their noise is kept like that of masks, but there is no card whose sum anybody could tell."""
    days = {"name": "days", "kind": "number", "low": 0, "high": 20, "text": "?"}
    draft = {"title": "T", "epsilon": 3.0, "waves": 2, "analyses": ["pairs"], "questions": [days]}
    request = SurveyRequest(
        draft=Draft.from_dict(draft), people=2_000, mechanism="rr", collector="https://c.example"
    )
    mechanism = request.survey().by_name["days"].mechanism
    assert mechanism.masked
    assert not mechanism.deals
    (found,) = request.planned_analyses()
    assert (found.refused, list(found.margins)) == ("", ["days"])


def test_the_command_line_names_analyses_too(tmp_path: Path, capsys: Any) -> None:
    draft, made = tmp_path / "draft.toml", tmp_path / "survey.json"
    request = request_of("totals", waves=2)
    draft.write_text(draft_toml(request.draft), "utf-8")
    people = [str(draft), "--people", "2000"]
    assert run(["plan", "survey", *people]) == 0
    assert "totals: bribed ±1" in capsys.readouterr().out
    servers = ["--dealer", "https://d.example", "--collector", "https://c.example"]
    words = ["--set", "analyses=groups: dept; pairs; regression: age", "-o", str(made)]
    assert run(["survey", "create", *people, *servers, *words]) == 0
    told = " ".join(capsys.readouterr().out.split())
    for line in ("totals: bribed ±", "groups: dept: bribed ±", "pairs: bribed ±", "age makes no"):
        assert line in told
    survey = read_survey(made.read_bytes())
    assert survey.analyses == ("totals", "groups: dept", "pairs", "regression: age")
    assert survey.cells == ("dept",)


@pytest.mark.parametrize("words", ["means", "groups", "groups: town", "totals: dept"])
def test_words_that_are_none_are_refused(words: str) -> None:
    with pytest.raises(ArgumentError, match="analyses"):
        request_of(words).survey()
