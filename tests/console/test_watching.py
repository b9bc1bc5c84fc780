"""What the pages of a survey show is what the library says; and how a survey ends there."""

import json

import pytest
from markupsafe import escape

from jrr.client.ending import Ending, dealer_sums
from jrr.client.operator import Operator
from jrr.client.report import ReportWish, survey_report
from jrr.console.snapshots import Counts, Snapshot, facts_of
from jrr.dealing.kinds import Nobody
from jrr.protocol.states import OPEN
from jrr.reporting.numerals import Numerals, share_decimals
from jrr.reporting.report_facts import Participation, ReportedQuestion
from jrr.reporting.report_page import results_section
from jrr.reporting.report_words import limits_in_words
from tests.console import WORK, Servers, Visitor, answer_work


def shares(question: ReportedQuestion) -> list[str]:
    """The figures of a question, as people read them."""
    least = min(one.stderr for one in question.answers if one.stderr > 0)
    places = share_decimals(least)
    numerals = Numerals("en")
    return [numerals.percent(one.value, places) for one in question.answers]


def test_figures_of_one_page_agree_though_the_dealer_was_asked_earlier(servers: Servers) -> None:
    survey = servers.survey()
    before = Participation(answered=71, invited=120, dealt=74, carded=70, cardless=1)
    report = None  # not looked at
    latest = Snapshot(counts=Counts(state=OPEN, answered=71), report=report, people=before)  # type: ignore[arg-type]
    for answered, began, out in ((71, "74", "4"), (72, "74", "3"), (105, "104", "0")):
        facts = facts_of(survey, Counts(state=OPEN, answered=answered), latest)
        assert (facts["began"], facts["out"]) == (began, out)


def test_a_survey_is_opened_watched_closed_and_downloaded(
    servers: Servers, visitor: Visitor
) -> None:
    survey = servers.survey()
    operator = servers.operator(survey)
    operator.install()
    base = f"/surveys/{survey.hash}"
    assert "Not open yet" in visitor.get(base).words
    form = {"csrf": visitor.csrf(), "token0": servers.collector.token}
    there = f"/console{base}/dealers"
    wrong = visitor.request(
        "POST", f"/console{base}/open", form, referer=f"{servers.collector.url}{there}"
    )
    assert f"The dealer at {servers.dealer.url} refuses this token" in wrong.words
    assert f'<a href="{there}">Back' in wrong.body
    away = visitor.request("POST", f"/console{base}/open", form, referer="https://a.example/b")
    assert f'<a href="/console{base}">Back' in away.body
    assert "a.example" not in away.body
    opened = visitor.post(f"{base}/open", token0=servers.dealer.token)
    assert "Open: answers are taken." in opened.words
    assert {one["state"] for one in operator.show().values()} == {"open"}
    invitations = servers.begin(survey, 12)
    answer_work(survey, invitations[:9])
    visitor.post(f"{base}/dealers", token0=servers.dealer.token)
    assert "hide everything" in visitor.get(f"{base}/results").words  # masks: no result yet
    seen = visitor.get(base).words
    assert "9 answered" in seen
    assert "12 invited" in seen
    assert "75.0% response rate" in seen
    assert "9 began: took a place" in seen  # contributors that are no page take theirs, too
    assert "0 began and left, or not done yet: cards lost so far" in seen
    assert "burn the cards" in visitor.get(f"{base}/close").words
    refused = visitor.post(f"{base}/close")
    assert refused.status == 422
    assert "sure" in refused.words
    assert "choose them where you close the survey" in visitor.get(f"{base}/groups").words
    closed = visitor.post(f"{base}/close", sure="yes", by="sector")
    assert "choose it where you" not in visitor.get(f"{base}/groups").words
    assert "Closed for good." in closed.words
    facts = survey_report(operator, ReportWish())
    page = visitor.get(f"{base}/results").body
    assert page.strip().startswith(results_section(facts).strip())
    without_groups = survey_report(operator, ReportWish(by=()))
    for words in limits_in_words(without_groups):  # such as that a share below 0% is no mistake
        assert f"<li>{escape(words)}</li>" in page
    for share in shares(facts.questions[0]):
        assert share in page
    by = visitor.get(f"{base}/groups?by=sector").words
    assert "office" in by
    assert visitor.get(f"{base}/groups?by=nothing").status == 422
    files = {
        "answers.csv": operator.export("csv"),
        "answers.parquet": operator.export("parquet"),
        "document.json": survey.to_bytes(),
    }
    for name, body in files.items():
        reply = visitor.get(f"{base}/files/{name}")
        assert reply.raw == body
        assert "attachment" in reply.headers["content-disposition"]
    assert "bribed" in visitor.get(f"{base}/files/codebook.csv").body
    assert json.loads(visitor.get(f"{base}/files/codebook.json").raw)
    assert visitor.get(f"{base}/files/answers.csv.json").status == 404
    assert "read" in visitor.get(f"{base}/files/answers.R").body
    printed = visitor.get(f"{base}/report?language=de")
    assert 'lang="de"' in printed.body
    assert "sandbox" in printed.headers["content-security-policy"]
    assert visitor.get(f"{base}/report?language=xx").status == 422


def test_without_the_dealers_token_files_carry_request_and_sums(
    servers: Servers, visitor: Visitor
) -> None:
    survey = servers.survey()
    invitations = servers.begin(survey, 6)
    answer_work(survey, invitations)
    base = f"/surveys/{survey.hash}"
    waiting = visitor.post(f"{base}/close", sure="yes")
    assert "still to announce" in waiting.words
    assert visitor.get(f"{base}/request/1").status == 422
    alone = Operator(survey, {0: servers.dealer.admin})
    for _ in range(2):  # cards are verified: files go twice
        request = json.loads(visitor.get(f"{base}/request/0").raw)
        assert set(request["request"]["questions"]) == {"bribed", "hours"}
        sums = dealer_sums(alone.close(Ending(request=request))["dealer"])
        done = visitor.post(f"{base}/close", sure="yes", sums0=json.dumps(sums))
    assert "Closed for good." in done.words
    by = visitor.get(f"{base}/groups?by=sector").words
    assert "or chosen when it is closed" in by
    assert "--by" not in by
    assert "Bring" not in visitor.get(f"{base}/close").words
    assert visitor.post(f"{base}/close", sure="yes", sums0="no json").status == 422


def test_what_is_not_of_this_collector_is_not_here(servers: Servers, visitor: Visitor) -> None:
    other = servers.survey()
    servers.begin(other, 2)
    question = other.sensitive[0].salt
    for path in (
        f"/surveys/{'0' * 64}",
        f"/surveys/{question}",
        f"/nonsense/{other.hash}",
        "/surveys/../../etc/passwd",
    ):
        assert visitor.get(path).status == 404, path
    for name in ("../../../etc/passwd", "..%2f..%2fetc%2fpasswd", "collector.db", "answers.exe"):
        assert visitor.get(f"/surveys/{other.hash}/files/{name}").status == 404, name
    for name in ("..%2fapp.py", "../app.py", "console.css%00"):
        assert visitor.get(f"/static/{name}").status == 404, name


@pytest.mark.parametrize("evil", ["<script>alert(1)</script>", '"><img src=x onerror=alert(1)>'])
def test_texts_of_surveys_stay_texts(servers: Servers, visitor: Visitor, evil: str) -> None:
    questions = [
        WORK["questions"][0] | {"text": evil, "labels": [evil, "b"]},
        WORK["questions"][1] | {"text": evil},
        {"name": "c", "kind": "choice", "text": evil, "labels": [evil, "other"]},
    ]
    survey = servers.survey(
        WORK | {"title": evil, "questions": questions}, dealing=Nobody(), mechanism="rr"
    )
    invitations = servers.begin(survey, 4)
    from tests.console import answer

    for invitation in invitations:
        answer(survey, invitation, {"sector": evil, "bribed": "no", "c": evil})
    visitor.post(f"/surveys/{survey.hash}/close", sure="yes")
    base = f"/surveys/{survey.hash}"
    paths = ["/", base, *(f"{base}/{one}" for one in ("results", "waves", "close", "files"))]
    for path in (*paths, f"{base}/groups?by=sector", f"{base}/report", f"{base}/invite"):
        body = visitor.get(path).body
        assert "<script>alert" not in body, path
        assert "<img src=x" not in body, path
