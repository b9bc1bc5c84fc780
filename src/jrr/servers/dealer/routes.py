"""The dealer's server: it gives out cards and never sees an answer."""

import hmac
from typing import Any

from fastapi import Depends, FastAPI, Request, Response
from sqlalchemy import Connection, Engine, func, insert, select, update

from jrr.errors import JrrError
from jrr.servers.common import holding, tables
from jrr.servers.common.batch import Writer
from jrr.servers.common.database import scrub
from jrr.servers.common.holding import campaign_of, check_invited, find
from jrr.servers.common.problems import Problem, gone, too_early, unknown_name
from jrr.servers.common.routes import add_campaign_routes
from jrr.servers.common.settings import Settings
from jrr.servers.common.tables import dealer_campaigns as campaigns
from jrr.servers.common.tables import dealer_invited as invited
from jrr.servers.common.tables import seats
from jrr.servers.common.web import (
    Clock,
    Name,
    admin_only,
    body_schema,
    check_times,
    log,
    make_app,
    utc_now,
)
from jrr.servers.dealer.keyfiles import KeyFiles
from jrr.survey.campaign import ENROL, Campaign
from jrr.survey.dealer import Dealer
from jrr.survey.messages import device_of, named, parse
from jrr.survey.states import CLOSED, ENROLLING, NEW, OPEN

HEX = {"type": "string", "pattern": "^[0-9a-f]{64}$"}
PSEUDONYM = body_schema(pseudonym=HEX, optional={"device": HEX})


def dealer_app(settings: Settings, engine: Engine, clock: Clock = utc_now) -> FastAPI:
    """The application on a database that is up to date."""
    writer = Writer(engine)
    desk = _Desk(KeyFiles(settings.keys), clock)
    app = make_app("jrr dealer", settings, engine, writer)
    admin = [Depends(admin_only(settings))]
    add_campaign_routes(app, writer, campaigns, invited, admin, desk.secrets)

    @app.post("/v1/campaigns/{name}/seats", openapi_extra=PSEUDONYM)
    async def enrol(name: Name, request: Request, response: Response) -> dict[str, Any]:
        """Enrol for the next deal; again changes nothing."""
        given = parse(await request.body(), "pseudonym", optional=("device",))
        who, device = named(given), device_of(given)
        new = await writer.run(lambda connection: desk.enrol(connection, name, who, device))
        response.status_code = 201 if new else 200
        return {"enrolled": True}

    @app.post("/v1/campaigns/{name}/cards", openapi_extra=PSEUDONYM)
    async def cards(name: Name, request: Request) -> dict[str, Any]:
        """One's cards, one per round; the same ones however often one asks."""
        given = parse(await request.body(), "pseudonym", optional=("device",))
        who, device = named(given), device_of(given)
        return await writer.run(lambda connection: desk.cards(connection, name, who, device))

    @app.post("/v1/admin/campaigns/{name}/open", dependencies=admin)
    async def open_campaign(name: Name) -> dict[str, Any]:
        """Begin: enrolment, or dealing on arrival."""
        return {"state": await writer.run(lambda connection: desk.open(connection, name))}

    @app.post("/v1/admin/campaigns/{name}/deal", dependencies=admin)
    async def deal(name: Name) -> dict[str, Any]:
        """End enrolment and deal to exactly those who enrolled."""
        return await writer.run(lambda connection: desk.deal(connection, name))

    @app.post("/v1/admin/campaigns/{name}/close", dependencies=admin)
    async def close(name: Name) -> dict[str, Any]:
        """Close and burn: nothing that is left can expose anybody."""
        result = await writer.run(lambda connection: desk.close(connection, name))
        await writer.run_alone(lambda: scrub(engine, tables.dealer))
        return result

    @app.get("/v1/admin/campaigns/{name}", dependencies=admin)
    async def show(name: Name) -> dict[str, Any]:
        """Counts, no names."""
        return await writer.run(lambda connection: desk.show(connection, name))

    return app


class _Desk:
    """Jobs of the dealer; each checks first and writes last."""

    def __init__(self, keys: KeyFiles, clock: Clock) -> None:
        self._keys = keys
        self._clock = clock
        self._dealers: dict[str, Dealer] = {}

    def secrets(self, campaign: Campaign) -> dict[str, Any]:
        """What a new campaign's row holds besides the document."""
        if not campaign.deals or campaign.dealer["kind"] != "server":
            raise Problem(422, "refused", "the campaign must have this kind of dealer")
        _, wrapped = self._keys.create(campaign.hash)
        return {"wrapped_key": wrapped}

    def open(self, connection: Connection, name: str) -> str:
        row = find(connection, campaigns, name, lock=True)
        if row.state == CLOSED:
            raise gone("the campaign is closed")
        if row.state != NEW:
            return str(row.state)
        state = ENROLLING if campaign_of(row).dealing == ENROL else OPEN
        _set(connection, name, state=state)
        return state

    def enrol(self, connection: Connection, name: str, who: bytes, device: bytes | None) -> bool:
        row = find(connection, campaigns, name, lock=True)
        campaign = campaign_of(row)
        if campaign.dealing != ENROL:
            raise Problem(409, "no-enrolment", "cards are dealt on arrival: ask for cards")
        if row.state == NEW:
            raise too_early("enrolment has not begun")
        if row.state == CLOSED:
            raise gone("the campaign is closed")
        check_times(campaign, self._clock())
        check_invited(connection, invited, campaign, name, who)
        known = _seat(connection, name, who)
        if known is not None:
            _check_device(known, device)
            return False
        if row.state != ENROLLING:
            raise gone("enrolment has ended")
        if row.arrivals >= campaign.capacity:
            raise Problem(409, "full", "every place is taken")
        connection.execute(insert(seats).values(campaign=name, pseudonym=who, device=device))
        holding.count_arrival(connection, campaigns, row)
        return True

    def deal(self, connection: Connection, name: str) -> dict[str, Any]:
        row = find(connection, campaigns, name, lock=True)
        campaign = campaign_of(row)
        if row.state == OPEN:
            return {"n": row.n}
        if row.state != ENROLLING:
            raise Problem(409, "wrong-state", f"the campaign must be enrolling, it is {row.state}")
        n = holding.count(connection, seats, name)
        campaign.for_people(n)  # too few people would break the guarantee: refused
        # By the order of the hashes, which has nothing to do with who came when.
        ranked = select(
            seats.c.pseudonym,
            (func.row_number().over(order_by=seats.c.pseudonym) - 1).label("rank"),
        ).where(seats.c.campaign == name)
        ranks = ranked.subquery()
        connection.execute(
            update(seats)
            .values(block=0, seat=ranks.c.rank)
            .where(seats.c.campaign == name, seats.c.pseudonym == ranks.c.pseudonym)
        )
        _set(connection, name, state=OPEN, n=n)
        return {"n": n}

    def cards(
        self, connection: Connection, name: str, who: bytes, device: bytes | None
    ) -> dict[str, Any]:
        row = find(connection, campaigns, name, lock=True)
        campaign = campaign_of(row)
        if row.state in (NEW, ENROLLING):
            raise too_early("the cards are not dealt yet")
        if row.state == CLOSED:
            raise gone("the cards are burned")
        check_times(campaign, self._clock())
        dealer = self._dealer(row, campaign)
        known = _seat(connection, name, who)
        if known is not None:
            _check_device(known, device)
            held = (known.block, known.seat)
        else:
            if campaign.dealing == ENROL:
                raise unknown_name()
            check_invited(connection, invited, campaign, name, who)
            if row.arrivals >= campaign.capacity:
                raise Problem(404, "no-card-left", "every card is dealt: answer without one")
            held = dealer.place(row.arrivals)
            connection.execute(
                insert(seats).values(
                    campaign=name, pseudonym=who, block=held[0], seat=held[1], device=device
                )
            )
            holding.count_arrival(connection, campaigns, row)
        return {"campaign": name, "n": dealer.block_size, "cards": dealer.cards(*held)}

    def close(self, connection: Connection, name: str) -> dict[str, Any]:
        row = find(connection, campaigns, name, lock=True)
        campaign = campaign_of(row)
        decks = 1
        if campaign.dealing != ENROL:
            decks = campaign.mechanism.fewest_decks(row.arrivals)
        self._dealers.pop(name, None)
        self._keys.burn(name)  # first: from here on nothing below matters for privacy
        _set(connection, name, state=CLOSED, wrapped_key=None)
        return {"state": CLOSED, "n": row.n, "decks": decks}

    def show(self, connection: Connection, name: str) -> dict[str, Any]:
        row = find(connection, campaigns, name)
        return {
            "campaign": name,
            "state": row.state,
            "n": row.n,
            "invited": holding.count(connection, invited, name),
            "seats": holding.count(connection, seats, name),
        }

    def _dealer(self, row: Any, campaign: Campaign) -> Dealer:
        known = self._dealers.get(row.campaign)
        if known is not None:
            return known
        key = None
        if row.wrapped_key is not None:
            try:
                key = self._keys.unwrap(row.campaign, bytes(row.wrapped_key))
            except JrrError as error:
                log.error("%s", error)
                raise Problem(503, "no-key", "the dealer cannot open its deck") from None
        if key is None:
            raise gone("the cards are burned")
        mechanism = campaign.mechanism if row.n is None else campaign.for_people(row.n)
        made = Dealer(mechanism, key, campaign.rounds)
        self._dealers[row.campaign] = made
        return made


def _seat(connection: Connection, name: str, who: bytes) -> Any:
    query = select(seats).where(seats.c.campaign == name, seats.c.pseudonym == who)
    return connection.execute(query).one_or_none()


def _check_device(seat: Any, device: bytes | None) -> None:
    """Whoever made the invitations could ask too: the cards are only for who came first.

    A seat that was taken without a device is not shared with one either, or its rightful owner
    would never notice that somebody else has the card.
    """
    kept = b"" if seat.device is None else bytes(seat.device)
    if not hmac.compare_digest(kept, device or b""):
        raise Problem(409, "other-device", "another device has asked under this pseudonym")


def _set(connection: Connection, name: str, **values: Any) -> None:
    connection.execute(update(campaigns).where(campaigns.c.campaign == name).values(**values))
