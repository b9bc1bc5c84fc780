"""The dealer's server: it gives out cards and never sees an answer."""

from typing import Any

from fastapi import FastAPI, Request, Response
from sqlalchemy import Engine

from jrr.servers.common.batch import Writer
from jrr.servers.common.database import scrub
from jrr.servers.common.jobs import Clock, utc_now
from jrr.servers.common.routes import admin_dependency, role_app
from jrr.servers.common.settings import Settings
from jrr.servers.common.survey_routes import add_survey_routes
from jrr.servers.common.tidying import housekeeping_of
from jrr.servers.common.web import HEX, SMALL_BODY, Name, body_schema, read_at_most
from jrr.servers.dealer.jobs import DealerJobs
from jrr.servers.dealer.keyfiles import KeyFiles
from jrr.servers.dealer.seating import Visitor
from jrr.servers.dealer.surveys import DealerSurveyJobs
from jrr.survey.documents import read_body
from jrr.survey.messages import device_of, name_hash

PSEUDONYM = body_schema(pseudonym=HEX, optional={"device": HEX})
NAMING = ("campaign", "by", "serials")


def dealer_app(settings: Settings, engine: Engine, clock: Clock = utc_now) -> FastAPI:
    """The application on a database that is up to date."""
    jobs = DealerJobs(KeyFiles(settings.keys), clock)
    with engine.begin() as connection:
        jobs.finish_burning(connection)
    writer = Writer(engine, housekeeping_of(engine, jobs.store.metadata))
    app = role_app(settings, engine, writer, jobs)
    admin = admin_dependency(settings)

    @app.post("/v1/campaigns/{name}/seats", openapi_extra=PSEUDONYM)
    async def enrol(name: Name, request: Request, response: Response) -> dict[str, Any]:
        """Enrol for the next deal; again changes nothing."""
        new = await writer.run_bulk(jobs.enrol_all, await visitor(name, request))
        response.status_code = 201 if new else 200
        return {"enrolled": True}

    @app.post("/v1/campaigns/{name}/cards", openapi_extra=PSEUDONYM)
    async def cards(name: Name, request: Request) -> dict[str, Any]:
        """One's card; the same one however often one asks."""
        return await writer.run_bulk(jobs.cards_all, await visitor(name, request))

    surveys = DealerSurveyJobs(jobs)
    add_survey_routes(app, writer, surveys, admin)

    @app.post("/v1/surveys/{name}/cards", openapi_extra=PSEUDONYM)
    async def survey_cards(name: Name, request: Request) -> dict[str, Any]:
        """One's cards of all parts of a survey; the same ones however often one asks."""
        return await writer.run_bulk(surveys.cards_all, await visitor(name, request))

    @app.post("/v1/admin/campaigns/{name}/open", dependencies=admin)
    async def open_campaign(name: Name) -> dict[str, Any]:
        """Begin: enrolment, or dealing on arrival."""
        return {"state": await writer.run(jobs.open, name)}

    @app.post("/v1/admin/campaigns/{name}/deal", dependencies=admin)
    async def deal(name: Name) -> dict[str, Any]:
        """End enrolment and deal to exactly those who enrolled."""
        return await writer.run(jobs.deal, name)

    @app.post("/v1/admin/campaigns/{name}/close", dependencies=admin)
    async def close(name: Name, request: Request) -> dict[str, Any]:
        """Close and burn: nothing that is left can expose anybody."""
        body = await request.body()
        wish = read_body(body, optional=("without_sum",)) if body not in (b"", b"null") else {}
        without = wish.get("without_sum") is True
        result = await writer.run(jobs.close, name, without_sum=without)
        await end(name)
        return result

    @app.post("/v1/admin/campaigns/{name}/announce", dependencies=admin)
    async def announce(name: Name, request: Request) -> dict[str, Any]:
        """Tell the sum of the named cards, once for all time; then close and burn."""
        named = read_body(await request.body(), *NAMING, optional=("merged",))
        told = await writer.run(jobs.announce, name, named)
        await end(name)
        return told

    @app.post("/v1/admin/campaigns/{name}/unknown", dependencies=admin)
    async def unknown(name: Name, request: Request) -> dict[str, Any]:
        """Which of the named serials nobody was given."""
        named = read_body(await request.body(), *NAMING, optional=("merged",))
        return {"unknown": await writer.run(jobs.unknown, name, named)}

    async def end(name: str) -> None:
        """Destroy the key, before anybody hears what was committed as told of its cards."""
        await writer.run_alone(lambda: jobs.burn(name))
        await writer.run_alone(lambda: scrub(engine, jobs.store.metadata))

    @app.get("/v1/admin/campaigns/{name}", dependencies=admin)
    async def show(name: Name) -> dict[str, Any]:
        """Counts, no names."""
        return await writer.run(jobs.show, name)

    return app


async def visitor(name: str, request: Request) -> Visitor:
    """Who asks, and from which device."""
    body = await read_at_most(request, SMALL_BODY)
    fields = read_body(body, "pseudonym", optional=("device",))
    return Visitor(name, name_hash(fields), device_of(fields))
