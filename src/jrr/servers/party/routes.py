"""A party of a committee: it holds shares of cards, and never a card or an answer."""

import asyncio
from typing import Any

from fastapi import FastAPI, Request, Response
from sqlalchemy import Engine

from jrr.dealing.messages import Complaint, read_card_request
from jrr.protocol.documents import read_body
from jrr.servers.common.batch import Writer
from jrr.servers.common.database import scrub
from jrr.servers.common.jobs import Clock, utc_now
from jrr.servers.common.problems import Problem
from jrr.servers.common.settings import Settings
from jrr.servers.common.tidying import housekeeping_of
from jrr.servers.common.web import (
    ADMIN_ONLY,
    HEX,
    SMALL_BODY,
    Name,
    body_schema,
    read_at_most,
    role_app,
)
from jrr.servers.party.dealing import DealWish, deal_with_others
from jrr.servers.party.jobs import PartyJobs


def party_app(settings: Settings, engine: Engine, clock: Clock = utc_now) -> FastAPI:
    """The application on a database that is up to date."""
    jobs = PartyJobs(settings, clock)
    writer = Writer(engine, housekeeping_of(engine, jobs.store.metadata))
    app = role_app(settings, engine, writer, jobs)
    dealing = asyncio.Lock()

    @app.post("/v1/surveys/{name}/seats", openapi_extra=body_schema(pseudonym=HEX, key=HEX))
    async def enrol(name: Name, request: Request, response: Response) -> dict[str, Any]:
        """Enrol for the deal with the key that one's shares are to be sealed to."""
        asked = read_card_request(await read_at_most(request, SMALL_BODY))
        new = await writer.run(jobs.enrol, name, asked.name, asked.public_key)
        response.status_code = 201 if new else 200
        return {"enrolled": True}

    @app.post("/v1/surveys/{name}/cards", openapi_extra=body_schema(pseudonym=HEX))
    async def cards(name: Name, request: Request) -> dict[str, Any]:
        """One's sealed share, with proof that it is the one committed to."""
        asked = read_card_request(await read_at_most(request, SMALL_BODY))
        return await writer.run(jobs.cards, name, asked.name)

    @app.post("/v1/surveys/{name}/complaints", openapi_extra=body_schema(pseudonym=HEX))
    async def complain(name: Name, request: Request) -> dict[str, Any]:
        """Complain of one's card, with a share that shows whose fault it is; others keep theirs."""
        complaint = read_body(await read_at_most(request, SMALL_BODY), Complaint)
        return {"finding": await writer.run(jobs.complain, name, complaint)}

    @app.post("/v1/admin/surveys/{name}/open", dependencies=ADMIN_ONLY)
    async def open_survey(name: Name) -> dict[str, Any]:
        """Begin enrolment."""
        return {"state": await writer.run(jobs.open, name)}

    @app.post("/v1/admin/surveys/{name}/deal", dependencies=ADMIN_ONLY)
    async def deal(name: Name, request: Request) -> dict[str, Any]:
        """Deal together with the other parties, whose operators must do the same meanwhile."""
        wish = read_body(await request.body(), DealWish)
        if dealing.locked():
            raise Problem(409, "busy", "this party is dealing already")
        async with dealing:
            return await deal_with_others(writer, jobs, name, wish)

    @app.post("/v1/admin/surveys/{name}/close", dependencies=ADMIN_ONLY)
    async def close(name: Name) -> dict[str, Any]:
        """Close and burn: the shares are gone, and with them the cards."""
        result = await writer.run(jobs.close, name)
        await writer.run_alone(lambda: scrub(engine, jobs.store.metadata))
        return result

    @app.get("/v1/admin/surveys/{name}/complaints", dependencies=ADMIN_ONLY)
    async def complaints(name: Name) -> dict[str, Any]:
        """Every complaint, and what was shown with it."""
        return await writer.run(jobs.evidence, name)

    @app.get("/v1/admin/surveys/{name}", dependencies=ADMIN_ONLY)
    async def show(name: Name) -> dict[str, Any]:
        """Counts, no names."""
        return await writer.run(jobs.show, name)

    return app
