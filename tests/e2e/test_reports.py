"""Reports and exports of surveys, from real servers."""

import asyncio
import csv
import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from jrr import OLH, OUE, RR, plan
from jrr.cli.app import run
from jrr.client.ending import Ending
from jrr.client.export import export_survey
from jrr.client.fleet import drive_all
from jrr.client.http import Admin
from jrr.client.operator import EstimateWish, Operator
from jrr.client.report import ReportWish, survey_report
from jrr.dealing.kinds import Nobody
from jrr.errors import ArgumentError, DamagedError, ProtocolError
from jrr.protocol.steps import Call, Reply, Steps, Wait
from jrr.reporting.numerals import Numerals
from jrr.reporting.report_facts import SurveyReport
from jrr.reporting.report_page import report_page
from jrr.survey.contributor import Receipt, contribute, fetch_hands
from jrr.survey.draft import one_question
from tests.e2e import LIMITS, Pair, answer_all, pretender, survey_of
from tests.e2e.test_several_questions import survey_at

BAD = "<script>alert(1)</script>"
DOCUMENT: dict[str, Any] = {
    "title": {"en": "Work", "de": "Arbeit"},
    "languages": ["en", "de"],
    "epsilon": 3.0,
    "ask": "all",
    "questions": [
        {
            "name": "sector",
            "kind": "choice",
            "text": {"en": "Where?", "de": "Wo?"},
            "labels": [{"en": "office", "de": "Büro"}, {"en": "shop", "de": "Laden"}],
            "sensitive": False,
        },
        {"name": "town", "kind": "yes-no", "text": "In town?", "sensitive": False},
        {"name": "drinks", "kind": "yes-no", "text": {"en": "Drink?", "de": "Trinken?"}},
        {"name": "pills", "kind": "several", "text": "Which?", "labels": ["red", BAD]},
        {
            "name": "days",
            "kind": "number",
            "text": "Days?",
            "low": 0,
            "high": 20,
            "only_if": {"sector": "shop"},
        },
    ],
}


def answers_of(number: int) -> dict[str, Any]:
    shop = number % 3 == 0
    answers: dict[str, Any] = {
        "sector": "shop" if shop else "office",
        "town": "yes" if number % 2 else "no",
        "drinks": "yes" if number % 5 == 0 else "no",
        "pills": [BAD] if number % 4 == 0 else [],
    }
    return answers | ({"days": 5.0} if shop else {})


def without_cards(steps: Steps[Receipt], dealer: str) -> Steps[Receipt]:
    """The same conversation of somebody who cannot reach the dealer."""
    reply: Reply | None = None
    while True:
        try:
            step = steps.send(reply)
        except StopIteration as finished:
            receipt: Receipt = finished.value
            return receipt
        if isinstance(step, Call) and step.address.startswith(dealer):
            reply = Reply(0)
        else:
            reply = None if isinstance(step, Wait) else (yield step)


@pytest.fixture(scope="module")
def ended(sqlite_pair: Pair) -> Any:
    """A survey of 120 invited: 90 answered, 6 of them without a card, 4 cards were lost."""
    survey = survey_at(sqlite_pair, 120, DOCUMENT)
    operator, secrets = sqlite_pair.begin(survey, 120)
    steps = [
        contribute(survey, secret, answers_of(at), LIMITS) for at, secret in enumerate(secrets[:90])
    ]
    steps[84:] = [without_cards(one, sqlite_pair.dealer.url) for one in steps[84:]]
    assert all(not isinstance(one, Exception) for one in asyncio.run(drive_all(steps)))
    asyncio.run(drive_all([fetch_hands(survey, secret, 5.0) for secret in secrets[90:94]]))
    operator.close(Ending(by="sector"))
    return operator


@pytest.fixture(scope="module")
def in_german(ended: Any) -> SurveyReport:
    return survey_report(ended, ReportWish(language="de"))


def test_the_report_of_a_survey_has_its_facts(ended: Any) -> None:
    report = survey_report(ended, ReportWish(level=0.9))
    people = report.participation
    assert (people.invited, people.answered, people.dealt, people.lost) == (120, 90, 88, 4)
    assert (people.carded, people.cardless) == (84, 6)
    assert report.final
    assert report.language == "en"
    found = ended.estimates(EstimateWish(level=0.9))
    questions = {one.name: one for one in report.questions}
    assert list(questions) == ["drinks", "pills", "days"]
    drinks = found["drinks"]["estimate"]
    assert [one.value for one in questions["drinks"].answers] == drinks["frequencies"]
    assert [[one.low, one.high] for one in questions["drinks"].answers] == drinks["interval"]
    assert [one.label for one in questions["pills"].answers] == ["red", BAD]
    shares = [found[f"pills.{at}"]["estimate"]["frequencies"][1] for at in (1, 2)]
    assert [one.value for one in questions["pills"].answers] == shares
    assert questions["days"].answers[0].value == found["days"]["mean"]["mean"]
    assert questions["days"].n == 30
    assert questions["days"].asked_if == "“Where?” with “shop”"
    survey = ended.survey
    assert report.epsilons["everything"] == survey.guarantee("everything")
    assert questions["pills"].perturbation.epsilons["dealer"] == survey.loss(
        "dealer", [survey.by_name["pills.1"], survey.by_name["pills.2"]]
    )


def test_groups_are_those_that_the_collector_shows(ended: Any, in_german: SurveyReport) -> None:
    sector, town = in_german.groupings
    assert (sector.text, sector.reason) == ("Wo?", None)
    by_question = {one.question: one for one in sector.questions}
    assert [group.label for group in by_question["drinks"].groups] == ["Büro", "Laden"]
    assert [group.n for group in by_question["drinks"].groups] == [60, 30]
    documents = [
        ended.estimates(EstimateWish(by="sector"))[f"pills.{at}"]["groups"] for at in (1, 2)
    ]
    wanted = [one["frequencies"][1] for (one, _) in documents]
    assert [one.value for one in by_question["pills"].groups[0].answers] == wanted
    assert "days" not in by_question  # asked of one group only, which is everybody
    # Sums were announced by sector: whether a collector may show others is its own decision.
    assert not town.questions
    assert "sum of the cards of each group" in str(town.reason)
    assert ended.survey.collector not in str(town.reason)


def test_the_page_shows_a_bad_label_as_text(in_german: SurveyReport) -> None:
    page = report_page(in_german)
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "<script" not in page
    assert "<h1>Arbeit</h1>" in page
    assert "<h3>Trinken?</h3>" in page
    assert '<th scope="row">nein</th>' in page


@pytest.fixture
def as_operator(sqlite_pair: Pair, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("JRR_DEALER_TOKEN", sqlite_pair.dealer.token)
    monkeypatch.setenv("JRR_COLLECTOR_TOKEN", sqlite_pair.collector.token)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_report_and_export_from_the_command_line(
    ended: Any, as_operator: Path, capsys: Any
) -> None:
    Path("survey.json").write_bytes(ended.survey.to_bytes())
    report = ["survey", "report", "survey.json"]
    assert run([*report, "-o", "report.html", "--language", "de", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["language"] == "de"
    assert facts["participation"]["lost"] == 4
    assert 'lang="de"' in Path("report.html").read_text("utf-8")
    wide = ["--level", "0.99", "--simultaneous", "--population", "sample"]
    assert run([*report, *wide, "-o", "report.html", "--force"]) == 0
    page = Path("report.html").read_text("utf-8")
    assert "All intervals hold at once with a chance of 99%, for the population" in page
    assert "drawing the respondents at random" in page
    capsys.readouterr()
    refused = {
        "does not exist yet": ["-o", "report.html"],
        "ends in .html": ["-o", "report.pdf"],
        "out must be given": [],
        "language must be one of 'en', 'de', 'fr'": ["-o", "other.html", "--language", "it"],
        "level must be": ["-o", "other.html", "--level", "2"],
    }
    for words, options in refused.items():
        assert run([*report, *options]) == 2
        assert words in capsys.readouterr().err
    assert not Path("other.html").exists()
    assert run(["survey", "export", "survey.json", "-o", "answers.csv", "--json"]) == 0
    written = json.loads(capsys.readouterr().out)
    assert written["r"] == "answers.csv.R"
    rows = list(csv.DictReader(Path("answers.csv").read_text("utf-8").splitlines()))
    book = list(csv.DictReader(Path("answers.csv.codebook.csv").read_text("utf-8").splitlines()))
    assert [row["column"] for row in book] == list(rows[0])
    assert len(rows) == 90
    assert run(["survey", "export", "survey.json", "-o", "answers.csv"]) == 2
    assert run(["survey", "export", "survey.json", "-o", "answers.csv", "--force"]) == 0
    assert "Estimates in R: answers.csv.R" in capsys.readouterr().out


def test_without_the_dealer_lost_cards_are_not_known(
    ended: Any, as_operator: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.delenv("JRR_DEALER_TOKEN")
    Path("survey.json").write_bytes(ended.survey.to_bytes())
    assert run(["survey", "report", "survey.json", "--json"]) == 0
    people = json.loads(capsys.readouterr().out)["participation"]
    assert people["dealt"] is people["lost"] is None
    assert people["carded"] == 84
    monkeypatch.setenv("JRR_DEALER_TOKEN", "x")
    monkeypatch.delenv("JRR_COLLECTOR_TOKEN")
    assert run(["survey", "report", "survey.json", "--json"]) == 2
    assert "JRR_COLLECTOR_TOKEN" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("Rscript") is None, reason="no R: apt-get install r-base-core")
def test_r_reads_the_export(ended: Any, tmp_path: Path) -> None:
    export_survey(ended, tmp_path / "answers.csv")
    command = 'source("answers.csv.R"); write.csv(results, "out.csv", row.names = FALSE)'
    subprocess.run(["Rscript", "--vanilla", "-e", command], cwd=tmp_path, check=True, timeout=600)
    rows = list(csv.DictReader((tmp_path / "out.csv").read_text("utf-8").splitlines()))
    found = ended.estimates()
    for part in ("drinks", "pills.1", "pills.2"):
        mine = [row for row in rows if row["question"] == part]
        for name, column in (("frequencies", "estimate"), ("stderr", "stderr")):
            wanted = found[part]["estimate"][name]
            assert [float(row[column]) for row in mine] == pytest.approx(wanted, rel=1e-9)
    (days,) = [row for row in rows if row["question"] == "days"]
    assert float(days["estimate"]) == pytest.approx(found["days"]["mean"]["mean"])
    assert float(days["stderr"]) == pytest.approx(found["days"]["mean"]["stderr"])


@pytest.mark.parametrize(
    ("dealt", "reason"),
    [(True, "until the dealers announce their sums"), (False, "2 answers are too few")],
    ids=["cards", "no cards"],
)
def test_a_survey_that_is_open_says_why_there_is_no_result(
    sqlite_pair: Pair, dealt: bool, reason: str
) -> None:
    more: dict[str, Any] = {} if dealt else {"dealing": Nobody(), "mechanism": "rr"}
    survey = survey_at(sqlite_pair, 20, DOCUMENT, **more)
    operator, secrets = sqlite_pair.begin(survey, 20)
    steps = [contribute(survey, one, answers_of(0), LIMITS) for one in secrets[:2]]
    asyncio.run(drive_all(steps))
    report = survey_report(operator, ReportWish())
    assert not report.final
    assert report.questions[0].n is None
    assert reason in str(report.questions[0].reason)
    assert report.participation.answered == 2
    page = report_page(report)
    assert "the survey is not closed" in page


def test_too_few_answers_are_told_once_and_the_report_does_not_say_that_nobody_answered(
    sqlite_pair: Pair,
) -> None:
    survey = survey_at(sqlite_pair, 20, DOCUMENT)
    operator, secrets = sqlite_pair.begin(survey, 20)
    steps = [contribute(survey, one, answers_of(0), LIMITS) for one in secrets[:2]]
    asyncio.run(drive_all(steps))
    with pytest.raises(ProtocolError) as refused:
        operator.close()
    assert str(refused.value).count("--discard-small") == 1
    assert {facts["state"] for facts in operator.show().values()} == {"open"}  # others may answer
    closed = operator.close(Ending(discard_small=True))
    assert closed["collector"]["discarded"] == 2
    report = survey_report(operator, ReportWish())
    deleted = [one for one in report.questions if "deleted at the end" in str(one.reason)]
    assert deleted
    assert not any("nobody answered" in str(one.reason) for one in report.questions)


def test_the_report_of_a_single_question_with_groups(sqlite_pair: Pair, as_operator: Path) -> None:
    draft = one_question(
        f"Which {BAD}?", labels=("a", BAD, "c"), groups={"region": ("north", "south", "sea")}
    )
    survey = survey_at(sqlite_pair, 60, draft, dealing=Nobody(), mechanism="rr", epsilon=2.0)
    operator, secrets = sqlite_pair.begin(survey, 60)
    places = [{"region": "sea" if at < 2 else "south" if at % 2 else "north"} for at in range(60)]
    answer_all(survey, secrets, groups=places)
    report = survey_report(operator, ReportWish())
    assert not report.final
    assert report.participation.answered == 60
    assert [one.label for one in report.questions[0].answers] == ["a", BAD, "c"]
    (region,) = report.groupings
    assert [(group.label, group.n) for group in region.questions[0].groups] == [
        ("north", 29),
        ("south", 29),
    ]
    assert region.questions[0].hidden == 1
    operator.close()
    Path("survey.json").write_bytes(survey.to_bytes())
    assert run(["survey", "report", "survey.json", "-o", "r.html"]) == 0
    page = Path("r.html").read_text("utf-8")
    assert "<script" not in page
    assert "Final result." in page
    assert "Groups with fewer than 5 answers, not shown: 1." in page
    assert "whatever else they know" in page


def test_the_report_of_a_number(sqlite_pair: Pair) -> None:
    survey = sqlite_pair.survey(RR(epsilon=3.0), number=(0.0, 50.0), invitations=False)
    operator, secrets = sqlite_pair.begin(survey, 40)
    answer_all(survey, secrets, [50.0 * (at % 2) for at in range(40)])
    report = survey_report(operator, ReportWish())
    mean = operator.estimate("answer")["mean"]
    assert [one.value for one in report.questions[0].answers] == [mean["mean"]]
    assert report.questions[0].ends == (0.0, 50.0)
    assert report.participation.invited is None
    page = report_page(report)
    assert "possible are 0 to 50" in page
    assert "anybody could answer" in page


@pytest.mark.parametrize("mechanism", [OUE, OLH], ids=["bits", "hashes"])
def test_every_kind_of_report_can_be_exported(
    sqlite_pair: Pair, mechanism: Any, tmp_path: Path
) -> None:
    asked = [{"name": "a", "kind": "scale", "text": "A?", "high": 12}]
    document = {"title": "T", "epsilon": 2.0, "questions": asked}
    survey = survey_at(
        sqlite_pair, 30, document, dealing=Nobody(), mechanism=mechanism.name.lower(), min_cell=2
    )
    assert survey.mechanisms["a"].name == mechanism.name
    operator, secrets = sqlite_pair.begin(survey, 30)
    steps = [contribute(survey, one, {"a": 3}, LIMITS) for one in secrets[:6]]
    asyncio.run(drive_all(steps))
    operator.close()
    for name in ("answers.csv", "answers.parquet"):
        export_survey(operator, tmp_path / name)
    script = (tmp_path / "answers.csv.R").read_text()
    assert ("a is left out: this script cannot read" in script) == (mechanism is OLH)
    rows = list(csv.DictReader((tmp_path / "answers.csv").read_text().splitlines()))
    assert len(rows) == 6
    reports = [row["a"].split(" ") for row in rows]
    assert all(len(one) == (2 if mechanism is OLH else 1) for one in reports)


@pytest.mark.parametrize(
    "reply",
    [
        {},
        {"answer": {}},
        {"answer": {"estimate": {"n": 9}}},
        {"answer": {"estimate": 3}},
        {"answer": {"frequencies": []}},
    ],
    ids=["nothing", "empty", "half", "other", "lost"],
)
def test_a_collector_that_replies_with_something_else(reply: Any) -> None:
    def say(method: str, path: str, body: bytes) -> bytes:
        shown = {"state": "open", "invited": 9, "reports": 9}
        document = json.dumps(reply if "/estimate" in path else shown).encode()
        head = f"HTTP/1.1 200 OK\r\nContent-Length: {len(document)}\r\nConnection: close\r\n\r\n"
        return head.encode() + document

    with pretender(say) as url:
        survey = survey_of(RR(epsilon=1.0), "http://127.0.0.1:8", url)
        operator = Operator(survey, {}, Admin(url, "token"))
        with pytest.raises(DamagedError, match="must reply with an estimate"):
            survey_report(operator, ReportWish())


def test_reports_are_made_by_whoever_has_the_collectors_token(sqlite_pair: Pair) -> None:
    survey = sqlite_pair.survey(RR(epsilon=1.0))
    operator = Operator(survey, {0: Admin(sqlite_pair.dealer.url, "x")}, None)
    with pytest.raises(ArgumentError, match="JRR_COLLECTOR_TOKEN"):
        survey_report(operator, ReportWish())


def test_a_loss_that_holds_at_a_delta_says_so(sqlite_pair: Pair) -> None:
    mechanism = plan(40, 1.0, mechanism="drr", dealer_epsilon=3.0).mechanism
    survey = sqlite_pair.survey(mechanism, colluders=2)
    operator, secrets = sqlite_pair.begin(survey, 40)
    answer_all(survey, secrets[:30])
    operator.close()
    report = survey_report(operator, ReportWish())
    people = report.participation
    assert (people.invited, people.answered, people.dealt, people.lost) == (40, 30, 30, 0)
    assert report.deltas["everything"] == survey.delta > 0
    page = report_page(report)
    shown = Numerals("en").loss(survey.guarantee("everything"), survey.delta)
    assert f"{shown} to a collector who has all reports" in page
    assert "to somebody who also has the cards of 2 other people" in page
