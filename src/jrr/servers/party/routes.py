"""A party of a committee: it holds shares of cards, and never a card or an answer."""

import asyncio
from typing import Any

from fastapi import FastAPI, Request, Response
from sqlalchemy import Engine

from jrr.servers.common.batch import Writer
from jrr.servers.common.database import scrub
from jrr.servers.common.jobs import Clock, utc_now
from jrr.servers.common.problems import Problem
from jrr.servers.common.routes import admin_dependency, role_app
from jrr.servers.common.settings import Settings
from jrr.servers.common.tidying import housekeeping_of
from jrr.servers.common.web import HEX, SMALL_BODY, Name, body_schema, read_at_most
from jrr.servers.party.dealing import DealWish, deal_together
from jrr.servers.party.jobs import PartyJobs
from jrr.dealing.complaining import read_complaint
from jrr.protocol.documents import read_body
from jrr.survey.messages import key_of, name_hash


def party_app(settings: Settings, engine: Engine, clock: Clock = utc_now) -> FastAPI:
    """The application on a database that is up to date."""
    jobs = PartyJobs(settings, clock)
    writer = Writer(engine, housekeeping_of(engine, jobs.store.metadata))
    app = role_app(settings, engine, writer, jobs)
    admin = admin_dependency(settings)
    dealing = asyncio.Lock()

    @app.post("/v1/campaigns/{name}/seats", openapi_extra=body_schema(pseudonym=HEX, key=HEX))
    async def enrol(name: Name, request: Request, response: Response) -> dict[str, Any]:
        """Enrol for the deal with the key that one's shares are to be sealed to."""
        fields = read_body(await read_at_most(request, SMALL_BODY), "pseudonym", "key")
        new = await writer.run(jobs.enrol, name, name_hash(fields), key_of(fields))
        response.status_code = 201 if new else 200
        return {"enrolled": True}

    @app.post("/v1/campaigns/{name}/cards", openapi_extra=body_schema(pseudonym=HEX))
    async def cards(name: Name, request: Request) -> dict[str, Any]:
        """One's sealed shares, with proof that they are those committed to."""
        who = name_hash(read_body(await read_at_most(request, SMALL_BODY), "pseudonym"))
        return await writer.run(jobs.cards, name, who)

    @app.post("/v1/campaigns/{name}/complaints", openapi_extra=body_schema(pseudonym=HEX))
    async def complain(name: Name, request: Request) -> dict[str, Any]:
        """Complain of one's card, with a share that shows whose fault it is; others keep theirs."""
        body = await read_at_most(request, SMALL_BODY)
        fields = read_body(body, "pseudonym", optional=("accused", "evidence"))
        who, complaint = name_hash(fields), read_complaint(fields)
        finding = await writer.run(jobs.complain, name, who, complaint)
        return {"finding": finding}

    @app.post("/v1/admin/campaigns/{name}/open", dependencies=admin)
    async def open_campaign(name: Name) -> dict[str, Any]:
        """Begin enrolment."""
        return {"state": await writer.run(jobs.open, name)}

    @app.post("/v1/admin/campaigns/{name}/deal", dependencies=admin)
    async def deal(name: Name, request: Request) -> dict[str, Any]:
        """Deal together with the other parties, whose operators must do the same meanwhile."""
        wish = DealWish(**read_body(await request.body(), "patience", "join", "again"))
        if dealing.locked():
            raise Problem(409, "busy", "this party is dealing already")
        async with dealing:
            return await deal_together(writer, jobs, name, wish)

    @app.post("/v1/admin/campaigns/{name}/close", dependencies=admin)
    async def close(name: Name) -> dict[str, Any]:
        """Close and burn: the shares are gone, and with them the cards."""
        result = await writer.run(jobs.close, name)
        await writer.run_alone(lambda: scrub(engine, jobs.store.metadata))
        return result

    @app.get("/v1/admin/campaigns/{name}/complaints", dependencies=admin)
    async def complaints(name: Name) -> dict[str, Any]:
        """Every complaint, and what was shown with it."""
        return await writer.run(jobs.evidence, name)

    @app.get("/v1/admin/campaigns/{name}", dependencies=admin)
    async def show(name: Name) -> dict[str, Any]:
        """Counts, no names."""
        return await writer.run(jobs.show, name)

    return app
