"""Engines and their tables, many rows at once, and what is said when a database is away."""

import contextlib
import logging
import os
import time
from collections.abc import Collection, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import make_url
from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError, SQLAlchemyError
from sqlalchemy.pool import NullPool

from jrr.errors import ArgumentError, DamagedError, UnreachableError
from jrr.servers.common.problems import Problem, unavailable

READS = "jrr_reads"  # an option of connections that never write
_FIRST = "surveys"  # the table that every transaction asks first, so that none waits in a circle
SCHEMA = 1  # grows when tables of any server change after a release
_SCHEMAS = sa.Table(
    "jrr_schema",
    sa.MetaData(),
    sa.Column("role", sa.String(16), primary_key=True),
    sa.Column("number", sa.Integer, nullable=False),
)


def connect(url: str, patience: float = 10.0) -> sa.Engine:
    """An engine on SQLite (write-ahead log, full synchronisation) or PostgreSQL.

    Args:
        url: Where the database is.
        patience: Seconds that a transaction on SQLite waits for that of another process to end.
    """
    try:
        parsed = make_url(url)
    except (SQLAlchemyError, ValueError):
        raise ArgumentError("database must be an address as sqlite:///file.db") from None
    if parsed.get_backend_name() == "postgresql":
        return sa.create_engine(
            parsed.set(drivername="postgresql+psycopg"),
            pool_pre_ping=True,
            hide_parameters=True,  # an error in a log must not show a report
        )
    if not parsed.database or parsed.database == ":memory:":
        raise ArgumentError("database must be a file: sqlite:///file.db")
    path = Path(parsed.database)
    if not path.parent.is_dir():
        raise ArgumentError(f"database must be in a directory that exists, got {path}")
    os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))  # readable by its owner only
    engine = sa.create_engine(
        url, poolclass=NullPool, connect_args={"check_same_thread": False}, hide_parameters=True
    )

    @sa.event.listens_for(engine, "connect")
    def _prepare(connection, _record):  # type: ignore[no-untyped-def]
        connection.isolation_level = None  # we say BEGIN ourselves, below
        for pragma in (
            "journal_mode=WAL",
            "synchronous=FULL",
            "secure_delete=ON",  # what is deleted is overwritten
            f"busy_timeout={round(1000 * patience)}",
            "temp_store=MEMORY",  # nothing of a rewrite is left in a file
        ):
            connection.execute(f"PRAGMA {pragma}")

    @sa.event.listens_for(engine, "begin")
    def _begin(connection):  # type: ignore[no-untyped-def]
        # Who reads first and writes later would fail at once if somebody wrote in between; who
        # takes the lock at the start waits for it.
        reads = connection.get_execution_options().get(READS, False)
        connection.exec_driver_sql("BEGIN" if reads else "BEGIN IMMEDIATE")

    return engine


def prepare(engine: sa.Engine, role: str) -> None:
    """Make the tables of this role in an empty database; refuse one of another role or schema.

    Raises:
        ArgumentError: The database is of another role, of another schema or somebody else's.
        DamagedError: It cannot be read.
        UnreachableError: The database server does not answer.
    """
    try:
        with engine.begin() as connection:
            _prepare_tables(connection, role)
    except SQLAlchemyError as error:
        reason = str(getattr(error, "orig", None) or error).splitlines()[0]
        # A file is there or it is damaged; a server may only be away.
        away = engine.dialect.name == "postgresql" and isinstance(error, OperationalError)
        kind = UnreachableError if away else DamagedError
        raise kind(f"database must be one that can be used: {reason}") from None


def _prepare_tables(connection: sa.Connection, role: str) -> None:
    tables = sa.inspect(connection).get_table_names()
    if _SCHEMAS.name in tables:
        found = connection.execute(_SCHEMAS.select()).one()
        if found.role != role:
            raise ArgumentError(f"database must be a {role}'s, got a {found.role}'s")
        if found.number != SCHEMA:
            raise ArgumentError(
                f"database must be of schema {SCHEMA}, got {found.number}: another version of jrr "
                "made it. Use that version, or name an empty database"
            )
        return
    if tables:
        raise ArgumentError(f"database must be empty or a {role}'s, got tables {sorted(tables)}")
    metadata: sa.MetaData = import_module(f"jrr.servers.{role}.store").METADATA
    metadata.create_all(connection)
    _SCHEMAS.create(connection)
    connection.execute(_SCHEMAS.insert().values(role=role, number=SCHEMA))


def write_nothing(connection: sa.Connection) -> None:
    """A write that changes nothing: a full or read-only disk fails here."""
    connection.execute(_SCHEMAS.update().values(number=_SCHEMAS.c.number))


def scrub(engine: sa.Engine, metadata: sa.MetaData | None = None) -> None:
    """Rewrite all tables in the order of their keys, and leave nothing of deleted rows.

    PostgreSQL keeps rows in the order they came, and who wrote each; afterwards all are written
    by one transaction in the order of their hashes. SQLite does so by itself.
    """
    if engine.dialect.name == "postgresql" and metadata is not None:
        with engine.begin() as connection:
            tables = sorted(metadata.sorted_tables, key=lambda table: table.name != _FIRST)
            names = ", ".join(table.name for table in tables)
            connection.execute(sa.text(f"LOCK TABLE {names} IN ACCESS EXCLUSIVE MODE"))
            for table in tables:
                name, order = table.name, ", ".join(column.name for column in table.primary_key)
                connection.execute(
                    sa.text(f"CREATE TEMP TABLE jrr_{name} ON COMMIT DROP AS SELECT * FROM {name}")
                )
                connection.execute(sa.text(f"TRUNCATE {name}"))  # a new file: the old one is gone
                connection.execute(
                    sa.text(f"INSERT INTO {name} SELECT * FROM jrr_{name} ORDER BY {order}")
                )
        alone = engine.connect().execution_options(isolation_level="AUTOCOMMIT")
        with alone as connection, contextlib.suppress(SQLAlchemyError):
            connection.execute(sa.text("CHECKPOINT"))  # not everybody may; it would come anyway
        return
    with engine.connect() as connection:
        raw = connection.connection.dbapi_connection
        assert raw is not None  # just opened
        raw.rollback()
        raw.execute("VACUUM")
        raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")


log = logging.getLogger("jrr.servers")
AGAIN = 60.0  # seconds between two lines about one outage
_AWAY = ("08", "53", "57", "58", "25006", "28", "3D")  # how states of PostgreSQL begin


class Outages:
    """Tells outages from bugs, and logs each in one line, once in a while.

    An outage can last for hours and meet thousands of requests. None of them gets a traceback.
    """

    def __init__(self) -> None:
        self._logged: float | None = None  # when, while an outage lasts

    def caused(self, error: Exception) -> bool:
        """Whether this is an outage; then a line is logged, now and then."""
        if not is_outage(error):
            return False
        now = time.monotonic()
        if self._logged is None or now - self._logged > AGAIN:
            log.error("the database cannot be used: %s", _reason(error))
            self._logged = now
        return True

    def over(self) -> None:
        """Something was committed."""
        if self._logged is not None:
            log.warning("the database can be used again")
            self._logged = None

    @staticmethod
    def problem() -> Problem:
        """What clients are told."""
        return unavailable()


def is_outage(error: Exception) -> bool:
    """Whether an error is of the database or the disk, and not of a job."""
    if isinstance(error, DBAPIError):
        state = str(getattr(error.orig, "sqlstate", None) or "")
        if state:
            return state.startswith(_AWAY)
        away = error.connection_invalidated
        return away or isinstance(error, OperationalError | InterfaceError)
    return isinstance(error, OSError)


def _reason(error: Exception) -> str:
    """Kind and code of an error: its text may hold what was asked for, or somebody's name."""
    cause = getattr(error, "orig", None) or error
    codes = (getattr(cause, name, None) for name in ("sqlstate", "sqlite_errorname", "strerror"))
    return ", ".join([type(cause).__name__, *(str(code) for code in codes if code)])


# Drivers take a list of rows one by one, and SQLAlchemy prepares every value of every row. Below, a
# batch of uploads is a statement or a few, whose text is the same or nearly so each time.
_VALUES = 900  # in one statement of SQLite; builds of it may allow no more than 999


def insert_rows(connection: sa.Connection, table: sa.Table, rows: Sequence[dict[str, Any]]) -> int:
    """Insert rows that all have the same columns, in their order; how many were not there yet.

    A key that is there already is passed over: as an error, the database would write it to its log.
    """
    if not rows:
        return 0
    inserted = 0
    names = list(rows[0])
    into = f"INSERT INTO {table.name} ({', '.join(names)})"
    if connection.dialect.name == "sqlite":
        one = f"({', '.join('?' * len(names))})"
        for some in _parts(rows, max(1, _VALUES // len(names))):
            values = tuple(value for row in some for value in row.values())
            placed = f"{into} VALUES {', '.join([one] * len(some))} ON CONFLICT DO NOTHING"
            inserted += connection.exec_driver_sql(placed, values).rowcount
        return inserted
    lists = ", ".join(_list_of(connection, table, name) for name in names)
    columns = tuple([row[name] for row in rows] for name in names)
    placed = f"{into} SELECT * FROM unnest({lists}) ON CONFLICT DO NOTHING"
    return connection.exec_driver_sql(placed, columns).rowcount


def find_rows(
    connection: sa.Connection, table: sa.Table, **among: Collection[Any]
) -> list[sa.Row[Any]]:
    """Rows whose columns have one of some values each; the last column may have many."""
    *few, many = among
    if not all(among.values()):
        return []
    start = f"SELECT * FROM {table.name} WHERE "
    if connection.dialect.name != "sqlite":
        where = " AND ".join(f"{name} = ANY({_list_of(connection, table, name)})" for name in among)
        lists = tuple(list(values) for values in among.values())
        return list(connection.exec_driver_sql(start + where, lists).all())
    first = tuple(value for name in few for value in among[name])
    found: list[sa.Row[Any]] = []
    for some in _parts(list(among[many]), max(1, _VALUES - len(first))):
        sizes = {name: len(among[name]) for name in few} | {many: len(some)}
        where = " AND ".join(f"{name} IN ({', '.join('?' * size)})" for name, size in sizes.items())
        found += connection.exec_driver_sql(start + where, (*first, *some)).all()
    return found


def find_keys(
    connection: sa.Connection, table: sa.Table, names: Sequence[str], keys: Sequence[Sequence[Any]]
) -> list[sa.Row[Any]]:
    """Rows whose first columns, which have these names, are one of some keys.

    Joined, for SQLite reads the whole table where a tuple must be in a list.
    """
    same = " AND ".join(f"{table.name}.{name} = wanted.{name}" for name in names)
    columns = ", ".join(names)
    if not keys:
        return []
    if connection.dialect.name != "sqlite":
        lists = ", ".join(_list_of(connection, table, name) for name in names)
        query = f"SELECT {table.name}.* FROM unnest({lists}) AS wanted ({columns}) JOIN"
        values = tuple(list(column) for column in zip(*keys, strict=True))
        found = connection.exec_driver_sql(f"{query} {table.name} ON {same}", values)
        return list(found.all())
    rows: list[sa.Row[Any]] = []
    one = f"({', '.join('?' * len(names))})"
    for some in _parts(keys, max(1, _VALUES // len(names))):
        wanted = f"WITH wanted ({columns}) AS (VALUES {', '.join([one] * len(some))})"
        query = f"{wanted} SELECT {table.name}.* FROM wanted CROSS JOIN {table.name} ON {same}"
        rows += connection.exec_driver_sql(query, tuple(value for key in some for value in key))
    return rows


def _list_of(connection: sa.Connection, table: sa.Table, name: str) -> str:
    """A place for a list of values of a column, in PostgreSQL."""
    return f"%s::{table.c[name].type.compile(connection.dialect)}[]"


def _parts(items: Sequence[Any], most: int) -> Iterator[Sequence[Any]]:
    for start in range(0, len(items), most):
        yield items[start : start + most]
