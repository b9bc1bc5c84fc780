"""The collector's server: it takes perturbed reports and never sees a card.

Work of some milliseconds is done beside the event loop, so that other requests go on: libsodium
lets other threads run while it computes. What could not be begun within about two seconds is
refused at once, as everything else that waits (jrr.servers.common.batch).
"""

import asyncio
import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Annotated, Any, ParamSpec, TypeVar

from fastapi import Depends, FastAPI, Request, Response
from sqlalchemy import Engine

from jrr._base import checks
from jrr.estimation.estimates import POPULATIONS
from jrr.protocol.documents import Message, bytes_from_hex, read_body
from jrr.servers.collector.change import ChangeWish
from jrr.servers.collector.ending import ClosingChoices
from jrr.servers.collector.jobs import CollectorJobs
from jrr.servers.collector.results import EstimateQuery
from jrr.servers.collector.store import CollectorSurvey
from jrr.servers.collector.verified_ending import Commitments
from jrr.servers.common.batch import FEWEST, LONGEST, Writer, read_aside
from jrr.servers.common.database import scrub
from jrr.servers.common.jobs import Clock, SurveyMemory, utc_now
from jrr.servers.common.middleware import Upload
from jrr.servers.common.problems import busy, unknown_survey
from jrr.servers.common.settings import Settings
from jrr.servers.common.tidying import housekeeping_of
from jrr.servers.common.web import ADMIN_ONLY, HEX, Name, body_schema, role_app
from jrr.survey.grouping import split_by
from jrr.survey.messages import read_invitations

T = TypeVar("T")
P = ParamSpec("P")


class Aside:
    """As many threads as there are processors."""

    def __init__(self) -> None:
        self._workers = os.cpu_count() or 1
        self._pool = ThreadPoolExecutor(self._workers, thread_name_prefix="jrr-aside")
        self._pace = 0.001  # seconds of one piece of work, as measured
        self._waiting = 0

    @property
    def room(self) -> int:
        """Pieces of work that may wait."""
        return max(FEWEST, int(LONGEST * self._workers / self._pace))

    async def run(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """What some work returns, once it is done; refused where too much of it waits."""
        if self._waiting >= self.room:
            raise busy()

        def timed() -> T:
            began = time.perf_counter()
            try:
                return work(*args, **kwargs)
            finally:
                self._pace += (time.perf_counter() - began - self._pace) / 32

        self._waiting += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._pool, timed)
        finally:
            self._waiting -= 1


UPLOAD = body_schema(pseudonym=HEX, open={"type": "object"}, reports={"type": "object"})
PUBLIC, ADMIN = "/v1/surveys/{name}", "/v1/admin/surveys/{name}"


class _Opening(Message):
    n: int | None  # people who were dealt cards, after enrolment
    promises: list[Any] | None = None  # of verified cards, one of each dealer


class _Unwanted(Message):
    serials: dict[str, list[str]]  # question -> serials


class FileBytes(Response):
    """A file, for programs."""

    media_type = "application/octet-stream"


async def _estimate_wish(
    by: str | None = None,
    level: str = "0.95",
    simultaneous: str = "false",
    population: str = "respondents",
    population_size: str | None = None,
) -> EstimateQuery:
    people = None
    if population_size is not None:
        people = _whole_number("population_size", population_size, 12)
    return EstimateQuery(
        level=checks.level(_number("level", level)),
        by=None if by is None else split_by(by) or ("",),
        simultaneous=_flag("simultaneous", simultaneous),
        population=checks.one_of("population", population, POPULATIONS),
        population_size=people,
    )


EstimateWish = Annotated[EstimateQuery, Depends(_estimate_wish)]


def collector_app(settings: Settings, engine: Engine, clock: Clock = utc_now) -> FastAPI:
    """The application on a database that is up to date."""
    jobs = CollectorJobs(clock)
    tidying = housekeeping_of(engine, jobs.store.metadata)
    writer = Writer(engine, tidying, has_replicas=engine.dialect.name != "sqlite")
    memory = SurveyMemory(writer, jobs)
    app = role_app(settings, engine, writer, jobs, memory)
    _add_uploads(app, writer, jobs, memory)
    _add_fieldwork(app, engine, jobs)
    _add_closing(app, engine, writer, jobs)
    _add_results(app, engine, writer, jobs)

    @app.post(f"{ADMIN}/open", dependencies=ADMIN_ONLY)
    async def open_survey(name: Name, request: Request) -> dict[str, Any]:
        """Begin to take answers; after enrolment, n says how many were dealt cards."""
        asked = read_body(await request.body(), _Opening)
        return {"state": await writer.run(jobs.open, name, asked.n, asked.promises)}

    @app.get(ADMIN, dependencies=ADMIN_ONLY)
    async def show(name: Name) -> dict[str, Any]:
        """Counts, no names."""
        return await read_aside(engine, jobs.show, name)

    return app


def _add_uploads(app: FastAPI, writer: Writer, jobs: CollectorJobs, memory: SurveyMemory) -> None:
    @app.post(f"{PUBLIC}/reports", openapi_extra=UPLOAD)
    async def receive(name: Name) -> dict[str, Any]:
        """Take somebody's answers once; the same again is fine, others are a conflict."""
        raise unknown_survey()  # whatever has a name goes to `take`

    aside = Aside()

    async def limit(name: str) -> int:
        held: CollectorSurvey = await memory.find(name)
        return held.upload_limit

    async def take(name: str, body: bytes) -> bool:
        held = await memory.find(name)
        if held.survey.dealing.is_verified:  # milliseconds of processor, during which others wait
            answers = await aside.run(jobs.read, held, body)
        else:
            answers = jobs.read(held, body)
        return await writer.run_bulk(jobs.receive_all, answers)

    app.state.uploads.append(Upload("/v1/surveys/", "/reports", limit, take))


def _add_fieldwork(app: FastAPI, engine: Engine, jobs: CollectorJobs) -> None:
    @app.post(f"{ADMIN}/used", dependencies=ADMIN_ONLY)
    async def used(name: Name, request: Request) -> dict[str, Any]:
        """Of some pseudonyms those that have answered; what they answered is not told."""
        hashes = read_invitations(await request.body())
        found = await read_aside(engine, jobs.used, name, hashes)
        return {"used": [one.hex() for one in found]}

    @app.post(f"{ADMIN}/accepted", dependencies=ADMIN_ONLY)
    async def accepted(name: Name, request: Request) -> dict[str, Any]:
        """Of some pseudonyms those whose invitations count; whether they answered is not told."""
        hashes = read_invitations(await request.body())
        found = await read_aside(engine, jobs.accepted, name, hashes)
        return {"accepted": [one.hex() for one in found]}

    @app.get(f"{ADMIN}/days", dependencies=ADMIN_ONLY)
    async def days(name: Name) -> dict[str, Any]:
        """How many people answered on each day."""
        return {"days": await read_aside(engine, jobs.by_day, name)}


def _add_closing(app: FastAPI, engine: Engine, writer: Writer, jobs: CollectorJobs) -> None:
    async def scrubbed() -> None:
        await writer.run_alone(lambda: scrub(engine, jobs.store.metadata))

    @app.get(f"{ADMIN}/closing", dependencies=ADMIN_ONLY)
    async def closing(
        name: Name, by: str | None = None, merge_small: str = "false", announcement: str = "1"
    ) -> dict[str, Any]:
        """What closing would do: the cells, their sizes, and which are too small for a sum."""
        wish = ClosingChoices(
            by=None if by is None else list(split_by(by)),
            merge_small=_flag("merge_small", merge_small),
            announcement=_whole_number("announcement", announcement, 3),
        )
        return await read_aside(engine, jobs.prospect, name, wish)

    @app.get(f"{ADMIN}/closing/request", dependencies=ADMIN_ONLY)
    async def closing_request(
        name: Name, dealer: str = "0", ahead: str = "false"
    ) -> dict[str, Any]:
        """The cards that reports came with, by the serial numbers of one dealer.

        After the end in the groups that were chosen; ahead of it in none, for a check only.
        """
        number, early = _whole_number("dealer", dealer), _flag("ahead", ahead)
        return await read_aside(engine, jobs.closing_request, name, number, early)

    @app.post(f"{ADMIN}/close", dependencies=ADMIN_ONLY)
    async def close(name: Name, request: Request) -> dict[str, Any]:
        """Take no more answers."""
        wish = read_body(await request.body(), ClosingChoices)
        result = await writer.run(jobs.close, name, wish)
        await scrubbed()
        return result

    @app.post(f"{ADMIN}/discard", dependencies=ADMIN_ONLY)
    async def discard(name: Name, request: Request) -> dict[str, Any]:
        """Delete all answers of people whose serial numbers no dealer gave to anybody."""
        unwanted = read_body(await request.body(), _Unwanted).serials
        return {"discarded": await writer.run(jobs.discard, name, unwanted)}

    @app.get(f"{ADMIN}/challenge", dependencies=ADMIN_ONLY)
    async def challenged(name: Name, dealer: str = "0") -> dict[str, Any]:
        """Of verified cards: the nonce that noise depends on, and slots that are drawn already."""
        return await writer.run(jobs.challenged, name, _whole_number("dealer", dealer))

    @app.post(f"{ADMIN}/challenge", dependencies=ADMIN_ONLY)
    async def challenge(name: Name, request: Request) -> dict[str, Any]:
        """Of verified cards: the slot of noise that is used of each sum; drawn once, ever."""
        told = read_body(await request.body(), Commitments)
        return {"slots": await writer.run(jobs.challenge, name, told)}

    @app.get(f"{PUBLIC}/record")
    async def record(name: Name) -> Response:
        """Of verified cards: what dealers promised, signed and told, for anybody to check."""
        found = await read_aside(engine, jobs.public_record, name)
        return Response(found, media_type="application/json")

    @app.post(f"{ADMIN}/sums", dependencies=ADMIN_ONLY)
    async def sums(name: Name, request: Request) -> dict[str, Any]:
        """Keep what dealers told of their cards, and forget the serial numbers."""
        told = read_body(await request.body(), dict[str, Any])
        openings = told.pop("openings", None)
        record = await read_aside(engine, jobs.record_of, name, told, openings)
        state = await writer.run(jobs.keep_sums, name, told, record)
        await scrubbed()
        return {"state": state}


def _add_results(app: FastAPI, engine: Engine, writer: Writer, jobs: CollectorJobs) -> None:
    @app.get(f"{ADMIN}/estimate", dependencies=ADMIN_ONLY)
    async def estimate(name: Name, question: str, wish: EstimateWish) -> dict[str, Any]:
        """The estimate of one question so far, or the final one."""
        await writer.run(jobs.fix_results, name, question)
        return await read_aside(engine, jobs.estimate, name, question, wish)

    @app.get(f"{ADMIN}/estimates", dependencies=ADMIN_ONLY)
    async def estimates(name: Name, wish: EstimateWish) -> dict[str, Any]:
        """The estimates of all questions; of one that has none, why."""
        await writer.run(jobs.fix_results, name)
        return await read_aside(engine, jobs.estimates, name, wish)

    @app.get(f"{ADMIN}/change", dependencies=ADMIN_ONLY)
    async def change(
        name: Name,
        since: str,
        paired: str = "false",
        level: str = "0.95",
        simultaneous: str = "false",
        population: str = "respondents",
    ) -> dict[str, Any]:
        """How the answers to every question have changed since another wave."""
        if bytes_from_hex(since) is None:
            raise checks.refusal("since", since, "64 hexadecimal digits")
        wish = ChangeWish(
            since=since,
            paired=_flag("paired", paired),
            level=checks.level(_number("level", level)),
            simultaneous=_flag("simultaneous", simultaneous),
            population=checks.one_of("population", population, POPULATIONS),
        )
        return await read_aside(engine, jobs.change, name, wish)

    @app.get(f"{ADMIN}/export", dependencies=ADMIN_ONLY, response_class=FileBytes)
    async def export(name: Name, format: str = "parquet") -> Response:
        """One row per person: open answers, and a report and a flag of each question."""
        kind = checks.one_of("format", format, ("parquet", "csv"))
        return FileBytes(await read_aside(engine, jobs.export, name, kind))


def _whole_number(argument: str, value: str, digits: int = 6) -> int:
    if not value.isascii() or not value.isdecimal() or len(value) > digits:
        raise checks.refusal(argument, value, "a whole number")
    return int(value)


def _flag(argument: str, value: str) -> bool:
    return checks.one_of(argument, value, ("false", "true")) == "true"


def _number(argument: str, value: str) -> float:
    try:
        return float(value)
    except ValueError:
        raise checks.refusal(argument, value, "a number") from None
