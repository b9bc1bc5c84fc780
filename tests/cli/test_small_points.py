"""What people stumbled over on the command line, each once."""

import io
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from jrr.cli.app import run
from jrr.cli.plan.shown import shown_frequencies
from jrr.cli.survey.answer import ask_choice
from jrr.cli.survey.close import CarriedFiles
from jrr.client.http import Admin, Http
from jrr.client.operator import Operator, new_invitations
from jrr.dealing.kinds import Dealers
from jrr.survey.contributor import find_label
from jrr.survey.creation import SurveyRequest
from jrr.survey.draft import one_question

Said = Callable[..., str]


@pytest.fixture
def said(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Said:
    """What a command prints."""
    monkeypatch.setenv("COLUMNS", "200")

    def do(*arguments: str, code: int = 0) -> str:
        assert run(list(arguments)) == code
        captured = capsys.readouterr()
        return captured.out + captured.err

    return do


def test_a_plan_does_not_say_that_answers_reach_nothing(said: Said) -> None:
    many = said("plan", "-n", "300", "-e", "1", "-k", "4", "--mechanism", "drr", "--details")
    assert "at most" in many
    assert "reach 0" not in many
    binary = said("plan", "-n", "300", "-e", "1", "--mechanism", "drr", "--details")
    assert re.search(r"some answers do reach 1\.\d+\.", binary)


def test_one_percentage_point(said: Said) -> None:
    for people in ("50", "200", "400"):
        text = said("plan", "-n", people, "-e", "1", "--mechanism", "rr")
        assert "1 percentage points" not in text.replace(".1 percentage points", "")


def test_columns_follow_what_is_known(said: Said) -> None:
    assert shown_frequencies(None) == (0.0, 0.01, 0.1, 0.25, 0.5)
    assert shown_frequencies(0.3) == (0.0, 0.01, 0.1, 0.25, 0.3, 0.5)
    assert shown_frequencies(0.1) == shown_frequencies(None)
    assert shown_frequencies((0.02, 0.06)) == (0.02, 0.04, 0.06)
    assert re.search(r" 25% ┃ +30% ┃ +50% ┃", said("plan", "-n", "200", "-f", "0.3", "--details"))
    rows = json.loads(said("plan", "-n", "200", "-f", "0.02:0.06", "--json"))["compare"]
    assert all(list(row["stderr"]) in (["0.02", "0.04", "0.06"], []) for row in rows)


def test_decimals_are_even(said: Said) -> None:
    text = said("plan", "-n", "400", "-e", "0.5", "--details")
    table = text[: text.index("What it costs")]
    errors, views = table.split("ε by view")
    assert len({len(number) for number in re.findall(r"(?<=\.)\d+(?= [│┃])", errors)}) == 1
    for column in range(5):
        rows = [line.split("│")[2 + column].strip() for line in views.splitlines() if "│" in line]
        decimals = {len(cell.partition(".")[2]) for cell in rows if cell != "unbounded"}
        assert len(decimals) == 1


def test_one_figure_of_a_view_bears_one_name(said: Said) -> None:
    survey = ("-n", "1000", "-e", "0.1", "--mechanism", "jrr")
    plan = json.loads(said("plan", *survey, "--json"))["everything"]
    rows = json.loads(said("plan", "explain", *survey, "--json"))["adversaries"]
    (row,) = [row for row in rows if row["view"] == "everything"]
    for name in ("epsilon", "sure_epsilon", "delta"):
        assert row[name] == plan[name]
    assert row["sure_epsilon"] > row["epsilon"]
    words = said("plan", "explain", *survey)
    shown = f"{row['epsilon']:.4g}"[:4]
    assert f"ε = {shown}" in words
    assert f"ε = {row['sure_epsilon']:.4g}"[:8] not in words


def test_tokens_that_are_missing_or_wrong_name_their_variable(
    said: Said, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("JRR_COLLECTOR_TOKEN", "JRR_DEALER_TOKEN", "JRR_PARTY_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    file = tmp_path / "survey.json"
    made = said(
        *("survey", "create", "--people", "300", "--question", "Q?", "-o", str(file)),
        *("--dealer", "https://dealer.example/", "--collector", "https://collector.example/"),
    )
    assert "https://collector.example/v1/surveys/" in made
    assert "answer: MRR" in made
    for command in ("open", "show", "close"):
        text = said("survey", command, str(file), code=2)
        for name in ("JRR_COLLECTOR_TOKEN", "JRR_DEALER_TOKEN", "JRR_PARTY_TOKEN"):
            assert name in text


def test_choices_by_number_or_text(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def asked(labels: tuple[str, ...], typed: str) -> str:
        monkeypatch.setattr(sys, "stdin", io.StringIO(typed))
        return ask_choice("Q", labels)

    assert asked(("No", "Yes"), "2\n") == "Yes"
    assert asked(("No", "Yes"), "yes\n") == "Yes"
    assert asked(("No", "Yes"), "3\n0\nmaybe\n NO \n") == "No"
    assert asked(("a", "A", "b"), "A\n") == "A"
    assert asked(("10", "2", "1"), "x\n2\n") == "2"  # a number is the label, not its place
    assert "  1  No\n  2  Yes\nQ (number or text)" in capsys.readouterr().out
    assert find_label(("ß", "ss"), "SS") is None  # it could be both


def test_a_ledger_that_is_not_there_is_empty(said: Said, tmp_path: Path) -> None:
    text = said("survey", "ledger", "--state", str(tmp_path))
    assert "0 answers in 0 surveys" in text
    facts = json.loads(said("survey", "ledger", "--state", str(tmp_path), "--json"))
    assert (facts["answers"], facts["everything"]) == (0, {"epsilon": 0.0, "delta": 1e-6})
    assert list(tmp_path.iterdir()) == []


def test_an_audit_says_that_plain_rr_was_planned(said: Said) -> None:
    few = (
        *("audit", "privacy", "-n", "10", "-M", "8", "-e", "1", "--mechanism", "drr", "--trials"),
        *("4000",),
    )
    text = said(*few, "--view", "everything", code=2)
    assert "which deals none" in text
    assert "--mechanism mrr, jrr or drr" in text
    plain = said(*few, "--seed", "1", "--workers", "1")
    assert "plain randomized response is audited" in plain
    full = said(
        *("audit", "privacy", "--view", "everything", "-n", "10", "-M", "1", "--mechanism", "drr"),
        *("--trials", "20000", "--seed", "1", "--workers", "1"),
    )
    assert "at δ = 0.001" in full


@pytest.mark.parametrize("view", ["report", "cards", "everything", "dealer", "rounds"])
def test_an_audit_takes_the_mechanism_that_is_planned_by_default(said: Said, view: str) -> None:
    facts = json.loads(
        said(
            *("audit", "privacy", "--view", view, "--trials", "2000", "--seed", "1", "--workers"),
            *("1", "--json"),
        )
    )
    assert facts["subject"].startswith("MRR")
    assert not facts["violates"]


def test_an_invitation_is_checked_before_anything_is_asked_or_sent(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    def never(*given: object) -> None:
        raise AssertionError("nobody must be asked, and no server")

    monkeypatch.setattr(Http, "call", never)
    monkeypatch.setattr("jrr.cli.survey.answer.ask_choice", never)
    (good,) = new_invitations(1)
    slips = [good[:-1], good[1:], good[:-1] + ("a" if good[-1] != "a" else "b"), "x"]
    link = f"https://c.example/v1/surveys/{'0' * 64}"
    for wrong in slips:
        base = ["survey", "answer", link, "--limit", "1", "--state", str(tmp_path)]
        assert run([*base, "--invitation", wrong]) == 2
        assert "invitation must" in capsys.readouterr().err


def test_options_of_a_single_question_are_refused_with_a_draft(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["survey", "create", "asked.toml", "--people", "9", "--collector", "https://c.example"]
    assert run([*words, "--by", "us", "--contact", "me"]) == 2
    assert "by must be left out: the draft says it (asked.toml)" in capsys.readouterr().err


def test_settings_stand_in_a_draft_or_on_the_command_line(
    said: Said, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    asked = '[[questions]]\nname = "a"\nkind = "yes-no"\ntext = "A?"\n'
    Path("asked.toml").write_text(f'title = "T"\n[survey]\nmin_cell = 7\nmin_batch = 3\n{asked}')
    create = (
        *("survey", "create", "asked.toml", "--people", "90", "--collector", "https://c.example"),
        *("--mechanism", "rr", "--force"),
    )
    said(*create, "--set", "min_batch=4")
    written = json.loads(Path("survey.json").read_text())
    assert (written["min_cell"], written["min_batch"]) == (7, 4)
    assert "did you mean 'min_cell'?" in said(*create, "--set", "min_sell=4", code=2)
    assert "min_cell must be" in said(*create, "--set", "min_cell=few", code=2)
    assert "as min_cell=5" in said(*create, "--set", "min_cell", code=2)


@pytest.mark.parametrize(
    ("alone", "settled", "dealers", "said"),
    [
        (
            False,
            False,
            1,
            "Written: asked. Give it to the dealer's operator, who runs: jrr survey close "
            "s.json --request asked --sums sums.json",
        ),
        (False, False, 3, "Written: asked.0 to asked.2. Give each dealer's operator"),
        (
            True,
            False,
            1,
            "Written: sums.json. Give it back to the collector's operator, who runs: jrr survey "
            "close s.json --sums sums.json",
        ),
        (True, False, 2, "with --sums for the file of each of the 2 dealers"),
        (False, True, 1, "Results are ready: jrr survey show s.json"),
    ],
)
def test_after_closing_it_is_said_what_was_written_for_whom(
    alone: bool, settled: bool, dealers: int, said: str
) -> None:
    urls = tuple(f"https://d{at}.example" for at in range(dealers))
    request = SurveyRequest(
        draft=one_question("Q?"),
        people=100,
        collector="https://c.example",
        dealing=Dealers(urls),
    )
    admin = Admin("https://c.example", "token")
    operator = Operator(request.survey(), {0: admin}, None if alone else admin)
    files = CarriedFiles(operator=operator, request=Path("asked"), sums=(Path("sums.json"),))
    assert said in files.next_words(Path("s.json"), settled, again=False)
    if not settled:  # a second announcement goes on with the same option
        assert "jrr survey close s.json --again --" in files.next_words(Path("s.json"), False, True)


def test_a_draft_is_not_taken_for_a_survey(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    draft = tmp_path / "draft.toml"
    draft.write_text("title = 'T'", "utf-8")
    assert run(["survey", "show", str(draft)]) == 2
    assert "file must be a survey's document that exists, not a draft" in capsys.readouterr().err
