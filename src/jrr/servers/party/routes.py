"""A party of a committee: it holds shares of cards, and never a card or an answer."""

import asyncio
from typing import Any

from fastapi import Depends, FastAPI, Request, Response
from sqlalchemy import Engine

from jrr._base import checks
from jrr.servers.common import tables
from jrr.servers.common.batch import Writer
from jrr.servers.common.database import scrub
from jrr.servers.common.problems import Problem
from jrr.servers.common.routes import add_campaign_routes
from jrr.servers.common.settings import Settings
from jrr.servers.common.web import Clock, Name, admin_only, body_schema, make_app, utc_now
from jrr.servers.party.jobs import PartyJobs
from jrr.survey.committee.dealing import Abort
from jrr.survey.committee.rounds import Outcome, deal_rounds
from jrr.survey.messages import key_of, named, parse
from jrr.survey.states import ABORTED

HEX = {"type": "string", "pattern": "^[0-9a-f]{64}$"}
LONGEST = 3600.0  # seconds that parties may wait for each other


def party_app(settings: Settings, engine: Engine, clock: Clock = utc_now) -> FastAPI:
    """The application on a database that is up to date."""
    writer = Writer(engine)
    jobs = PartyJobs(settings, clock)
    app = make_app("jrr committee party", settings, engine, writer)
    admin = [Depends(admin_only(settings))]
    add_campaign_routes(
        app, writer, tables.party_campaigns, tables.party_invited, admin, jobs.check
    )
    dealing = asyncio.Lock()

    @app.post("/v1/campaigns/{name}/seats", openapi_extra=body_schema(pseudonym=HEX, key=HEX))
    async def enrol(name: Name, request: Request, response: Response) -> dict[str, Any]:
        """Enrol for the deal with the key that one's shares are to be sealed to."""
        given = parse(await request.body(), "pseudonym", "key")
        who, key = named(given), key_of(given)
        new = await writer.run(lambda connection: jobs.enrol(connection, name, who, key))
        response.status_code = 201 if new else 200
        return {"enrolled": True}

    @app.post("/v1/campaigns/{name}/cards", openapi_extra=body_schema(pseudonym=HEX))
    async def cards(name: Name, request: Request) -> dict[str, Any]:
        """One's sealed shares, with proof that they are those committed to."""
        who = named(parse(await request.body(), "pseudonym"))
        return await writer.run(lambda connection: jobs.cards(connection, name, who))

    @app.post(
        "/v1/campaigns/{name}/complaints",
        openapi_extra=body_schema(pseudonym=HEX),
    )
    async def complain(name: Name, request: Request) -> dict[str, Any]:
        """A card that does not match its tag: the dealing ends here, and no card is shown."""
        who = named(parse(await request.body(), "pseudonym"))
        if await writer.run(lambda connection: jobs.complain(connection, name, who)):
            await writer.run_alone(lambda: scrub(engine, tables.party))
        return {"state": ABORTED}

    @app.post("/v1/admin/campaigns/{name}/open", dependencies=admin)
    async def open_campaign(name: Name) -> dict[str, Any]:
        """Begin enrolment."""
        return {"state": await writer.run(lambda connection: jobs.open(connection, name))}

    @app.post("/v1/admin/campaigns/{name}/deal", dependencies=admin)
    async def deal(name: Name, request: Request) -> dict[str, Any]:
        """Deal together with the other parties, whose operators must do the same meanwhile."""
        given = parse(await request.body(), "patience", "join", "again")
        patience, join = (
            checks.real(key, given[key], "seconds > 0", 0.0, LONGEST, open_low=True)
            for key in ("patience", "join")
        )
        if not isinstance(given["again"], bool):
            raise checks.refusal("again", given["again"], "true or false")
        if dealing.locked():
            raise Problem(409, "busy", "this party is dealing already")
        async with dealing:
            return await _deal(writer, jobs, name, patience, join, given["again"])

    @app.post("/v1/admin/campaigns/{name}/close", dependencies=admin)
    async def close(name: Name) -> dict[str, Any]:
        """Close and burn: the shares are gone, and with them the cards."""
        result = await writer.run(lambda connection: jobs.close(connection, name))
        await writer.run_alone(lambda: scrub(engine, tables.party))
        return result

    @app.get("/v1/admin/campaigns/{name}", dependencies=admin)
    async def show(name: Name) -> dict[str, Any]:
        """Counts, no names."""
        return await writer.run(lambda connection: jobs.show(connection, name))

    return app


async def _deal(
    writer: Writer, jobs: PartyJobs, name: str, patience: float, join: float, again: bool
) -> dict[str, Any]:
    campaign, roster = await writer.run(lambda connection: jobs.roster(connection, name, again))
    if campaign is None:
        return await writer.run(lambda connection: jobs.facts(connection, name))
    loop = asyncio.get_running_loop()

    def confirm(outcome: Outcome) -> None:
        job = writer.run(lambda connection: jobs.prepare(connection, name, outcome))
        asyncio.run_coroutine_threadsafe(job, loop).result()

    work = deal_rounds(
        campaign,
        jobs.index(campaign),
        jobs.identity,
        roster,
        patience,
        join,
        jobs.listen(campaign),
        confirm,
    )
    try:
        # In a thread with a loop of its own: arithmetic must not keep contributors waiting.
        outcome = await asyncio.to_thread(asyncio.run, work)
    except (Abort, OSError) as error:
        await writer.run(lambda connection: jobs.discard(connection, name))
        raise Problem(409, "aborted", f"no cards were dealt: {error}") from None
    except Exception:
        await writer.run(lambda connection: jobs.discard(connection, name))
        raise
    await writer.run(lambda connection: jobs.publish(connection, name, len(outcome.members)))
    traffic = {"bytes_sent": outcome.traffic.sent, "messages_sent": outcome.traffic.messages}
    return await writer.run(lambda connection: jobs.facts(connection, name)) | traffic
