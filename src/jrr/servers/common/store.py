"""What every server stores: surveys, and whom to accept.

Names are hashes of pseudonyms, and nothing tells a time or an order.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert as insert_postgresql
from sqlalchemy.dialects.sqlite import insert as insert_sqlite
from sqlalchemy.schema import SchemaItem

from jrr.protocol.states import CLOSED, NEW, Role, State, check_move, read_state
from jrr.protocol.texts import read_time
from jrr.servers.common.batch import WrittenMeanwhile
from jrr.servers.common.database import find_rows, insert_rows
from jrr.servers.common.problems import gone, unknown_survey
from jrr.survey.survey import Survey, read_survey

if TYPE_CHECKING:
    from jrr.mechanisms.base import Mechanism


_AT_ONCE = 500  # names in one statement that deletes


def surveys_table(metadata: sa.MetaData, *more: sa.Column[Any]) -> sa.Table:
    """The table of surveys, with a role's own columns."""
    return sa.Table(
        "surveys",
        metadata,
        sa.Column("survey", sa.String(64), primary_key=True),
        sa.Column("document", sa.LargeBinary, nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("n", sa.BigInteger),  # people who were dealt cards, once that is fixed
        # UTC: later than the document says, if that was extended.
        sa.Column("closes", sa.String(20)),
        sa.Column("deleted", sa.String(20)),  # UTC: since then nothing but this row is here
        *more,
    )


def table_by_survey(name: str, metadata: sa.MetaData, *columns: SchemaItem) -> sa.Table:
    """A table whose rows belong to surveys.

    Without row numbers, which would keep the order in which rows came.
    """
    key = sa.Column("survey", sa.String(64), primary_key=True)
    return sa.Table(name, metadata, key, *columns, sqlite_with_rowid=False)


def arrivals_table(metadata: sa.MetaData) -> sa.Table:
    """The table that counts seats, members or uploads.

    Apart from the surveys, whose rows hold a document that would be written anew for each
    arrival, and in several rows for each, so that several processes do not wait for one another.
    """
    return table_by_survey(
        "arrivals",
        metadata,
        sa.Column("slot", sa.Integer, primary_key=True),
        sa.Column("arrivals", sa.BigInteger, nullable=False),
    )


def invited_table(metadata: sa.MetaData) -> sa.Table:
    """The table of those whom to accept."""
    pseudonym = sa.Column("pseudonym", sa.LargeBinary(32), primary_key=True)
    return table_by_survey("invited", metadata, pseudonym)


@dataclass(frozen=True, kw_only=True)
class HeldSurvey:
    """A survey as a server holds it."""

    name: str  # its hash
    survey: Survey
    state: State
    n: int | None  # people who were dealt cards, once that is fixed
    arrivals: int  # seats, members or uploads so far
    extended: str | None = None  # until when answers are taken, if later than the document says

    @property
    def closes(self) -> str | None:
        """Until when answers are taken, in UTC."""
        return self.extended or self.survey.closes

    @property
    def times(self) -> tuple[datetime | None, datetime | None]:
        """When it opens and closes."""
        return self.survey.times[0], read_time("closes", self.closes)

    def mechanism(self, question: str) -> "Mechanism":
        """Of a question, for as many people as were dealt cards, where that is fixed."""
        one = self.survey.by_name[question]
        return one.mechanism if self.n is None else one.for_people(self.n)


H = TypeVar("H", bound=HeldSurvey)


class SurveyStore(ABC, Generic[H]):
    """Queries within one transaction; each role adds its own tables and queries."""

    role: ClassVar[Role]
    metadata: ClassVar[sa.MetaData]
    surveys: ClassVar[sa.Table]
    invited: ClassVar[sa.Table]
    arrivals: ClassVar[sa.Table]
    slot: ClassVar[int] = 0  # where this process counts arrivals

    def __init__(self, connection: sa.Connection) -> None:
        self.connection = connection

    @property
    def has_processes(self) -> bool:
        """Whether others may write at the same time: in SQLite one waits for the other."""
        return self.connection.dialect.name != "sqlite"

    @abstractmethod
    def _held(self, row: Any, facts: dict[str, Any]) -> H:
        """A row of the table of surveys; facts: what all roles have."""

    def find(self, name: str, lock: bool = False, share: bool = False) -> H:
        """A survey; a Problem if unknown.

        lock: Until the transaction ends nobody else may lock it. share: But others who share it.
        """
        return self.find_all([name], lock, share)[name]

    def find_all(
        self, names: Sequence[str], lock: bool = False, share: bool = False
    ) -> dict[str, H]:
        """Surveys in the order of their names here; a Problem if one is unknown."""
        table = self.surveys
        columns = [one for one in table.c if not one.info.get("apart")]  # of many megabytes
        query = sa.select(*columns).where(table.c.survey.in_(names)).order_by(table.c.survey)
        if lock or share:  # in one order, so that nobody waits in a circle
            query = query.with_for_update(read=share and not lock)
        rows = {row.survey: row for row in self.connection.execute(query)}
        if any(name not in rows for name in names):
            raise unknown_survey()
        for row in rows.values():
            if row.deleted is not None:
                raise gone(f"the survey and its data were deleted at {row.deleted}")
        counts = self._counts_of_arrivals(names)  # after the lock
        return {
            name: self._held(
                rows[name],
                {
                    "name": name,
                    "survey": read_survey(bytes(rows[name].document)),  # parsed once
                    "state": read_state(rows[name].state),
                    "n": rows[name].n,
                    "arrivals": counts.get(name, 0),
                    "extended": rows[name].closes,
                },
            )
            for name in names
        }

    def holds(self, name: str) -> bool:
        """Whether the survey is here."""
        query = sa.select(self.surveys.c.survey).where(self.surveys.c.survey == name)
        return self.connection.execute(query).one_or_none() is not None

    def deletions(self) -> dict[str, str]:
        """Surveys whose data were deleted -> when."""
        table = self.surveys
        query = sa.select(table.c.survey, table.c.deleted).where(table.c.deleted.is_not(None))
        return {row.survey: row.deleted for row in self.connection.execute(query)}

    def kept(self) -> list[str]:
        """Surveys that are here and were not deleted."""
        query = sa.select(self.surveys.c.survey).where(self.surveys.c.deleted.is_(None))
        return list(self.connection.execute(query).scalars())

    def delete_data(self, held: H, when: str) -> None:
        """Delete everything of a survey but its document, its last state and the time of this.

        The document is public. Later waves are compared with it: people were promised so much.
        """
        for table in self.metadata.sorted_tables:
            if table is not self.surveys and "survey" in table.c:
                self.connection.execute(sa.delete(table).where(table.c.survey == held.name))
        kept = ("survey", "document", "state", "n", "deleted")
        empty = {column.name: None for column in self.surveys.c if column.name not in kept}
        # One that was open and that nobody answered has cost nobody anything, as if never opened.
        state = NEW if held.state == NEW or not held.arrivals else CLOSED
        self._set(held.name, **empty, state=state.value, deleted=when)

    def add_survey(self, survey: Survey, **more: Any) -> None:
        """Hold a new survey; more: the role's own columns."""
        row = {"survey": survey.hash, "document": survey.to_bytes(), "state": NEW.value, "n": None}
        self._add(self.surveys, [row | more])

    def move(self, held: H, state: State, **more: Any) -> None:
        """Put a survey into another state, and set columns besides."""
        after = check_move(self.role, held.state, state)
        self._set(held.name, state=after.value, **more)

    def count_of_arrivals(self, name: str) -> int:
        """Seats, members or uploads so far."""
        return self._counts_of_arrivals([name]).get(name, 0)

    def _counts_of_arrivals(self, names: Sequence[str]) -> dict[str, int]:
        table = self.arrivals
        query = (
            sa.select(table.c.survey, sa.func.sum(table.c.arrivals))
            .where(table.c.survey.in_(names))
            .group_by(table.c.survey)
        )
        return {name: int(count) for name, count in self.connection.execute(query)}

    def committed_arrivals(self, name: str) -> int:
        """The same after a commit, in a transaction of its own."""
        if self.connection.in_transaction():
            return self.count_of_arrivals(name)
        with self.connection.begin():
            return self.count_of_arrivals(name)

    def count_arrivals(self, held: H, more: int) -> None:
        """So many more have come; the caller has locked the survey."""
        self.count_all_arrivals([(held, more)])

    def count_all_arrivals(self, grown: Iterable[tuple[H, int]]) -> None:
        """So many more have come to each survey; the caller has locked them."""
        new = [(held, more) for held, more in grown if more]
        if not new:
            return
        told = self.connection.info.setdefault("arrivals", {})  # for Writer, which tidies up
        told |= {held.name: held.arrivals + more for held, more in new}
        self._add_up(
            self.arrivals,
            "arrivals",
            [
                {"survey": held.name, "slot": self.slot, "arrivals": more}
                for held, more in sorted(new, key=lambda one: one[0].name)
            ],
        )

    def _add_up(self, table: sa.Table, column: str, rows: Sequence[dict[str, Any]]) -> None:
        """Insert rows; where their keys are there already, add their numbers to those."""
        added = self._upsert(table)
        keys = [key.name for key in table.primary_key]
        total = table.c[column] + added.excluded[column]
        change = added.on_conflict_do_update(index_elements=keys, set_={column: total})
        self.connection.execute(change, rows)

    def when_committed(self, act: Callable[[], None]) -> None:
        """Do something after the commit, and before anybody is answered."""
        self.connection.info.setdefault("committed", []).append(act)

    def _upsert(self, table: sa.Table) -> Any:
        is_sqlite = self.connection.dialect.name == "sqlite"
        return (insert_sqlite if is_sqlite else insert_postgresql)(table)

    def _add(self, table: sa.Table, rows: Sequence[dict[str, Any]]) -> None:
        """Insert rows in the order of their keys, which are hashes and random numbers.

        So no file of the database tells who came first, and two processes that insert the same
        rows do not wait for each other in a circle.
        """
        keys = [column.name for column in table.primary_key]
        ordered = sorted(rows, key=lambda row: [row[key] for key in keys])
        if insert_rows(self.connection, table, ordered) != len(rows):
            raise WrittenMeanwhile

    def _set(self, name: str, **values: Any) -> None:
        self.connection.info.setdefault("changed", set()).add(name)  # for what is remembered
        change = sa.update(self.surveys).where(self.surveys.c.survey == name)
        self.connection.execute(change.values(**values))

    def add_invited(self, name: str, hashes: Iterable[bytes]) -> None:
        """Accept these pseudonyms too; those that are accepted already stay as they are."""
        self._add_names(self.invited, name, hashes)

    def _add_names(self, table: sa.Table, name: str, hashes: Iterable[bytes]) -> None:
        # In one order: it tells nothing of the list, and two processes wait in no circle.
        rows = [{"survey": name, "pseudonym": entry} for entry in sorted(hashes)]
        if rows:
            self.connection.execute(self._upsert(table).on_conflict_do_nothing(), rows)

    def remove_invited(self, name: str, hashes: Iterable[bytes]) -> int:
        """Accept some pseudonyms no longer; how many of them were."""
        table, found = self.invited, sorted(self.invitations(name, set(hashes)))
        for start in range(0, len(found), _AT_ONCE):
            some = found[start : start + _AT_ONCE]
            where = (table.c.survey == name) & table.c.pseudonym.in_(some)
            self.connection.execute(sa.delete(table).where(where))
        return len(found)

    def invitation(self, name: str, who: bytes) -> Any:
        """The row of somebody who was invited; None where they were not."""
        return self.invitations(name, [who]).get(who)

    def invitations(self, name: str, people: Iterable[bytes]) -> dict[bytes, Any]:
        """The rows of those of some people who were invited."""
        return self.rows_of(self.invited, name, people)

    def rows_of(self, table: sa.Table, name: str, people: Iterable[bytes]) -> dict[bytes, Any]:
        """Rows of a table by hash of the pseudonym, for those of some people who have one."""
        found = find_rows(self.connection, table, survey=[name], pseudonym=set(people))
        return {bytes(row.pseudonym): row for row in found}

    def extend(self, held: H, closes: str) -> None:
        """Take answers until another time than the document says."""
        self._set(held.name, closes=closes)

    def count(self, table: sa.Table, name: str) -> int:
        """Rows of a survey."""
        query = sa.select(sa.func.count()).select_from(table).where(table.c.survey == name)
        return int(self.connection.execute(query).scalar_one())
