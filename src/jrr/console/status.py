"""The status page of a dealer or a committee's party, for its operator: counts, no names."""

from dataclasses import dataclass
from importlib import import_module
from typing import Any

from sqlalchemy import Connection, distinct, func, select
from starlette.responses import Response

from jrr.console.pages import Console, PageRequest, page
from jrr.console.survey_texts import name_of, path_of
from jrr.protocol.states import CLOSED, Role
from jrr.servers.common.database import READS


@dataclass(frozen=True, kw_only=True)
class DealingStatus:
    """What somebody who deals knows of a survey."""

    path: str  # of its page below the console
    title: str
    state: str
    invited: int
    enrolled: int  # people who have a place
    dealt: int  # of them, whose cards have left
    decks: int = 0  # from which a dealer dealt
    lost: str  # cards that were dealt and cannot come back, by its own count; "": not known
    is_told: bool = False  # whether the collector has named the cards that came back
    closes: str | None = None  # until when cards are given
    burned: bool  # whether nothing is left from which a card could be found


@page("/")
def _status(request: PageRequest) -> Response:
    rows, is_dealer = statuses(request.console), request.console.settings.role == Role.DEALER
    return request.page("status.html", section="", rows=rows, is_dealer=is_dealer)


def own_store(console: Console) -> Any:
    """The class of the store of a dealer or a party: loaded where one runs."""
    is_dealer = console.settings.role == Role.DEALER
    module, name = ("dealer", "DealerStore") if is_dealer else ("party", "PartyStore")
    return getattr(import_module(f"jrr.servers.{module}.store"), name)


def statuses(console: Console) -> list[DealingStatus]:
    """Of everything that this dealer or party holds; what is over comes last."""
    status_of = dealer_status if console.settings.role == Role.DEALER else party_status
    with console.engine.connect().execution_options(**{READS: True}) as connection:
        store = own_store(console)(connection)
        held = store.find_all(store.kept()).values()
        rows = [status_of(store, connection, stored) for stored in held]
    return sorted(rows, key=lambda row: (row.state == CLOSED, row.title.casefold()))


def dealer_status(store: Any, connection: Connection, stored: Any) -> DealingStatus:
    """Of a survey that a dealer holds: everybody who has a card has one of every question."""
    seats = store.seats
    query = select(
        func.count(),
        func.count(seats.c.pseudonym).filter(seats.c.fetched.is_(True)),
        func.count(distinct(seats.c.block)).filter(seats.c.fetched.is_(True)),
    ).where(seats.c.survey == stored.name)
    places, gone, decks = connection.execute(query).one()
    # Before the end: places whose cards were never fetched. At the end the collector names the
    # cards that came back, where their sums are announced.
    back = stored.announced[0]["people"] if stored.announced else None
    lost: int | None = None
    if back is not None:
        lost = max(0, places - back)
    elif stored.state != CLOSED:
        lost = places - gone
    return DealingStatus(
        path=path_of(stored.survey),
        title=name_of(stored.survey),
        state=str(stored.state),
        invited=store.count(store.invited, stored.name),
        enrolled=places,
        dealt=gone,
        decks=decks,
        lost="" if lost is None else f"{lost:,}",
        is_told=back is not None,
        closes=stored.closes,
        burned=stored.wrapped_key is None,
    )


def party_status(store: Any, connection: Connection, stored: Any) -> DealingStatus:
    """Of a survey that a party of a committee holds."""
    is_kept = bool(store.count(store.envelopes, stored.name))
    complaints = store.count(store.complaints, stored.name)
    return DealingStatus(
        path=path_of(stored.survey),
        title=name_of(stored.survey),
        state=str(stored.state),
        invited=store.count(store.invited, stored.name),
        enrolled=stored.arrivals,  # counted: at the end who they were is forgotten
        dealt=stored.n or 0,
        lost=f"{complaints:,}" if is_kept else "",
        closes=stored.closes,
        burned=stored.state == CLOSED and not is_kept,
    )
