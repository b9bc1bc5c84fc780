"""More is asked than can be done: what waits is bounded, and who has left is not served."""

import asyncio
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, Engine
from sqlalchemy.exc import OperationalError

from jrr.protocol.steps import Call, Reply, Wait, insist
from jrr.servers.common import batch, middleware
from jrr.servers.common.batch import Writer
from jrr.servers.common.database import connect
from jrr.servers.common.problems import Problem


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    made = connect(f"sqlite:///{tmp_path}/one.db")
    yield made
    made.dispose()


@contextmanager
def blocked(writer: Writer) -> Iterator[None]:
    """Until the end, the writer is at one job."""
    begun, over = threading.Event(), threading.Event()

    def wait(_: Connection) -> None:
        begun.set()
        over.wait(60)

    loop = asyncio.get_running_loop()
    task = loop.create_task(writer.run(wait))

    async def until_begun() -> None:
        await asyncio.to_thread(begun.wait, 60)

    blocked.begun = until_begun  # type: ignore[attr-defined]
    try:
        yield
    finally:
        over.set()
        blocked.task = task  # type: ignore[attr-defined]


async def as_visitor(writer: Writer, job: Any, is_there: middleware.IsThere = lambda: True) -> Any:
    middleware._visitor.set(is_there)
    return await writer.run(job)


def test_contributors_wait_in_a_queue_of_bounded_length_and_operators_pass(engine: Engine) -> None:
    done: list[str] = []

    async def run() -> tuple[list[Any], Any]:
        writer = Writer(engine)
        writer.room = 10
        with blocked(writer):
            await blocked.begun()  # type: ignore[attr-defined]
            crowd = [
                asyncio.create_task(as_visitor(writer, lambda _: done.append("contributor")))
                for _ in range(50)
            ]
            await asyncio.sleep(0.05)
            operator = asyncio.create_task(writer.run(lambda _: done.append("operator")))
            await asyncio.sleep(0.05)
            assert writer.waiting == 10
        results = await asyncio.gather(*crowd, return_exceptions=True)
        await operator
        writer.close()
        return results, operator.result()

    results, _ = asyncio.run(run())
    refused = [result for result in results if isinstance(result, Problem)]
    assert len(refused) == 40
    assert {(problem.status, problem.kind) for problem in refused} == {(503, "busy")}
    assert all(1 <= int(problem.headers["Retry-After"]) <= 4 for problem in refused)
    assert done == ["operator"] + ["contributor"] * 10


def _note(done: list[int], at: int, _: Connection) -> None:
    done.append(at)


def test_whoever_has_left_is_not_served(engine: Engine) -> None:
    done: list[int] = []
    there = [True] * 20

    async def run() -> list[Any]:
        writer = Writer(engine)
        with blocked(writer):
            await blocked.begun()  # type: ignore[attr-defined]
            crowd = [
                asyncio.create_task(
                    as_visitor(writer, partial(_note, done, at), partial(there.__getitem__, at))
                )
                for at in range(20)
            ]
            await asyncio.sleep(0.05)
            there[5:] = [False] * 15
        found = await asyncio.gather(*crowd, return_exceptions=True)
        writer.close()
        return list(found)

    results = asyncio.run(run())
    assert done == [0, 1, 2, 3, 4]
    assert [isinstance(result, Problem) for result in results] == [False] * 5 + [True] * 15


def test_how_many_may_wait_follows_from_how_long_a_job_takes(engine: Engine) -> None:
    writer = Writer(engine)
    waiting = [batch._Waiting(len, None, batch.SINGLE, None, None, None)] * 512  # type: ignore[arg-type]
    try:
        for seconds_each, low, high in ((0.01, 150, 400), (0.0001, 5_000, 40_000)):
            for _ in range(20):
                with writer._turn:
                    writer._queue.append(waiting[0])  # somebody waits
                    writer._measure(waiting, 512 * seconds_each)
                    writer._queue.clear()
            assert low <= writer.room <= high
            assert writer.room * seconds_each <= 2.1
    finally:
        writer.close()


@pytest.mark.parametrize("jobs", [1, 40])
def test_an_outage_is_503_for_all_and_one_line(
    engine: Engine, jobs: int, caplog: pytest.LogCaptureFixture
) -> None:
    calls = 0
    full_disk = sqlite3.OperationalError("somebody's name")  # no text of an error is logged
    full_disk.sqlite_errorname = "SQLITE_FULL"

    def full(_: Connection) -> None:
        nonlocal calls
        calls += 1
        raise OperationalError("INSERT", {}, full_disk)

    async def run() -> list[Any]:
        writer = Writer(engine)
        found = await asyncio.gather(
            *(writer.run(full) for _ in range(jobs)), return_exceptions=True
        )
        assert await writer.run(lambda _: 7) == 7  # it is over
        writer.close()
        return list(found)

    results = asyncio.run(run())
    assert {(error.status, error.kind) for error in results} == {(503, "unavailable")}
    assert calls <= max(2, jobs // 4)  # not tried one by one
    said = [record.getMessage() for record in caplog.records]
    assert said == [
        "the database cannot be used: OperationalError, SQLITE_FULL",
        "the database can be used again",
    ]


def test_a_client_waits_as_long_as_it_is_told() -> None:
    steps = insist(Call("http://x/"), patience=30.0)
    assert isinstance(steps.send(None), Call)
    assert steps.send(Reply(503, b"", 3.0)) == Wait(3.0)  # not 0.2
    assert isinstance(steps.send(None), Call)
    assert steps.send(Reply(503)) == Wait(0.4)  # nothing was said: ever more slowly
    assert isinstance(steps.send(None), Call)
    assert steps.send(Reply(429, b"", 1000.0)) == Wait(27.0 - 0.4)  # what is left of the patience
