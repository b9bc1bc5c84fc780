"""Whole surveys over real sockets and processes: what these tests share."""

import asyncio
import http.client
import json
import random
import socket
import sqlite3
import threading
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, TypeVar
from urllib.parse import urlsplit

import aiohttp
import numpy as np

from jrr.client.fleet import drive_all
from jrr.client.http import Admin
from jrr.client.operator import Operator, new_invitations
from jrr.dealing.kinds import Dealers, Nobody
from jrr.dealing.messages import card_request
from jrr.estimation.tally import Tally
from jrr.mechanisms.base import Mechanism
from jrr.protocol.identity import COLLECTOR, invitation_secret, pseudonym
from jrr.protocol.steps import Save, Steps
from jrr.research.processes import Running
from jrr.survey import contributor
from jrr.survey.contributor import Receipt
from jrr.survey.draft import one_question
from jrr.survey.messages import upload
from jrr.survey.spending import Limits
from jrr.survey.survey import Survey

PROBLEM = "application/problem+json"
LIMITS = Limits(700.0, patience=5.0)
T = TypeVar("T")


class Answer(NamedTuple):
    """What a server replied."""

    status: int
    body: bytes
    kind: str = ""  # the content type

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True)
class Pair:
    """A dealer and a collector that run."""

    dealer: Running
    collector: Running
    databases: Mapping[str, str]  # role -> address

    @property
    def kind(self) -> str:
        return self.databases["dealer"].partition(":")[0]

    def rows(self, role: str, query: str) -> list[tuple[Any, ...]]:
        """What lies in a server's database, read past the server."""
        return read_rows(self.databases[role], query)

    def survey(self, mechanism: Mechanism, **more: Any) -> Survey:
        """A survey of one question at these servers (`survey_of`)."""
        collector = more.pop("collector", self.collector.url)
        return survey_of(mechanism, self.dealer.url, collector, **more)

    def operator(self, survey: Survey) -> Operator:
        """Of both servers, by the addresses that the survey names."""
        dealing = {}
        if survey.deals:
            dealing = {0: Admin(survey.dealing.addresses[0], self.dealer.token)}
        return Operator(survey, dealing, self.collector.admin)

    def begin(self, survey: Survey, people: int) -> tuple[Operator, list[bytes]]:
        """Install, invite and open; the invitations' secrets."""
        operator = self.operator(survey)
        operator.install()
        invitations = new_invitations(people)
        if survey.invitations:
            operator.invite(invitations)
        operator.open()
        return operator, [invitation_secret(text) for text in invitations]


def survey_of(
    mechanism: Mechanism,
    dealer: str,
    collector: str = "http://127.0.0.1:9",  # nobody
    *,
    labels: tuple[str, ...] | None = None,
    groups: Mapping[str, tuple[str, ...]] | None = None,
    number: tuple[float, float] | None = None,
    **more: Any,
) -> Survey:
    """A survey of one question, named "answer", with the labels "answer 0", "answer 1", …"""
    asked = one_question(
        "Do you?",
        labels=labels or tuple(f"answer {value}" for value in range(mechanism.k)),
        number=number,
        groups=dict(groups or {}),
    )
    settings: dict[str, Any] = {
        "title": asked.title,
        "languages": asked.languages,
        "questions": tuple(question.as_asked for question in asked.questions),
        "consent": {"en": "{cost}"},
        "dealing": Dealers((dealer,)) if mechanism.deals else Nobody(),
        "collector": collector,
        "capacity": mechanism.moments.deck or 1_000,
        "min_cell": 5,
    } | more
    settings["mechanisms"] = {"answer": settings["dealing"].fitted(mechanism)}
    return Survey(**settings)


def read_rows(database: str, query: str) -> list[tuple[Any, ...]]:
    if database.startswith("sqlite"):
        path = database.removeprefix("sqlite:///")
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as reader:
            return reader.execute(query).fetchall()
    import psycopg

    with psycopg.connect(database) as connection:
        return connection.execute(query.encode()).fetchall()


def path_of(survey: Survey, *more: str) -> str:
    return "/".join((f"/v1/surveys/{survey.hash}", *more))


def answer_of(survey: Survey, value: float, groups: Mapping[str, str] | None = None) -> Any:
    """What somebody with this value answers to a survey of one question."""
    (question,) = survey.sensitive
    given = value if question.number is not None else question.labels[int(value)]
    return {"answer": given} | dict(groups or {})


def answer_all(
    survey: Survey,
    secrets: Sequence[bytes],
    values: Sequence[float] | None = None,
    groups: Sequence[Mapping[str, str]] | None = None,
    limits: Limits = LIMITS,
    connections: int = 32,
    kept: list[dict[str, Any]] | None = None,
) -> list[Receipt]:
    """Everybody contributes over HTTP; nobody may fail.

    groups: Open answers of each. kept: What was sent is added to it, with pseudonym and open
    answers.
    """
    sent = [] if kept is None else kept
    k = survey.sensitive[0].mechanism.k
    given = values if values is not None else [at % k for at in range(10**4)]
    results = asyncio.run(
        drive_all(
            (
                _watched(
                    contributor.contribute(
                        survey,
                        secret,
                        answer_of(survey, given[at], None if groups is None else groups[at]),
                        limits,
                    ),
                    sent,
                )
                for at, secret in enumerate(secrets)
            ),
            connections=connections,
        )
    )
    failed = [result for result in results if not isinstance(result, Receipt)]
    assert not failed, failed[0]
    return [result for result in results if isinstance(result, Receipt)]


def _watched(steps: Steps[Receipt], sent: list[dict[str, Any]]) -> Steps[Receipt]:
    reply = None
    while True:
        try:
            step = steps.send(reply)
        except StopIteration as finished:
            receipt: Receipt = finished.value
            return receipt
        if isinstance(step, Save):
            document = json.loads(step.body)
            whole = {name: document[name] for name in ("pseudonym", "open")}
            sent.append(whole | document["reports"]["answer"])
        reply = yield step


def tally_of(mechanism: Mechanism, sent: Sequence[Mapping[str, Any]]) -> Tally:
    """Count what was sent, without the servers."""
    rows = b"".join(mechanism.report_bytes(entry["report"]) for entry in sent)
    packed = np.frombuffer(rows, np.uint8).reshape(len(sent), mechanism.report_format.width)
    carded = np.array([entry["carded"] for entry in sent], np.bool_)
    return mechanism.tally(mechanism.report_format.unpack(packed), carded)


def enrol_all(survey: Survey, secrets: Sequence[bytes]) -> None:
    results = asyncio.run(drive_all(contributor.enrol(survey, s, LIMITS) for s in secrets))
    assert results == [None] * len(secrets), results


def card_body(survey: Survey, secret: bytes) -> bytes:
    return card_request(pseudonym(secret, survey.hash, survey.dealing.roles[0]))


def upload_body(
    survey: Survey,
    secret: bytes,
    value: Any = 0,
    carded: bool = False,
    groups: Mapping[str, str] | None = None,
    serials: Sequence[str | None] | None = None,
    **changes: Any,
) -> bytes:
    """An upload to a survey of one question as a client writes it, here and there changed."""
    mechanism = survey.sensitive[0].mechanism
    # A whole number is written as it is, so that servers can be sent one that no client makes.
    told = value if isinstance(value, int) else mechanism.report_format.to_json(value)
    report = {"carded": carded, "report": told}
    if serials is not None:
        report["serials"] = list(serials)
    name = pseudonym(secret, survey.collector_salt, COLLECTOR)
    document = json.loads(upload(name, dict(groups or {}), {"answer": report}))
    return json.dumps(document | changes).encode()


def ask(
    url: str,
    method: str,
    path: str,
    body: bytes | None = None,
    headers: Mapping[str, str] | None = None,
) -> Answer:
    """One request on a connection of its own; nothing is followed, nothing is repeated."""
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=120)
    try:
        connection.request(method, path, body, dict(headers or {}))
        response = connection.getresponse()
        return Answer(response.status, response.read(), response.headers.get_content_type())
    finally:
        connection.close()


def ask_many(
    url: str, path: str, bodies: Iterable[bytes], connections: int = 64, quiet: bool = False
) -> list[Answer]:
    """POST all bodies, many at a time; quiet: status 0 where the server has gone.

    Each worker sends what it takes at once: where all were begun together on a busy machine, a
    connection could be silent for so long that the server hangs up.
    """

    async def run() -> list[Answer]:
        waiting = enumerate(bodies)
        found: dict[int, Answer] = {}
        connector = aiohttp.TCPConnector(limit=connections)
        async with aiohttp.ClientSession(connector=connector) as session:

            async def worker() -> None:
                for at, body in waiting:  # shared: each takes the next one
                    found[at] = await _post(session, url + path, body, quiet)

            await asyncio.gather(*(worker() for _ in range(connections)))
        return [found[at] for at in range(len(found))]

    return asyncio.run(run())


async def _post(session: aiohttp.ClientSession, address: str, body: bytes, quiet: bool) -> Answer:
    for last in (False, False, True):
        try:
            async with session.post(address, data=body) as response:
                return Answer(response.status, await response.read(), response.content_type)
        except aiohttp.ClientOSError:  # the connection was closed, and nothing was sent
            if last and not quiet:
                raise
        except (aiohttp.ClientError, OSError):
            if not quiet:
                raise
            break
    return Answer(0, b"")


def raw(url: str, data: bytes, wait: float = 10.0, half_close: bool = False) -> bytes:
    """Bytes as they are, and all that comes back until the server hangs up or is silent."""
    parts = urlsplit(url)
    with socket.create_connection((parts.hostname or "", parts.port or 0), timeout=wait) as plug:
        received = b""
        try:
            plug.sendall(data)
            if half_close:
                with suppress(OSError):  # it has hung up already
                    plug.shutdown(socket.SHUT_WR)
            while True:
                more = plug.recv(65536)
                if not more:
                    break
                received += more
                head, found, body = received.partition(b"\r\n\r\n")
                length = [
                    int(line.split(b":")[1])
                    for line in head.lower().split(b"\r\n")
                    if line.startswith(b"content-length:")
                ]
                if found and length and len(body) >= length[0]:
                    break
        except (TimeoutError, ConnectionError):
            pass
        return received


def cards_of(url: str, survey: Survey, secrets: Sequence[bytes]) -> list[Any]:
    """Everybody's card for the only question."""
    bodies = [card_body(survey, secret) for secret in secrets]
    found = []
    for reply in ask_many(url, path_of(survey, "cards"), bodies):
        assert reply.status == 200, reply
        found.append(reply.json["cards"]["answer"]["card"])
    return found


def is_problem(reply: Answer, *statuses: int) -> str:
    """A refusal as it should be: never the server's fault, always a problem document."""
    assert reply.status in (statuses or range(400, 500)), reply
    assert reply.kind == PROBLEM, reply
    document = reply.json
    assert set(document) == {"type", "title", "status", "detail"}
    assert document["status"] == reply.status
    return str(document["type"]).removeprefix("urn:jrr:problem:")


# -- servers that are not ours -------------------------------------------------------------


@contextmanager
def in_a_loop(
    start: Callable[[], Awaitable[asyncio.AbstractServer]],
) -> Iterator[str]:
    """An asyncio server in a thread of its own; its address."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()

    def do(work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, loop).result(60)

    async def begin() -> asyncio.AbstractServer:
        return await start()

    async def end() -> None:
        server.close()
        others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    server = do(begin())
    try:
        assert isinstance(server, asyncio.Server)
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        do(end())
        loop.call_soon_threadsafe(loop.stop)
        thread.join(60)
        loop.close()


@dataclass
class Recorder:
    """Everything that went through a proxy, both ways."""

    sent: bytearray = field(default_factory=bytearray)
    received: bytearray = field(default_factory=bytearray)
    drop_replies: int = 0  # to so many POSTs: they reach the server, the answer is lost
    refuse: bool = False  # hang up at once

    @property
    def all(self) -> bytes:
        return bytes(self.sent) + bytes(self.received)


@contextmanager
def proxy(target: str, seen: Recorder) -> Iterator[str]:
    """A TCP proxy that writes down all traffic; its address."""
    parts = urlsplit(target)

    async def pump(
        source: asyncio.StreamReader,
        sink: asyncio.StreamWriter,
        kept: bytearray,
        holds: Callable[[bytes], bool],
    ) -> None:
        try:
            while data := await source.read(65536):
                kept.extend(data)
                if holds(data):
                    return
                sink.write(data)
                await sink.drain()
        except ConnectionError:
            return

    async def handle(near: asyncio.StreamReader, client: asyncio.StreamWriter) -> None:
        if seen.refuse:
            client.transport.abort()
            return
        far, server = await asyncio.open_connection(parts.hostname, parts.port)
        posted = False

        def note(data: bytes) -> bool:
            nonlocal posted
            posted = posted or data.startswith(b"POST")
            return False

        def lose(data: bytes) -> bool:
            if not posted or seen.drop_replies <= 0:
                return False
            seen.drop_replies -= 1
            return True

        pumps = [
            asyncio.create_task(pump(near, server, seen.sent, note)),
            asyncio.create_task(pump(far, client, seen.received, lose)),
        ]
        try:
            await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            pass  # the test is over
        finally:
            for task in pumps:
                task.cancel()
            client.transport.abort()
            server.transport.abort()

    with in_a_loop(lambda: asyncio.start_server(handle, "127.0.0.1", 0)) as url:
        yield url


@contextmanager
def pretender(reply: Callable[[str, str, bytes], bytes]) -> Iterator[str]:
    """A server that says whatever (method, path, body) makes it say."""

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            method, path = head.decode("latin-1").split(" ")[:2]
            length = [
                int(line.partition(b":")[2])
                for line in head.split(b"\r\n")
                if line.lower().startswith(b"content-length:")
            ]
            body = await reader.readexactly(length[0]) if length else b""
            writer.write(reply(method, path, body))
            await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    with in_a_loop(lambda: asyncio.start_server(handle, "127.0.0.1", 0)) as url:
        yield url


def http_reply(status: int, body: bytes = b"", *headers: str) -> bytes:
    lines = [f"HTTP/1.1 {status} X", f"Content-Length: {len(body)}", "Connection: close", *headers]
    return "\r\n".join([*lines, "", ""]).encode() + body


# -- files ---------------------------------------------------------------------------------


def holders(folder: Path, needle: bytes) -> list[str]:
    """Files below a folder that hold these bytes."""
    return [
        str(path.relative_to(folder))
        for path in sorted(folder.rglob("*"))
        if path.is_file() and needle in path.read_bytes()
    ]


_HARMLESS = (
    "WARNING jrr.servers a wrong admin token was sent",
    "WARNING uvicorn.error Invalid HTTP request",
    "WARNING uvicorn.error Unsupported upgrade request",
    "WARNING uvicorn.error No supported WebSocket library",
)


def nothing_logged(pair: Pair) -> None:
    """No server has said anything, except that somebody speaks no HTTP."""
    for server in (pair.dealer, pair.collector):
        log = server.folder / f"{server.role}.log"
        said = [line for line in log.read_text().splitlines() if not line.startswith(_HARMLESS)]
        log.write_text("")  # the next test should not fail for this one
        assert not said, said[-5:]


def shuffled(values: Iterable[T], seed: int) -> list[T]:
    made = list(values)
    random.Random(seed).shuffle(made)
    return made
