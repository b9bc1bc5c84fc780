"""Results that are some reports apart: no two that are shown differ by fewer."""

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection

from jrr import RR
from jrr.errors import JrrError
from jrr.servers.collector.jobs import CollectorJobs, EstimateWish
from jrr.servers.common.database import connect, prepare
from jrr.servers.common.jobs import utc_now
from jrr.servers.common.problems import Problem
from jrr.survey.campaign import Campaign
from jrr.survey.messages import report_request
from tests.survey.test_promises import campaign

MECHANISM = RR(2, 1.0)


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[Connection]:
    engine = connect(f"sqlite:///{tmp_path / 'collector.db'}")
    prepare(engine, "collector")
    with engine.begin() as opened:
        yield opened


def begun(connection: Connection, asked: Campaign) -> CollectorJobs:
    jobs = CollectorJobs(utc_now)
    jobs.install(connection, asked)
    jobs.open(connection, asked.hash, None)
    return jobs


def answer(connection: Connection, jobs: CollectorJobs, asked: Campaign, number: int) -> None:
    body = report_request(
        pseudonym=number.to_bytes(32, "big"),
        carded=False,
        mechanism=MECHANISM,
        report=number % 2,
        covariates={"region": "north"},
    )
    jobs.receive(connection, asked.hash, body)


def shown(
    connection: Connection, jobs: CollectorJobs, asked: Campaign, by: str | None = None
) -> int | None:
    """How many reports the result is of that is shown now; None: none is."""
    jobs.fix_results(connection, asked.hash)
    try:
        found = jobs.estimate(connection, asked.hash, EstimateWish(by=by))
    except Problem as problem:
        if problem.kind != "results-wait":
            raise
        return None
    reports: int = found["cardless"]
    return reports


def asking(**more: Any) -> Campaign:
    settings = {"min_cell": 1, "invitations": False, "covariates": {"region": ("north",)}}
    return campaign(MECHANISM, **(settings | more))


@pytest.mark.parametrize("every", [2, 5, 20])
@pytest.mark.parametrize("pause", [1, 3, 7])
def test_results_are_some_reports_apart(connection: Connection, every: int, pause: int) -> None:
    asked = asking(results_every=every)
    jobs = begun(connection, asked)
    seen = []
    for number in range(53):
        answer(connection, jobs, asked, number)
        if number % pause == 0:
            seen.append(shown(connection, jobs, asked))
            assert shown(connection, jobs, asked) == seen[-1]  # asking twice shows no more
            assert shown(connection, jobs, asked, by="region") is None  # groups only at the end
    jobs.close(connection, asked.hash, None)
    seen.append(shown(connection, jobs, asked))
    assert seen[-1] == 53
    results = sorted({reports for reports in seen if reports is not None})
    assert all(later - earlier >= every for earlier, later in itertools.pairwise(results))
    assert len(results) > 53 // (2 * max(every, pause)) - 1  # and something is shown
    assert shown(connection, jobs, asked, by="region") == 53


def test_by_default_every_report_shows(connection: Connection) -> None:
    asked = asking()
    jobs = begun(connection, asked)
    for number in range(5):
        answer(connection, jobs, asked, number)
        assert shown(connection, jobs, asked) == number + 1


def test_two_results_in_a_row_tell_the_last_report(connection: Connection) -> None:
    """What the option is for (docs/security.md): the difference of two results is the report."""
    asked = asking()
    jobs = begun(connection, asked)
    before = None
    for number in (4, 1, 7, 2, 9):
        answer(connection, jobs, asked, number)
        found = jobs.estimate(connection, asked.hash, EstimateWish())["estimate"]["counts"]
        if before is not None:
            step = [after - earlier for after, earlier in zip(found, before, strict=True)]
            assert step.index(max(step)) == number % 2
        before = found


def test_how_often_is_part_of_the_document() -> None:
    assert asking(results_every=7).hash != asking(results_every=8, nonce="x").hash
    for wrong in (0, -1, 1.5, True, "2", 10**7):
        with pytest.raises(JrrError, match="results_every"):
            asking(results_every=wrong)
