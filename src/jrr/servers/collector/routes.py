"""The collector's server: it takes perturbed reports and never sees a card."""

from typing import Any

from fastapi import FastAPI, Request, Response
from sqlalchemy import Engine

from jrr._base import checks
from jrr.estimation.estimates import POPULATIONS
from jrr.servers.collector.ending import FIELDS, EndWish
from jrr.servers.collector.jobs import CollectorJobs, EstimateWish
from jrr.servers.collector.store import CollectorCampaign
from jrr.servers.collector.surveys import ChangeWish, CollectorSurveyJobs
from jrr.servers.common.batch import Writer, read_aside
from jrr.servers.common.database import scrub
from jrr.servers.common.jobs import Clock, utc_now
from jrr.servers.common.memory import CampaignMemory
from jrr.servers.common.problems import unknown_campaign
from jrr.servers.common.routes import admin_dependency, role_app
from jrr.servers.common.settings import Settings
from jrr.servers.common.survey_routes import add_survey_routes
from jrr.servers.common.tidying import housekeeping_of
from jrr.servers.common.uploads import Upload
from jrr.servers.common.web import HEX, Name, body_schema
from jrr.survey.documents import bytes_from_hex, read_body

REPORT = body_schema(
    pseudonym=HEX,
    carded={"type": "boolean"},
    report={},
    covariates={"type": "object", "additionalProperties": {"type": "string"}},
    optional={"serials": {"type": "array", "items": {"type": ["string", "null"]}}},
)

UPLOAD = body_schema(pseudonym=HEX, open={"type": "object"}, reports={"type": "object"})


class FileBytes(Response):
    """A file, for programs."""

    media_type = "application/octet-stream"


def collector_app(settings: Settings, engine: Engine, clock: Clock = utc_now) -> FastAPI:
    """The application on a database that is up to date."""
    jobs = CollectorJobs(clock)
    writer = Writer(engine, housekeeping_of(engine, jobs.store.metadata))
    memory = CampaignMemory(writer, jobs)
    app = role_app(settings, engine, writer, jobs, memory)
    admin = admin_dependency(settings)

    @app.post("/v1/campaigns/{name}/reports", openapi_extra=REPORT)
    async def receive(name: Name) -> dict[str, Any]:
        """Take a report once; the same again is fine, another one is a conflict."""
        raise unknown_campaign()  # whatever has a name goes to `take_report`

    async def limit_of_report(name: str) -> int:
        held: CollectorCampaign = await memory.find(name)
        return held.report_limit

    async def take_report(name: str, body: bytes) -> bool:
        report = jobs.read(await memory.find(name), body)
        return await writer.run_bulk(jobs.receive_all, report)

    app.state.uploads.append(Upload("/v1/campaigns/", "/reports", limit_of_report, take_report))

    surveys = CollectorSurveyJobs(jobs)
    survey_memory = add_survey_routes(app, writer, surveys, admin)

    @app.post("/v1/surveys/{name}/reports", openapi_extra=UPLOAD)
    async def receive_answers(name: Name) -> dict[str, Any]:
        """Take somebody's answers to a survey once, all together."""
        raise unknown_campaign()  # whatever has a name goes to `take_answers`

    async def limit_of_answers(name: str) -> int:
        return (await survey_memory.find(name)).upload_limit

    async def take_answers(name: str, body: bytes) -> bool:
        answers = surveys.read((await survey_memory.find(name)).survey, body)
        return await writer.run_bulk(surveys.receive_all, answers)

    app.state.uploads.append(Upload("/v1/surveys/", "/reports", limit_of_answers, take_answers))

    @app.get("/v1/admin/surveys/{name}/change", dependencies=admin)
    async def survey_change(
        name: Name,
        since: str,
        paired: str = "false",
        level: str = "0.95",
        simultaneous: str = "false",
        population: str = "respondents",
    ) -> dict[str, Any]:
        """How every item has changed since another wave of the same people."""
        wish = ChangeWish(
            since=_hash("since", since),
            paired=checks.one_of("paired", paired, ("false", "true")) == "true",
            level=checks.level(_number("level", level)),
            simultaneous=checks.one_of("simultaneous", simultaneous, ("false", "true")) == "true",
            population=checks.one_of("population", population, POPULATIONS),
        )
        return await read_aside(engine, surveys.change, name, wish)

    @app.get("/v1/admin/surveys/{name}/export", dependencies=admin, response_class=FileBytes)
    async def export_survey(name: Name, format: str = "parquet") -> Response:
        """One row per person: open answers, and a report and a flag of each part."""
        kind = checks.one_of("format", format, ("parquet", "csv"))
        data = await read_aside(engine, surveys.export, name, kind)
        return FileBytes(data)

    @app.post("/v1/admin/surveys/{name}/close", dependencies=admin)
    async def close_survey(name: Name, request: Request) -> dict[str, Any]:
        """Take no more answers: all parts whose card sums are announced, or none of them."""
        told = read_body(await request.body(), optional=FIELDS)
        result = await writer.run(surveys.close_announced, name, told)
        await writer.run_alone(lambda: scrub(engine, jobs.store.metadata))
        return result

    @app.post("/v1/admin/campaigns/{name}/open", dependencies=admin)
    async def open_campaign(name: Name, request: Request) -> dict[str, Any]:
        """Begin to take reports; after enrolment, n says how many were dealt cards."""
        n = read_body(await request.body(), "n")["n"]
        return {"state": await writer.run(jobs.open_alone, name, n)}

    @app.post("/v1/admin/campaigns/{name}/close", dependencies=admin)
    async def close(name: Name, request: Request) -> dict[str, Any]:
        """Take no more; decks says how many the dealer dealt from, undealt what is left of them."""
        told = read_body(await request.body(), "decks", optional=("undealt", *FIELDS))
        wish = EndWish.from_document(told)
        result = await writer.run(jobs.close, name, told["decks"], told.get("undealt"), wish)
        await writer.run_alone(lambda: scrub(engine, jobs.store.metadata))
        return result

    @app.get("/v1/admin/campaigns/{name}/closing", dependencies=admin)
    async def closing(
        name: Name, by: str | None = None, merge_small: str = "false"
    ) -> dict[str, Any]:
        """What closing would do: the groups, their sizes, and which are too small for a sum."""
        wish = EndWish(by=by, merge_small=_flag("merge_small", merge_small))
        return await read_aside(engine, jobs.prospect, name, wish)

    @app.get("/v1/admin/campaigns/{name}/serials", dependencies=admin)
    async def serials(name: Name, dealer: str = "0", ahead: str = "false") -> dict[str, Any]:
        """The reports that are here, by the serial numbers of one dealer's cards.

        After the end in the groups that were chosen; ahead of it in none, for a check only.
        """
        number, early = _whole_number("dealer", dealer), _flag("ahead", ahead)
        return await read_aside(engine, jobs.serials, name, number, early)

    @app.post("/v1/admin/campaigns/{name}/discard", dependencies=admin)
    async def discard(name: Name, request: Request) -> dict[str, Any]:
        """Delete reports that came with serial numbers which no dealer gave to anybody."""
        unknown = read_body(await request.body(), "serials")["serials"]
        return {"discarded": await writer.run(jobs.discard, name, unknown)}

    @app.post("/v1/admin/campaigns/{name}/settle", dependencies=admin)
    async def settle(name: Name, request: Request) -> dict[str, Any]:
        """Keep what dealers told of their cards, and forget the serial numbers."""
        told = read_body(await request.body(), "announced", "undealt")
        result = await writer.run(jobs.settle, name, told)
        await writer.run_alone(lambda: scrub(engine, jobs.store.metadata))
        return result

    @app.get("/v1/admin/campaigns/{name}", dependencies=admin)
    async def show(name: Name) -> dict[str, Any]:
        """Counts, no names."""
        return await read_aside(engine, jobs.show, name)

    @app.get("/v1/admin/campaigns/{name}/estimate", dependencies=admin)
    async def estimate(
        name: Name,
        by: str | None = None,
        level: str = "0.95",
        simultaneous: str = "false",
        population: str = "respondents",
        population_size: str | None = None,
    ) -> dict[str, Any]:
        """The estimate so far, or the final one."""
        people = None
        if population_size is not None:
            people = _whole_number("population_size", population_size, 12)
        wish = EstimateWish(
            level=checks.level(_number("level", level)),
            by=by,
            simultaneous=checks.one_of("simultaneous", simultaneous, ("false", "true")) == "true",
            population=checks.one_of("population", population, POPULATIONS),
            population_size=people,
        )
        await writer.run(jobs.fix_results, name)
        return await read_aside(engine, jobs.estimate, name, wish)

    @app.get("/v1/admin/campaigns/{name}/export", dependencies=admin, response_class=FileBytes)
    async def export(name: Name, format: str = "parquet") -> Response:
        """All reports as a file that `jrr file estimate` reads: Parquet, or CSV and its sidecar."""
        kind = checks.one_of("format", format, ("parquet", "csv", "csv.json"))
        data = await read_aside(engine, jobs.export, name, kind)
        return FileBytes(data)

    return app


def _hash(argument: str, value: str) -> str:
    if bytes_from_hex(value) is None:
        raise checks.refusal(argument, value, "64 hexadecimal digits")
    return value


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
