"""A party of a committee: it holds shares of cards, and never a card or an answer."""

import asyncio
from collections.abc import Callable
from typing import Any

from fastapi import FastAPI, Request, Response
from sqlalchemy import Engine

from jrr._base import checks
from jrr.dealing.committee.aborts import Abort, MissingPartyError
from jrr.dealing.committee.deals import DealingParty, DealOrder, Keeper, deal_together
from jrr.dealing.messages import Complaint, read_card_request
from jrr.protocol.documents import Message, read_body
from jrr.protocol.steps import ABORTED_DEAL, MISSING_PARTY
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


LONGEST = 3600.0  # seconds that parties may wait for each other


class DealWish(Message):
    """How the operator wants a deal to be done."""

    patience: float  # seconds for each message
    join: float  # seconds until all parties are there
    again: bool  # discard a deal that not all parties have

    def __post_init__(self) -> None:
        for name in ("patience", "join"):
            value = getattr(self, name)
            checks.real(name, value, "seconds > 0", 0.0, LONGEST, open_low=True)


async def deal_with_others(
    writer: Writer, jobs: PartyJobs, name: str, wish: DealWish
) -> dict[str, Any]:
    """Deal with the other parties; what the operator is told of it."""
    begun = await writer.run(jobs.begin_deal, name, wish.again)
    if begun is None:
        return await writer.run(jobs.deal_facts, name)
    loop = asyncio.get_running_loop()

    def by_writer(job: Callable[..., None]) -> Callable[..., None]:
        """The job on the database, called in the thread of the meeting, which waits for it."""

        def call(*arguments: Any) -> None:
            work = writer.run(job, name, *arguments)
            asyncio.run_coroutine_threadsafe(work, loop).result()

        return call

    keeper = Keeper(
        keep=by_writer(jobs.keep_deal),
        discard=by_writer(jobs.discard_deal),
        publish=by_writer(jobs.publish_deal),
        settle=by_writer(jobs.settle_deal),
    )
    party = DealingParty(
        number=jobs.number(begun.survey),
        identity=jobs.identity,
        members=begun.roster,
        patience=wish.patience,
        join=wish.join,
        listen=jobs.listen(begun.survey),
        kept=begun.kept,
        again=wish.again,
    )
    order = DealOrder.of(begun.survey, jobs.committee(begun.survey))
    work = deal_together(order, party, keeper=keeper)
    try:
        # In a thread with a loop of its own: arithmetic must not keep contributors waiting.
        dealt = await asyncio.to_thread(asyncio.run, work)
    except (Abort, OSError) as error:
        # What is kept stays: another party may have heard that all keep it, and serve it.
        missing = isinstance(error, MissingPartyError | OSError)
        if missing and begun.kept is not None and begun.kept.published:
            return await writer.run(jobs.deal_facts, name)  # done here, and the others do not ask
        kind = MISSING_PARTY if missing else ABORTED_DEAL
        raise Problem(409, kind, f"no cards were dealt: {error}") from None
    facts = await writer.run(jobs.deal_facts, name)
    if dealt is None:
        return facts
    return facts | {"bytes_sent": dealt.traffic.sent, "messages_sent": dealt.traffic.messages}
