"""A server without sockets whose commits fail, or which dies at them and is started again."""

import asyncio
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from sqlalchemy import Engine, event

from jrr.servers.collector.routes import collector_app
from jrr.servers.common.batch import BULK, SINGLE, Writer
from jrr.servers.common.database import connect, prepare
from jrr.servers.common.settings import Settings
from jrr.servers.common.tokens import new_token, token_digest
from jrr.servers.dealer.routes import dealer_app

TOKEN = new_token()
APPS = {"dealer": dealer_app, "collector": collector_app}
LATEST = 120.0  # seconds for an answer


class Fault(Enum):
    """What goes wrong with one request, and when."""

    NONE = "none"
    LOST_REQUEST = "the request never arrives"
    LOST_ANSWER = "the answer never arrives"
    ERROR_BEFORE = "the transaction fails, and nothing of it is kept"
    ERROR_AFTER = "the connection breaks when everything is kept"
    CRASH_BEFORE = "the process dies before the commit"
    CRASH_AFTER = "the process dies after the commit"
    ACKNOWLEDGES_FIRST = "negative control: an answer, and no commit"


AFTER = (Fault.ERROR_AFTER, Fault.CRASH_AFTER)
CRASHES = (Fault.CRASH_BEFORE, Fault.CRASH_AFTER)


class ProcessDeath(SystemExit):
    """Ends the thread that writes, and with it the server."""


@dataclass(frozen=True)
class Reply:
    """What a client hears; status 0: nothing."""

    status: int
    document: Any = None


class FaultyServer:
    """A dealer or a collector on a database that outlives it."""

    def __init__(self, role: str, database: str, folder: Path, now: Callable[[], datetime]) -> None:
        self.role = role
        self.keys = folder / "keys"
        self._now = now
        self._settings = Settings(
            role=role,
            database=database,
            admin_token_sha256=token_digest(TOKEN),
            keys=str(self.keys),
        )
        self._loop = asyncio.new_event_loop()
        self._armed = Fault.NONE
        self._kind = SINGLE  # of the job whose commit breaks
        self._looks_first = False  # a dealer finds the sums first, in a transaction of its own
        self._dead = threading.Event()
        self.fired = False
        self.deaths = 0
        self._start()

    def _start(self) -> None:
        self._dead.clear()
        self._raw: list[Any] = []
        self.engine: Engine = connect(self._settings.database)
        event.listen(self.engine, "connect", lambda raw, _: self._raw.append(raw))
        if not self.deaths:
            prepare(self.engine, self.role)
        self._break_commits()
        self._app: FastAPI = APPS[self.role](self._settings, self.engine, self._now)
        self._life = self._app.router.lifespan_context(self._app)
        self._loop.run_until_complete(self._life.__aenter__())
        # It has begun to look for what is to be deleted; what is asked next is to break, not that.
        self._loop.run_until_complete(self._app.state.delete_due())

    def _break_commits(self) -> None:
        dialect = self.engine.dialect
        commit = dialect.do_commit

        def do_commit(connection: Any) -> None:
            armed = self._armed if self._kind in kinds_of_jobs() else Fault.NONE
            if armed in (Fault.NONE, Fault.LOST_REQUEST, Fault.LOST_ANSWER):
                commit(connection)
                return
            if self._looks_first:
                self._looks_first = False
                commit(connection)
                return
            self._armed, self.fired = Fault.NONE, True
            if armed is Fault.ACKNOWLEDGES_FIRST:
                dialect.do_rollback(connection)
                return
            if armed in AFTER:
                commit(connection)
            if armed in CRASHES:
                self._loop.call_soon_threadsafe(self._dead.set)
                raise ProcessDeath
            assert dialect.dbapi is not None
            raise dialect.dbapi.OperationalError("broken on purpose")

        setattr(dialect, "do_commit", do_commit)  # noqa: B010

    def restart(self) -> None:
        """End this process, whatever it does, and start another one."""
        self._end()
        self._start()

    def _end(self) -> None:
        self.deaths += 1
        self._loop.run_until_complete(self._life.__aexit__(None, None, None))  # ends its thread
        for raw in self._raw:
            raw.close()

    def close(self) -> None:
        """Nobody needs it any more."""
        self._end()
        self._loop.close()

    def ask(self, method: str, path: str, document: Any = None, fault: Fault = Fault.NONE) -> Reply:
        """One request; if the process dies, it is started again before this returns."""
        self.fired = False
        if fault is Fault.LOST_REQUEST:
            self.fired = True
            return Reply(0)
        self._armed = fault
        # What people ask for is looked up first, in a transaction of its own: not that one.
        self._kind = BULK if path.startswith("/v1/surveys") else SINGLE
        self._looks_first = self.role == "dealer" and path.endswith("/close")
        reply = self._loop.run_until_complete(self._call(method, path, document))
        self._armed = Fault.NONE
        if self._dead.is_set():
            self.restart()
        if fault is Fault.LOST_ANSWER:
            self.fired = True
            return Reply(0)
        return reply

    async def _call(self, method: str, path: str, document: Any) -> Reply:
        body = b"" if document is None else _bytes(document)
        sent: list[Any] = []

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": body, "more_body": False}

        async def send(message: Any) -> None:
            sent.append(message)

        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": method,
            "path": path,
            "raw_path": path.encode(),
            "query_string": b"",
            "headers": [(b"authorization", f"Bearer {TOKEN}".encode())],
            "scheme": "http",
            "server": ("test", 80),
            "client": ("test", 1),
        }
        work = asyncio.ensure_future(self._app(scope, receive, send))
        async with asyncio.timeout(LATEST):
            while not work.done() and not self._dead.is_set():
                await asyncio.wait((work,), timeout=0.01)
        if not work.done():
            work.cancel()
            await asyncio.gather(work, return_exceptions=True)
            return Reply(0)
        await work
        data = b"".join(message.get("body", b"") for message in sent)
        return Reply(sent[0]["status"], json.loads(data) if data else None)


def _bytes(document: Any) -> bytes:
    return document if isinstance(document, bytes) else json.dumps(document).encode()


_in_job = threading.local()


def kinds_of_jobs() -> set[str]:
    """What kinds of jobs are in this thread's transaction; none in that of housekeeping."""
    return getattr(_in_job, "kinds", set())


@contextmanager
def watched_writers() -> Iterator[None]:
    """Writers tell when they are in a transaction of jobs."""
    plain = Writer._transaction

    def transaction(self: Writer, batch: Any) -> Any:
        _in_job.kinds = {waiting.kind for waiting in batch}
        try:
            return plain(self, batch)
        finally:
            _in_job.kinds = set()

    work = Writer._work

    def until_death(self: Writer) -> None:
        with suppress(ProcessDeath):
            work(self)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Writer, "_transaction", transaction)
        patch.setattr(Writer, "_work", until_death)
        yield
