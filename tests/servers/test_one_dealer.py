"""A dealer on PostgreSQL that has lost its lock takes it again, or deals no more."""

import asyncio
import logging
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, Engine, text

from jrr.errors import ArgumentError
from jrr.servers.common.batch import Writer
from jrr.servers.common.database import connect, prepare
from jrr.servers.common.problems import Problem
from jrr.servers.common.safety import alone, claim
from jrr.servers.common.settings import Settings
from tests.e2e.conftest import NewDatabase
from tests.e2e.conftest import new_postgres_database as new_postgres_database
from tests.e2e.conftest import postgres_server as postgres_server

pytestmark = pytest.mark.heavy


def settings(database: str, keys: Path) -> Settings:
    return Settings(
        role="dealer",
        database=database,
        admin_token_sha256="0" * 64,
        keys=str(keys),
        audit_log=str(keys.parent / "audit"),
    )


def backend(connection: Connection) -> int:
    return int(connection.execute(text("SELECT pg_backend_pid()")).scalar_one())


def run(writer: Writer) -> Any:
    async def one() -> Any:
        return await writer.run(backend)

    try:
        return asyncio.run(one())
    except Problem as problem:
        return problem.kind


def restart(engine: Engine) -> None:
    """Every other connection is lost, as when the server is restarted."""
    others = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = "
    with engine.connect() as connection:
        connection.execute(text(f"{others} current_database() AND pid <> pg_backend_pid()"))


def test_a_lost_lock_is_taken_again_before_anything_is_written(
    new_postgres_database: NewDatabase, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    database = new_postgres_database()
    engine, other = connect(database), connect(database)
    prepare(engine, "dealer")
    first, second = (settings(database, tmp_path / name) for name in ("first", "second"))
    with alone(first, engine) as held:
        assert held is not None
        writer = Writer(engine)
        writer.begin_with(held, claim)
        try:
            before = run(writer)
            with pytest.raises(ArgumentError, match="another process"), alone(second, other):
                pass
            restart(other)
            after = run(writer)
            assert isinstance(after, int)
            assert after != before
            with pytest.raises(ArgumentError, match="another process"), alone(second, other):
                pass
            restart(other)
            with alone(second, other), caplog.at_level(logging.ERROR):
                assert run(writer) == "unavailable"  # another dealer came in between
            assert "another dealer has taken the database" in caplog.text
            assert isinstance(run(writer), int)
        finally:
            writer.close()
    with alone(second, other):
        pass
    engine.dispose()
    other.dispose()
