"""A party of a committee: it holds shares of cards, and never a card or an answer."""

import asyncio
import json
from pathlib import Path
from typing import Any

from fastapi import Depends, FastAPI, Request, Response
from sqlalchemy import Connection, Engine, bindparam, delete, insert, select, update

from jrr import checks
from jrr.committee.cards import Envelope, Record, check_committee_mechanism, usable
from jrr.committee.dealing import Abort
from jrr.committee.link import Identity
from jrr.committee.merkle import Tree
from jrr.committee.rounds import Member, Outcome, deal_rounds
from jrr.errors import JrrError
from jrr.protocol.campaign import Campaign, check_link
from jrr.protocol.messages import key_of, named, parse
from jrr.services import holding, tables
from jrr.services.batch import Writer
from jrr.services.database import scrub
from jrr.services.holding import CLOSED, ENROLLING, NEW, OPEN, campaign_of, check_invited, find
from jrr.services.problems import Problem, gone, too_early, unknown_name
from jrr.services.settings import Settings
from jrr.services.tables import envelopes, members, records
from jrr.services.tables import party_campaigns as campaigns
from jrr.services.tables import party_invited as invited
from jrr.services.web import Clock, Name, admin_only, body_schema, check_times, make_app, utc_now

HEX = {"type": "string", "pattern": "^[0-9a-f]{64}$"}
ABORTED = "aborted"  # somebody complained of a card
SERVING = "serving"  # somebody has been given a share: dealing again would mix two decks
LONGEST = 3600.0  # seconds that parties may wait for each other
ROWS = 10_000  # envelopes stored at a time


def party_app(settings: Settings, engine: Engine, clock: Clock = utc_now) -> FastAPI:
    """The application on a database that is up to date."""
    writer = Writer(engine)
    seat = _Seat(settings, clock)
    app = make_app("jrr committee party", settings, engine, writer)
    admin = [Depends(admin_only(settings))]
    documents: dict[str, bytes] = {}
    dealing = asyncio.Lock()

    @app.get("/v1/campaigns/{name}")
    async def document(name: Name) -> Response:
        """The campaign's bytes."""
        if name not in documents:  # they never change
            row = await writer.run(lambda connection: find(connection, campaigns, name))
            documents[name] = bytes(row.document)
        return Response(documents[name], media_type="application/json")

    @app.get("/v1/campaigns/{name}/status")
    async def status(name: Name) -> dict[str, Any]:
        """State, and how many people were dealt cards."""
        row = await writer.run(lambda connection: find(connection, campaigns, name))
        return {"state": row.state, "n": row.n}

    @app.post("/v1/campaigns/{name}/seats", openapi_extra=body_schema(pseudonym=HEX, key=HEX))
    async def enrol(name: Name, request: Request, response: Response) -> dict[str, Any]:
        """Enrol for the deal with the key that one's shares are to be sealed to."""
        given = parse(await request.body(), "pseudonym", "key")
        who, key = named(given), key_of(given)
        new = await writer.run(lambda connection: seat.enrol(connection, name, who, key))
        response.status_code = 201 if new else 200
        return {"enrolled": True}

    @app.post("/v1/campaigns/{name}/cards", openapi_extra=body_schema(pseudonym=HEX))
    async def cards(name: Name, request: Request) -> dict[str, Any]:
        """One's sealed shares, with proof that they are those committed to."""
        who = named(parse(await request.body(), "pseudonym"))
        return await writer.run(lambda connection: seat.cards(connection, name, who))

    @app.post(
        "/v1/campaigns/{name}/complaints",
        openapi_extra=body_schema(pseudonym=HEX),
    )
    async def complain(name: Name, request: Request) -> dict[str, Any]:
        """A card that does not match its tag: the dealing ends here, and no card is shown."""
        who = named(parse(await request.body(), "pseudonym"))
        if await writer.run(lambda connection: seat.complain(connection, name, who)):
            await writer.run_alone(lambda: scrub(engine, tables.party))
        return {"state": ABORTED}

    @app.put("/v1/admin/campaigns/{name}", dependencies=admin)
    async def install(name: Name, request: Request, response: Response) -> dict[str, Any]:
        """Hold a campaign."""
        job = holding.install(campaigns, name, await request.body(), seat.check)
        new = await writer.run(job)
        response.status_code = 201 if new else 200
        return {"new": new}

    @app.post("/v1/admin/campaigns/{name}/invitations", dependencies=admin)
    async def invite(name: Name, request: Request) -> dict[str, Any]:
        """Accept more pseudonyms."""
        job = holding.invite(campaigns, invited, name, await request.body(), rounds_each=False)
        return {"invited": await writer.run(job)}

    @app.post("/v1/admin/campaigns/{name}/open", dependencies=admin)
    async def open_campaign(name: Name) -> dict[str, Any]:
        """Begin enrolment."""
        return {"state": await writer.run(lambda connection: seat.open(connection, name))}

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
            return await _deal(writer, seat, name, patience, join, given["again"])

    @app.post("/v1/admin/campaigns/{name}/close", dependencies=admin)
    async def close(name: Name) -> dict[str, Any]:
        """Close and burn: the shares are gone, and with them the cards."""
        result = await writer.run(lambda connection: seat.close(connection, name))
        await writer.run_alone(lambda: scrub(engine, tables.party))
        return result

    @app.get("/v1/admin/campaigns/{name}", dependencies=admin)
    async def show(name: Name) -> dict[str, Any]:
        """Counts, no names."""
        return await writer.run(lambda connection: seat.show(connection, name))

    return app


async def _deal(
    writer: Writer, seat: "_Seat", name: str, patience: float, join: float, again: bool
) -> dict[str, Any]:
    campaign, roster = await writer.run(lambda connection: seat.roster(connection, name, again))
    if campaign is None:
        return await writer.run(lambda connection: seat.facts(connection, name))
    loop = asyncio.get_running_loop()

    def confirm(outcome: Outcome) -> None:
        job = writer.run(lambda connection: seat.prepare(connection, name, outcome))
        asyncio.run_coroutine_threadsafe(job, loop).result()

    work = deal_rounds(
        campaign,
        seat.index(campaign),
        seat.identity,
        roster,
        patience,
        join,
        seat.listen(campaign),
        confirm,
    )
    try:
        # In a thread with a loop of its own: arithmetic must not keep contributors waiting.
        outcome = await asyncio.to_thread(asyncio.run, work)
    except (Abort, OSError) as error:
        await writer.run(lambda connection: seat.discard(connection, name))
        raise Problem(409, "aborted", f"no cards were dealt: {error}") from None
    except Exception:
        await writer.run(lambda connection: seat.discard(connection, name))
        raise
    await writer.run(lambda connection: seat.publish(connection, name, len(outcome.members)))
    traffic = {"bytes_sent": outcome.traffic.sent, "messages_sent": outcome.traffic.messages}
    return await writer.run(lambda connection: seat.facts(connection, name)) | traffic


class _Seat:
    """Jobs of a party; each checks first and writes last."""

    def __init__(self, settings: Settings, clock: Clock) -> None:
        self._clock = clock
        self._settings = settings
        self.identity = Identity(settings.link_certificate, settings.link_key)
        try:
            self._certificate = Path(settings.link_certificate).read_text("ascii").strip()
        except (OSError, UnicodeDecodeError):
            raise JrrError(
                f"link_certificate must be a PEM file, got {settings.link_certificate!r}"
            ) from None
        self._trees: dict[tuple[str, int], Tree] = {}

    def index(self, campaign: Campaign) -> int:
        """Which party of the campaign this is."""
        shown = [party["certificate"].strip() for party in campaign.dealer["parties"]]
        if self._certificate not in shown:
            raise Problem(422, "refused", "this party's certificate is not in the campaign")
        return shown.index(self._certificate)

    def listen(self, campaign: Campaign) -> tuple[str, int]:
        """Where to wait for the others."""
        port = check_link(campaign.dealer["parties"][self.index(campaign)]["link"])[1]
        return self._settings.link_host, self._settings.link_port or port

    def check(self, campaign: Campaign) -> dict[str, Any]:
        """Refuse a campaign that this party cannot deal."""
        if campaign.dealer["kind"] != "committee":
            raise Problem(422, "refused", "the campaign must be dealt by a committee")
        self.index(campaign)
        check_committee_mechanism(campaign.mechanism)
        return {}

    def open(self, connection: Connection, name: str) -> str:
        row = find(connection, campaigns, name, lock=True)
        if row.state == CLOSED:
            raise gone("the campaign is closed")
        if row.state != NEW:
            return str(row.state)
        _set(connection, name, state=ENROLLING)
        return ENROLLING

    def enrol(self, connection: Connection, name: str, who: bytes, key: bytes) -> bool:
        row = find(connection, campaigns, name, lock=True)
        campaign = campaign_of(row)
        if row.state == NEW:
            raise too_early("enrolment has not begun")
        if row.state == CLOSED:
            raise gone("the campaign is closed")
        check_times(campaign, self._clock())
        check_invited(connection, invited, campaign, name, who)
        known = _member(connection, name, who)
        if known is not None:
            if bytes(known.key) != key:
                raise Problem(409, "conflict", "this pseudonym enrolled with another key")
            return False
        if row.state != ENROLLING:
            raise gone("enrolment has ended")
        if row.arrivals >= campaign.capacity:
            raise Problem(409, "full", "every place is taken")
        taken = select(members.c.campaign).where(members.c.campaign == name, members.c.key == key)
        if not usable(key) or connection.execute(taken).first() is not None:
            raise Problem(422, "refused", "key must be a fresh public key")
        connection.execute(insert(members).values(campaign=name, pseudonym=who, key=key))
        holding.count_arrival(connection, campaigns, row)
        return True

    def roster(
        self, connection: Connection, name: str, again: bool
    ) -> tuple[Campaign | None, list[Member]]:
        """Whom to deal to; None where that is done already."""
        row = find(connection, campaigns, name, lock=True)
        if row.state == SERVING or (row.state == OPEN and not again):
            return None, []
        if row.state not in (ENROLLING, OPEN):
            # After a complaint too: some may have answered with cards of the first deal.
            raise Problem(409, "wrong-state", f"the campaign must be enrolling, it is {row.state}")
        self._forget(connection, name)
        _set(connection, name, state=ENROLLING, n=None)
        query = select(members.c.pseudonym, members.c.key).where(members.c.campaign == name)
        found = [(bytes(who), bytes(key)) for who, key in connection.execute(query)]
        return campaign_of(row), found

    def prepare(self, connection: Connection, name: str, outcome: Outcome) -> None:
        """Keep everything, but serve nothing yet."""
        self._forget(connection, name)
        for record, sealed in zip(outcome.records, outcome.sealed, strict=True):
            connection.execute(
                insert(records).values(campaign=name, round=record.round, record=record.to_json())
            )
            for start in range(0, len(sealed), ROWS):
                part = enumerate(sealed[start : start + ROWS], start)
                connection.execute(
                    insert(envelopes),
                    [
                        {"campaign": name, "round": record.round, "slot": slot, "sealed": entry}
                        for slot, entry in part
                    ],
                )
        rows = [{"who": who, "place": slot} for slot, (who, _) in enumerate(outcome.members)]
        place = (
            update(members)
            .where(members.c.campaign == name, members.c.pseudonym == bindparam("who"))
            .values(slot=bindparam("place"))
        )
        connection.execute(place, rows)

    def publish(self, connection: Connection, name: str, n: int) -> None:
        """Every party has its part: serve."""
        _set(connection, name, state=OPEN, n=n)

    def discard(self, connection: Connection, name: str) -> None:
        """Nothing of a round that was not finished may be used."""
        self._forget(connection, name)

    def _forget(self, connection: Connection, name: str) -> None:
        for table in (envelopes, records):
            connection.execute(delete(table).where(table.c.campaign == name))
        connection.execute(update(members).where(members.c.campaign == name).values(slot=None))
        for key in [key for key in self._trees if key[0] == name]:
            del self._trees[key]

    def cards(self, connection: Connection, name: str, who: bytes) -> dict[str, Any]:
        row = find(connection, campaigns, name, lock=True)
        campaign = campaign_of(row)
        if row.state in (NEW, ENROLLING):
            raise too_early("the cards are not dealt yet")
        if row.state in (CLOSED, ABORTED):
            raise gone("the cards are burned")
        check_times(campaign, self._clock())
        known = _member(connection, name, who)
        if known is None or known.slot is None:
            raise unknown_name()
        if row.state == OPEN:
            _set(connection, name, state=SERVING)
        rounds = []
        for number in range(campaign.rounds):
            record = _record(connection, name, number)
            sealed = connection.execute(
                select(envelopes.c.sealed).where(
                    envelopes.c.campaign == name,
                    envelopes.c.round == number,
                    envelopes.c.slot == known.slot,
                )
            ).scalar_one()
            tree = self._tree(connection, name, number)
            envelope = Envelope(known.slot, bytes(sealed), tuple(tree.path(known.slot)))
            rounds.append({"record": vars(record), "envelope": envelope.to_document()})
        return {"campaign": name, "n": row.n, "rounds": rounds}

    def _tree(self, connection: Connection, name: str, number: int) -> Tree:
        known = self._trees.get((name, number))
        if known is None:
            query = (
                select(envelopes.c.sealed)
                .where(envelopes.c.campaign == name, envelopes.c.round == number)
                .order_by(envelopes.c.slot)
            )
            known = Tree([bytes(sealed) for sealed in connection.execute(query).scalars()])
            self._trees[name, number] = known
        return known

    def complain(self, connection: Connection, name: str, who: bytes) -> bool:
        row = find(connection, campaigns, name, lock=True)
        known = _member(connection, name, who)
        if known is None or known.slot is None:
            raise unknown_name()
        if row.state not in (OPEN, SERVING):
            return False
        self._forget(connection, name)
        _set(connection, name, state=ABORTED)
        return True

    def close(self, connection: Connection, name: str) -> dict[str, Any]:
        row = find(connection, campaigns, name, lock=True)
        self._forget(connection, name)
        connection.execute(delete(members).where(members.c.campaign == name))
        _set(connection, name, state=CLOSED)
        return {"state": CLOSED, "n": row.n, "decks": 1}

    def facts(self, connection: Connection, name: str) -> dict[str, Any]:
        row = find(connection, campaigns, name)
        campaign = campaign_of(row)
        found = [_record(connection, name, number).hash for number in range(campaign.rounds)]
        return {"n": row.n, "records": found}

    def show(self, connection: Connection, name: str) -> dict[str, Any]:
        row = find(connection, campaigns, name)
        return {
            "campaign": name,
            "state": row.state,
            "n": row.n,
            "invited": holding.count(connection, invited, name),
            "members": holding.count(connection, members, name),
        }


def _record(connection: Connection, name: str, number: int) -> Record:
    text = connection.execute(
        select(records.c.record).where(records.c.campaign == name, records.c.round == number)
    ).scalar_one()
    return Record.from_document(json.loads(text))


def _member(connection: Connection, name: str, who: bytes) -> Any:
    query = select(members).where(members.c.campaign == name, members.c.pseudonym == who)
    return connection.execute(query).one_or_none()


def _set(connection: Connection, name: str, **values: Any) -> None:
    connection.execute(update(campaigns).where(campaigns.c.campaign == name).values(**values))
