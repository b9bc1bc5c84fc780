"""Two collectors on one PostgreSQL: a retry that reaches the other one is answered as a repeat."""

import asyncio
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest
from sqlalchemy import Connection, Engine

from benchmarks import replicas
from jrr.servers.collector.jobs import IncomingAnswers
from jrr.servers.collector.store import CollectorStore
from jrr.servers.common.batch import Writer
from jrr.servers.common.database import connect, prepare, scrub
from jrr.servers.common.problems import Problem
from tests.e2e.conftest import NewDatabase
from tests.e2e.conftest import new_postgres_database as new_postgres_database
from tests.e2e.conftest import postgres_server as postgres_server
from tests.servers.collecting import JOBS, asking, begin, body, person
from tests.servers.test_survey_uploads import statements

pytestmark = pytest.mark.heavy


@pytest.fixture
def engine(new_postgres_database: NewDatabase) -> Iterator[Engine]:
    made = connect(new_postgres_database())
    prepare(made, "collector")
    yield made
    made.dispose()


async def taken(writer: Writer, incoming: list[IncomingAnswers]) -> list[bool | str]:
    outcomes = await asyncio.gather(
        *(writer.run_bulk(JOBS.receive_all, one) for one in incoming), return_exceptions=True
    )
    return [one.kind if isinstance(one, Problem) else one for one in outcomes]  # type: ignore[misc]


def test_the_same_answers_at_both_at_once(
    engine: Engine, postgres_server: tuple[str, Path]
) -> None:
    """One collector has written and not committed when the same answers reach the other."""
    survey = asking(2, "mrr")
    first, second = body(survey, person(1)), body(survey, person(2))
    changed = body(survey, person(1))  # other answers of the same person
    with engine.begin() as connection:
        begin(connection, survey)
        held = CollectorStore(connection).find(survey.hash)
    incoming = [JOBS.read(held, one) for one in (first, second, changed)]
    written, go_on = threading.Event(), threading.Event()

    def at_one() -> None:
        with engine.begin() as connection:
            assert JOBS.receive_all(connection, incoming[:2]) == [True, True]
            written.set()
            assert go_on.wait(60)

    async def at_other() -> list[bool | str]:
        writer = Writer(engine)
        try:
            coming = asyncio.create_task(taken(writer, [incoming[1], incoming[0], incoming[2]]))
            await asyncio.to_thread(wait_until_blocked, engine)
            go_on.set()
            return await coming
        finally:
            writer.close()

    thread = threading.Thread(target=at_one)
    thread.start()
    assert written.wait(60)
    assert asyncio.run(at_other()) == [False, False, "conflict"]
    thread.join()
    with engine.begin() as connection:
        assert JOBS.show(connection, survey.hash)["reports"] == 2
    logged = (postgres_server[1] / "log").read_text(errors="replace")
    assert "listening" in logged  # it is PostgreSQL's log
    assert "duplicate key" not in logged
    assert person(1).hex() not in logged


def test_the_same_survey_at_both_at_once(engine: Engine) -> None:
    survey = asking(1, "mrr")
    outcomes: list[bool] = []

    async def install() -> bool:
        writer = Writer(engine)
        try:
            return await writer.run(JOBS.install, survey)
        finally:
            writer.close()

    def at_other() -> None:
        outcomes.append(asyncio.run(install()))

    other = threading.Thread(target=at_other)
    with engine.begin() as connection:
        assert JOBS.install(connection, survey)
        other.start()
        wait_until_blocked(engine)
    other.join()
    assert outcomes == [False]


def deadlocks(engine: Engine) -> int:
    query = "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"
    with engine.connect() as connection:
        return int(connection.exec_driver_sql(query).scalar_one())


def test_rewriting_the_tables_waits_for_answers_that_are_being_taken(engine: Engine) -> None:
    """A transaction asks for the surveys first, and so does what rewrites all tables."""
    survey = asking(1, "mrr")
    with engine.begin() as connection:
        begin(connection, survey)
        held = CollectorStore(connection).find(survey.hash)
    incoming = [JOBS.read(held, body(survey, person(1)))]
    with ThreadPoolExecutor(1) as pool:
        with engine.begin() as connection, statements(engine) as seen:
            assert CollectorStore(connection).holds(survey.hash)
            rewritten = pool.submit(scrub, engine, CollectorStore.metadata)
            wait_until_blocked(engine)
            seen.clear()
            assert JOBS.receive_all(connection, incoming) == [True]
            assert "FROM surveys" in seen[0]
        rewritten.result(60)
    assert deadlocks(engine) == 0


def test_operators_of_two_collectors_wait_for_nobody_in_a_circle(engine: Engine) -> None:
    """One locks the first survey and then the second, the other the second and then the first."""
    surveys = asking(1, "mrr"), asking(2, "mrr")
    with engine.begin() as connection:
        for survey in surveys:
            begin(connection, survey)
    both = threading.Barrier(2)

    def lock(connection: Connection, name: str) -> None:
        CollectorStore(connection).find(name, lock=True)
        with suppress(threading.BrokenBarrierError):
            both.wait(1)

    async def at_one(names: list[str]) -> None:
        writer = Writer(engine, has_replicas=True)
        try:
            busy = writer.run(lambda _: time.sleep(0.3))  # meanwhile the others wait together
            await asyncio.gather(busy, *(writer.run(lock, name) for name in names))
        finally:
            writer.close()

    names = [survey.hash for survey in surveys]
    with ThreadPoolExecutor(2) as pool:
        for done in [pool.submit(asyncio.run, at_one(order)) for order in (names, names[::-1])]:
            done.result(60)
    assert deadlocks(engine) == 0


def wait_until_blocked(engine: Engine) -> None:
    """Until a transaction waits for another one."""
    query = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
    pause = threading.Event()
    for _ in range(600):
        with engine.connect() as connection:
            if blocked(connection, query):
                return
        pause.wait(0.1)
    raise AssertionError("no transaction waits for the other")


def blocked(connection: Connection, query: str) -> bool:
    return bool(connection.exec_driver_sql(query).scalar_one())


def test_retries_that_reach_another_collector_are_repeats() -> None:
    """As processes; `python -m benchmarks.replicas` sends 10,000 pairs."""
    found = replicas.measure(pairs=200)
    assert found["replies"] == {"200": 200, "201": 200}
    assert found["kept"], found
