"""Messages of commands: understandable, shown in time, and with what to do next."""

import io
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from jrr import DRR, RR
from jrr.cli.app import run
from jrr.client.contributor import Contributor
from jrr.client.operator import Operator, new_invitations
from jrr.dealing.kinds import Dealers
from jrr.errors import JrrError, ProtocolError, UnreachableError
from jrr.research.processes import free_port
from jrr.servers.common.certificates import make_certificate
from jrr.survey import contributor
from jrr.survey.survey import Survey
from tests.e2e import Pair, answer_all, enrol_all, survey_of

MECHANISM = DRR(20, truth=0.5, own=0.1)
Said = Callable[..., str]


def unseen(prompt: str) -> str:
    """What is typed without being shown."""
    sys.stdout.write(f"{prompt}\n")
    return sys.stdin.readline().rstrip("\n")


class Terminal(io.StringIO):
    """Somebody who types."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def said(
    sqlite_pair: Pair,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> Said:
    """Run a command here, with both tokens; what it says, in one line."""
    monkeypatch.chdir(tmp_path)
    for name in os.environ:
        if name.startswith("JRR_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("JRR_DEALER_TOKEN", sqlite_pair.dealer.token)
    monkeypatch.setenv("JRR_COLLECTOR_TOKEN", sqlite_pair.collector.token)

    def do(*arguments: object, code: int = 0, typed: str | None = None) -> str:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sys, "stdin", io.StringIO() if typed is None else Terminal(typed))
            patch.setattr("click.termui.hidden_prompt_func", unseen)
            assert run([str(argument) for argument in arguments]) == code
        captured = capsys.readouterr()
        if code:
            assert captured.err.count("\n") <= 1
        return " ".join((captured.out + captured.err).split())

    return do


def kept(survey: Survey) -> Path:
    """The document as a file."""
    file = Path("survey.json")
    file.write_bytes(survey.to_bytes())
    return file


def enrolling(pair: Pair) -> Dealers:
    """Cards for exactly those who enrol."""
    return Dealers((pair.dealer.url,), enrol_first=True)


# -- creating ------------------------------------------------------------------------------


def created(*more: object) -> list[object]:
    return [
        *("survey", "create", "--set", "colluders=2", "-e", 1, "--question", "Q?", "--enrol"),
        *("--dealer", "http://127.0.0.1:8000", "--collector", "http://127.0.0.1:8001", *more),
    ]


def test_why_there_are_no_cards_and_for_whom_there_would_be(said: Said) -> None:
    refused = said(*created("--people", 12, "--mechanism", "drr"), code=2)
    assert "nothing with cards is more accurate than RR (k 2, p 0.7311) for 11 people" in refused
    assert "enrolment of 12 or more is planned for 11" in refused
    assert refused.endswith("with 13 people there would be cards")
    assert "DRR (n 13" in said(*created("--people", 13, "--mechanism", "drr"))


def test_what_has_no_cards_needs_nobody_to_deal_them(said: Said) -> None:
    refused = said(*created("--people", 1000, "--mechanism", "rr"), code=2)
    assert "mechanism must be one with cards" in refused
    refused = said(*created("--people", 1000, "--set", "dealer_epsilon=1"), code=2)
    assert "who deals must be left out" in refused
    assert "there would be cards" not in refused


def test_a_survey_must_not_be_over_before_it_begins(said: Said, tmp_path: Path) -> None:
    base = created("--people", 50, "--set")
    assert "closes must be a time in the future" in said(
        *base, "closes=2020-01-01T00:00:00Z", code=2
    )
    assert list(tmp_path.iterdir()) == []
    said(*base, "closes=2999-01-01T00:00:00Z")


def test_files_that_are_not_there_are_named(said: Said) -> None:
    refused = said(*created("--people", 50, "--set", "consent_file=nope.txt"), code=2)
    assert "consent_file must be readable" in refused
    assert "'nope.txt'" in refused
    file = kept(survey_of(RR(2, 1.0), "", "https://c"))
    refused = said("survey", "show", file, "--ca", "nope.pem", code=2)
    assert "ca must be a file of certificates in PEM, got ca='nope.pem'" in refused


def test_too_few_parties_are_counted(said: Said, tmp_path: Path) -> None:
    public, _ = make_certificate(tmp_path / "party")
    party = ("--party", f"https://a.example,a.example:7000,{public}")
    base = ("survey", "create", "--people", 50, "--question", "Q?", "--collector", "https://c")
    refused = said(*base, *party, code=2)
    assert "parties must be 3 to 16, got 1" in refused


# -- operating -----------------------------------------------------------------------------


def test_a_survey_in_words(sqlite_pair: Pair, said: Said) -> None:
    survey = sqlite_pair.survey(MECHANISM, groups={"region": ("north", "south")})
    file = kept(survey)
    opened = said("survey", "open", file)
    assert opened.endswith(f"{survey.hash}: Do you? dealer: open collector: open")
    operator, people = sqlite_pair.begin(survey, 10)
    shown = said("survey", "show", file)
    assert "dealer: open, 10 invited, 0 people have cards collector: open, 10 invited" in shown
    few = "no result: fewer than 5 reports are not shown before the end"
    assert "answer: Do you? 0 reports, no result: no report has been received" in shown
    everywhere = [{"region": "north"}] * 5 + [{"region": "south"}]
    answer_all(survey, people[:4], groups=everywhere)
    shown = said("survey", "show", file)
    assert f"4 reports, {few}" in shown
    assert "%" not in shown
    found = json.loads(said("survey", "show", file, "--json"))
    assert found["collector"]["reports"] == 4
    assert found["estimates"]["answer"] == {
        "too_few": "fewer than 5 reports are not shown before the end",
        "reports": 4,
    }
    answer_all(survey, people[4:6], groups=everywhere[4:])
    shown = said("survey", "show", file, "--by", "region")
    assert "everybody, answer 0:" in shown
    assert "north, answer 0:" in shown
    assert "south, answer 0:" not in shown
    assert "1 group is too small to be shown." in shown
    assert "by must be one of 'region'" in said("survey", "show", file, "--by", "age", code=2)
    for name in ("reports.csv", "reports.parquet"):
        exported = said("survey", "export", file, "-o", name)
        assert exported == (
            f"Answers: {name} What the columns are: {name}.codebook.csv and {name}.codebook.json "
            f"Estimates in R: {name}.R"
        )
    closed = said("survey", "close", file)
    assert closed.endswith("collector: closed, 6 people answered dealer: closed, 1 deck")
    assert operator.show()["dealer"]["state"] == "closed"


def test_a_closed_survey_shows_what_there_is(sqlite_pair: Pair, said: Said) -> None:
    survey = sqlite_pair.survey(MECHANISM)
    operator, people = sqlite_pair.begin(survey, 2)
    answer_all(survey, people[:1])
    file = kept(survey)
    assert "1 report, no result: fewer than 5" in said("survey", "show", file)
    operator.close()
    shown = said("survey", "show", file)
    assert "final)" in shown
    assert "is no mistake" in shown  # one report: a share is far from 0 to 100%


@pytest.mark.parametrize(
    ("times", "words"),
    [
        ({"opens": "2999-01-01T00:00:00Z"}, "open, from 2999-01-01T00:00:00Z"),
        ({"closes": "2020-01-01T00:00:00Z"}, "over since 2020-01-01T00:00:00Z"),
        ({"opens": "2020-01-01T00:00:00Z", "closes": "2999-01-01T00:00:00Z"}, "open"),
    ],
    ids=str,
)
def test_open_is_said_by_the_clock(
    sqlite_pair: Pair, said: Said, times: dict[str, str], words: str
) -> None:
    survey = sqlite_pair.survey(MECHANISM, **times)
    file = kept(survey)
    opened = said("survey", "open", file)
    assert opened.endswith(f"dealer: {words} collector: {words}")
    assert f"dealer: {words}, 0 invited" in said("survey", "show", file)
    found = json.loads(said("survey", "open", file, "--json"))
    assert (found["dealer"], found["collector"]) == ("open", "open")


def test_too_few_enrolled(sqlite_pair: Pair, said: Said) -> None:
    survey = sqlite_pair.survey(
        DRR(13, truth=0.4, own=0.1), dealing=enrolling(sqlite_pair), capacity=60
    )
    _, people = sqlite_pair.begin(survey, 13)
    file = kept(survey)
    enrol_all(survey, people[:4])
    refused = said("survey", "deal", file, code=ProtocolError.exit_code)
    assert "4 have enrolled, at least 13 are needed" in refused
    enrol_all(survey, people)
    assert said("survey", "deal", file) == "Dealt to 13 people."
    assert "13 people dealt to" in said("survey", "show", file)


def test_closing_is_asked_for_on_a_terminal_only(sqlite_pair: Pair, said: Said) -> None:
    survey = sqlite_pair.survey(MECHANISM)
    operator, _ = sqlite_pair.begin(survey, 2)
    close = ("survey", "close", kept(survey))
    for typed in ("n\n", "\n"):
        assert "Nothing was closed." in said(*close, typed=typed, code=1)
    assert operator.show()["dealer"]["state"] == "open"
    asked = "Close “Do you?” for good? 0 people have answered; 2 invited. Nothing opens it again."
    assert asked in said(*close, typed="y\n")
    assert operator.show()["collector"]["state"] == "closed"
    for more in (["--yes"], ["--json"]):
        assert "for good?" not in said(*close, *more, typed="n\n")
    assert "for good?" not in said(*close)  # a script


def test_closing_half_says_which_half(sqlite_pair: Pair, said: Said) -> None:
    dead = f"http://127.0.0.1:{free_port()}"
    survey = sqlite_pair.survey(MECHANISM, dealing=Dealers((dead,)))
    at_collector = sqlite_pair.collector.admin
    at_collector.put(f"/v1/admin/surveys/{survey.hash}", survey.to_bytes())
    refused = said("survey", "close", kept(survey), code=UnreachableError.exit_code)
    assert f"{dead} must answer, but cannot be reached" in refused
    assert "not closed: dealer, collector; nothing was closed" in refused
    # The collector waits: it must be told from how many decks was dealt.
    assert at_collector.get(f"/v1/admin/surveys/{survey.hash}")["state"] == "new"


# -- inviting ------------------------------------------------------------------------------


def test_no_invitations_where_they_would_not_be_taken(
    sqlite_pair: Pair, said: Said, tmp_path: Path
) -> None:
    survey = sqlite_pair.survey(MECHANISM)
    operator, _ = sqlite_pair.begin(survey, 15)
    invite = ("survey", "invite", kept(survey), "-o", "more.csv", "--count")
    refused = said(*invite, 6, code=2)
    assert "count must be at most 5, what is left of the capacity 20" in refused
    operator.close()
    assert "the survey is closed" in said(*invite, 5, code=ProtocolError.exit_code)
    anybody = sqlite_pair.survey(MECHANISM, invitations=False)
    refused = said("survey", "invite", kept(anybody), "--count", 5, code=ProtocolError.exit_code)
    assert "anybody may answer" in refused
    assert [path.name for path in tmp_path.iterdir()] == ["survey.json"]


def test_a_hint_that_can_be_followed(
    sqlite_pair: Pair, said: Said, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def fails(*_: Any) -> None:
        raise UnreachableError("the network broke")

    survey = sqlite_pair.survey(MECHANISM)
    kept(survey).rename("my survey.json")
    with monkeypatch.context() as patch:
        patch.setattr(Operator, "invite", fails)
        refused = said(
            *("survey", "invite", "my survey.json", "--count", 3, "-o", "a.csv"),
            code=UnreachableError.exit_code,
        )
    hint = "jrr survey invite 'my survey.json' --from a.csv"
    assert refused.endswith(f"the network broke; a.csv is kept: when that is mended, {hint}")
    assert (
        said("survey", "invite", "my survey.json", "--from", "a.csv")
        == "invitations: 3, file: a.csv"
    )


# -- contributing --------------------------------------------------------------------------


def test_groups_are_asked_for_before_the_answer(
    sqlite_pair: Pair, said: Said, tmp_path: Path
) -> None:
    survey = sqlite_pair.survey(MECHANISM, groups={"region": ("north", "far south")})
    operator = sqlite_pair.operator(survey)
    operator.install()
    (invitation,) = new_invitations(1)
    operator.invite([invitation])
    operator.open()
    base = (
        *("survey", "answer", survey.link, "--invitation", invitation, "--limit", 9),
        *("--state", tmp_path / "state"),
    )
    refused = said(*base, code=2)  # nobody is there to be asked
    assert "the answer to 'region' must be given" in refused
    assert "region=ANSWER" in refused
    for wrong, words in (
        ("region", "as NAME=ANSWER, with the name of an open question (region)"),
        ("age=9", "with the name of an open question (region)"),
        ("region=west", "'region' must be one of 'north', 'far south', got another"),
        ("answer=answer 1", "the answer to 'answer' must not stand on the command line"),
    ):
        assert words in said(*base, wrong, typed="answer 1\n", code=2)
    disagreed = said(*base, "region=north", typed="n\n", code=ProtocolError.exit_code)
    assert "you did not agree to take part: nothing was sent" in disagreed
    assert "Your answer" not in disagreed
    assert list((tmp_path / "state").glob("*.upload")) == []
    # Consent, the group by its number, a slip, then the answer in capitals.
    done = said(*base, typed="y\n2\nmaybe so\nANSWER 1\n")
    agreed, asked = done.index("Do you agree"), done.index("1/2 region (sent as it is)")
    assert done.index("Do you?") < agreed < asked
    assert asked < done.index("2/2 Do you? (changed here before it is sent)")
    assert "You have spent ε = 0 at δ = 1e-06 in 0 answers; with this survey it will be" in done
    assert "1 answer 0 2 answer 1 Your answer (number or text, not shown)" in done
    assert "That is none of them. Please try again." in done
    assert "maybe so" not in done  # not even a slip is left on the screen
    assert done.endswith("Received (answered with cards). Thank you.")
    stored = sqlite_pair.rows("collector", "SELECT covariates FROM people")
    assert ('{"region":"far south"}',) in stored
    # Again, with another answer: nobody is asked, and nothing changes.
    again = said(*base, "region=north", typed="answer 0\n")
    assert again == (
        "Your earlier answers stand (answered with cards) and were received: nothing new was "
        "asked or sent."
    )
    assert operator.show()["collector"]["reports"] == 1


def test_answers_that_waited_are_sent_without_asking(
    sqlite_pair: Pair, said: Said, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    survey = sqlite_pair.survey(MECHANISM)
    operator = sqlite_pair.operator(survey)
    operator.install()
    (invitation,) = new_invitations(1)
    operator.invite([invitation])
    operator.open()
    state = tmp_path / "state"

    def unplugged(*_: Any) -> Any:
        raise JrrError("unplugged")
        yield

    with monkeypatch.context() as patch:
        patch.setattr(contributor, "send", unplugged)
        me = Contributor(survey.link, invitation, limit=9.0, state=state)
        with pytest.raises(JrrError, match="unplugged"):
            me.answer(1)
    base = ("survey", "answer", survey.link, "--invitation", invitation, "--limit", 9)
    found = said(*base, "--state", state, typed="answer 0\n")
    assert found == (
        "Your earlier answers (answered with cards) are received now; nothing new was asked."
    )


def test_whoever_comes_before_the_deal_is_told_what_to_do(
    sqlite_pair: Pair, said: Said, tmp_path: Path
) -> None:
    survey = sqlite_pair.survey(
        DRR(5, truth=0.4, own=0.1), dealing=enrolling(sqlite_pair), capacity=60
    )
    operator = sqlite_pair.operator(survey)
    operator.install()
    (invitation,) = new_invitations(1)
    operator.invite([invitation])
    operator.open()
    base = ("survey", "answer", survey.link, "--invitation", invitation, "--limit", 9)
    refused = said(
        *base, "--state", tmp_path / "state", typed="answer 1\n", code=ProtocolError.exit_code
    )
    assert "enrol first (jrr survey enrol)" in refused
    assert "come again when the cards are dealt" in refused
    assert "Do you?" not in refused  # nobody was asked


# -- other commands ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            ["audit", "privacy", "--view", "dealer", "--no-dealer-cap", "--mechanism", "drr"],
            "view dealer must have a bound to refute",
        ),
        (
            ["study", "simulate", "--question", "HIV", "-n", "50"],
            "-n must be left out with --question",
        ),
        (["study", "simulate", "--question", "HIV", "--yes", "0.1"], "--yes must be left out"),
        (
            ["study", "simulate", "--question", "HIV", "--counts", "1,2"],
            "--counts must be left out",
        ),
        (["study", "simulate", "--runs", "0"], "runs must be"),
        (["file", "keys", "."], "no directory, got name='.'"),
        (["file", "keys", ""], "no directory"),
        (["file", "keys", "folder"], "no directory, got name='folder'"),
        (["serve", "certificate", "."], "no directory"),
        (
            ["file", "perturb", "x", "--column", "a", "--labels-file", "no"],
            "labels_file must be readable",
        ),
    ],
    ids=str,
)
def test_refusals(arguments: list[str], words: str, said: Said, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    assert words in said(*arguments, code=2)
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


def test_a_cap_or_a_claim_makes_a_bound_to_refute(said: Said) -> None:
    audit = ("audit", "privacy", "--view", "dealer", "--trials", 4000, "--seed", 1)
    assert "no violation found" in said(*audit)
    assert "no violation found" in said(*audit, "--no-dealer-cap", "--claimed", 50)


def test_simulating_in_parts_is_simulating(said: Said, monkeypatch: pytest.MonkeyPatch) -> None:
    from jrr.research import simulated_surveys

    command = ("study", "simulate", "-n", 1000, "--runs", 4001, "--seed", 3, "--json")
    whole = json.loads(said(*command))
    monkeypatch.setattr(simulated_surveys, "CELLS", 1_000)
    parts = json.loads(said(*command))
    assert parts["runs"] == 4001
    for name in ("stderr_simulated", "stderr_theory"):
        assert parts[name] == pytest.approx(whole[name], rel=0.06)
    assert parts["mean"] == pytest.approx(0.1, abs=5 * whole["stderr_theory"] / 4001**0.5)


@pytest.mark.parametrize(
    ("arguments", "goes_on"),
    [
        (["survey", "answer", "link", "--limit", "1"], True),
        (["survey", "close", "c.json"], True),
        (["survey", "deal", "c.json"], True),
        (["study", "reproduce"], True),
        (["survey", "create"], False),
        (["survey", "deal-in-group"], False),
        (["study", "simulate", "--runs", "10"], False),
        (["file", "deal", "-n", "10"], False),
        (["audit", "privacy"], False),
        (["demo"], False),
    ],
    ids=str,
)
def test_only_what_goes_on_says_so(
    arguments: list[str],
    goes_on: bool,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from jrr.cli import app

    def interrupted(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(app.cli, "main", interrupted)
    assert run(arguments) == 130
    err = capsys.readouterr().err
    assert err.startswith("jrr: error: interrupted; nothing is half-written")
    assert ("the same command goes on" in err) is goes_on


@pytest.mark.slow
def test_a_long_simulation_stops_when_asked() -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "jrr.cli", "study", "simulate", "-k", "200", "--runs", "10000000"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    time.sleep(6)  # it simulates by now
    assert process.poll() is None, process.communicate()
    process.send_signal(signal.SIGINT)
    began = time.monotonic()
    _, err = process.communicate(timeout=600)
    assert process.returncode == 130
    assert time.monotonic() - began < 60
    assert err.strip() == "jrr: error: interrupted; nothing is half-written"
