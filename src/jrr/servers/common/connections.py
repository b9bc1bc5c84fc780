"""No more connections than can be answered soon, and an end to those that are silent or slow.

uvicorn reads requests and answers them; a proxy stands before whatever is public. What neither
does, a subclass of uvicorn's server does here:

- It accepts no more connections than it answers requests in half a second, as measured. Others wait
  in the system's queue, which is short: waiting there costs nothing, while refusing somebody costs
  a third of storing their report.
- Whoever sends no whole request within ten seconds is disconnected.
"""

import asyncio
import math
import random
import socket
from collections import deque
from contextlib import suppress
from typing import Any, cast

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from jrr.servers.common.middleware import IS_THERE

DEADLINE = 10.0  # seconds for a handshake, for headers, for a contributor's body, and of silence
OPERATORS_DEADLINE = 600.0  # seconds for an operator's body, which may be a long list
HURRY = 1.0  # seconds of silence, where others wait for the place
READING = 30.0  # seconds in which a client may read nothing of its reply
HEADERS = 64 << 10  # bytes, beyond those that come at once
MOST_AHEAD = 16  # requests that a client may send before the first is answered
LONGEST = 0.5  # seconds that all connections together should take to answer
FEWEST = 128  # connections, however slow the machine is
BACKLOG = 128  # connections that the system keeps waiting
SHARE = 0.02  # of the connections, every half second, end with the next reply where others wait
OPERATORS = ("/v1/admin/", "/console/")


class Connection(HttpToolsProtocol):
    """uvicorn's protocol, with an end to headers, and word of whether the client is still there."""

    is_last = False  # whether the next reply is the last: others wait for the place
    _in_headers = False
    _header_bytes = 0  # that came after those in which the request began

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._ahead: deque[RequestResponseCycle] = deque(maxlen=MOST_AHEAD + 2)

    def on_message_begin(self) -> None:
        """The first byte of a request."""
        self._in_headers, self._header_bytes = True, 0
        super().on_message_begin()
        cast(dict[str, Any], self.scope)[IS_THERE] = self._is_there

    def _is_there(self) -> bool:
        return not self.transport.is_closing()

    def on_headers_complete(self) -> None:
        """The body comes next."""
        self._in_headers = False
        before = self.cycle
        super().on_headers_complete()
        if self.is_last:
            self.cycle.keep_alive = False
        if self.pipeline:
            self._ahead.append(before)

    def connection_lost(self, exc: Exception | None) -> None:
        """The client has gone; of several requests uvicorn tells only the last."""
        for cycle in self._ahead:
            cycle.disconnected = True
            cycle.message_event.set()
        super().connection_lost(exc)

    @property
    def is_waited_for(self) -> bool:
        """Whether it is the client's turn to ask for something."""
        cycle: RequestResponseCycle | None = self.cycle  # none before the first request
        return cycle is None or cycle.response_complete

    def data_received(self, data: bytes) -> None:
        """Some bytes."""
        goes_on = self._in_headers
        super().data_received(data)
        if goes_on and self._in_headers:
            self._header_bytes += len(data)
        if self._header_bytes > HEADERS or len(self.pipeline) > MOST_AHEAD:
            self.transport.abort()


class Server(uvicorn.Server):
    """uvicorn's server, which accepts connections itself."""

    def __init__(self, config: uvicorn.Config, most: int) -> None:
        super().__init__(config)
        self.most = most  # connections, which are files
        self.limit = min(most, 4 * FEWEST)  # connections now
        self.disconnected = 0  # that were silent or slow
        self._opening: set[asyncio.Task[None]] = set()  # handshakes of TLS
        self._since: dict[tuple[Any, ...], float] = {}  # connection and state -> when it was so
        self._is_paused = self._was_full = False
        self._busiest = 0  # requests under way, at the most since the last measurement
        self._answered, self._measured = 0, 0.0  # requests, and when, at the last measurement

    @property
    def connections(self) -> set[Connection]:
        """All that are open."""
        return cast(set[Connection], self.server_state.connections)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to accept connections of one socket that listens."""
        assert sockets is not None  # one
        await super().startup(sockets=[])
        (self._listening,) = sockets
        self._listening.setblocking(False)
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self._listening, self._accept)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Accept no more, and finish what is under way."""
        self._loop.remove_reader(self._listening)
        for task in self._opening:
            task.cancel()
        await super().shutdown(sockets)

    async def on_tick(self, counter: int) -> bool:
        """Called by uvicorn ten times a second."""
        self._busiest = max(self._busiest, len(self.server_state.tasks))
        if counter % 10 == 0:
            self._disconnect_slow(self._loop.time())
        if counter % 5 == 0:
            self._adjust(self._loop.time())
        if self._is_paused:
            self._is_paused = False
            self._loop.add_reader(self._listening, self._accept)
        return await super().on_tick(counter)

    def _accept(self) -> None:
        """Take those who wait, while there is room; then none until the next tick."""
        while len(self.connections) + len(self._opening) < self.limit:
            try:
                plug, _ = self._listening.accept()
            except BlockingIOError:
                return
            except OSError:  # the client has gone, or there is no file left
                break
            plug.setblocking(False)
            task = self._loop.create_task(self._open(plug))
            self._opening.add(task)
            task.add_done_callback(self._opening.discard)
        else:
            self._was_full = True
        self._is_paused = True
        self._loop.remove_reader(self._listening)

    async def _open(self, plug: socket.socket) -> None:
        handshake = DEADLINE if self.config.ssl else None
        with suppress(OSError):  # a handshake that failed
            await self._loop.connect_accepted_socket(
                self._protocol, plug, ssl=self.config.ssl, ssl_handshake_timeout=handshake
            )

    def _protocol(self) -> Connection:
        return Connection(self.config, self.server_state, self.lifespan.state, self._loop)

    def _adjust(self, now: float) -> None:
        """How many connections there may be follows from how many requests are answered."""
        state = self.server_state
        if self._was_full:
            if 2 * self._busiest >= len(self.connections):
                rate = (state.total_requests - self._answered) / (now - self._measured)
                limit = int(self.limit + LONGEST * rate) // 2
                self.limit = max(min(limit, self.most), min(FEWEST, self.most))
            else:  # most of them only keep their places
                self.limit = min(2 * self.limit, self.most)
            everybody = [*self.connections]
            for one in random.sample(everybody, math.ceil(SHARE * len(everybody))):
                one.is_last = True
        self._was_full = False
        self._busiest, self._answered, self._measured = 0, state.total_requests, now

    def _disconnect_slow(self, now: float) -> None:
        since = {}
        silence = HURRY if len(self.connections) >= self.most else DEADLINE
        for one in list(self.connections):
            cycle, unread = one.cycle, one.transport.get_write_buffer_size()
            if unread:
                may_take = READING
            elif one.is_waited_for:
                may_take = silence
            elif cycle.more_body:
                is_long = cycle.scope["path"].startswith(OPERATORS)
                may_take = OPERATORS_DEADLINE if is_long else DEADLINE
            else:
                continue  # it waits for us
            state = (one, cycle, unread)
            since[state] = self._since.get(state, now)
            if now - since[state] >= may_take:
                self.disconnected += 1
                one.transport.abort()
        self._since = since
