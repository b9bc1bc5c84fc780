"""Drafts: what a file may say, how a budget is split, what every question costs."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from jrr.cli.app import run
from jrr.dealing.interface import even_deck
from jrr.errors import ArgumentError
from jrr.planning.numbers import plan_number
from jrr.survey.draft import Draft
from jrr.survey.draft_toml import draft_toml
from jrr.survey.plan import PlanOptions, people_for_margins, plan_draft
from jrr.survey.survey import read_survey

EXAMPLE = Path(__file__).parents[2] / "examples" / "survey.toml"
DOCUMENT: dict[str, Any] = {
    "title": "T",
    "epsilon": 2.0,
    "questions": [
        {"name": "place", "kind": "choice", "text": "?", "labels": ["a", "b"], "sensitive": False},
        {"name": "first", "kind": "yes-no", "text": "?", "weight": 3.0, "margin": 0.01},
        {"name": "second", "kind": "choice", "text": "?", "labels": ["x", "y", "z"]},
        {"name": "third", "kind": "several", "text": "?", "labels": ["p", "q"]},
        {"name": "fourth", "kind": "number", "text": "?", "low": 0, "high": 10, "margin": 0.4},
    ],
}


def changed(**fields: Any) -> dict[str, Any]:
    return copy.deepcopy(DOCUMENT) | fields


def with_question(number: int, **fields: Any) -> dict[str, Any]:
    document = copy.deepcopy(DOCUMENT)
    document["questions"][number] |= fields
    return document


def test_the_example_has_every_kind() -> None:
    draft = Draft.read(EXAMPLE)
    kinds = {question.kind for question in draft.questions}
    assert kinds == {"yes-no", "choice", "several", "scale", "number"}
    assert draft.languages == ("en", "de")
    assert draft.questions[0].labels[0] == {"en": "office", "de": "Büro"}
    bullied = next(question for question in draft.questions if question.name == "bullied")
    assert bullied.values == 6  # five steps, and "prefer not to say"


@pytest.mark.parametrize(
    ("document", "message"),
    [
        (changed(qestions=[]), r"no field 'qestions' \(did you mean 'questions'\?\)"),
        (with_question(1, sensitve=True), r"no field 'sensitve' \(did you mean 'sensitive'\?\)"),
        (with_question(2, name="first"), "'first' twice"),
        (with_question(2, labels=["x", "y", "x"]), "labels of question 'second' must be different"),
        (
            with_question(3, only_if={"first": "yes"}),
            "must not depend on the sensitive question 'first'",
        ),
        (with_question(1, only_if={"later": "yes"}), "must name a question before it, got 'later'"),
        (with_question(1, only_if={"place": "c"}), "must be answers of 'place', got 'c'"),
        (with_question(1, labels=["a", "b"]), "must be left out for 'yes-no'"),
        (with_question(4, low=10), "high of question 'fourth' must be above low"),
        (with_question(1, kind="yesno"), "kind of question .* must be one of"),
        (with_question(1, name="two words"), "name must be letters"),
        (with_question(1, text={"de": "?"}), "one for each of en"),
        (changed(epsilon=0), "epsilon must be"),
        (changed(split="fair"), "split must be one of"),
        (changed(questions=[DOCUMENT["questions"][0]]), "at least one that is sensitive"),
        (changed(languages=["en", "en"]), "languages must be"),
        ([], "draft must be a table"),
    ],
)
def test_refusals(document: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        Draft.from_dict(document)


@pytest.mark.parametrize("split", ["even", "weight", "margin"])
def test_the_budget_is_split_and_kept(split: str) -> None:
    made = plan_draft(Draft.from_dict(changed(split=split)), 2_000, response=0.6)
    assert sum(item.epsilon for item in made.questions) == pytest.approx(2.0)
    assert made.guarantees["everything"] <= 2.0 * (1 + 1e-12)
    assert made.guarantees["dealer"] <= 4.0 * (1 + 1e-12)
    assert all(item.plan.request.n == 1_200 for item in made.questions)
    budgets = [item.epsilon for item in made.questions]
    if split == "even":
        assert budgets == pytest.approx([0.5] * 4)
    elif split == "weight":
        assert budgets == pytest.approx([1.0, 1 / 3, 1 / 3, 1 / 3])
    else:
        missed = [item.margin / item.question.margin for item in made.questions]
        assert max(missed) < 1.1 * min(missed)


def test_several_labels_share_an_item_s_budget() -> None:
    made = plan_draft(Draft.from_dict(changed(split="even")), 2_000)
    several = made.questions[2]
    assert several.question.perturbed == 2
    assert several.plan.request.epsilon == pytest.approx(several.epsilon / 2)
    assert several.loss("everything") <= several.epsilon * (1 + 1e-12)


def test_people_for_the_margins_wanted() -> None:
    draft = Draft.from_dict(changed(questions=DOCUMENT["questions"][:2], epsilon=1.0))
    needed = people_for_margins(draft, response=0.5)
    assert plan_draft(draft, needed, response=0.5, options=PlanOptions(mechanism="mrr")).within
    fewer = plan_draft(
        draft, int(0.98 * needed), response=0.5, options=PlanOptions(mechanism="mrr")
    )
    assert not fewer.within


def test_plan_and_document_say_the_same_of_a_liar(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Of the survey at hand, with its shared coin; more where cards are not verified."""
    path, out = tmp_path / "survey.toml", tmp_path / "survey.json"
    asked = "".join(
        f'[[questions]]\nname = "{name}"\nkind = "yes-no"\ntext = "?"\n' for name in "abcdef"
    )
    servers = ["--dealer", "https://dealer.example", "--collector", "https://collector.example"]
    of_many = ["--people", "2000", "--json"]

    def moved(setting: str) -> list[float]:
        path.write_text(f'title = "T"\nepsilon = 1.5\n[survey]\n{setting}\n{asked}')
        found = []
        for command in (["plan", "survey", str(path)], ["survey", "create", str(path), *servers]):
            if command[1] == "create":
                command += ["-o", str(out), "--force"]
            assert run([*command, *of_many]) == 0
            found.append(json.loads(capsys.readouterr().out)["one_liar"])
        return found

    verified, plain = moved(""), moved("verified = false")
    assert verified == pytest.approx([read_survey(out.read_bytes()).one_liar(verified=True)] * 2)
    assert verified[0] == pytest.approx(2.1, abs=0.05)  # docs/security.md
    assert plain[0] == plain[1] > 10 * verified[0]
    assert run(["plan", "survey", str(path), "--people", "2000"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert f"who are estimated to hold an answer by {plain[0]:,.0f}." in shown


def test_the_command(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "survey.toml"
    path.write_text(
        'title = "T"\n[[questions]]\nname = "a"\nkind = "yes-no"\ntext = "A?"\n'
        '[[questions]]\nname = "b"\nkind = "scale"\ntext = "B?"\nmargin = 0.1\n'
    )
    command = ["plan", "survey", str(path), "--people", "2000", "--response", "0.6", "-e", "2"]
    assert run([*command, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["epsilon"] == 2.0
    assert document["expected_reports"] == 1_200
    assert [item["name"] for item in document["questions"]] == ["a", "b"]
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
    path.write_text('title = "T"\n[[questions]]\nname = "a"\nkind = "yes-no"\ntext = "A?"\n')
    assert run(command) == 0
    assert "ε = 2 in all, a coin for each question" in " ".join(capsys.readouterr().out.split())


def test_labels_mean_one_thing_in_all_languages() -> None:
    item = {
        "name": "c",
        "kind": "choice",
        "text": {"en": "?", "de": "?"},
        "labels": [{"en": "gift", "de": "Geschenk"}, {"en": "poison", "de": "gift"}],
    }
    with pytest.raises(ArgumentError, match="'gift' for two"):
        Draft.from_dict({"title": "T", "languages": ["en", "de"], "questions": [item]})


def test_a_name_that_exports_need_is_refused() -> None:
    item = {"name": "a_carded", "kind": "yes-no", "text": "?"}
    with pytest.raises(ArgumentError, match="_carded"):
        Draft.from_dict({"title": "T", "questions": [item]})


def test_the_file_is_written_as_it_was_read(tmp_path: Path) -> None:
    for draft in (Draft.read(EXAMPLE), Draft.from_dict(DOCUMENT)):
        file = tmp_path / "survey.toml"
        file.write_text(draft_toml(draft), "utf-8")
        assert Draft.read(file) == draft


def test_a_deck_for_those_who_enrol_is_at_or_below_the_fewest() -> None:
    for people in range(4, 200):
        assert 3 <= even_deck(people) <= people
    with pytest.raises(ArgumentError, match="people must be at least 3"):
        even_deck(2)


def test_what_is_known_of_an_answer_is_of_one_question() -> None:
    with pytest.raises(ArgumentError, match="left out with several questions"):
        plan_draft(Draft.from_dict(DOCUMENT), 500, options=PlanOptions(frequency=0.1))


def test_a_number_is_asked_for_in_steps_where_that_is_better() -> None:
    document = changed(questions=[DOCUMENT["questions"][4]], epsilon=4.0)
    draft = Draft.from_dict(document)
    steps = plan_draft(draft, 5_000).questions[0].plan
    alone = plan_draft(draft, 5_000, options=PlanOptions(mechanism="rr")).questions[0].plan
    rounded = plan_number(5_000, 4.0, 0, 10, mechanism="rr")
    assert [one.mechanism.name for one in (steps, alone, rounded)] == ["MRR", "Piecewise", "RR"]
    assert steps.stderr() < alone.stderr() < rounded.stderr()
