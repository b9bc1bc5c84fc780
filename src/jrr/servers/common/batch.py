"""One writer for many requests: jobs that wait at the same time share a commit.

A request is answered only after the commit that holds its change. Waiting for the disk once for
many requests is what makes full synchronisation affordable.

Contributors wait in a queue of bounded length: what could not be done within about two seconds is
refused at once, which costs little, and can be tried again. What operators want comes first, and is
never refused for want of room.
"""

import asyncio
import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable, Hashable, Sequence
from typing import Any, Concatenate, NamedTuple, ParamSpec, Protocol, TypeVar

from sqlalchemy import Connection, Engine

from jrr.errors import JrrError
from jrr.servers.common.database import READS, Outages
from jrr.servers.common.middleware import IsThere, visitor
from jrr.servers.common.problems import Problem, busy

T = TypeVar("T")
I = TypeVar("I")  # noqa: E741 - an item
P = ParamSpec("P")
MOST = 512  # jobs per commit
LONGEST = 2.0  # seconds of work that may wait
FEWEST = 128  # jobs that may wait, however slow they are
AT_ONCE = 32  # answers in one turn of the event loop
REPEATS = 3  # of a batch that met a broken connection, or rows of another process
QUIET = 0.02  # seconds without a job after which there is time for housekeeping
Bulk = Callable[[Connection, Sequence[I]], Sequence[T | Exception]]
Claim = Callable[[Connection], None]


class WrittenMeanwhile(Exception):  # noqa: N818 - no error: the job is repeated
    """Another process wrote the same row after it was looked for; repeated, the job finds it."""


class Housekeeping(Protocol):
    """What is done to a database between jobs."""

    def note(self, grown: dict[str, int]) -> None:
        """Surveys have so many arrivals now."""

    def between_batches(self, connection: Connection) -> None:
        """A little of what is due; jobs are waiting."""

    def when_quiet(self, connection: Connection) -> bool:
        """A part of what is due; False where nothing is left to do."""


class _Waiting(NamedTuple):
    job: Callable[..., Any]
    item: Any  # of a bulk job
    kind: str
    loop: asyncio.AbstractEventLoop
    future: "asyncio.Future[Any]"
    is_there: IsThere | None  # None: never dropped


SINGLE, BULK, ALONE = "single", "bulk", "alone"


class Writer:
    """A thread that runs jobs in transactions, one after another.

    A job checks everything first and writes last: a refusal must leave nothing. Every job may be
    repeated: where a connection broke while committing, it is.

    With replicas, other processes that write to the same database, a single job has a transaction
    of its own, and a bulk job locks surveys in the order of their names: nobody waits in a circle.
    """

    def __init__(
        self,
        engine: Engine,
        housekeeping: Housekeeping | None = None,
        *,
        has_replicas: bool = False,
    ) -> None:
        self._engine = engine
        self._has_replicas = has_replicas
        self._housekeeping = housekeeping
        self._outages = Outages()
        self._connection: Connection | None = None  # kept open, in the writer's thread
        self._claim: Claim | None = None
        self._turn = threading.Condition()
        self._first: deque[_Waiting] = deque()
        self._queue: deque[_Waiting] = deque()  # of contributors
        self._closing = False
        self._pace = LONGEST / (4 * MOST)  # seconds per job while jobs wait, as measured
        self.room = 4 * MOST  # contributors' jobs that may wait
        self.changed: list[Callable[[set[str]], None]] = []  # told which surveys changed
        self.batches: list[Callable[[int, float], None]] = []  # told size and seconds of each
        self._thread = threading.Thread(target=self._work, name="jrr-writer", daemon=True)
        self._thread.start()

    def begin_with(self, connection: Connection, claim: Claim) -> None:
        """Write through a connection that has a claim, and others only once they have it too.

        Before the first job. claim: Takes what must be this process's alone; OSError: it is not.
        """
        self._connection, self._claim = connection, claim

    @property
    def waiting(self) -> int:
        """How many contributors' jobs wait."""
        return len(self._queue)

    @property
    def is_full(self) -> bool:
        """Whether contributors are refused now."""
        return len(self._queue) >= self.room

    async def run(
        self, job: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """The result of job(connection, *args), once it is committed."""
        bound = (lambda connection: job(connection, *args, **kwargs)) if args or kwargs else job
        result: T = await self._wait(bound, None, SINGLE)
        return result

    async def run_bulk(self, job: Bulk[I, T], item: I) -> T:
        """The result for one item of job(connection, items), once it is committed.

        The job is called once for all items that wait at the same time. It returns a result for
        each, or a Problem.
        """
        result: T = await self._wait(job, item, BULK)
        return result

    async def run_alone(self, task: Callable[[], T]) -> T:
        """Something that must not meet a transaction, such as rewriting the database."""
        result: T = await self._wait(task, None, ALONE)
        return result

    async def _wait(self, job: Callable[..., Any], item: Any, kind: str) -> Any:
        is_there = None if kind == ALONE else visitor()
        if is_there is not None and self.is_full:
            raise busy()
        loop = asyncio.get_running_loop()
        waiting = _Waiting(job, item, kind, loop, loop.create_future(), is_there)
        with self._turn:
            (self._first if is_there is None else self._queue).append(waiting)
            self._turn.notify()
        return await waiting.future

    def close(self) -> None:
        """Finish what waits, then stop."""
        with self._turn:
            self._closing = True
            self._turn.notify()
        self._thread.join()

    def _work(self) -> None:
        while True:
            batch = self._next()
            if batch is None:
                self._disconnect()
                return
            batch = self._still_there(batch)
            if not batch:
                continue
            begun = time.perf_counter()
            self._answer(batch, self._together(batch))
            seconds = time.perf_counter() - begun
            for told in self.batches:
                told(len(batch), seconds)
            self._measure(batch, seconds)
            self._keep_house(quiet=False)

    def _next(self) -> list[_Waiting] | None:
        """Jobs that go together; None: stop."""
        while True:
            with self._turn:
                if not (self._first or self._queue or self._closing):
                    self._turn.wait(QUIET)
                if self._first or self._queue:
                    return self._taken()
                if self._closing:
                    return None
            if not self._keep_house(quiet=True):
                with self._turn:
                    if not (self._first or self._queue or self._closing):
                        self._turn.wait()

    def _taken(self) -> list[_Waiting]:
        batch: list[_Waiting] = []
        for queue in (self._first, self._queue):
            while queue and len(batch) < MOST:
                if self._stands_alone(queue[0]):
                    return batch or [queue.popleft()]
                batch.append(queue.popleft())
        return batch

    def _stands_alone(self, one: _Waiting) -> bool:
        return one.kind == ALONE or (self._has_replicas and one.kind == SINGLE)

    def _still_there(self, batch: list[_Waiting]) -> list[_Waiting]:
        """Those for whom somebody waits; the others are told that nothing was done."""
        stay: list[_Waiting] = []
        left: list[_Waiting] = []
        for one in batch:
            (stay if one.is_there is None or one.is_there() else left).append(one)
        if left:
            self._answer(left, [busy() for _ in left])
        return stay

    def _measure(self, batch: list[_Waiting], seconds: float) -> None:
        """How many may wait follows from how long a job takes while others wait."""
        if batch[0].kind != ALONE and self._queue:
            weight = min(1.0, len(batch) / MOST)
            self._pace += weight * 0.5 * (seconds / len(batch) - self._pace)
            self.room = max(FEWEST, min(64 * MOST, int(LONGEST / max(self._pace, 1e-6))))

    def _together(self, batch: list[_Waiting], again: int = REPEATS) -> list[Any]:
        try:
            if batch[0].kind == ALONE:
                return [batch[0].job()]
            outcomes = self._transaction(batch)
            self._outages.over()
            return outcomes
        except Exception as error:
            # The database may have been restarted since the last job.
            broken = self._connection is not None and self._connection.invalidated
            self._disconnect()
            raced = isinstance(error, WrittenMeanwhile)
            if again and (raced or broken):
                return self._together(batch, again - 1)
            if raced:
                return [busy() for _ in batch]
            if self._outages.caused(error):
                return [self._outages.problem() for _ in batch]
            if len(batch) == 1:
                return [error]
        # One of them broke the transaction: let each stand on its own.
        return [self._together([waiting])[0] for waiting in batch]

    def _transaction(self, batch: list[_Waiting]) -> list[Any]:
        connection = self._connected()
        outcomes: list[Any] = [None] * len(batch)
        together: dict[Hashable, list[int]] = defaultdict(list)
        changed: set[str] = set()
        try:
            with connection.begin():
                committed: list[Callable[[], None]] = []
                connection.info.update(arrivals={}, changed=changed, committed=committed)
                for at, waiting in enumerate(batch):
                    if waiting.kind == BULK:
                        together[waiting.job].append(at)
                    else:
                        outcomes[at] = _outcome(waiting.job, connection)
                for numbers in together.values():
                    job, items = batch[numbers[0]].job, [batch[at].item for at in numbers]
                    for at, outcome in zip(numbers, job(connection, items), strict=True):
                        outcomes[at] = outcome
                grown = connection.info["arrivals"]
            for act in committed:
                act()
        finally:
            for told in self.changed:
                told(changed)
        if self._housekeeping is not None and grown:
            self._housekeeping.note(grown)
        return outcomes

    def _connected(self) -> Connection:
        if self._connection is None:
            connection = self._engine.connect()
            try:
                if self._claim is not None:
                    self._claim(connection)
            except BaseException:
                connection.close()
                raise
            self._connection = connection
        return self._connection

    def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            try:
                if self._claim is not None:
                    connection.invalidate()  # the claim ends with it
                connection.close()
            except Exception:  # it is broken: nothing of it is used again
                connection.invalidate()

    def _keep_house(self, quiet: bool) -> bool:
        """Housekeeping; whether there may be more to do. Whatever happens, jobs go on."""
        if self._housekeeping is None:
            return False
        try:
            if quiet:
                return self._housekeeping.when_quiet(self._connected())
            self._housekeeping.between_batches(self._connected())
        except Exception as error:
            self._disconnect()
            self._outages.caused(error)
        return False

    @staticmethod
    def _answer(batch: list[_Waiting], outcomes: list[Any]) -> None:
        by_loop: dict[asyncio.AbstractEventLoop, list[tuple[asyncio.Future[Any], Any]]]
        by_loop = defaultdict(list)
        for waiting, outcome in zip(batch, outcomes, strict=True):
            by_loop[waiting.loop].append((waiting.future, outcome))
        for loop, settled in by_loop.items():
            if not loop.is_closed():
                loop.call_soon_threadsafe(_settle, settled)


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
    except (Problem, JrrError) as error:
        return as_problem(error)


def as_problem(error: Problem | JrrError) -> Problem:
    """A refusal as it is answered."""
    return error if isinstance(error, Problem) else Problem(422, "refused", str(error))


def in_groups(
    items: Sequence[I],
    name_of: Callable[[I], str],
    do: Callable[[str, Sequence[I]], Sequence[T | Problem]],
) -> list[T | Problem]:
    """What a bulk job does for the items of each name, in the order of all items.

    A refusal by `do` itself is one of all items of that name.
    """
    outcomes: dict[int, T | Problem] = {}
    numbers_by_name: dict[str, list[int]] = defaultdict(list)
    for at, item in enumerate(items):
        numbers_by_name[name_of(item)].append(at)
    # In one order of all processes, so that none waits for another in a circle.
    for name, numbers in sorted(numbers_by_name.items()):
        some = [items[at] for at in numbers]
        try:
            found = do(name, some)
        except (Problem, JrrError) as error:
            found = [as_problem(error) for _ in some]
        outcomes |= dict(zip(numbers, found, strict=True))
    return [outcomes[at] for at in range(len(items))]


def _settle(settled: list[tuple["asyncio.Future[Any]", Any]]) -> None:
    """Answer some now and the rest in the loop's next turn: others want to be let in meanwhile."""
    if len(settled) > AT_ONCE:
        asyncio.get_running_loop().call_soon(_settle, settled[AT_ONCE:])
    for future, outcome in settled[:AT_ONCE]:
        if future.done():  # nobody waits any more
            continue
        if isinstance(outcome, Exception):
            future.set_exception(outcome)
        else:
            future.set_result(outcome)
