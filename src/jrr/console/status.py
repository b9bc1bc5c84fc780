"""The status page of a dealer or a committee's party, for its operator: counts, no names."""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from sqlalchemy import Connection, distinct, func, select
from starlette.responses import Response
from starlette.routing import Route

from jrr.console.desk import Desk, Visit, page
from jrr.servers.common.database import READS
from jrr.survey.campaign import read_campaign
from jrr.protocol.states import CLOSED, Role
from jrr.survey.surveys import read_survey


@dataclass(frozen=True, kw_only=True)
class DealingStatus:
    """What somebody who deals knows of a campaign, or of a survey."""

    path: str  # of its page below the console
    title: str
    state: str
    invited: int
    enrolled: int  # people who have a place
    dealt: int  # of them, whose cards have left
    decks: int = 0  # from which a dealer dealt
    lost: str  # cards that were dealt and cannot come back, by its own count; "": not known
    is_told: bool = False  # whether the collector has named the cards that came back
    burned: bool  # whether nothing is left from which a card could be found


def routes(desk: Desk) -> list[Route]:
    """Its address."""

    def status(visit: Visit) -> Response:
        is_dealer = desk.settings.role == Role.DEALER
        return visit.page("status.html", section="", rows=statuses(desk), is_dealer=is_dealer)

    return [page(desk, "/", status)]


def own_store(desk: Desk) -> Any:
    """The class of the store of a dealer or a party: loaded where one runs."""
    is_dealer = desk.settings.role == Role.DEALER
    module, name = ("dealer", "DealerStore") if is_dealer else ("party", "PartyStore")
    return getattr(import_module(f"jrr.servers.{module}.store"), name)


def statuses(desk: Desk) -> list[DealingStatus]:
    """Of everything that this dealer or party holds; what is over comes last."""
    look = dealer_status if desk.settings.role == Role.DEALER else party_status
    with desk.engine.connect().execution_options(**{READS: True}) as connection:
        return look(own_store(desk)(connection), connection)


def dealer_status(store: Any, connection: Connection) -> list[DealingStatus]:
    """Of every campaign that a dealer holds; those of a survey under its title."""
    titles = {
        row.survey: next(iter(read_survey(bytes(row.document)).questionnaire.title.values()))
        for row in connection.execute(select(store.surveys))
    }
    parts: dict[str, list[Any]] = {}  # survey, or campaign alone -> rows
    for row in connection.execute(select(store.campaigns)).all():
        parts.setdefault(row.survey or row.campaign, []).append(row)
    return _sorted(
        [_of_dealer(connection, store, name, titles, some) for name, some in parts.items()]
    )


def _of_dealer(
    connection: Connection, store: Any, name: str, titles: Mapping[str, str], rows: list[Any]
) -> DealingStatus:
    """Of a survey: everybody who has a card has one of every part."""
    seats = store.seats
    enrolled = dealt = decks = 0
    lost: set[int] = set()
    held = [store.find(row.campaign) for row in rows]
    for one in held:
        query = select(
            func.count(),
            func.count(seats.c.pseudonym).filter(seats.c.fetched.is_(True)),
            func.count(distinct(seats.c.block)).filter(seats.c.fetched.is_(True)),
        ).where(seats.c.campaign == one.name)
        places, gone, begun = connection.execute(query).one()
        enrolled, dealt = max(enrolled, places), max(dealt, gone)
        decks += begun
        # Before the end: places whose cards were never fetched. At the end the collector names
        # the cards that came back, where their sum is announced.
        back = _named(one.told)
        if back is not None:
            lost.add(max(0, places - back))
        elif one.state != CLOSED:
            lost.add(places - gone)
    return DealingStatus(
        path=f"/surveys/{name}" if name in titles else f"/campaigns/{name}",
        title=titles.get(name) or held[0].campaign.question,
        state=str(CLOSED if any(one.state == CLOSED for one in held) else held[0].state),
        invited=store.count(store.invited, name),
        enrolled=enrolled,
        dealt=dealt,
        decks=decks,
        lost=" to ".join(f"{number:,}" for number in sorted({min(lost), max(lost)}))
        if lost
        else "",
        is_told=any(_named(one.told) is not None for one in held),
        burned=all(one.wrapped_key is None for one in held),
    )


def party_status(store: Any, connection: Connection) -> list[DealingStatus]:
    """Of every campaign that a party of a committee holds."""
    rows = []
    for row in connection.execute(select(store.campaigns)).all():
        campaign, name = read_campaign(bytes(row.document)), row.campaign
        held = store.find(name)
        is_kept = bool(store.count(store.envelopes, name))
        rows.append(
            DealingStatus(
                path=f"/campaigns/{name}",
                title=campaign.question,
                state=str(held.state),
                invited=store.count(store.invited, name),
                enrolled=held.arrivals,  # counted: at the end who they were is forgotten
                dealt=held.n or 0,
                lost=f"{store.count(store.complaints, name):,}" if is_kept else "",
                burned=held.state == CLOSED and not is_kept,
            )
        )
    return _sorted(rows)


def _named(told: Mapping[str, Any] | None) -> int | None:
    """How many cards the collector named, where sums were announced."""
    if told is None or "announced" not in told:
        return None
    return sum(int(one["cards"]) for one in told["announced"]["sums"].values())


def _sorted(rows: list[DealingStatus]) -> list[DealingStatus]:
    return sorted(rows, key=lambda row: (row.state == CLOSED, row.title.casefold()))
