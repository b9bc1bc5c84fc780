"""Counts that follow by themselves: one count for all pages that are open."""

import asyncio
import http.client
import json
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

import pytest

from jrr.client.operator import Operator
from jrr.console.live import Live, _Topic
from jrr.console.sessions import Sessions
from jrr.console.silent_dealers import EVERY, SilentDealers
from jrr.console.snapshots import PAUSE, SHARE, Counts, Snapshot, Snapshots
from jrr.dealing.kinds import Dealers, Nobody
from jrr.protocol.states import CLOSED, OPEN, State
from jrr.protocol.steps import Reply
from jrr.research.processes import free_port
from jrr.servers.common.tokens import AdminToken
from tests.console import Servers, Visitor, answer_work


class Events:
    """A page that listens."""

    def __init__(self, reply: http.client.HTTPResponse) -> None:
        self._reply = reply

    def next(self) -> dict[str, Any]:
        while True:
            line = self._reply.readline()
            assert line, "the events have ended"
            if line.startswith(b"data: "):
                return dict(json.loads(line[6:]))

    def until(self, answered: str) -> dict[str, Any]:
        while (facts := self.next())["answered"] != answered:
            pass
        return facts


@contextmanager
def listening(visitor: Visitor, path: str) -> Iterator[Events]:
    host = urlsplit(visitor.url).netloc
    with closing(http.client.HTTPConnection(host, timeout=120)) as connection:
        cookie = "; ".join(f"{name}={value}" for name, value in visitor.cookies.items())
        connection.request("GET", f"/console{path}/events", headers={"Cookie": cookie})
        with connection.getresponse() as reply:
            assert reply.headers["content-type"].startswith("text/event-stream")
            yield Events(reply)


@pytest.mark.slow
def test_every_open_page_hears_of_every_tenth_answer(servers: Servers, visitor: Visitor) -> None:
    survey = servers.survey(dealing=Nobody(), mechanism="rr")
    invitations = servers.begin(survey, 12)
    path = f"/surveys/{survey.hash}"
    with ExitStack() as stack:
        pages = [stack.enter_context(listening(visitor, path)) for _ in range(3)]
        assert [page.next()["answered"] for page in pages] == ["0", "0", "0"]
        answer_work(survey, invitations[:10])
        told = [page.until("10") for page in pages]
        assert told[0] == told[1] == told[2]
        assert told[0]["state"] == "open"
        visitor.post("/sign-out")
        line = pages[0]._reply.readline()
        while line.startswith((b"data", b":", b"\n")):
            line = pages[0]._reply.readline()
        assert line == b"event: over\n"  # whoever has signed out hears nothing more


def test_a_page_hears_that_the_dealer_does_not_answer(servers: Servers, visitor: Visitor) -> None:
    nobody = f"http://127.0.0.1:{free_port()}"
    survey = servers.survey(dealing=Dealers((nobody,)), verified=False)
    Operator(survey, {}, servers.collector.admin).install()
    path = f"/surveys/{survey.hash}"
    assert "Open" in visitor.post(f"{path}/open").words  # here; there its operator does
    with listening(visitor, path) as page:
        while not (told := page.next()["silent"]):
            pass
    words = (
        f"The dealer at {nobody} does not answer: who answers now has no card, and results get "
        "less exact."
    )
    assert told == words
    assert words in visitor.get(path).words


def test_dealers_are_asked_now_and_then_and_what_is_wrong_is_told() -> None:
    now, replies = [0.0], [Reply(200, b'{"state": "open"}')]
    asked: list[str] = []

    class Told:
        def request(self, method: str, address: str, **_: Any) -> Reply:
            asked.append(address)
            return replies[-1]

    silent = SilentDealers(lambda: now[0])
    silent._http = Told()  # type: ignore[assignment]
    survey: Any = SimpleNamespace(hash="a", dealing=Dealers(("https://d.example",)))
    assert silent.last(survey) == silent.look(survey) == ""
    for reply, words in (
        (Reply(0), "does not answer"),
        (Reply(404), "does not hold this survey"),
        (Reply(503), "an error (503)"),
        (Reply(200, b"<html>"), "is no dealer"),
        (Reply(200, b'{"state": "new"}'), "there the survey is new"),
    ):
        before = silent.last(survey)
        replies.append(reply)
        now[0] += EVERY - 0.1
        assert silent.look(survey) == before  # too early
        now[0] += 0.1
        assert words in silent.look(survey)
        assert words in silent.last(survey)
    assert asked == ["https://d.example/v1/surveys/a/status"] * 6


def test_pages_do_not_hear_of_every_single_answer() -> None:
    nothing: Any = None

    class NoSnapshots:
        latest = staticmethod(lambda *_: None)

    class Asked:
        hash, capacity, dealing = "a", 100, Nobody()

    snapshots: Any = NoSnapshots()
    live, asked = Live(nothing, snapshots), Asked()
    topic = _Topic(asked, ("a", ()))  # type: ignore[arg-type]

    def heard(answered: int, state: State = OPEN, *, now: bool = False) -> str:
        live._say(topic, Counts(state=state, answered=answered), now=now)
        return str(json.loads(topic.words)["answered"])

    told = [heard(count) for count in (0, 1, 9, 10, 11, 19, 20)]
    assert told == ["0", "0", "0", "10", "10", "10", "20"]
    assert heard(27, now=True) == "27"  # for whoever opens a page
    assert [heard(28), heard(29)] == ["27", "27"]
    assert heard(29, CLOSED) == "29"  # the end is told, and all of it


def test_one_snapshot_serves_everybody_and_taking_them_rests(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With a clock of our own: snapshots that take a second leave nineteen to others."""
    now, answered, taken = [0.0], [5], []

    class Timed(Snapshots):
        def _taken(self, *_: Any) -> Snapshot:
            taken.append(now[0])
            now[0] += 1.0
            nothing: Any = None
            counts = Counts(state=OPEN, answered=answered[0])
            return Snapshot(counts=counts, report=nothing, people=nothing)

    def count(*_: Any) -> Counts:
        return Counts(state=OPEN, answered=answered[0])

    monkeypatch.setattr("jrr.console.snapshots.read", count)
    nothing: Any = None
    snapshots = Timed(nothing, lambda: now[0])

    class Survey:
        hash, dealing = "a", Nobody()

    survey: Any = Survey()
    assert [snapshots.take(survey).number for _ in range(10)] == [1] * 10
    answered[0] = 6
    now[0] += SHARE - 0.1
    assert snapshots.take(survey).number == 1  # more has come, and it is too early
    now[0] += 0.1
    assert snapshots.take(survey).number == 2
    now[0] += 10 * SHARE
    assert snapshots.take(survey).number == 2  # nothing has come
    assert taken == [0.0, 1.0 + SHARE]
    assert PAUSE < SHARE


def test_what_a_dealer_told_one_operator_no_other_page_hears(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Both listen; then one types a dealer's token into another page of hers."""
    dealer = "https://dealer.example"
    survey: Any = SimpleNamespace(
        hash="a",
        capacity=10,
        announces=False,
        dealing=SimpleNamespace(addresses=(dealer,)),
    )
    answered = [0]

    class Told(Snapshots):
        def _taken(self, _: Any, session: Any) -> Snapshot:
            dealt = None if session is None else 7
            people: Any = SimpleNamespace(
                invited=None, lost=dealt, dealt=dealt, carded=None, cardless=None
            )
            nothing: Any = None
            return Snapshot(counts=count(), report=nothing, people=people)

    def count(*_: Any) -> Counts:
        answered[0] += 1
        return Counts(state=OPEN, answered=answered[0])

    for name, value in (("snapshots.read", count), ("live.read", count), ("live.EVERY", 0.01)):
        monkeypatch.setattr(f"jrr.console.{name}", value)
    sessions = Sessions(lambda _: True)
    nothing_wrong = SimpleNamespace(look=lambda _: "")
    console: Any = SimpleNamespace(sessions=sessions, more={"silent dealers": nothing_wrong})
    live = Live(console, Told(console))
    people = (AdminToken(digest=name, name=name) for name in ("alice", "bob"))
    (alice_name, alice), (bob_name, bob) = map(sessions.begin, people)

    async def act() -> list[str]:
        hers: Any = live.listen(survey, alice, alice_name)
        his: Any = live.listen(survey, bob, bob_name)
        for page in (hers, his):
            await anext(page)  # how soon to ask again
            await anext(page)
        alice.dealer_tokens[dealer] = "secret"
        told = [json.loads((await anext(his))[6:])["dealt"] for _ in range(10)]
        with pytest.raises(StopAsyncIteration):  # her browser asks again, with the token
            await anext(hers)
        her_next: Any = live.listen(survey, alice, alice_name)
        await anext(her_next)
        told += [await until_dealt(her_next)]
        for page in (his, her_next):
            await page.aclose()
        return told

    async def until_dealt(page: Any) -> str:
        while not (dealt := json.loads((await anext(page))[6:])["dealt"]):
            pass
        return str(dealt)

    assert asyncio.run(act()) == [""] * 10 + ["7"]
