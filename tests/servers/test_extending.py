"""A later closing time: at each server by its own operator, and from then on in all it says."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine

from jrr.errors import ArgumentError
from jrr.servers.collector.jobs import CollectorJobs
from jrr.servers.collector.store import CollectorStore
from jrr.servers.common.problems import Problem
from tests.servers.asking import ask
from tests.servers.collecting import asking, body, person, refusal
from tests.servers.surveys import survey_of
from tests.servers.test_dealer import Server

BEFORE, UNTIL, LATER = (datetime(2026, 1, day, tzinfo=UTC) for day in (2, 3, 5))
TOLD, NEW = "2026-01-03T00:00:00Z", "2026-01-05T00:00:00Z"


def test_answers_are_taken_until_the_later_time(engine: Engine) -> None:
    survey = asking(1, "rr", closes=TOLD)
    now = [BEFORE]
    jobs = CollectorJobs(lambda: now[0])

    def state() -> tuple[str, str | None]:
        held = CollectorStore(connection).find(survey.hash)
        return str(jobs.told_state(held)), held.closes

    with engine.begin() as connection:
        jobs.install(connection, survey)
        jobs.open(connection, survey.hash)
        assert state() == ("open", TOLD)
        now[0] = UNTIL
        assert state() == ("closed", TOLD)
        with refusal("closed"):
            jobs.receive(connection, survey.hash, body(survey, person(1)))
        # It has passed, and nobody has closed the survey for good: people may come again.
        assert jobs.extend(connection, survey.hash, NEW) == NEW
        assert jobs.extend(connection, survey.hash, NEW) == NEW
        assert state() == ("open", NEW)
        assert jobs.show(connection, survey.hash)["closes"] == NEW
        assert jobs.receive(connection, survey.hash, body(survey, person(1)))
        now[0] = LATER
        assert state() == ("closed", NEW)
        with refusal("closed"):
            jobs.receive(connection, survey.hash, body(survey, person(2)))
        jobs.close(connection, survey.hash)
        with pytest.raises(Problem, match="the survey is closed"):
            jobs.extend(connection, survey.hash, "2026-01-06T00:00:00Z")


@pytest.mark.parametrize(
    ("first", "wished", "words"),
    [
        (TOLD, "2026-01-02T23:59:59Z", f"closes must be later than {TOLD}"),
        (TOLD, "2026-01-03T12:00:00Z", "closes must be a time in the future"),
        (TOLD, "soon", "closes must be a time in UTC as 2026-01-31T12:00:00Z"),
        (None, NEW, "closes must be left out: the survey has no closing time"),
    ],
)
def test_what_is_no_later_time_is_refused_and_changes_nothing(
    engine: Engine,
    first: str | None,
    wished: str,
    words: str,
) -> None:
    survey = asking(1, "rr", closes=first)
    jobs = CollectorJobs(lambda: LATER)
    with engine.begin() as connection:
        jobs.install(connection, survey)
        with pytest.raises(ArgumentError, match=words):
            jobs.extend(connection, survey.hash, wished)
        assert CollectorStore(connection).find(survey.hash).closes == first


def test_a_dealer_deals_no_longer_than_its_own_operator_says(tmp_path: Path) -> None:
    survey = survey_of(2, closes="2020-01-01T00:00:00Z")
    server = Server(tmp_path / "dealer", survey)
    path = f"/v1/admin/surveys/{survey.hash}/extend"
    wish = b'{"closes": "2999-01-01T00:00:00Z"}'

    def told() -> Any:
        return ask(server.app, "GET", f"/v1/surveys/{survey.hash}/status")[1]["closes"]

    assert server.admin("open")[0] == 200
    assert (server.person("cards", 1)[0], told()) == (410, "2020-01-01T00:00:00Z")
    assert ask(server.app, "POST", path, wish, authorization="Bearer guess")[0] == 401
    assert (server.person("cards", 1)[0], told()) == (410, "2020-01-01T00:00:00Z")
    assert ask(server.app, "POST", path, wish) == (200, {"closes": "2999-01-01T00:00:00Z"})
    assert (server.person("cards", 1)[0], told()) == (200, "2999-01-01T00:00:00Z")
    server.engine.dispose()
