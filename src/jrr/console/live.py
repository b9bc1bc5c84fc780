"""Counts that follow what happens, by server-sent events: one look for all pages that are open."""

import asyncio
import contextlib
import itertools
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from jrr.console.counts import Counts, counts_of
from jrr.console.desk import Desk, cookie_name
from jrr.console.held import KIND, HeldDocument, find_held, read
from jrr.console.looking import Looks, facts_of, looks_of
from jrr.console.sessions import Session
from jrr.errors import JrrError
from jrr.servers.common.problems import Problem

EVERY = 2.0  # seconds between two counts
LONGEST = 10 * 60.0  # seconds of one reply; browsers ask again
_NUMBERS = itertools.count()
BEAT = 15.0  # seconds after which something is said in any case, so that who has left is noticed


@dataclass
class _Topic:
    held: HeldDocument
    sessions: dict[int, Session] = field(default_factory=dict)  # of pages that listen
    words: str = ""
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    task: "asyncio.Task[None] | None" = None


class Live:
    """What is told to the pages that are open, by survey."""

    def __init__(self, desk: Desk, looks: Looks) -> None:
        self._desk, self._looks = desk, looks
        self._topics: dict[str, _Topic] = {}
        self._looking: set[str] = set()

    async def listen(self, held: HeldDocument, session: Session, name: str) -> AsyncIterator[bytes]:
        """Events for one page, until its session ends."""
        topic = self._topics.setdefault(held.name, _Topic(held))
        number = next(_NUMBERS)
        topic.sessions[number] = session
        if topic.task is None:
            topic.task = asyncio.create_task(self._follow(topic))
        loop = asyncio.get_running_loop()
        ends, said = loop.time() + LONGEST, ""
        try:
            yield b"retry: 3000\n\n"
            await self._count(topic)  # what was counted last may be older than the page
            while loop.time() < ends:
                if self._desk.sessions.find(name, is_visit=False) is not session:
                    yield b"event: over\ndata: {}\n\n"
                    return
                if topic.words and topic.words != said:
                    said = topic.words
                    yield f"data: {said}\n\n".encode()
                changed = topic.changed
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(changed.wait(), BEAT)
                if not changed.is_set():
                    yield b": still there\n\n"
        finally:
            del topic.sessions[number]

    async def _follow(self, topic: _Topic) -> None:
        """Count while anybody listens."""
        try:
            while topic.sessions:
                with contextlib.suppress(JrrError, Problem):
                    await self._count(topic)
                    await self._look(topic)
                await asyncio.sleep(EVERY)
        finally:
            topic.task = None
            self._topics.pop(topic.held.name, None)

    async def _count(self, topic: _Topic) -> None:
        counts = await run_in_threadpool(read, self._desk, counts_of, topic.held.document)
        self._say(topic, counts)

    def _say(self, topic: _Topic, counts: Counts) -> None:
        look = self._looks.latest(topic.held)
        words = json.dumps(facts_of(topic.held, counts, look))
        if words != topic.words:
            topic.words = words
            topic.changed.set()
            topic.changed = asyncio.Event()

    async def _look(self, topic: _Topic) -> None:
        """Look closer, beside the counting, when it is time."""
        held, name = topic.held, topic.held.name
        session = next((one for one in topic.sessions.values() if one.dealer_tokens), None)
        due = await run_in_threadpool(self._looks.is_due, held, session)
        if not due or name in self._looking:
            return
        self._looking.add(name)

        async def act() -> None:
            try:
                with contextlib.suppress(JrrError, Problem):
                    await run_in_threadpool(self._looks.look, held, session)
            finally:
                self._looking.discard(name)

        self._acts = asyncio.create_task(act())


def routes(desk: Desk) -> list[Route]:
    """The address of the events."""
    live = Live(desk, looks_of(desk))

    async def events(request: Request) -> Response:
        name = request.cookies.get(cookie_name(request))
        session = desk.sessions.find(name, is_visit=False)
        if session is None or name is None:
            return Response(status_code=204)  # a browser then stops asking
        try:
            held = await run_in_threadpool(
                read, desk, find_held, request.path_params["kind"], request.path_params["name"]
            )
        except Problem:
            return Response(status_code=204)
        return StreamingResponse(live.listen(held, session, name), media_type="text/event-stream")

    return [Route(f"/{KIND}/{{name}}/events", events)]
