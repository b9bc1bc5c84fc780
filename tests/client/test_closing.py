"""How a survey ends: with all tokens at once, in different hands, after an interruption."""

from pathlib import Path
from typing import Any

import pytest

from jrr.client.ending import Ending, dealer_sums
from jrr.client.export import export_survey
from jrr.client.operator import EstimateWish, Operator
from jrr.client.report import ReportWish, survey_report
from jrr.dealing.kinds import Dealers, Nobody
from jrr.errors import ArgumentError, JrrError, ProtocolError, UnreachableError
from jrr.reporting.report_page import report_page
from jrr.survey.creation import SurveyRequest
from jrr.survey.draft import Draft
from jrr.survey.survey import Survey
from jrr.tables import estimate_survey
from tests.client.in_process import House

SECTOR = {
    "name": "sector",
    "kind": "choice",
    "labels": ["office", "workshop"],
    "text": "Where?",
    "sensitive": False,
}
PEOPLE = 24


def asked(dealers: int = 1, mechanism: str = "mrr", questions: int = 2, **more: Any) -> Survey:
    listed = [{"name": f"q{at}", "kind": "yes-no", "text": f"{at}?"} for at in range(questions)]
    draft = {"title": "T", "epsilon": 4.0, "questions": [SECTOR, *listed]}
    urls = tuple(f"https://dealer{at}.example" for at in range(dealers))
    settings: dict[str, Any] = {"colluders": 0, "dealer_epsilon": 20.0} if dealers else {}
    return SurveyRequest(
        draft=Draft.from_dict(draft),
        people=PEOPLE,
        collector="https://collector.example",
        dealing=Dealers(urls) if dealers else Nobody(),
        mechanism=mechanism,
        **(settings | {"min_cell": 5} | more),
    ).survey()


def house(tmp_path: Path, survey: Survey, offices: int = 12, people: int = PEOPLE) -> House:
    found = House(survey, tmp_path)
    names = [question.name for question in survey.sensitive]
    found.answered(
        {"sector": "office" if at < offices else "workshop"} | dict.fromkeys(names, "yes")
        for at in range(people)
    )
    return found


def shares(operator: Operator, by: str | None = None) -> dict[str, float]:
    found = operator.estimates(EstimateWish(by=by))
    return {name: one["estimate"]["frequencies"][1] for name, one in found.items()}


@pytest.mark.parametrize("dealers", [1, 2])
def test_with_all_tokens_at_once(dealers: int, tmp_path: Path) -> None:
    home = house(tmp_path, asked(dealers))
    operator = home.everybody
    assert "waits" in operator.estimates()["q0"]
    preview = operator.closing.preview(Ending(by="sector"))
    assert [group["name"] for group in preview["groups"]] == ["office", "workshop"]
    assert preview["groups"][0]["cards"]["q1"] == [12] * dealers
    closed = operator.close(Ending(by="sector"))
    names = ["dealer"] if dealers == 1 else ["dealer 0", "dealer 1"]
    assert sorted(closed) == ["collector", *names]
    assert closed["collector"]["settled"]
    assert closed["collector"]["reports"] == PEOPLE
    assert all("sums" not in one for one in closed.values())
    before = shares(operator, "sector")
    assert set(before) == {"q0", "q1"}
    again = operator.close()  # what is over is over, and says the same
    assert again["collector"]["settled"]
    assert shares(operator, "sector") == before
    with pytest.raises(ProtocolError, match="by must be left out"):
        operator.close(Ending(by="nothing"))


def test_an_export_estimates_what_the_collector_shows(tmp_path: Path) -> None:
    home = house(tmp_path / "servers", asked(1))
    operator = home.everybody
    operator.close(Ending(by="sector"))
    written = export_survey(operator, tmp_path / "answers.parquet")
    shown = operator.estimates(EstimateWish(by="sector"))
    for engine in (None, "duckdb"):
        found = estimate_survey(written["answers"], by="sector", engine=engine)
        assert set(found) == set(shown)
        for name, result in found.items():
            assert result.estimate.to_dict() == shown[name]["estimate"]
            groups = {group.name: group.estimate for group in result.groups}
            for group in shown[name]["groups"]:
                mine = groups[group["name"]]
                assert list(mine.frequencies) == pytest.approx(group["frequencies"])
                assert list(mine.stderr) == pytest.approx(group["stderr"])
    report = survey_report(operator, ReportWish())
    assert report.final
    assert report.participation.answered == report.participation.carded == PEOPLE
    assert report.groupings[0].questions[0].groups[0].n == 12
    assert "<h1>T</h1>" in report_page(report)


def test_in_different_hands(tmp_path: Path) -> None:
    """Without verified cards files go once (with them twice: test_verified.py)."""
    home = house(tmp_path, asked(2, verified=False))
    alone, first, second = (
        home.operator(),
        home.operator(0, collector=False),
        home.operator(1, collector=False),
    )
    with pytest.raises(ArgumentError, match="--request"):
        alone.close(Ending(carries_requests=False))
    with pytest.raises(ArgumentError, match="request must be given"):
        first.close()
    requests = alone.close()["collector"]["requests"]
    assert set(requests) == {0, 1}
    with pytest.raises(JrrError, match="gave 48 of the serials to nobody"):
        first.close(Ending(request=requests[1]))
    replies = [
        operator.close(Ending(request=requests[at]))[f"dealer {at}"]
        for at, operator in enumerate((first, second))
    ]
    again = first.close(Ending(request=requests[0]))["dealer 0"]
    assert dealer_sums(again) == dealer_sums(replies[0])
    with pytest.raises(JrrError, match="file from each"):
        alone.close(Ending(sums=[dealer_sums(replies[0])]))
    sums = [dealer_sums(reply) for reply in replies]
    assert alone.close(Ending(sums=sums))["collector"]["settled"]
    assert set(shares(alone)) == {"q0", "q1"}
    alone.close(Ending(sums=sums))
    with pytest.raises(ProtocolError, match="other sums"):
        alone.close(Ending(sums=[sums[1], sums[0]]))


def test_what_is_interrupted_goes_on(tmp_path: Path) -> None:
    survey = asked(2)
    home = house(tmp_path, survey)
    operator = home.everybody
    prospect = operator.closing.check(Ending())
    home.silent.add(survey.dealing.addresses[1])
    with pytest.raises(UnreachableError, match="nothing was closed"):
        operator.close()
    with pytest.raises(UnreachableError, match=r"cannot be reached"):
        operator.close(prospect=prospect)
    home.silent.clear()
    assert operator.show()["collector"]["state"] == "closed"
    assert operator.close()["collector"]["settled"]
    assert set(shares(operator)) == {"q0", "q1"}


def test_groups_that_are_too_small(tmp_path: Path) -> None:
    home = house(tmp_path, asked(1), offices=3)
    operator = home.everybody
    with pytest.raises(ProtocolError, match="nothing was closed: wait for more, or choose another"):
        operator.close(Ending(by="sector"))
    assert operator.show()["collector"]["state"] == "open"
    closed = operator.close(Ending(by="sector", discard_small=True))
    assert closed["collector"]["discarded"] == 3
    assert closed["collector"]["reports"] == PEOPLE - 3
    assert set(shares(operator)) == {"q0", "q1"}


def test_without_a_sum_cards_are_given_up(tmp_path: Path) -> None:
    home = house(tmp_path, asked(1))
    operator = home.everybody
    closed = operator.close(Ending(without_sum=True))
    assert closed["dealer"]["state"] == closed["collector"]["state"] == "closed"
    assert "waits" in operator.estimates()["q0"]
    with pytest.raises(ProtocolError, match="has burned its cards"):
        operator.close()


@pytest.mark.parametrize("more", [{"closed_deck": True}, {"mechanism": "jrr"}], ids=str)
def test_decks_without_announced_sums(more: dict[str, Any], tmp_path: Path) -> None:
    home = house(tmp_path, asked(1, questions=1, **more), people=PEOPLE - 2)
    operator = home.everybody
    with pytest.raises(ArgumentError, match="not announced"):
        operator.close(Ending(by="sector"))
    with pytest.raises(ArgumentError, match="dry_run"):
        operator.closing.preview(Ending())
    closed = operator.close()
    assert closed["collector"]["settled"]
    found = operator.estimates()["q0"]
    assert found["decks"] == 1
    assert operator.close()["dealer"]["state"] == "closed"


def test_nobody_deals(tmp_path: Path) -> None:
    home = house(tmp_path, asked(0, "rr"))
    assert home.everybody.close()["collector"]["settled"]
    assert set(shares(home.everybody, "sector")) == {"q0", "q1"}
