"""Two collectors on one PostgreSQL: a retry that reaches the other one is answered as a repeat."""

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Connection, Engine

from jrr.research.embedded import postgres
from jrr.servers.collector.intake import IncomingAnswers
from jrr.servers.collector.store import CollectorStore
from jrr.servers.common.batch import Writer
from jrr.servers.common.database import connect, prepare
from jrr.servers.common.problems import Problem
from tests.servers.collecting import JOBS, asking, begin, body, person

pytestmark = pytest.mark.heavy


@pytest.fixture
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("replicas")


@pytest.fixture
def engine(folder: Path) -> Iterator[Engine]:
    with postgres(folder, "collector") as addresses:
        made = connect(addresses["collector"])
        prepare(made, "collector")
        yield made
        made.dispose()


async def taken(writer: Writer, incoming: list[IncomingAnswers]) -> list[bool | str]:
    outcomes = await asyncio.gather(
        *(writer.run_bulk(JOBS.receive_all, one) for one in incoming), return_exceptions=True
    )
    return [one.kind if isinstance(one, Problem) else one for one in outcomes]  # type: ignore[misc]


def test_the_same_answers_at_both_at_once(engine: Engine, folder: Path) -> None:
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
    logged = "".join(
        one.read_text(errors="replace") for one in folder.rglob("*log*") if one.is_file()
    )
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
