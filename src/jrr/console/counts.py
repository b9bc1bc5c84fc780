"""How many have answered: what can be told at once, however many there are.

Reports have no times and no order, so that there is nothing to draw but how many there are.
"""

from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, func, select

from jrr.servers.collector.store import CollectorStore
from jrr.survey.campaign import Campaign
from jrr.protocol.states import CLOSED, NEW, OPEN, State
from jrr.survey.surveys import Survey


@dataclass(frozen=True, kw_only=True)
class Counts:
    """What the collector knows of a campaign or survey without counting its reports anew."""

    state: State
    answered: int  # people


def counts_of(connection: Connection, document: Campaign | Survey) -> Counts:
    """The counts of this moment.

    Whoever answers a survey has a report for every item that is asked of everybody, and arrivals
    are counted as they come. Where every item is asked of some only, people are counted.
    """
    store = CollectorStore(connection)
    if isinstance(document, Campaign):
        held = store.find(document.hash)
        return Counts(state=held.state, answered=held.arrivals)
    parts = {part.name: store.find(part.campaign.hash) for part in document.parts}
    states = {one.state for one in parts.values()}
    state = CLOSED if CLOSED in states else NEW if NEW in states else OPEN
    everybody = next((part.name for part in document.parts if not part.item.only_if), None)
    if everybody is not None:
        return Counts(state=state, answered=parts[everybody].arrivals)
    return Counts(state=state, answered=_rows(connection, store.people, "survey", document.hash))


def without_card(connection: Connection, document: Campaign | Survey) -> int:
    """How many answered without a card; takes longer the more reports there are."""
    campaigns = [document] if isinstance(document, Campaign) else _dealt(document)
    if not campaigns:
        return 0
    table = CollectorStore.reports
    query = (
        select(func.count())
        .select_from(table)
        .where(table.c.campaign == campaigns[0].hash, table.c.carded.is_(False))
    )
    return int(connection.execute(query).scalar_one())


def _dealt(survey: Survey) -> list[Campaign]:
    """The parts that have cards, those that are asked of everybody first."""
    parts = [part for part in survey.parts if part.campaign.deals]
    parts.sort(key=lambda part: bool(part.item.only_if))
    return [part.campaign for part in parts]


def _rows(connection: Connection, table: Any, column: str, name: str) -> int:
    query = select(func.count()).select_from(table).where(table.c[column] == name)
    return int(connection.execute(query).scalar_one())
