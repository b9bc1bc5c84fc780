"""How many have answered: what can be told at once, however many there are.

Reports have no times and no order, so that there is nothing to draw but how many there are.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import Connection, func, select

from jrr.servers.collector.store import CollectorStore

if TYPE_CHECKING:
    from jrr.protocol.states import State
    from jrr.survey.survey import Survey


@dataclass(frozen=True, kw_only=True)
class Counts:
    """What the collector knows of a survey without counting its reports anew."""

    state: "State"
    answered: int  # people
    closes: "str | None" = None  # until when answers are taken, in UTC


def counts_of(connection: Connection, survey: "Survey") -> Counts:
    """The counts of this moment."""
    store = CollectorStore(connection)
    stored = store.find(survey.hash)
    return Counts(state=stored.state, answered=store.people_count(stored), closes=stored.closes)


def by_day(connection: Connection, survey: "Survey") -> dict[str, int]:
    """Day in UTC -> people whose answers came."""
    return CollectorStore(connection).by_day(survey.hash)


def count_invited(connection: Connection, survey: "Survey") -> int:
    """How many are invited; takes longer the more there are."""
    store = CollectorStore(connection)
    return store.count(store.invited, survey.hash)


def without_card(connection: Connection, survey: "Survey") -> int:
    """How many answered without a card; takes longer the more reports there are."""
    # Those questions first that everybody is asked.
    dealt = sorted(survey.dealt, key=lambda question: not question.is_for_everybody)
    if not dealt:
        return 0
    names = [question.name for question in survey.sensitive]
    some = dealt[:1] if dealt[0].is_for_everybody else dealt
    table = CollectorStore.reports
    query = (
        select(func.count(table.c.pseudonym.distinct()))
        .select_from(table)
        .where(
            table.c.survey == survey.hash,
            table.c.question.in_([names.index(question.name) for question in some]),
            table.c.carded.is_(False),
        )
    )
    return int(connection.execute(query).scalar_one())
