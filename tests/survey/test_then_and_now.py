"""A question about two times, asked as one of four answers: what it tells of the change."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jrr
from jrr.analysis.crossed import parts_of
from jrr.client.ending import Ending
from jrr.client.export import export_survey
from jrr.client.report import ReportWish, survey_report
from jrr.dealing.kinds import Dealers
from jrr.errors import ArgumentError
from jrr.survey.creation import SurveyRequest
from jrr.survey.draft import Draft
from jrr.survey.survey import read_survey
from tests.client.in_process import House

BRIBED = {"name": "bribed", "kind": "then-and-now", "text": "A bribe, in 2025 (then), in 2026?"}
LABELS = ("neither then nor now", "now, not then", "then, not now", "then and now")


def survey_of(*questions: dict[str, Any], **more: Any) -> Any:
    draft = {"title": "T", "epsilon": 6.0, "questions": list(questions)} | more
    return SurveyRequest(
        draft=Draft.from_dict(draft),
        people=100,
        collector="https://collector.example",
        dealing=Dealers(("https://dealer.example",)),
        min_cell=5,
    ).survey()


def test_it_is_a_choice_of_four_whose_halves_are_known() -> None:
    survey = survey_of(BRIBED, languages=["en", "de", "fr"])
    (asked,) = survey.questions
    assert (asked.kind, asked.words) == ("choice", LABELS)
    assert asked.crossed == (("then", 2), ("now", 2))
    assert read_survey(survey.to_bytes()).questions == survey.questions
    draft = Draft.from_dict({"title": "T", "questions": [BRIBED]})
    assert Draft.from_dict(draft.to_dict()) == draft
    own = BRIBED | {"labels": ["never", "since", "before", "always"]}
    assert survey_of(own).questions[0].words == ("never", "since", "before", "always")
    for wrong in ([["then", 2]], [["then", 2], ["now", 3]], "now", [["a", 2], ["a", 2]]):
        with pytest.raises(ArgumentError, match="crossed of question 'bribed' must be two names"):
            survey_of(asked.to_dict() | {"crossed": wrong}, languages=["en", "de", "fr"])


@pytest.mark.slow_variants("even")
@pytest.mark.parametrize("split", ["even", "together"])
def test_change_is_in_results_reports_and_exports(tmp_path: Path, split: str) -> None:
    more = {"name": "lied", "kind": "yes-no", "text": "Lied?"}
    survey = survey_of(BRIBED, more, split=split, epsilon=10.0)
    home = House(survey, tmp_path / "servers")
    held = [LABELS[0]] * 40 + [LABELS[1]] * 40 + [LABELS[2]] * 5 + [LABELS[3]] * 15
    home.answered({"bribed": one, "lied": "no"} for one in held)
    operator = home.everybody
    operator.close(Ending())
    told = operator.estimates()["bribed"]["crossed"]
    for name, truth in {"then": 0.2, "now": 0.55, "change": 0.35}.items():
        assert abs(told[name]["value"][1] - truth) < 5 * told[name]["stderr"][1] + 1e-9
        assert told[name]["stderr"][1] < 0.12
    report = survey_report(operator, ReportWish())
    answers = {one.label: one.value for one in report.questions[0].answers}
    assert answers["now minus then: yes"] == pytest.approx(told["change"]["value"][1])
    loaded = jrr.load_survey(survey, export_survey(operator, tmp_path / "a.parquet")["answers"])
    table = loaded.two_way("bribed")
    change, error = table.contrast([[0, 1], [-1, 0]])
    assert (change, error) == pytest.approx(
        (told["change"]["value"][1], told["change"]["stderr"][1])
    )
    with pytest.raises(ArgumentError, match="second must be another question than lied"):
        loaded.two_way("lied")


def test_the_stated_error_of_the_change_is_right() -> None:
    """Masked answers of 60 people: mean and spread of 600 surveys; a third more is refused."""
    m, rng = jrr.MRR.for_epsilon(3.0, n=60, k=4), np.random.default_rng(5)
    held = np.repeat([0, 1, 2, 3], [20, 20, 5, 15])
    found = []
    for _ in range(600):
        cards = m.deal(rng)
        estimate = m.estimate(m.respond(held, cards, rng), announced=m.announce(cards, rng=rng))
        found.append(parts_of(estimate, (("then", 2), ("now", 2)))["change"])
    values = np.array([one["value"][1] for one in found])
    stated = np.mean([one["stderr"][1] ** 2 for one in found]) ** 0.5
    assert abs(values.mean() - 0.25) < 5 * stated / 600**0.5
    assert values.std() == pytest.approx(stated, rel=0.12)
    assert values.std() != pytest.approx(1.3 * stated, rel=0.12)
