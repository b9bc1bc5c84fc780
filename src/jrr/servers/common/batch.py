"""One writer for many requests: jobs that wait at the same time share a commit.

A request is answered only after the commit that holds its change. Waiting for the disk once for
many requests is what makes full synchronisation affordable.
"""

import asyncio
import logging
import queue
import threading
from collections.abc import Callable
from typing import Any, Concatenate, NamedTuple, ParamSpec, TypeVar

from sqlalchemy import Connection, Engine

from jrr.errors import JrrError
from jrr.servers.common.database import READS, scrub
from jrr.servers.common.problems import Problem

log = logging.getLogger("jrr.servers")
T = TypeVar("T")
P = ParamSpec("P")
MOST = 512  # jobs per commit
SMALL = 500  # arrivals up to which every commit is followed by a rewrite


class _Waiting(NamedTuple):
    job: Callable[..., Any]
    alone: bool  # takes no connection, and no transaction is open meanwhile
    loop: asyncio.AbstractEventLoop
    future: "asyncio.Future[Any]"


class Writer:
    """A thread that runs jobs in transactions, one after another.

    A job checks everything first and writes last: a refusal must leave nothing.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._grown: dict[str, int] = {}  # campaign -> arrivals, since the last look
        self._tidied: dict[str, int] = {}  # campaign -> arrivals at its last rewrite
        self._jobs: queue.SimpleQueue[_Waiting | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, name="jrr-writer", daemon=True)
        self._thread.start()

    async def run(
        self, job: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """The result of job(connection, *args), once it is committed."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        bound = (lambda connection: job(connection, *args, **kwargs)) if args or kwargs else job
        self._jobs.put(_Waiting(bound, False, loop, future))
        return await future

    async def run_alone(self, task: Callable[[], T]) -> T:
        """Something that must not meet a transaction, such as rewriting the database."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        self._jobs.put(_Waiting(task, True, loop, future))
        return await future

    def close(self) -> None:
        """Finish what waits, then stop."""
        self._jobs.put(None)
        self._thread.join()

    def _work(self) -> None:
        while True:
            first = self._jobs.get()
            if first is None:
                return
            batch, after = [first], []
            while len(batch) < MOST and not (batch[-1].alone or self._jobs.empty()):
                more = self._jobs.get()
                if more is None or more.alone:
                    after.append(more)
                    break
                batch.append(more)
            self._answer(batch, self._together(batch))
            self._tidy()
            for more in after:
                if more is None:
                    return
                self._answer([more], self._together([more]))

    def _together(self, batch: list[_Waiting]) -> list[Any]:
        try:
            if batch[0].alone:
                return [batch[0].job()]
            with self._engine.begin() as connection:
                outcomes = [_outcome(waiting.job, connection) for waiting in batch]
                self._grown |= connection.info.pop("arrivals", {})
            return outcomes
        except Exception as error:
            if len(batch) == 1:
                return [error]
        # One of them broke the transaction: let each stand on its own.
        return [self._together([waiting])[0] for waiting in batch]

    def _tidy(self) -> None:
        """Rewrite an embedded database now and then, so that pages do not keep who came when.

        Inside a page rows lie in the order they came. Small campaigns have it rewritten after
        every commit that adds to them, larger ones each time they have grown by a tenth. Those
        who wait have been answered by then, and what was committed stays whatever happens here.
        """
        grown, self._grown = self._grown, {}
        if self._engine.dialect.name != "sqlite":
            return
        due = [
            name
            for name, arrivals in grown.items()
            if arrivals <= SMALL or arrivals >= 1.1 * self._tidied.get(name, 0)
        ]
        if due:
            self._tidied |= {name: grown[name] for name in due}
            try:
                scrub(self._engine)
            except Exception as error:
                log.error("the database could not be rewritten: %s", type(error).__name__)

    @staticmethod
    def _answer(batch: list[_Waiting], outcomes: list[Any]) -> None:
        for waiting, outcome in zip(batch, outcomes, strict=True):
            waiting.loop.call_soon_threadsafe(_settle, waiting.future, outcome)


async def read_aside(
    engine: Engine, job: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs
) -> T:
    """The result of a long job that only reads, beside the writer and in a thread of its own."""

    def read() -> T:
        with engine.connect().execution_options(**{READS: True}) as connection:
            return job(connection, *args, **kwargs)

    return await asyncio.to_thread(read)


def _outcome(job: Callable[..., Any], connection: Connection) -> Any:
    try:
        return job(connection)
    except Problem as problem:
        return problem
    except JrrError as error:
        return Problem(422, "refused", str(error))


def _settle(future: "asyncio.Future[Any]", outcome: Any) -> None:
    if future.done():  # the client has gone
        return
    if isinstance(outcome, Exception):
        future.set_exception(outcome)
    else:
        future.set_result(outcome)
