"""Questionnaires: what a file may say, how a budget is split, what every item costs."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from jrr.cli.app import run
from jrr.errors import ArgumentError
from jrr.survey.questionnaire import Questionnaire
from jrr.survey.questionnaire_plan import people_for_margins, plan_questionnaire

EXAMPLE = Path(__file__).parents[2] / "examples" / "questionnaire.toml"
DOCUMENT: dict[str, Any] = {
    "title": "T",
    "epsilon": 2.0,
    "items": [
        {"name": "place", "kind": "choice", "text": "?", "labels": ["a", "b"], "sensitive": False},
        {"name": "first", "kind": "yes-no", "text": "?", "weight": 3.0, "margin": 0.01},
        {"name": "second", "kind": "choice", "text": "?", "labels": ["x", "y", "z"]},
        {"name": "third", "kind": "several", "text": "?", "labels": ["p", "q"]},
        {"name": "fourth", "kind": "number", "text": "?", "low": 0, "high": 10, "margin": 0.4},
    ],
}


def changed(**fields: Any) -> dict[str, Any]:
    return copy.deepcopy(DOCUMENT) | fields


def with_item(number: int, **fields: Any) -> dict[str, Any]:
    document = copy.deepcopy(DOCUMENT)
    document["items"][number] |= fields
    return document


def test_the_example_has_every_kind() -> None:
    questionnaire = Questionnaire.read(EXAMPLE)
    kinds = {item.kind for item in questionnaire.items}
    assert kinds == {"yes-no", "choice", "several", "scale", "number"}
    assert questionnaire.languages == ("en", "de")
    assert questionnaire.items[0].labels[0] == {"en": "office", "de": "Büro"}
    bullied = next(item for item in questionnaire.items if item.name == "bullied")
    assert bullied.values == 6  # five steps, and "prefer not to say"


@pytest.mark.parametrize(
    ("document", "message"),
    [
        (changed(itmes=[]), r"no field 'itmes' \(did you mean 'items'\?\)"),
        (with_item(1, sensitve=True), r"no field 'sensitve' \(did you mean 'sensitive'\?\)"),
        (with_item(2, name="first"), "'first' twice"),
        (with_item(2, labels=["x", "y", "x"]), "labels of item 'second' must be different"),
        (with_item(3, only_if={"first": "yes"}), "must not depend on the sensitive item 'first'"),
        (with_item(1, only_if={"later": "yes"}), "must name an item before it, got 'later'"),
        (with_item(1, only_if={"place": "c"}), "must be answers of 'place', got 'c'"),
        (with_item(1, labels=["a", "b"]), "must be left out for 'yes-no'"),
        (with_item(4, low=10), "high of item 'fourth' must be above low"),
        (with_item(1, kind="yesno"), "kind must be one of"),
        (with_item(1, name="two words"), "name must be letters"),
        (with_item(1, text={"de": "?"}), "one for each of en"),
        (changed(epsilon=0), "epsilon must be"),
        (changed(split="fair"), "split must be one of"),
        (changed(items=[DOCUMENT["items"][0]]), "at least one with sensitive = true"),
        (changed(languages=["en", "en"]), "languages must be"),
        ([], "questionnaire must be a table"),
    ],
)
def test_refusals(document: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        Questionnaire.from_dict(document)


@pytest.mark.parametrize("split", ["even", "weight", "margin"])
def test_the_budget_is_split_and_kept(split: str) -> None:
    made = plan_questionnaire(Questionnaire.from_dict(changed(split=split)), 2_000, response=0.6)
    assert sum(item.epsilon for item in made.items) == pytest.approx(2.0)
    assert made.guarantees["everything"] <= 2.0 * (1 + 1e-12)
    assert made.guarantees["dealer"] <= 4.0 * (1 + 1e-12)
    assert all(item.plan.request.n == 1_200 for item in made.items)
    budgets = [item.epsilon for item in made.items]
    if split == "even":
        assert budgets == pytest.approx([0.5] * 4)
    elif split == "weight":
        assert budgets == pytest.approx([1.0, 1 / 3, 1 / 3, 1 / 3])
    else:
        missed = [item.margin / item.item.margin for item in made.items]
        assert max(missed) < 1.1 * min(missed)


def test_several_labels_share_an_item_s_budget() -> None:
    made = plan_questionnaire(Questionnaire.from_dict(DOCUMENT), 2_000)
    several = made.items[2]
    assert several.item.questions == 2
    assert several.plan.request.epsilon == pytest.approx(several.epsilon / 2)
    assert several.loss("everything") <= several.epsilon * (1 + 1e-12)


def test_people_for_the_margins_wanted() -> None:
    questionnaire = Questionnaire.from_dict(changed(items=DOCUMENT["items"][:2], epsilon=1.0))
    needed = people_for_margins(questionnaire, response=0.5)
    assert plan_questionnaire(questionnaire, needed, response=0.5, mechanism="mrr").within
    fewer = plan_questionnaire(questionnaire, int(0.98 * needed), response=0.5, mechanism="mrr")
    assert not fewer.within


def test_the_command(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "survey.toml"
    path.write_text(
        'title = "T"\n[[items]]\nname = "a"\nkind = "yes-no"\ntext = "A?"\n'
        '[[items]]\nname = "b"\nkind = "scale"\ntext = "B?"\nmargin = 0.1\n'
    )
    command = ["plan", "survey", str(path), "--people", "2000", "--response", "0.6", "-e", "2"]
    assert run([*command, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["epsilon"] == 2.0
    assert document["expected_reports"] == 1_200
    assert [item["name"] for item in document["items"]] == ["a", "b"]
    assert document["people_for_margins"] > 0
    assert run(command) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert document["learnt"]["study"]["collector"]["belief"] == 0.451
    assert "all answers together │ ε = 2: from 10%" in shown
    assert "people to invite" in shown
    assert run(["plan", "survey", str(path)]) == 2
    assert "Missing option '--people'" in capsys.readouterr().err
    path.write_text("title = ")
    assert run(command) == 2
    assert "must be a TOML file" in capsys.readouterr().err


def test_labels_mean_one_thing_in_all_languages() -> None:
    item = {
        "name": "c",
        "kind": "choice",
        "text": {"en": "?", "de": "?"},
        "labels": [{"en": "gift", "de": "Geschenk"}, {"en": "poison", "de": "gift"}],
    }
    with pytest.raises(ArgumentError, match="'gift' for two"):
        Questionnaire.from_dict({"title": "T", "languages": ["en", "de"], "items": [item]})


def test_a_name_that_exports_need_is_refused() -> None:
    item = {"name": "a_carded", "kind": "yes-no", "text": "?"}
    with pytest.raises(ArgumentError, match="_carded"):
        Questionnaire.from_dict({"title": "T", "items": [item]})
