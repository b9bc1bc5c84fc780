"""One process of the load generator: requests at their due times, whatever the server does."""

import asyncio
import random
import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, cast

Done = Callable[["Plug", "Outcome"], None]


class Outcome(NamedTuple):
    """What came of one request."""

    status: int  # 0: the connection broke
    retry_after: float  # seconds; 0 where nothing was said
    problem: str  # the last part of the problem's type; "" where there was none


class Plug(asyncio.Protocol):
    """A connection that sends one request at a time."""

    def __init__(self, done: Done) -> None:
        self._done = done
        self._received = b""
        self._transport: asyncio.Transport | None = None
        self.number = -1  # of the request that is under way; -1: none
        self.due = 0.0  # when it should have been sent
        self.begun = 0.0  # when it was

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        self._transport = cast(asyncio.Transport, transport)

    def send(self, number: int, due: float, now: float, request: bytes) -> None:
        """Begin a request."""
        self.number, self.due, self.begun, self._received = number, due, now, b""
        assert self._transport is not None  # connected
        self._transport.write(request)

    def abort(self) -> None:
        """Hang up without waiting."""
        if self._transport is not None:
            self._transport.abort()

    @property
    def is_open(self) -> bool:
        """Whether another request may be sent."""
        return self._transport is not None and not self._transport.is_closing()

    def data_received(self, data: bytes) -> None:
        """Wait for a whole reply."""
        self._received += data
        head, found, body = self._received.partition(b"\r\n\r\n")
        if not found:
            return
        lower = head.lower()
        if len(body) < int(_header(lower, b"content-length") or 0):
            return
        status = int(head[9:12])
        told = _header(lower, b"retry-after")
        kind = body.partition(b"urn:jrr:problem:")[2].partition(b'"')[0].decode("latin-1")
        if b"connection: close" in lower and self._transport is not None:
            self._transport.close()
        self._finish(Outcome(status, float(told) if told.isdigit() else 0.0, kind))

    def connection_lost(self, exc: Exception | None) -> None:
        """A request that was under way has no answer."""
        if self.number >= 0:
            self._finish(Outcome(0, 0.0, ""))

    def _finish(self, outcome: Outcome) -> None:
        self._done(self, outcome)


def _header(head: bytes, name: bytes) -> bytes:
    return head.partition(b"\r\n" + name + b":")[2].partition(b"\r\n")[0].strip()


_TICK = 0.002  # seconds between two looks at what is due


@dataclass(frozen=True, kw_only=True)
class Job:
    """What one process sends."""

    host: str
    port: int
    path: str
    bodies: Sequence[bytes]
    rate: float  # requests a second
    begin: float  # when, by the clock of the system
    connections: int  # kept at most
    timeout: float  # seconds after which it closes the connection
    obey: bool  # whether it waits as Retry-After says, and tries again


@dataclass
class Sent:
    """What came of it, in one process."""

    acknowledged: dict[int, float] = field(default_factory=dict)  # body -> seconds until then
    at: list[float] = field(default_factory=list)  # when each was acknowledged, since the begin
    refusals: Counter[str] = field(default_factory=Counter)  # by status and reason
    tries: int = 0
    timeouts: int = 0
    broken: int = 0  # connections that broke under a request
    held_back: int = 0  # due, but no connection was free when the time was over
    latest: float = 0.0  # most seconds that the generator itself was behind
    processor: float = 0.0  # seconds that this process took for it


def send_all(job: Job) -> Sent:
    """Send everything; returns when all has an answer or ran out of time."""
    used = time.process_time()
    try:
        import uvloop
    except ModuleNotFoundError:  # slower
        sent = asyncio.run(_Sender(job).run())
    else:
        sent = uvloop.run(_Sender(job).run())
    sent.processor = time.process_time() - used
    return sent


class _Sender:
    def __init__(self, job: Job) -> None:
        self._job = job
        self._sent = Sent()
        head = f"POST {job.path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        self._head = head.encode()
        self._free: deque[Plug] = deque()
        self._busy: dict[Plug, None] = {}  # in the order in which they began
        self._opening = 0
        self._waiting: deque[tuple[int, float]] = deque()  # body, when it was due
        self._again: list[tuple[float, int, float]] = []  # when to try again, body, first due

    async def run(self) -> Sent:
        loop, job = asyncio.get_running_loop(), self._job
        await asyncio.sleep(max(0.0, job.begin - time.time()))
        start, next_body, last = loop.time(), 0, loop.time()
        self._start = start
        while True:
            now = loop.time()
            self._sent.latest = max(self._sent.latest, now - last - _TICK)
            last = now
            while next_body < len(job.bodies) and start + next_body / job.rate <= now:
                self._waiting.append((next_body, start + next_body / job.rate))
                next_body += 1
            for entry in [entry for entry in self._again if entry[0] <= now]:
                self._again.remove(entry)
                self._waiting.append((entry[1], entry[2]))
            self._hang_up(now)
            self._dispatch(loop)
            over = next_body == len(job.bodies)
            if over and not (self._waiting or self._busy or self._again):
                break
            if now > start + len(job.bodies) / job.rate + 3 * job.timeout:
                self._sent.held_back = len(self._waiting) + len(self._again)
                break
            await asyncio.sleep(_TICK)
        for plug in [*self._free, *self._busy]:
            plug.number = -1
            plug.abort()
        return self._sent

    def _hang_up(self, now: float) -> None:
        while self._waiting and now - self._waiting[0][1] > self._job.timeout:
            self._waiting.popleft()
            self._sent.held_back += 1
        late = []
        for plug in self._busy:
            if now - plug.begun <= self._job.timeout:
                break
            late.append(plug)
        for plug in late:
            del self._busy[plug]
            plug.number = -1
            plug.abort()
            self._sent.timeouts += 1

    def _dispatch(self, loop: asyncio.AbstractEventLoop) -> None:
        while self._waiting and self._free:
            plug = self._free.popleft()
            if not plug.is_open:
                continue
            number, due = self._waiting.popleft()
            body = self._job.bodies[number]
            request = b"%sContent-Length: %d\r\n\r\n%s" % (self._head, len(body), body)
            self._busy[plug] = None
            self._sent.tries += 1
            plug.send(number, due, loop.time(), request)
        room = self._job.connections - len(self._busy) - len(self._free) - self._opening
        for _ in range(min(room, len(self._waiting) - self._opening)):
            self._opening += 1
            loop.create_task(self._open(loop))

    async def _open(self, loop: asyncio.AbstractEventLoop) -> None:
        try:
            made = loop.create_connection(lambda: Plug(self._done), self._job.host, self._job.port)
            _, plug = await asyncio.wait_for(made, self._job.timeout)
            self._free.append(plug)
        except (OSError, TimeoutError):
            self._sent.broken += 1
            await asyncio.sleep(0.1)
        finally:
            self._opening -= 1

    def _done(self, plug: Plug, outcome: Outcome) -> None:
        now = asyncio.get_running_loop().time()
        number, plug.number = plug.number, -1
        self._busy.pop(plug, None)
        if plug.is_open:
            self._free.appendleft(plug)
        if outcome.status in (200, 201):
            self._sent.acknowledged[number] = now - plug.due
            self._sent.at.append(now - self._start)
        elif outcome.status == 0:
            self._sent.broken += 1
        else:
            self._sent.refusals[f"{outcome.status} {outcome.problem}".strip()] += 1
            if self._job.obey and outcome.retry_after:
                wait = outcome.retry_after * random.uniform(1.0, 1.5)
                self._again.append((now + wait, number, now + wait))
