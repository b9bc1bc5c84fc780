"""Rows of an embedded database are rewritten in the order of their hashes, a part at a time.

Inside a page of SQLite rows lie in the order in which they came, and its write-ahead log holds
pages as they were after each commit. So rows are deleted and written again in the order of their
keys: small surveys after every pause, larger ones each time they have grown by a tenth, some
thousand rows at a time, so that nobody waits for a whole table. Each part is one transaction.
"""

from dataclasses import dataclass

from sqlalchemy import Connection, Engine, LargeBinary, MetaData, Table

SMALL = 500  # arrivals up to which everything is rewritten in every pause
GROWTH = 1.1  # of larger surveys, between two times
PART = 2_000  # rows that are rewritten at once
TOGETHER = 16  # surveys that are rewritten in one transaction
WORK = 4  # people whose rows are rewritten per arrival while others wait
_ENDS = 1 << 16  # ranges of hashes, by their first two bytes
_DEALERS = 16  # at most, where a key has their number


@dataclass
class _Sweep:
    """How far a survey has been rewritten."""

    arrivals: int = 0  # now
    before: int = 0  # when it was rewritten last
    place: int | None = None  # the next range; None: nothing is under way
    credit: float = 0.0  # people whose rows may be rewritten while others wait
    rows: int = 1  # of a person in one table: as many as there are questions

    @property
    def people(self) -> int:
        """Of how many people the rows are rewritten at once."""
        return min(self.arrivals, max(1, PART // self.rows))

    @property
    def is_due(self) -> bool:
        """Whether there is something to rewrite."""
        if self.place is not None:
            return True
        grown = self.arrivals > self.before
        return grown and (self.arrivals <= SMALL or self.arrivals >= GROWTH * self.before)


class SqliteHousekeeping:
    """Rewrites surveys that have grown."""

    def __init__(self, tables: list[Table]) -> None:
        self._tables = tables
        self._sweeps: dict[str, _Sweep] = {}
        self._has_log = False  # the write-ahead log may hold something

    def note(self, grown: dict[str, int]) -> None:
        """Surveys have so many arrivals now."""
        self._has_log = True
        for name, arrivals in grown.items():
            if name not in self._sweeps:  # not rewritten yet by this process
                self._sweeps[name] = _Sweep(before=arrivals - 1)
            sweep = self._sweeps[name]
            sweep.credit += WORK * max(0, arrivals - max(sweep.arrivals, sweep.before))
            sweep.arrivals = arrivals

    def between_batches(self, connection: Connection) -> None:
        """As much as the arrivals have paid for."""
        due = [
            (name, sweep)
            for name, sweep in self._sweeps.items()
            if sweep.is_due and sweep.credit >= sweep.people
        ]
        for _, sweep in due:
            sweep.credit -= max(1, PART // sweep.rows)
        self._rewrite_parts(connection, due)

    def when_quiet(self, connection: Connection) -> bool:
        """A part of what is due, or else the log; False where nothing is left to do."""
        due: list[tuple[str, _Sweep]] = []
        rows = 0
        for name, sweep in self._sweeps.items():
            more = min(PART, sweep.people * sweep.rows)
            if sweep.is_due and rows + more <= PART and len(due) < TOGETHER:
                due.append((name, sweep))
                rows += more
        self._rewrite_parts(connection, due)
        if due:
            return True
        if self._has_log:
            self._has_log = False
            empty_log(connection)
        return False

    def _rewrite_parts(self, connection: Connection, due: list[tuple[str, _Sweep]]) -> None:
        """Rewrite the next rows of some surveys, in one transaction."""
        if not due:
            return
        ends = []
        with connection.begin():
            for name, sweep in due:
                low = sweep.place or 0
                sweep.rows = max(_questions(connection, table, name) for table in self._tables)
                width = min(_ENDS, max(1, _ENDS * sweep.people // max(1, sweep.arrivals)))
                high = min(_ENDS, low + width)
                for table in self._tables:
                    _rewrite(connection, table, name, low, high)
                ends.append(high)
        self._has_log = True
        for (_, sweep), high in zip(due, ends, strict=True):
            if sweep.place is None:
                sweep.before = sweep.arrivals
            sweep.place = None if high == _ENDS else high
            if sweep.place is None:
                sweep.credit = min(sweep.credit, PART)


def _rewrite(connection: Connection, table: Table, name: str, low: int, high: int) -> None:
    """Write the rows of a range of hashes anew, in the order of their keys."""
    keys = [column.name for column in table.primary_key]
    hashed = keys[-1]
    where = f"WHERE {keys[0]} = :name AND {hashed} >= :low"
    values = {"name": name, "low": low.to_bytes(2, "big")}
    if high < _ENDS:
        where += f" AND {hashed} < :high"
        values["high"] = high.to_bytes(2, "big")
    run = connection.exec_driver_sql
    counts = (_questions(connection, table, name), _DEALERS)
    for key, count in zip(keys[1:-1], counts, strict=False):  # so that the index finds them
        where += f" AND {key} IN ({', '.join(map(str, range(count)))})"
    order = ", ".join(keys)
    if run(f"SELECT 1 FROM {table.name} {where} LIMIT 1", values).first() is None:
        return  # as of a survey among tables that are by question
    kept = f"jrr_{table.name}"
    run(f"CREATE TEMP TABLE {kept} AS SELECT * FROM {table.name} {where}", values)
    run(f"DELETE FROM {table.name} {where}", values)
    run(f"INSERT INTO {table.name} SELECT * FROM {kept} ORDER BY {order}")
    run(f"DROP TABLE {kept}")


def _questions(connection: Connection, table: Table, name: str) -> int:
    """How many questions of a survey a table has rows of; 1 where its key has none."""
    first, *numbers, _ = [column.name for column in table.primary_key]
    if not numbers:
        return 1
    last = f"SELECT max({numbers[0]}) FROM {table.name} WHERE {first} = :name"
    return 1 + (connection.exec_driver_sql(last, {"name": name}).scalar() or 0)


def empty_log(connection: Connection) -> None:
    """Empty the write-ahead log of SQLite, unless somebody reads just now."""
    raw = connection.connection.dbapi_connection
    assert raw is not None  # connected
    ((patience,),) = raw.execute("PRAGMA busy_timeout").fetchall()
    raw.execute("PRAGMA busy_timeout=0")
    try:
        raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    finally:
        raw.execute(f"PRAGMA busy_timeout={int(patience)}")


def housekeeping_of(engine: Engine, metadata: MetaData) -> SqliteHousekeeping | None:
    """What is done between jobs; nothing but with SQLite."""
    if engine.dialect.name != "sqlite":
        return None
    return SqliteHousekeeping(
        [
            table
            for table in metadata.sorted_tables
            if table.name != "invited"  # those are written in the order of their hashes
            and next(iter(table.primary_key)).name == "survey"
            and isinstance(list(table.primary_key)[-1].type, LargeBinary)
        ]
    )
