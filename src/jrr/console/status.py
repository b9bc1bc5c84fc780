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
from jrr.survey.states import CLOSED, Role
from jrr.survey.surveys import read_survey


@dataclass(frozen=True, kw_only=True)
class DealingStatus:
    """What somebody who deals knows of one campaign, or of one part of a survey."""

    title: str
    state: str
    invited: int
    enrolled: int  # people who have a place
    dealt: int  # of them, whose cards have left
    decks: int  # from which was dealt, each committed to before its first card leaves
    came_back: int | None  # cards that the collector named at the end; None: not told

    burned: bool  # whether nothing is left from which a card could be found

    @property
    def lost(self) -> int | None:
        """Cards that were dealt and did not come back, by the dealer's own count."""
        return None if self.came_back is None else max(0, self.dealt - self.came_back)


def routes(desk: Desk) -> list[Route]:
    """Its address."""
    is_dealer = desk.settings.role == Role.DEALER
    look = dealer_status if is_dealer else party_status

    def status(visit: Visit) -> Response:
        with desk.engine.connect().execution_options(**{READS: True}) as connection:
            rows = look(connection)
        return visit.page("status.html", section="", rows=rows, is_dealer=is_dealer)

    return [page(desk, "/", status)]


def dealer_status(connection: Connection) -> list[DealingStatus]:
    """Of every campaign that a dealer holds; those of a survey under its title."""
    store: Any = import_module("jrr.servers.dealer.store").DealerStore(connection)
    titles = {
        row.survey: next(iter(read_survey(bytes(row.document)).questionnaire.title.values()))
        for row in connection.execute(select(store.surveys))
    }
    seats, rows = store.seats, []
    for row in connection.execute(select(store.campaigns)).all():
        campaign, name = read_campaign(bytes(row.document)), row.campaign
        mine = seats.c.campaign == name
        query = select(
            func.count(),
            func.count(seats.c.pseudonym).filter(seats.c.fetched.is_(True)),
            func.count(distinct(seats.c.block)).filter(seats.c.fetched.is_(True)),
        ).where(mine)
        enrolled, dealt, decks = connection.execute(query).one()
        held = store.find(name)
        question = campaign.question
        rows.append(
            DealingStatus(
                title=f"{titles[row.survey]}: {question}" if row.survey in titles else question,
                state=str(held.state),
                invited=store.count(store.invited, row.survey or name),
                enrolled=enrolled,
                dealt=dealt,
                decks=decks,
                came_back=_named(held.told),
                burned=held.wrapped_key is None,
            )
        )
    return _sorted(rows)


def party_status(connection: Connection) -> list[DealingStatus]:
    """Of every campaign that a party of a committee holds."""
    store: Any = import_module("jrr.servers.party.store").PartyStore(connection)
    rows = []
    for row in connection.execute(select(store.campaigns)).all():
        campaign, name = read_campaign(bytes(row.document)), row.campaign
        held, members = store.find(name), store.members
        slots = select(func.count()).where(members.c.campaign == name, members.c.slot.is_not(None))
        rows.append(
            DealingStatus(
                title=campaign.question,
                state=str(held.state),
                invited=store.count(store.invited, name),
                enrolled=store.count(members, name),
                dealt=int(connection.execute(slots).scalar_one()),
                decks=store.count(store.records, name),
                came_back=None,  # a party hears nothing of reports
                burned=held.state == CLOSED and not store.count(store.envelopes, name),
            )
        )
    return _sorted(rows)


def _named(told: Mapping[str, Any] | None) -> int | None:
    """How many cards of one round the collector named, where sums were announced."""
    if told is None or "announced" not in told:
        return None
    rounds = told["announced"]["rounds"]
    return max((sum(int(one["cards"]) for one in by.values()) for by in rounds), default=0)


def _sorted(rows: list[DealingStatus]) -> list[DealingStatus]:
    return sorted(rows, key=lambda row: (row.state == CLOSED, row.title.casefold()))
