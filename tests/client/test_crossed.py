"""Two questions of a draft as one, with a mask for each pair of answers: read, asked, exported."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jrr
from jrr.analysis import crossed_table
from jrr.client.ending import Ending
from jrr.client.export import export_survey
from jrr.client.operator import EstimateWish
from jrr.dealing.kinds import Dealers
from jrr.errors import ArgumentError
from jrr.survey.creation import SurveyRequest
from jrr.survey.draft import Draft
from jrr.survey.plan import plan_draft
from tests.client.in_process import House
from tests.statistics_rules import SURE

PEOPLE = 100
QUESTIONS: list[dict[str, Any]] = [
    {"name": "sector", "kind": "yes-no", "text": "S?", "sensitive": False},
    {"name": "bribe", "kind": "yes-no", "text": {"en": "Taken?", "de": "Genommen?"}, "margin": 0.1},
    {"name": "other", "kind": "yes-no", "text": "O?"},
    {"name": "offered", "kind": "choice", "text": "Offered?", "labels": ["never", "once", "often"]},
    {"name": "days", "kind": "number", "text": "D?", "low": 0, "high": 5},
]


def draft(*pairs: list[str], **more: Any) -> Draft:
    document = {"title": "T", "languages": ["en", "de"], "questions": QUESTIONS, "epsilon": 4.0}
    return Draft.from_dict(document | {"cross": list(pairs)} | more)


def changed(name: str, **fields: Any) -> list[dict[str, Any]]:
    return [one | fields if one["name"] == name else one for one in QUESTIONS]


def test_two_questions_become_one() -> None:
    made = draft(["bribe", "offered"])
    assert [one.name for one in made.questions] == ["sector", "bribe_offered", "other", "days"]
    pair = made.questions[1]
    assert pair.text["de"] == "(1) Genommen? (2) Offered?"
    assert len(pair.labels) == 6
    assert pair.labels[1] == {"en": "(1) no, (2) once", "de": "(1) nein, (2) once"}
    assert (pair.margin, pair.weight) == (0.03, 2.0)
    assert Draft.from_dict(made.to_dict()) == made
    declined = draft(["bribe", "offered"], questions=changed("bribe", prefer_not=True))
    assert declined.questions[1].values == 7
    assert draft().questions == draft(["bribe", "offered"], cross=[]).questions


def test_what_cannot_be_crossed() -> None:
    allowed = "cross must be pairs of two sensitive questions of kind yes-no, choice or scale"
    for pairs, words in (
        ("bribe", "cross must be a list of pairs"),
        (["bribe", "offered"], "cross must be a list of pairs"),
        ([["bribe"]], allowed),
        ([["bribe", "bribe"]], allowed),
        ([["bribe", "sector"]], allowed),
        ([["bribe", "days"]], allowed),
        ([["bribe", "nobody"]], allowed),
        ([["bribe", "other"], ["offered", "bribe"]], allowed),
    ):
        with pytest.raises(ArgumentError, match=words):
            draft(cross=pairs)
    branched = changed("offered", only_if={"sector": "yes"})
    with pytest.raises(ArgumentError, match="cross must be questions with the same only_if"):
        draft(["bribe", "offered"], questions=branched)
    many = changed("offered", labels=[f"{at} times" for at in range(16)])
    with pytest.raises(ArgumentError, match="at most 30 pairs of answers, not 32"):
        draft(["bribe", "offered"], questions=many)


def test_margins_on_the_page() -> None:
    """Five yes-no questions, two of them crossed."""
    five = [{"name": name, "kind": "yes-no", "text": "?"} for name in "abcde"]
    shown = []
    for split in ("together", "even"):
        asked = draft(["a", "b"], questions=five, epsilon=1.0, split=split)
        shown.append(f"±{100 * plan_draft(asked, 2_000).questions[0].margin:.1f} points")
    page = (Path(__file__).parents[2] / "docs" / "surveys.md").read_text("utf-8")
    assert f"(cells {shown[0]} with `together`, {shown[1]} with `even`)" in page


def test_a_crossed_pair_all_the_way(tmp_path: Path) -> None:
    """In one block with another question; its table, both margins, and the export's."""
    survey = SurveyRequest(
        draft=draft(["bribe", "offered"], split="together"),
        people=PEOPLE,
        collector="https://collector.example",
        dealing=Dealers(("https://dealer.example",)),
    ).survey()
    assert survey.mechanisms["bribe_offered"].to_dict()["k"] == 6
    (block,) = survey.together
    assert set(block.questions) == {"bribe_offered", "other"}
    home = House(survey, tmp_path / "servers")
    held = [0] * 6
    words = survey.questions[1].words

    def answers(at: int) -> dict[str, Any]:
        row, column = at % 2, (at // 2) % 3 if at % 5 else 0
        held[3 * row + column] += 1
        pair = words[3 * row + column]
        return {"sector": "no", "bribe_offered": pair, "other": "yes", "days": at % 6}

    home.answered(answers(at) for at in range(PEOPLE))
    home.everybody.close(Ending())
    true = np.reshape(held, (2, 3)) / PEOPLE
    shown = home.everybody.estimates(EstimateWish(level=SURE))["bribe_offered"]["estimate"]
    for (low, high), aim in zip(shown["interval"], true.ravel(), strict=True):
        assert low <= aim <= high
    export_survey(home.everybody, tmp_path / "answers.csv")
    written = export_survey(home.everybody, tmp_path / "answers.parquet")
    loaded = jrr.load_survey(survey, written["answers"])
    table = crossed_table(loaded.total("bribe_offered"), 2, 3)
    assert table.shares.ravel() == pytest.approx(shown["frequencies"])
    for factors in ([[0, 0, 0], [1, 1, 1]], [[0, 0, 1], [0, 0, 1]]):
        share, error = table.contrast(factors)
        assert abs(share - np.sum(true * factors)) < 6.2 * error < 1.0
