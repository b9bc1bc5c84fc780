"""The dealer's server: it gives out cards and never sees an answer."""

import asyncio
from typing import Any

from fastapi import FastAPI, Request, Response
from sqlalchemy import Engine

from jrr.dealing.messages import read_card_request
from jrr.protocol.documents import read_body
from jrr.servers.common.batch import Writer
from jrr.servers.common.database import scrub
from jrr.servers.common.jobs import Clock, utc_now
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
from jrr.servers.dealer.closing import ClosingWish, CommitWish, DealerClosing
from jrr.servers.dealer.jobs import DealerJobs
from jrr.servers.dealer.keyfiles import KeyFiles
from jrr.servers.dealer.seating import Visitor

CARD_REQUEST = body_schema(
    pseudonym=HEX,
    optional={"device": HEX, "serial": {"type": "string"}, "nonce": HEX},
)


def dealer_app(settings: Settings, engine: Engine, clock: Clock = utc_now) -> FastAPI:
    """The application on a database that is up to date."""
    jobs = DealerJobs(KeyFiles(settings.keys), clock)
    closing = DealerClosing(jobs.decks, jobs.keys)
    with engine.begin() as connection:
        jobs.finish_burning(connection)
    writer = Writer(engine, housekeeping_of(engine, jobs.store.metadata))
    app = role_app(settings, engine, writer, jobs)

    @app.post("/v1/surveys/{name}/seats", openapi_extra=CARD_REQUEST)
    async def enrol(name: Name, request: Request, response: Response) -> dict[str, Any]:
        """Enrol for the next deal; again changes nothing."""
        new = await writer.run_bulk(jobs.enrol_all, await visitor(name, request))
        response.status_code = 201 if new else 200
        return {"enrolled": True}

    @app.post("/v1/surveys/{name}/cards", openapi_extra=CARD_REQUEST)
    async def cards(name: Name, request: Request) -> dict[str, Any]:
        """One's cards of all questions; the same ones however often one asks."""
        return await writer.run_bulk(jobs.cards_all, await visitor(name, request))

    @app.get("/v1/surveys/{name}/promise")
    async def promise(name: Name) -> dict[str, Any]:
        """Of verified cards: the keys that fix them, and the root over all noise seeds."""
        return await writer.run(jobs.promise, name)

    @app.post("/v1/admin/surveys/{name}/open", dependencies=ADMIN_ONLY)
    async def open_survey(name: Name) -> dict[str, Any]:
        """Begin: enrolment, or dealing on arrival."""
        return {"state": await writer.run(jobs.open, name)}

    @app.post("/v1/admin/surveys/{name}/deal", dependencies=ADMIN_ONLY)
    async def deal(name: Name) -> dict[str, Any]:
        """End enrolment and deal to exactly those who enrolled."""
        return {"n": await writer.run(jobs.deal, name)}

    @app.post("/v1/admin/surveys/{name}/check", dependencies=ADMIN_ONLY)
    async def check(name: Name, request: Request) -> dict[str, Any]:
        """What closing by this request would find; nothing changes."""
        asked = read_body(await request.body(), dict[str, Any])
        return await writer.run(closing.check, name, asked)

    @app.post("/v1/admin/surveys/{name}/commit", dependencies=ADMIN_ONLY)
    async def commit(name: Name, request: Request) -> dict[str, Any]:
        """Of verified cards: commit to the noise of the closing sums, before a slot is drawn."""
        wish = read_body(await request.body(), CommitWish)
        return await asyncio.to_thread(await writer.run(closing.commit, name, wish))

    @app.post("/v1/admin/surveys/{name}/close", dependencies=ADMIN_ONLY)
    async def close(name: Name, request: Request) -> dict[str, Any]:
        """Tell the sums of the cards that came back, as often as planned; then burn all cards."""
        wish = read_body(await request.body() or b"{}", ClosingWish)
        found = await asyncio.to_thread(await writer.run(closing.sums, name, wish))
        told = await writer.run(closing.close, name, wish, found)
        # Before anybody hears what was committed: nothing that is left can expose anybody.
        if told["burned"]:
            await writer.run_alone(lambda: jobs.burn(name))
        await writer.run_alone(lambda: scrub(engine, jobs.store.metadata))
        return told

    @app.get("/v1/admin/surveys/{name}", dependencies=ADMIN_ONLY)
    async def show(name: Name) -> dict[str, Any]:
        """Counts, no names."""
        return await writer.run(jobs.show, name)

    return app


async def visitor(name: str, request: Request) -> Visitor:
    """Who asks, and from which device."""
    asked = read_card_request(await read_at_most(request, SMALL_BODY))
    return Visitor(name, asked.name, asked.device_hash, asked.for_verified)
