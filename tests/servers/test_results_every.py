"""Results that are some reports apart: no two that are shown differ by fewer."""

import itertools
import json

import pytest
from sqlalchemy import Connection

from jrr.errors import JrrError
from jrr.servers.collector.results import EstimateQuery
from jrr.servers.common.problems import Problem
from jrr.survey.survey import Survey
from tests.servers.collecting import JOBS, answer, asking, begin, body, person


def shown(
    connection: Connection, asked: Survey, by: tuple[str, ...] | None = None, question: str = "q0"
) -> int | None:
    """How many reports the result is of that is shown now; None: none is."""
    JOBS.fix_results(connection, asked.hash, question)
    try:
        found = JOBS.estimate(connection, asked.hash, question, EstimateQuery(by=by))
    except Problem as problem:
        if problem.kind != "results-wait":
            raise
        return None
    reports: int = found["cardless"]
    return reports


@pytest.mark.slow_variants("1-20]", "3-2]", "3-5]", "7-2]", "7-20]", "1-5")
@pytest.mark.parametrize("every", [2, 5, 20])
@pytest.mark.parametrize("pause", [1, 3, 7])
def test_results_are_some_reports_apart(connection: Connection, every: int, pause: int) -> None:
    asked = asking(results_every=every)
    begin(connection, asked)
    seen = []
    for number in range(53):
        answer(connection, asked, range(number, number + 1))
        if number % pause == 0:
            seen.append(shown(connection, asked))
            assert shown(connection, asked) == seen[-1]  # asking twice shows no more
            assert shown(connection, asked, by=("region",)) is None  # groups only at the end
    JOBS.close(connection, asked.hash)
    seen.append(shown(connection, asked))
    assert seen[-1] == 53
    results = sorted({reports for reports in seen if reports is not None})
    assert all(later - earlier >= every for earlier, later in itertools.pairwise(results))
    assert len(results) > 53 // (2 * max(every, pause)) - 1  # and something is shown
    assert shown(connection, asked, by=("region",)) == 53


def test_by_default_every_report_shows(connection: Connection) -> None:
    asked = asking()
    begin(connection, asked)
    for number in range(5):
        answer(connection, asked, range(number, number + 1))
        assert shown(connection, asked) == number + 1


def test_two_results_in_a_row_tell_the_last_report(connection: Connection) -> None:
    """What the option is for (docs/security.md): the difference of two results is the report."""
    asked = asking()
    begin(connection, asked)
    before = None
    for number in (4, 1, 7, 2, 9):
        upload = body(asked, person(number), value=number % 2)
        sent = json.loads(upload)["reports"]["q0"]["report"]
        JOBS.receive(connection, asked.hash, upload)
        found = JOBS.estimate(connection, asked.hash, "q0", EstimateQuery())["estimate"]["counts"]
        if before is not None:
            step = [after - earlier for after, earlier in zip(found, before, strict=True)]
            assert step.index(max(step)) == sent
        before = found


def test_how_often_is_part_of_the_document() -> None:
    assert b'"results_every":7' in asking(results_every=7).to_bytes()
    for wrong in (0, -1, 1.5, True, "2", 10**7):
        with pytest.raises(JrrError, match="results_every"):
            asking(results_every=wrong)


def test_every_question_goes_on_by_its_own_reports(connection: Connection) -> None:
    asked = asking(2, only_if={"region": "süd"}, results_every=4)
    begin(connection, asked)
    for number in range(12):
        answer(connection, asked, range(number, number + 1), "süd" if number < 5 else "north")
        JOBS.fix_results(connection, asked.hash)  # of all questions
    assert shown(connection, asked) == 8
    assert shown(connection, asked, question="q1") is None
    found = JOBS.estimates(connection, asked.hash, EstimateQuery())
    assert found["q0"]["cardless"] == 8
    assert set(found["q1"]) == {"waits", "reports"}
    assert found["q1"]["reports"] == 5
    JOBS.close(connection, asked.hash)
    found = JOBS.estimates(connection, asked.hash, EstimateQuery())
    assert [found[name]["cardless"] for name in ("q0", "q1")] == [12, 5]
