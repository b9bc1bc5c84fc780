"""A collector under more load than it can bear, and several collectors on one database."""

import threading
from pathlib import Path

import pytest

from jrr import RR
from jrr.research.load.measure import gather, put_under_load
from jrr.research.processes import running
from tests.e2e import Answer, ask_many, path_of, read_rows, upload_body
from tests.e2e.test_processes import alone, installed


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty database for one server."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/one.db"
    return str(request.getfixturevalue("new_postgres_database")())


@pytest.mark.slow
def test_more_than_it_can_bear_does_not_stop_it(database: str, tmp_path: Path) -> None:
    """Before there was a bounded queue, nothing was acknowledged any more after some seconds."""
    with running("collector", tmp_path, database) as server:
        contributors = gather(server, 90_000)
        first, measured, left, more = (
            contributors.bodies[start:] for start in (0, 2_000, 12_000, 12_500)
        )
        put_under_load(server, contributors, first[:2_000], 1e5, connections=500, timeout=60.0)
        capacity = put_under_load(
            server, contributors, measured[:10_000], 1e5, connections=500, timeout=60.0
        )
        rate = 3 * capacity.acknowledged / capacity.seconds
        sent = more[: int(8 * rate)]
        load = put_under_load(server, contributors, sent, rate, connections=3_000, timeout=10.0)
        assert (load.lost, load.doubled) == (0, 0)
        assert set(load.refusals) <= {"503 busy"}
        # In every part of the time something is done: this machine has other work too.
        half = len(load.by_second) // 2
        halves = sum(load.by_second[:half]), sum(load.by_second[half:])
        assert min(halves) > 0.2 * sum(halves)
        assert load.memory_mb < capacity.memory_mb + 150
        # Those who wait cost little: `benchmarks.overload` measures how much, in medians.
        each, each_in_the_crowd = (one.processor / one.acknowledged for one in (capacity, load))
        assert each_in_the_crowd <= each / 0.8
        after = put_under_load(server, contributors, left[:500], 50.0, timeout=10.0)
        assert after.acknowledged == 500
        assert (after.refusals, after.timeouts) == ({}, 0)


@pytest.mark.slow
@pytest.mark.parametrize("capacity", [300, 250])
def test_two_collectors_on_one_database_take_every_report_once(
    tmp_path: Path, request: pytest.FixtureRequest, capacity: int
) -> None:
    database = request.getfixturevalue("new_postgres_database")()
    with (
        running("collector", tmp_path / "a", database) as first,
        running("collector", tmp_path / "b", database) as second,
    ):
        survey = alone(RR(2, 1.0))
        people = installed(first, survey, 300)
        if capacity < 300:  # as if others had answered before
            taken = survey.capacity - capacity
            line = f"INSERT INTO arrivals VALUES ('{survey.hash}', 99, {taken})"
            _run(database, line)
        bodies = [upload_body(survey, secret, at % 2) for at, secret in enumerate(people)]
        replies: dict[str, list[Answer]] = {}

        def send(url: str, order: int) -> None:
            replies[url] = ask_many(url, path_of(survey, "reports"), bodies[::order])[::order]

        threads = [
            threading.Thread(target=send, args=(first.url, 1)),
            threading.Thread(target=send, args=(second.url, -1)),
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        pairs = list(zip(replies[first.url], replies[second.url], strict=True))
        statuses = {tuple(sorted(reply.status for reply in pair)) for pair in pairs}
        assert statuses == {(200, 201)} if capacity == 300 else {(200, 201), (409, 409)}
        stored = read_rows(database, "SELECT count(*) FROM reports")
        assert stored == [(capacity,)]
        counted = read_rows(database, "SELECT sum(arrivals) FROM arrivals WHERE slot <> 99")
        assert counted == [(capacity,)]
        # What one of them has closed is closed at the other.
        path = f"/v1/admin/surveys/{survey.hash}/close"
        second.admin.post(path, {})
        late = ask_many(first.url, path_of(survey, "reports"), bodies[:20])
        assert {reply.status for reply in late} <= {200, 410}


def _run(database: str, statement: str) -> None:
    import psycopg

    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute(statement.encode())
