"""Counts that follow what happens, by server-sent events: counted once for pages that are alike.

While answers come, pages hear of every tenth: a figure that moves by one tells when somebody
answered. Whoever opens a page sees how many there are then.
"""

import asyncio
import contextlib
import itertools
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

from sqlalchemy.exc import SQLAlchemyError
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from jrr.console.pages import Console, cookie_name, read
from jrr.console.sessions import Session
from jrr.console.silent_dealers import silent_dealers
from jrr.console.snapshots import (
    Counts,
    Key,
    Snapshots,
    counts_of,
    facts_of,
    snapshot_key,
    snapshots_of,
)
from jrr.console.surveys import PATH, find_survey
from jrr.errors import JrrError
from jrr.protocol.states import OPEN, State
from jrr.servers.common.problems import Problem
from jrr.survey.survey import Survey

STEP = 10  # answers after which pages hear of them
EVERY = 2.0  # seconds between two counts
LONGEST = 10 * 60.0  # seconds of one reply; browsers ask again
_NUMBERS = itertools.count()
_PASSING = (JrrError, Problem, SQLAlchemyError)  # a server or a database is away: count again soon
BEAT = 15.0  # seconds after which something is said in any case, so that who has left is noticed


@dataclass
class _Topic:
    survey: Survey
    key: Key
    sessions: dict[int, Session] = field(default_factory=dict)  # of pages that listen
    words: str = ""
    silent: str = ""  # what is wrong with those who deal
    step: tuple[State, int, bool, str] | None = None  # of what was said last: a new one is told
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    task: "asyncio.Task[None] | None" = None


class Live:
    """What is told to the pages that are open, by survey and by dealers' tokens."""

    def __init__(self, console: Console, snapshots: Snapshots) -> None:
        self._console, self._snapshots = console, snapshots
        self._topics: dict[Key, _Topic] = {}
        self._counting: set[Key] = set()

    async def listen(self, survey: Survey, session: Session, name: str) -> AsyncIterator[bytes]:
        """Events for one page, until its session ends."""
        key = snapshot_key(survey, session)
        topic = self._topics.setdefault(key, _Topic(survey, key))
        number = next(_NUMBERS)
        topic.sessions[number] = session
        if topic.task is None:
            topic.task = asyncio.create_task(self._follow(topic))
        loop = asyncio.get_running_loop()
        ends, said = loop.time() + LONGEST, ""
        try:
            yield b"retry: 3000\n\n"
            await self._count(topic, now=True)  # what was said last may be older than the page
            while loop.time() < ends:
                if self._console.sessions.find(name, is_act=False) is not session:
                    yield b"event: over\ndata: {}\n\n"
                    return
                if snapshot_key(survey, session) != key:
                    return  # a dealer's token was typed in: the browser asks again
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
                with contextlib.suppress(*_PASSING):
                    await asyncio.gather(self._count(topic), self._look(topic))
                    await self._count_all(topic)
                await asyncio.sleep(EVERY)
        finally:
            topic.task = None
            self._topics.pop(topic.key, None)

    async def _count(self, topic: _Topic, *, now: bool = False) -> None:
        counts = await run_in_threadpool(read, self._console, counts_of, topic.survey)
        self._say(topic, counts, now=now)

    async def _look(self, topic: _Topic) -> None:
        """Whether those who deal answer, as long as anybody may come."""
        is_open = topic.step is not None and topic.step[0] == OPEN
        look = silent_dealers(self._console).look
        topic.silent = await run_in_threadpool(look, topic.survey) if is_open else ""

    def _say(self, topic: _Topic, counts: Counts, *, now: bool = False) -> None:
        """Tell pages what there is, unless it is too little to tell; now: in any case."""
        latest = self._snapshots.latest(topic.survey, _session_of(topic))
        step = (counts.state, counts.answered // STEP, latest is not None, topic.silent)
        if step == topic.step and counts.state == OPEN and not now:
            return
        topic.step = step
        words = json.dumps(facts_of(topic.survey, counts, latest) | {"silent": topic.silent})
        if words != topic.words:
            topic.words = words
            topic.changed.set()
            topic.changed = asyncio.Event()

    async def _count_all(self, topic: _Topic) -> None:
        """Count everything, beside the quick counts, when it is time."""
        survey, key = topic.survey, topic.key
        session = _session_of(topic)
        due = await run_in_threadpool(self._snapshots.is_due, survey, session)
        if not due or key in self._counting:
            return
        self._counting.add(key)

        async def act() -> None:
            try:
                with contextlib.suppress(*_PASSING):
                    await run_in_threadpool(self._snapshots.take, survey, session)
            finally:
                self._counting.discard(key)

        self._acts = asyncio.create_task(act())


def _session_of(topic: _Topic) -> Session | None:
    """One of those that listen and still have the tokens that the topic is for."""
    sessions = topic.sessions.values()
    return next((one for one in sessions if snapshot_key(topic.survey, one) == topic.key), None)


def routes(console: Console) -> list[Route]:
    """The address of the events."""
    live = Live(console, snapshots_of(console))

    async def events(request: Request) -> Response:
        name = request.cookies.get(cookie_name(request))
        session = console.session_of(request, is_act=False)
        if session is None or name is None:
            return Response(status_code=204)  # a browser then stops asking
        try:
            survey = await run_in_threadpool(
                read, console, find_survey, request.path_params["name"]
            )
        except Problem:
            return Response(status_code=204)
        return StreamingResponse(
            live.listen(survey, session, name),
            media_type="text/event-stream",
            headers={"x-accel-buffering": "no"},  # nginx passes each event on at once
        )

    return [Route(f"{PATH}/events", events)]
