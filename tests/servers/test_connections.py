"""Connections that are silent, slow, huge or too many, at a server with real sockets."""

import asyncio
import random
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

from jrr.servers.common import connections
from jrr.servers.common.certificates import make_certificate
from jrr.servers.common.connections import FEWEST, HEADERS, Connection, Server
from jrr.servers.common.middleware import IS_THERE

LINE = b"POST /v1/surveys/x/reports HTTP/1.1\r\nHost: x\r\n"
GET = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"


def post(body: bytes = b"{}") -> bytes:
    """An upload as clients write it."""
    return LINE + b"Content-Length: %d\r\n\r\n%s" % (len(body), body)


class App:
    """Answers everything with 200, after its body; keeps what it was sent."""

    def __init__(self) -> None:
        self.scopes: list[Any] = []
        self.bodies: list[bytes] = []
        self.go_on = threading.Event()
        self.go_on.set()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.scopes.append(scope)
        body = b""
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                return
            body += message.get("body", b"")
            if not message.get("more_body"):
                break
        self.bodies.append(body)
        while not self.go_on.is_set():
            await asyncio.sleep(0.01)
        headers = [(b"content-length", b"2")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b"ok"})


@contextmanager
def serving(
    app: Any, most: int = 100, tls: dict[str, Any] | None = None
) -> Iterator[tuple[tuple[str, int], Server]]:
    """A server in a thread: where it listens, and itself."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        config = uvicorn.Config(
            app,
            http=Connection,
            ws="none",
            log_config=None,
            lifespan="off",
            access_log=False,
            **(tls or {}),
        )
        server = Server(config, most)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        try:
            yield listening.getsockname()[:2], server
        finally:
            server.should_exit = True
            thread.join(60)
            assert not thread.is_alive()


def replies(plug: socket.socket, count: int, quiet: float = 0.0) -> list[int]:
    """The statuses of so many replies, or of as many as come until the server disconnects.

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
        try:
            more = plug.recv(65536)
        except ConnectionError:
            break
        if not more:
            break
        received += more
    if quiet:
        plug.settimeout(quiet)
        with pytest.raises(TimeoutError):
            plug.recv(1)
    return found


def ends(plug: socket.socket, drip: bytes = b"", seconds: float = 60.0) -> bool:
    """Whether the server disconnects, though a byte comes now and then."""
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


def _comes_true(what: Callable[[], bool]) -> bool:
    for _ in range(1200):
        if what():
            return True
        time.sleep(0.05)
    return False


@pytest.mark.parametrize(
    ("first", "drip"),
    [
        (b"", b""),
        (GET[:-4], b"x"),
        (post()[:-1].replace(b"Length: 2", b"Length: 90000"), b" "),
        (post()[:-1].replace(b"surveys", b"admin/surveys").replace(b": 2", b": 90000"), b" "),
        (GET, b""),
        (GET + GET[:-4], b"x"),
    ],
    ids=["silent", "head", "body", "operator's body", "silent after a reply", "second head"],
)
def test_who_is_slow_is_disconnected(
    first: bytes, drip: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "DEADLINE", 0.3)
    monkeypatch.setattr(connections, "OPERATORS_DEADLINE", 0.3)
    with serving(App()) as (address, server), socket.create_connection(address) as plug:
        plug.sendall(first)
        if first.startswith(GET):
            assert replies(plug, 1) == [200]
        assert ends(plug, drip)
        assert server.disconnected == 1
        assert _comes_true(lambda: not server.connections)


def test_an_operators_long_list_may_take_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "DEADLINE", 0.3)
    slow = LINE.replace(b"surveys", b"admin/surveys") + b"Content-Length: 9\r\n\r\n{"
    with serving(App()) as (address, _), socket.create_connection(address) as plug:
        plug.sendall(slow)
        time.sleep(3.0)
        plug.sendall(b"1234567}")
        assert replies(plug, 1) == [200]


def test_who_keeps_asking_or_is_waiting_for_an_answer_is_not_disconnected(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(connections, "DEADLINE", 1.5)
    app = App()
    with serving(app) as (address, _), socket.create_connection(address) as plug:
        for _ in range(10):  # for longer than the deadline
            plug.sendall(post())
            assert replies(plug, 1) == [200]
            time.sleep(0.3)
        app.go_on.clear()
        plug.sendall(post())
        time.sleep(3.5)
        app.go_on.set()
        assert replies(plug, 1) == [200]


def test_who_does_not_read_the_reply_is_disconnected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "READING", 0.3)
    over = threading.Event()

    async def long_reply(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        for _ in range(200):
            await send({"type": "http.response.body", "body": bytes(1 << 20), "more_body": True})
        await send({"type": "http.response.body"})
        over.set()

    with serving(long_reply) as (address, server), socket.create_connection(address) as plug:
        plug.sendall(GET)
        assert _comes_true(lambda: server.disconnected == 1)
        assert over.wait(60)  # nothing waits for it any more


@pytest.mark.parametrize(
    "head", [b"GET / HTTP/1.1\r\nA: ", b"GET /", b"GET / HTTP/1.1\r\n"], ids=["one", "url", "many"]
)
def test_headers_have_an_end(head: bytes) -> None:
    app = App()
    piece = b"A: b\r\n" * 10_000 if head.endswith(b"\n") else b"a" * 60_000
    with serving(app) as (address, _), socket.create_connection(address) as plug:
        plug.sendall(head)
        assert ends(plug, piece, seconds=5.0)
        with socket.create_connection(address) as other:
            other.sendall(GET)
            assert replies(other, 1) == [200]
    assert [scope["path"] for scope in app.scopes] == ["/healthz"]


def test_ordinary_headers_pass() -> None:
    app = App()
    with serving(app) as (address, _), socket.create_connection(address) as plug:
        for _ in range(10):  # what comes before a request has begun is counted for each anew
            plug.sendall(GET[:-2] + b"A: " + b"a" * (HEADERS // 4) + b"\r\n\r\n")
            assert replies(plug, 1) == [200]
    assert len(dict(app.scopes[0]["headers"])[b"a"]) == HEADERS // 4


def test_no_more_are_accepted_than_can_be_answered_and_the_others_wait() -> None:
    app = App()
    app.go_on.clear()
    with serving(app) as (address, server), ExitStack() as stack:
        server.limit = 4
        plugs = [stack.enter_context(socket.create_connection(address)) for _ in range(10)]
        for plug in plugs:
            plug.sendall(post())
        assert _comes_true(lambda: len(app.scopes) == 4)
        time.sleep(0.3)
        assert len(app.scopes) == 4
        app.go_on.set()
        assert [replies(plug, 1) for plug in plugs] == [[200]] * 10
        assert len(server.connections) <= server.most


def test_of_too_many_those_that_are_silent_make_room_soon() -> None:
    with serving(App(), most=5) as (address, _), ExitStack() as stack:
        silent = [stack.enter_context(socket.create_connection(address)) for _ in range(5)]
        time.sleep(0.2)
        honest = stack.enter_context(socket.create_connection(address))
        honest.sendall(post())
        begun = time.monotonic()
        assert replies(honest, 1) == [200]
        assert time.monotonic() - begun < connections.DEADLINE - 2
        assert all(ends(plug) for plug in silent)


def test_how_many_may_be_open_follows_from_how_many_are_answered() -> None:
    server = Server(uvicorn.Config(App(), http=Connection), 4_000)
    one = Connection(server.config, server.server_state, {}, asyncio.new_event_loop())
    server.connections.add(one)
    now, before = 0.0, server.limit

    def look(full: bool, busy: int, answered: int) -> int:
        nonlocal now
        now += 0.5
        server.server_state.total_requests += answered
        server._was_full, server._busiest = full, busy
        server._adjust(now)
        return server.limit

    assert look(False, 1, 10_000) == before  # room enough
    assert [look(True, 1, 1_000) for _ in range(20)][-1] == pytest.approx(1_000, abs=2)
    assert [look(True, 1, 1) for _ in range(20)][-1] == FEWEST
    assert look(True, 0, 0) == 2 * FEWEST  # they are silent: no measure of anything
    assert [look(True, 0, 0) for _ in range(20)][-1] == 4_000
    one.loop.close()


def test_in_a_crowd_connections_are_given_to_others_after_a_reply() -> None:
    app = App()
    with serving(app, most=20) as (address, server), ExitStack() as stack:
        over = threading.Event()

        def ask(hog: socket.socket) -> None:
            while not over.is_set():
                try:
                    hog.sendall(post())
                    if not replies(hog, 1):
                        return
                except OSError:
                    return

        hogs = [stack.enter_context(socket.create_connection(address)) for _ in range(20)]
        threads = [threading.Thread(target=ask, args=(hog,)) for hog in hogs]
        for thread in threads:
            thread.start()
        honest = stack.enter_context(socket.create_connection(address))
        honest.sendall(GET)
        assert replies(honest, 1) == [200]
        over.set()
        for thread in threads:
            thread.join()
        assert server.disconnected == 0


def test_a_handshake_of_tls_must_end_in_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "DEADLINE", 0.5)
    certificate, key = make_certificate(tmp_path / "tls")
    files = {"ssl_certfile": str(certificate), "ssl_keyfile": str(key)}
    with serving(App(), tls=files) as (address, server):
        with socket.create_connection(address) as plug:
            plug.sendall(b"\x16\x03\x01")  # a handshake that goes no further
            assert ends(plug)
        context = ssl.create_default_context(cafile=str(certificate))
        context.check_hostname = False
        with context.wrap_socket(socket.create_connection(address)) as plug:
            plug.sendall(GET)
            assert replies(plug, 1) == [200]
        assert not server._opening


def test_the_application_can_ask_whether_somebody_still_waits() -> None:
    app = App()
    with serving(app) as (address, _):
        with socket.create_connection(address) as plug:
            plug.sendall(post()[:-1])
            assert _comes_true(lambda: len(app.scopes) == 1)
            is_there = app.scopes[0][IS_THERE]
            assert is_there()
        assert _comes_true(lambda: not is_there())


def test_however_a_stream_is_cut_each_request_has_one_reply() -> None:
    drawn = random.Random(7)
    app = App()
    with serving(app) as (address, _), socket.create_connection(address) as plug:
        plug.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sent: list[bytes] = []
        for number in range(60):
            # A body that is itself an upload, as one would write it to be smuggled in.
            bodies = [post(b"%d.%d" % (number, at)) for at in range(drawn.randint(1, 3))]
            stream = b"".join(post(body) for body in bodies)
            cuts = sorted(drawn.sample(range(1, len(stream)), drawn.randint(0, 3)))
            for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True):
                plug.sendall(stream[start:end])
                time.sleep(0.001)
            assert replies(plug, len(bodies)) == [200] * len(bodies)
            sent += bodies
        assert replies(plug, 0, quiet=0.1) == []
    assert app.bodies == sent


class Hasty:
    """Refuses long bodies before they have come, as the collector does."""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        length = int(dict(scope["headers"])[b"content-length"])
        headers = [(b"content-length", b"2")]
        status = 413 if length > 100 else 200
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": b"ok"})


def test_the_rest_of_a_body_is_no_request_though_it_was_answered_before() -> None:
    inner = post(b"x" * 100)
    with serving(Hasty()) as (address, _), socket.create_connection(address) as plug:
        plug.sendall(LINE + b"Content-Length: %d\r\n\r\n" % len(inner))
        assert replies(plug, 1) == [413]
        plug.sendall(inner)
        plug.sendall(post(b"next"))
        assert replies(plug, 1, quiet=0.3) == [200]


def test_who_asks_for_much_at_once_is_disconnected() -> None:
    with serving(App()) as (address, _), socket.create_connection(address) as plug:
        plug.sendall(post() * 10)
        assert replies(plug, 10) == [200] * 10
        plug.sendall(post() * 500)
        assert len(replies(plug, 500)) < 500


def test_who_sends_two_requests_and_then_no_http_leaves_nothing_in_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    app = App()
    app.go_on.clear()
    with serving(app) as (address, _):
        with socket.create_connection(address) as plug:
            plug.sendall(post() * 2 + b"\0")
        time.sleep(0.3)
        app.go_on.set()
        time.sleep(0.3)
    assert app.bodies in ([], [b"{}"])
    assert [record for record in caplog.records if record.levelname == "ERROR"] == []
