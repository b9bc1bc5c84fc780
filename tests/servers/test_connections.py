"""Connections that are silent, slow, huge or too many, at a server with real sockets."""

import asyncio
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
import uvicorn

from jrr.servers.common.certificates import make_certificate
from jrr.servers.common.connections import HEADERS, MORE_REFUSALS, Door, protocol_of
from jrr.servers.common.loops import ServerLoop
from jrr.servers.common.visitors import IS_THERE

POST = b"POST /v1/surveys/x/reports HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}"
GET = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"


class App:
    """Answers everything with 200, after its body; remembers the scopes."""

    def __init__(self) -> None:
        self.scopes: list[Any] = []
        self.hold = threading.Event()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        self.scopes.append(scope)
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                return
            if not message.get("more_body"):
                break
        headers = [(b"content-length", b"2")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b"ok"})


@contextmanager
def serving(app: Any, door: Door) -> Iterator[tuple[str, int]]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        config = uvicorn.Config(
            app, http=protocol_of(door), log_config=None, lifespan="off", access_log=False
        )
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        try:
            yield listening.getsockname()[:2]
        finally:
            server.should_exit = True
            thread.join(60)
            assert not thread.is_alive()


def said(plug: socket.socket, wait: float = 60.0) -> bytes:
    """One reply, or b"" where the server hung up."""
    plug.settimeout(wait)
    received = b""
    while b"\r\n\r\n" not in received:
        try:
            more = plug.recv(65536)
        except ConnectionError:
            return b""
        if not more:
            return b""
        received += more
    return received


def ends_within(plug: socket.socket, seconds: float, drip: bytes = b"") -> bool:
    """Whether the server hangs up in time, though a byte comes now and then."""
    plug.settimeout(0.05)
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        try:
            if drip:
                plug.sendall(drip)
            if plug.recv(65536) == b"":
                return True
        except TimeoutError:
            continue
        except OSError:
            return True
    return False


@pytest.mark.parametrize(
    ("first", "drip"),
    [
        (b"", b""),
        (b"GET / HTTP/1.1\r\nHo", b"x"),
        (POST[:-1].replace(b"Length: 2", b"Length: 90000"), b" "),
        (GET, b""),
    ],
    ids=["silent", "slow headers", "slow body", "silent after a reply"],
)
def test_who_is_slow_is_hung_up_on(first: bytes, drip: bytes) -> None:
    door = Door(deadline=0.3)
    with serving(App(), door) as address, socket.create_connection(address) as plug:
        plug.sendall(first)
        if first == GET:
            assert said(plug).startswith(b"HTTP/1.1 200")
        assert ends_within(plug, 60.0, drip)
    assert door.hung_up == 1
    assert not door.open


def test_who_keeps_asking_is_not_hung_up_on() -> None:
    door = Door(deadline=4.0)
    with serving(App(), door) as address, socket.create_connection(address) as plug:
        for _ in range(15):  # for longer than the deadline
            plug.sendall(POST)
            assert said(plug).startswith(b"HTTP/1.1 200")
            time.sleep(0.3)


@pytest.mark.parametrize(
    "head",
    [
        b"GET / HTTP/1.1\r\nA: " + b"a" * (HEADERS + 1),
        b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * HEADERS,
        b"GET /" + b"a" * HEADERS + b" HTTP/1.1\r\nHost: x\r\n",
        b"GET / HTTP/1.1\r\nA: " + b"a" * (4 << 20),
    ],
    ids=["one", "many", "address", "4 MB"],
)
def test_headers_have_an_end(head: bytes) -> None:
    app = App()
    with serving(app, Door()) as address, socket.create_connection(address) as plug:
        try:
            plug.sendall(head + b"\r\n\r\n")
            reply = said(plug)
        except ConnectionError:  # it hung up while we were still talking
            reply = b""
        assert reply == b"" or reply.startswith(b"HTTP/1.1 431 "), reply[:100]
        if len(head) < 1 << 17:
            assert b"urn:jrr:problem:too-large" in reply
        with socket.create_connection(address) as other:
            other.sendall(GET)
            assert said(other).startswith(b"HTTP/1.1 200")
    assert [scope["path"] for scope in app.scopes] == ["/healthz"]


def test_ordinary_headers_pass() -> None:
    app = App()
    with serving(app, Door()) as address, socket.create_connection(address) as plug:
        plug.sendall(GET[:-2] + b"A: " + b"a" * (HEADERS - 200) + b"\r\n\r\n")
        assert said(plug).startswith(b"HTTP/1.1 200")
    assert len(dict(app.scopes[0]["headers"])[b"a"]) == HEADERS - 200


def test_of_too_many_connections_the_one_that_was_silent_longest_goes() -> None:
    with serving(App(), Door(most=5)) as address, ExitStack() as stack:
        silent = [stack.enter_context(socket.create_connection(address)) for _ in range(5)]
        time.sleep(0.2)
        honest = stack.enter_context(socket.create_connection(address))
        honest.sendall(POST)
        assert said(honest).startswith(b"HTTP/1.1 200")
        assert ends_within(silent[0], 60.0)
        for plug in silent[1:]:
            plug.sendall(GET)
            assert said(plug).startswith(b"HTTP/1.1 200")


def test_where_there_is_no_room_uploads_are_refused_unread_and_the_rest_passes() -> None:
    app, full = App(), [True]
    door = Door(is_full=lambda: full[0])
    with serving(app, door) as address, socket.create_connection(address) as plug:
        for _ in range(3):  # on one connection
            plug.sendall(POST)
            reply = said(plug)
            assert reply.startswith(b"HTTP/1.1 503 ")
            assert b"urn:jrr:problem:busy" in reply
            assert b"\r\nretry-after: " in reply
            assert b"access-control-allow-origin: *" in reply  # or a page could not tell
        assert (door.refused, app.scopes) == (3, [])
        plug.sendall(POST.replace(b"/v1/surveys", b"/v1/admin/surveys"))
        assert said(plug).startswith(b"HTTP/1.1 200")
        plug.sendall(GET)
        assert said(plug).startswith(b"HTTP/1.1 200")
        plug.sendall(POST[:-1])  # not whole: the application will refuse it
        time.sleep(0.1)
        plug.sendall(POST[-1:])
        assert said(plug).startswith(b"HTTP/1.1 200")
        full[0] = False
        plug.sendall(POST)
        assert said(plug).startswith(b"HTTP/1.1 200")
    assert door.refused == 3


def test_beyond_one_refusal_for_each_answer_uploads_wait_unread() -> None:
    app, full = App(), [True]
    door = Door(is_full=lambda: full[0], may_refuse=-1_000_000)
    with (
        serving(app, door) as address,
        socket.create_connection(address) as first,
        socket.create_connection(address) as second,
        socket.create_connection(address) as leaver,
        socket.create_connection(address) as reader,
    ):
        for plug in (first, second, leaver):
            plug.sendall(POST)
        assert _comes_true(lambda: len(door.held) == 3)
        leaver.close()
        assert _comes_true(lambda: len(door.held) == 2)
        reader.sendall(GET)  # others are served meanwhile
        assert said(reader).startswith(b"HTTP/1.1 200")
        assert (door.refused, len(app.scopes)) == (0, 1)
        door.may_refuse = 1 - MORE_REFUSALS  # one at the next look, the first that came
        assert said(first).startswith(b"HTTP/1.1 503")
        door.may_refuse = -1_000_000
        full[0] = False
        assert said(second).startswith(b"HTTP/1.1 200")
        assert (door.refused, len(app.scopes), len(door.held)) == (1, 2, 0)


def _comes_true(what: Callable[[], bool]) -> bool:
    for _ in range(1200):
        if what():
            return True
        time.sleep(0.05)
    return False


def test_a_handshake_of_tls_must_end_in_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ServerLoop, "handshake", 0.5)
    certificate, key = make_certificate(tmp_path / "tls")

    async def silent_client() -> bool:
        """Whether somebody who opens a connection and says nothing is hung up on."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        loop = asyncio.get_running_loop()
        server = await loop.create_server(asyncio.Protocol, "127.0.0.1", 0, ssl=context)
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname()[:2])
        writer.write(b"\x16\x03\x01")  # a handshake that goes no further
        try:
            found = await asyncio.wait_for(reader.read(), 60.0)
        except ConnectionError:
            found = b""
        except TimeoutError:
            return False
        finally:
            writer.close()
            server.close()
        return found == b""

    with asyncio.Runner(loop_factory=ServerLoop) as runner:
        assert runner.run(silent_client())


def test_the_application_can_ask_whether_somebody_still_waits() -> None:
    app = App()
    with serving(app, Door()) as address:
        with socket.create_connection(address) as plug:
            plug.sendall(POST[:-1])
            assert _comes_true(lambda: len(app.scopes) == 1)
            is_there = app.scopes[0][IS_THERE]
            assert is_there()
        assert _comes_true(lambda: not is_there())
