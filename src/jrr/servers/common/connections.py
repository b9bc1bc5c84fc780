"""Connections that are silent, slow, huge or too many: each ends in time, and costs little.

uvicorn reads headers of any length for as long as a client likes. Here

- a request's headers, and every further 256 kB of its body, must come within ten seconds, and
  whoever says nothing for so long is hung up on;
- headers have some kilobytes at most;
- of more connections than there is room for, the one that has been waiting longest goes;
- where more uploads come than can be stored, they are refused before they are looked at, one for
  every four that are answered (and some more), so that refusing takes a twentieth of the time;
  whoever comes beyond it waits unread, and is served or refused in turn.
"""

import asyncio
import json
import logging
import random
import re
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, cast

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from jrr.servers.common.problems import RETRY_AFTER, Problem, busy
from jrr.servers.common.visitors import CONTRIBUTORS, IS_THERE

DEADLINE = 10.0  # seconds for headers, for a piece of a body, and of silence
READING = 30.0  # seconds that a client may take to read a piece of a reply
PIECE = 256 << 10  # bytes of a body
HEADERS = 16 << 10  # bytes of all headers and the address
LONGEST = 0.5  # seconds that a request should be under way; waiting for a commit adds to it
CROWD = 32  # requests under way, from which on it is measured how many are answered
MOST_UNDER_WAY = 8_192
LOOK = 0.5  # seconds between two looks at deadlines
REFUSALS = 0.25  # unread, for each request that is answered: each costs a fifth of one
MORE_REFUSALS = 50  # at each look, also where nothing is answered
MOST_REFUSALS = 500  # saved up
MOST_HELD = 64 << 10  # bytes of an upload that waits unread
MOST_AHEAD = 16  # requests that a client may send before the first is answered
_POST = f"POST {CONTRIBUTORS}".encode()
# One line, then headers as everybody writes them: a name, a colon, printable characters. Folded
# lines, odd line ends and whatever else there is are for the parser.
_HEAD = re.compile(
    rb"POST [!-~]+ HTTP/1\.[01]\r\n"
    # A value begins after all blanks: were there two ways to read them, thousands took a second.
    rb"(?:[A-Za-z0-9-]+:[ \t]*(?:[!-~\x80-\xff][\x20-\x7e\x80-\xff]*)?\r\n)+"
)
_LENGTH = re.compile(rb"\r\ncontent-length:[ \t]*(\d{1,7})[ \t]*\r\n")
_UNUSUAL = (b"\r\ntransfer-encoding:", b"\r\nexpect:", b"\r\nupgrade:", b"\r\ntrailer:")


def _never() -> bool:
    return False


@dataclass
class Door:
    """What the connections of one server share."""

    is_full: Callable[[], bool] = _never  # whether uploads are refused unread
    any_origin: bool = True  # whether a page of any origin may read a refusal
    most: int = 1_000  # connections
    deadline: float = DEADLINE
    refused: int = 0  # uploads, unread
    hung_up: int = 0  # connections that were silent, slow or too many
    open: dict["Connection", None] = field(default_factory=dict)  # in the order they came
    held: OrderedDict["Connection", None] = field(default_factory=OrderedDict)  # wait unread
    may_refuse: float = MOST_REFUSALS  # uploads, now
    looking: asyncio.TimerHandle | None = None
    room: int = 512  # requests that may be under way
    answered: int = 0  # requests since the last look
    fewest: int = 0  # requests that were under way, at the least, since then
    looked: float = 0.0  # when that was

    def __post_init__(self) -> None:
        told = [
            ("access-control-allow-origin", "*"),
            ("access-control-expose-headers", "retry-after"),
        ]
        more = told if self.any_origin else []
        self._refusals = [
            _reply(busy(), [("retry-after", str(seconds)), *more])
            for seconds in range(RETRY_AFTER[0], RETRY_AFTER[1] + 1)
        ]

    def refusal(self) -> bytes:
        """A whole reply; not all are told to come back at the same time."""
        return random.choice(self._refusals)

    def enter(self, connection: "Connection") -> None:
        """Take a connection in; if there are too many, another one goes, or this one."""
        self.open[connection] = None
        if len(self.open) > self.most:
            idle = next((one for one in self.open if one.is_waited_for), connection)
            self.hang_up(idle)
        if self.looking is None:
            self.looking = connection.loop.call_later(LOOK, self._look, connection.loop)

    def leave(self, connection: "Connection") -> None:
        """A connection is closed."""
        self.open.pop(connection, None)
        self.held.pop(connection, None)

    def hang_up(self, connection: "Connection") -> None:
        """End a connection without waiting for anything."""
        self.hung_up += 1
        self.leave(connection)
        connection.transport.abort()

    def count_answer(self, under_way: int) -> None:
        """A request was answered; so many others are under way."""
        self.answered += 1
        self.fewest = min(self.fewest, under_way)
        self.may_refuse = min(MOST_REFUSALS, self.may_refuse + REFUSALS)
        if self.held:
            self._let_in()

    def _let_in(self) -> None:
        """Serve or refuse those who wait unread, as far as there is room or time."""
        for _ in range(len(self.held)):
            connection = next(iter(self.held), None)
            if connection is None or (self.may_refuse < 1 and connection.is_crowded):
                return
            del self.held[connection]
            connection.go_on()

    def _measure(self, now: float) -> None:
        """How many may be under way follows from how many are answered a second in a crowd."""
        elapsed = now - self.looked
        if self.fewest >= CROWD and 0 < elapsed < 10 * LOOK:
            room = (self.room + LONGEST * self.answered / elapsed) / 2
            self.room = int(min(MOST_UNDER_WAY, max(4 * CROWD, room)))
        self.looked, self.answered, self.fewest = now, 0, MOST_UNDER_WAY

    def _look(self, loop: asyncio.AbstractEventLoop) -> None:
        self.looking = loop.call_later(LOOK, self._look, loop) if self.open else None
        now = loop.time()
        self._measure(now)
        self.may_refuse = min(MOST_REFUSALS, self.may_refuse + MORE_REFUSALS)
        self._let_in()
        for connection in [one for one in self.open if one.ends is not None and one.ends < now]:
            self.hang_up(connection)


class Connection(HttpToolsProtocol):
    """uvicorn's protocol, with deadlines and limits; `protocol_of` sets the door."""

    door: Door

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.ends: float | None = None  # when it is hung up on
        self._between = True  # no request has begun
        self._in_headers = False
        self._in_body = False
        self._unanswered: deque[Any] = deque()  # of requests, in order
        self._header_bytes = 0
        self._piece = 0  # bytes of a body since the last deadline
        self._is_refused = False
        self._is_open = True
        self._held = b""  # of somebody who waits unread

    @property
    def is_waited_for(self) -> bool:
        """Whether it is the client's turn to say something."""
        return self._between or self._in_headers

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """A client is there; it should say something."""
        super().connection_made(transport)
        self._wait()
        self.door.enter(self)

    def connection_lost(self, exc: Exception | None) -> None:
        """The client has gone: what it asked for need not be done."""
        self._is_open = False
        self.door.leave(self)
        for cycle in self._unanswered:  # uvicorn tells only the last of several
            cycle.disconnected = True
            cycle.message_event.set()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Some bytes; refused unread where there is no room for an upload."""
        if self._is_refused:
            return
        if self._held:  # and more, though nothing was answered yet
            self._held += data
            if len(self._held) > MOST_HELD:  # no upload as most are: the application may refuse it
                self.door.held.pop(self, None)
                self._read(self._take_held())
            return
        if self._between and data.startswith(_POST) and self.is_crowded:
            self._wait()
            if self.door.may_refuse < 1:
                self._held = data
                self.door.held[self] = None
            else:
                self._read_or_refuse(data)
            return
        self._read(data)

    def go_on(self) -> None:
        """Look at what has waited unread, now that there is room for it or time to refuse it."""
        data = self._take_held()
        if self.is_crowded:
            self._wait()
            self._read_or_refuse(data)
        else:
            self._read(data)

    def _take_held(self) -> bytes:
        data, self._held = self._held, b""
        return data

    def _read_or_refuse(self, data: bytes) -> None:
        """Refuse a whole upload unread; anything else is for the parser."""
        if self._is_upload(data):
            self._refuse(data)
        else:
            self._read(data)

    def _refuse(self, data: bytes) -> None:
        """Refuse an upload unread."""
        self.door.may_refuse -= 1
        self.door.refused += 1
        self._unset_keepalive_if_required()
        self.transport.write(self.door.refusal())
        if _is_last(data):
            self._is_refused = True
            self.transport.close()

    def _read(self, data: bytes) -> None:
        super().data_received(data)
        if self._in_headers:
            self._header_bytes += len(data)
            if self._header_bytes > HEADERS:
                self._refuse_headers()

    @property
    def is_crowded(self) -> bool:
        """Whether there is no room for an upload now."""
        return len(self.tasks) >= self.door.room or self.door.is_full()

    def _is_upload(self, data: bytes) -> bool:
        """Whether this is a whole upload, which can be refused unread."""
        if not _is_whole(data):
            return False
        return self.door.any_origin or b"\r\norigin:" not in data.lower()

    def on_message_begin(self) -> None:
        """The first byte of a request."""
        self._between, self._in_headers, self._header_bytes = False, True, 0
        self._wait()
        super().on_message_begin()
        cast(dict[str, Any], self.scope)[IS_THERE] = self._is_there

    def on_header(self, name: bytes, value: bytes) -> None:
        """One header."""
        self._header_bytes += len(name) + len(value)
        if self._header_bytes <= HEADERS:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """The body comes next."""
        self._in_headers, self._in_body, self._piece = False, True, 0
        if self._is_refused:
            return
        if len(self.pipeline) >= MOST_AHEAD:  # each takes some kilobytes until its turn
            self._is_refused = True
            self.door.hang_up(self)
            return
        if self._header_bytes + len(self.url) > HEADERS:
            self._refuse_headers()
            return
        self._wait()
        before = self.cycle
        super().on_headers_complete()
        if self.cycle is not before:
            self._unanswered.append(self.cycle)

    def on_body(self, body: bytes) -> None:
        """A piece of a body."""
        if self._is_refused:
            return
        self._piece += len(body)
        if self._piece >= PIECE:
            self._piece = 0
            self._wait()
        super().on_body(body)

    def on_message_complete(self) -> None:
        """The request is here; now it is the server's turn."""
        self._in_body = False
        if self._is_refused:
            return
        self.ends = None
        super().on_message_complete()
        if self.cycle.response_complete:  # it was answered before its end
            self._between = True
            self._wait()

    def on_response_complete(self) -> None:
        """The client may ask for more."""
        self._unanswered.popleft()
        self.door.count_answer(len(self.tasks))
        # Answered before its end, the rest of a body is no request, whatever it looks like.
        if not self.pipeline and not self._in_headers and not self._in_body:
            self._between = True
            self._wait()
        super().on_response_complete()

    def pause_writing(self) -> None:
        """The client does not read its reply."""
        self.ends = self.loop.time() + READING
        super().pause_writing()

    def resume_writing(self) -> None:
        """It does."""
        self.ends = None
        super().resume_writing()

    def _wait(self) -> None:
        self.ends = self.loop.time() + self.door.deadline

    def _is_there(self) -> bool:
        return self._is_open

    def _refuse_headers(self) -> None:
        self._is_refused = True
        limit = f"headers and address may have at most {HEADERS} bytes"
        self.transport.write(_reply(Problem(431, "too-large", limit), [("connection", "close")]))
        self.transport.close()


def protocol_of(door: Door) -> type[Connection]:
    """The protocol of a server, for uvicorn."""
    return type("JrrConnection", (Connection,), {"door": door})


def quiet_logs() -> None:
    """Whoever speaks no HTTP must not be able to fill the log."""
    logging.getLogger("uvicorn.error").setLevel(logging.ERROR)


def _is_whole(data: bytes) -> bool:
    """Whether these bytes are one request and nothing else, written in the usual way.

    What is refused unread must end where the parser, and any proxy before it, says that it ends:
    or a part of somebody's body could pass for the next request.
    """
    head, found, body = data.partition(b"\r\n\r\n")
    if not found or len(head) > HEADERS:
        return False
    head += b"\r\n"
    lower = head.lower()
    length = _LENGTH.search(lower)
    return (
        length is not None
        and len(body) == int(length[1])
        and lower.count(b"\r\ncontent-length") == 1
        and not any(header in lower for header in _UNUSUAL)
        and _HEAD.fullmatch(head) is not None
    )


def _is_last(data: bytes) -> bool:
    """Whether the client expects the connection to end with the reply, as older proxies do."""
    head = data.partition(b"\r\n\r\n")[0].lower() + b"\r\n"
    if b" http/1.0\r\n" in head:
        return True
    at = head.find(b"\r\nconnection:")
    return at >= 0 and b"close" in head[at + 2 :].partition(b"\r\n")[0]


def _reply(problem: Problem, headers: list[tuple[str, str]]) -> bytes:
    body = json.dumps(problem.document()).encode()
    reason = {431: "Request Header Fields Too Large", 503: "Service Unavailable"}
    lines = [
        f"HTTP/1.1 {problem.status} {reason[problem.status]}",
        "content-type: application/problem+json",
        f"content-length: {len(body)}",
        *(f"{name}: {value}" for name, value in headers),
    ]
    return "\r\n".join([*lines, "", ""]).encode() + body
