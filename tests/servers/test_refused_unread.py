"""Uploads that are refused unread: each ends where the parser would say that it ends."""

import asyncio
import random
import socket
import threading
import time
from typing import Any

import pytest

from jrr.servers.common.connections import Door, _is_whole
from tests.servers.test_connections import serving

LINE = b"POST /v1/surveys/x/reports HTTP/1.1\r\nHost: x\r\n"
BODY = b'{"a": 1}'


class Keeping:
    """Answers with 200, and keeps what it was sent."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        body = b""
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                return
            body += message.get("body", b"")
            if not message.get("more_body"):
                break
        self.bodies.append(body)
        headers = [(b"content-length", b"2")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b"ok"})


def post(body: bytes = BODY, *more: bytes) -> bytes:
    """An upload as clients write it."""
    lines = b"".join(line + b"\r\n" for line in more)
    return LINE + lines + b"Content-Length: %d\r\n\r\n%s" % (len(body), body)


def replies(plug: socket.socket, count: int, quiet: float = 0.0) -> list[int]:
    """The statuses of so many replies, or of as many as come until the server hangs up.

    quiet: Seconds in which no other one may follow.
    """
    received = b""
    found: list[int] = []
    plug.settimeout(60.0)
    while len(found) < count:
        head, whole, rest = received.partition(b"\r\n\r\n")
        length = head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0]
        if whole and len(rest) >= int(length or 0):
            found.append(int(head[9:12]))
            received = rest[int(length or 0) :]
            continue
        more = plug.recv(65536)
        if not more:
            break
        received += more
    if quiet:
        plug.settimeout(quiet)
        with pytest.raises(TimeoutError):
            plug.recv(1)
    assert received == b""
    return found


def test_a_refused_upload_is_followed_by_one_that_is_taken_on_the_same_connection() -> None:
    app, full = Keeping(), [True]
    door = Door(is_full=lambda: full[0])
    with serving(app, door) as address, socket.create_connection(address) as plug:
        for round_number in range(3):
            full[0] = True
            plug.sendall(post(b"no"))
            assert replies(plug, 1) == [503]
            full[0] = False
            plug.sendall(post(b"%d" % round_number))
            assert replies(plug, 1, quiet=0.05) == [200]
    assert (door.refused, app.bodies) == (3, [b"0", b"1", b"2"])


def test_however_a_stream_is_cut_each_request_has_one_reply() -> None:
    """With doors that open and close meanwhile: no body is read as a request, none is lost."""
    drawn = random.Random(7)
    app, full = Keeping(), [False]
    door = Door(is_full=lambda: full[0])
    over = threading.Event()

    def swing() -> None:
        while not over.wait(0.002):
            full[0] = not full[0]

    thread = threading.Thread(target=swing)
    thread.start()
    try:
        with serving(app, door) as address, socket.create_connection(address) as plug:
            plug.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            statuses = []
            for number in range(60):
                # A body that is itself an upload, as one would write it to be smuggled in.
                bodies = [post(b"%d.%d" % (number, at)) for at in range(drawn.randint(1, 3))]
                stream = b"".join(post(body) for body in bodies)
                cuts = sorted(drawn.sample(range(1, len(stream)), drawn.randint(0, 3)))
                for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True):
                    plug.sendall(stream[start:end])
                    time.sleep(0.001)
                statuses += replies(plug, len(bodies))
                assert len(statuses) == len(app.bodies) + door.refused
            plug.settimeout(0.1)
            with pytest.raises(TimeoutError):  # and not one reply more
                plug.recv(1)
    finally:
        over.set()
        thread.join()
    assert set(statuses) <= {200, 503}
    assert statuses.count(503) == door.refused
    assert all(body.startswith(LINE) for body in app.bodies)


CHUNKED = b"Transfer-Encoding: chunked"
UNUSUAL = {
    "chunked": LINE + CHUNKED + b"\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
    "chunked and a length": post(b"2\r\n{}\r\n0\r\n\r\n", CHUNKED),
    "two lengths": post(b"{}", b"Content-Length: 2"),
    "a length with a sign": LINE + b"Content-Length: +2\r\n\r\n{}",
    "a length of two numbers": LINE + b"Content-Length: 2, 2\r\n\r\n{}",
    "a blank before the colon": LINE + b"Content-Length : 2\r\n\r\n{}",
    "a folded line": post(b"{}", b"A: b", b" c"),
    "a line end of one byte": post(b"{}", b"A: b\nC: d"),
    "a zero byte": post(b"{}", b"A: \0"),
    "waits to be asked for its body": post(b"{}", b"Expect: 100-continue"),
    "an upgrade": post(b"{}", b"Upgrade: websocket"),
    "no length": LINE + b"\r\n",
    "a length that is too short": post(b"{}").replace(b"Length: 2", b"Length: 1"),
    "a length that is too long": post(b"{}").replace(b"Length: 2", b"Length: 3"),
    "two at once": post() + post(),
    "no headers": b"POST /v1/surveys/x/reports HTTP/1.1\r\n\r\n",
    "another protocol": post().replace(b"HTTP/1.1", b"HTTP/2.0"),
    "a blank in the address": post().replace(b"/reports", b"/rep orts"),
}


@pytest.mark.parametrize("request_bytes", UNUSUAL.values(), ids=UNUSUAL.keys())
def test_whatever_is_unusual_is_for_the_parser(request_bytes: bytes) -> None:
    assert _is_whole(post())
    assert _is_whole(post(BODY, b"X-Real-IP: 1.2.3.4", b"User-Agent: \xe4 (a; b)"))
    assert not _is_whole(request_bytes)
    door = Door(is_full=lambda: True)
    with serving(Keeping(), door) as address, socket.create_connection(address) as plug:
        plug.sendall(request_bytes)
        time.sleep(0.05)
        assert door.refused == 0


def test_a_large_body_in_many_packets_is_left_to_the_application() -> None:
    app = Keeping()
    door = Door(is_full=lambda: True)
    large = b"x" * 300_000
    with serving(app, door) as address, socket.create_connection(address) as plug:
        plug.sendall(post(large))
        assert replies(plug, 1) == [200]
        plug.sendall(post())
        assert replies(plug, 1, quiet=0.05) == [503]
    assert (app.bodies, door.refused) == ([large], 1)


@pytest.mark.parametrize(
    "last", [post(BODY, b"Connection: Close"), post().replace(b"HTTP/1.1", b"HTTP/1.0")]
)
def test_who_ends_the_connection_with_a_request_is_refused_and_hung_up_on(last: bytes) -> None:
    door = Door(is_full=lambda: True)
    with serving(Keeping(), door) as address, socket.create_connection(address) as plug:
        plug.sendall(last)
        assert replies(plug, 2) == [503]  # and then the end
    assert door.refused == 1


class Hasty:
    """Refuses long bodies before they have come, as the collector does."""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        length = int(dict(scope["headers"])[b"content-length"])
        headers = [(b"content-length", b"2")]
        status = 413 if length > 100 else 200
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": b"ok"})


def test_the_rest_of_a_body_is_no_request_though_it_was_answered_before() -> None:
    full = [False]
    inner = post(b"x" * 100)
    with (
        serving(Hasty(), Door(is_full=lambda: full[0])) as address,
        socket.create_connection(address) as plug,
    ):
        plug.sendall(LINE + b"Content-Length: %d\r\n\r\n" % len(inner))
        assert replies(plug, 1) == [413]
        full[0] = True
        plug.sendall(inner)
        time.sleep(0.2)
        full[0] = False
        plug.sendall(post(b"next"))
        assert replies(plug, 1, quiet=0.3) == [200]


def test_thousands_of_blanks_are_read_once() -> None:
    begun = time.thread_time()
    assert not _is_whole(post(BODY, b"a:" + b" " * 16_000 + b"\x01"))
    assert _is_whole(post(BODY, b"a:" + b" " * 16_000 + b"b"))
    assert _is_whole(post(BODY, b"a:", b"b: \t"))
    assert time.thread_time() - begun < 0.1


def test_who_asks_for_much_at_once_is_hung_up_on() -> None:
    app = Keeping()
    with serving(app, Door()) as address, socket.create_connection(address) as plug:
        plug.sendall(post() * 10)
        assert replies(plug, 10) == [200] * 10
        plug.sendall(post() * 500)
        plug.settimeout(60.0)
        received = b""
        try:
            while more := plug.recv(65536):
                received += more
        except ConnectionError:
            pass
        assert received.count(b"HTTP/1.1 200") < 500


def test_who_sends_two_requests_and_then_no_http_leaves_nothing_in_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Slow(Keeping):
        async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
            await asyncio.sleep(0.2)
            await super().__call__(scope, receive, send)

    app = Slow()
    with serving(app, Door()) as address:
        with socket.create_connection(address) as plug:
            plug.sendall(post() * 2 + b"\0")
        time.sleep(0.5)
    assert app.bodies in ([], [BODY])
    assert [record for record in caplog.records if record.levelname == "ERROR"] == []
