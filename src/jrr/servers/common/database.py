"""Engines, and the tables that a server makes or finds when it starts."""

import contextlib
import os
from importlib import import_module
from pathlib import Path

from sqlalchemy import (
    Column,
    Connection,
    Engine,
    Integer,
    MetaData,
    String,
    Table,
    create_engine,
    event,
    inspect,
    text,
)
from sqlalchemy.engine import make_url
from sqlalchemy.exc import OperationalError, SQLAlchemyError
from sqlalchemy.pool import NullPool

from jrr.errors import ArgumentError, DamagedError, UnreachableError

READS = "jrr_reads"  # an option of connections that never write
_FIRST = "surveys"  # the table that every transaction asks first, so that none waits in a circle
SCHEMA = 1  # grows when tables of any server change after a release
_SCHEMAS = Table(
    "jrr_schema",
    MetaData(),
    Column("role", String(16), primary_key=True),
    Column("number", Integer, nullable=False),
)


def connect(url: str, patience: float = 10.0) -> Engine:
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
        return create_engine(
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
    engine = create_engine(
        url,
        poolclass=NullPool,
        connect_args={"check_same_thread": False},
        hide_parameters=True,
    )

    @event.listens_for(engine, "connect")
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

    @event.listens_for(engine, "begin")
    def _begin(connection):  # type: ignore[no-untyped-def]
        # Who reads first and writes later would fail at once if somebody wrote in between; who
        # takes the lock at the start waits for it.
        reads = connection.get_execution_options().get(READS, False)
        connection.exec_driver_sql("BEGIN" if reads else "BEGIN IMMEDIATE")

    return engine


def prepare(engine: Engine, role: str) -> None:
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


def _prepare_tables(connection: Connection, role: str) -> None:
    tables = inspect(connection).get_table_names()
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
    metadata: MetaData = import_module(f"jrr.servers.{role}.store").METADATA
    metadata.create_all(connection)
    _SCHEMAS.create(connection)
    connection.execute(_SCHEMAS.insert().values(role=role, number=SCHEMA))


def write_nothing(connection: Connection) -> None:
    """A write that changes nothing: a full or read-only disk fails here."""
    connection.execute(_SCHEMAS.update().values(number=_SCHEMAS.c.number))


def scrub(engine: Engine, metadata: MetaData | None = None) -> None:
    """Rewrite all tables in the order of their keys, and leave nothing of deleted rows.

    PostgreSQL keeps rows in the order they came, and who wrote each; afterwards all are written
    by one transaction in the order of their hashes. SQLite does so by itself.
    """
    if engine.dialect.name == "postgresql" and metadata is not None:
        with engine.begin() as connection:
            tables = sorted(metadata.sorted_tables, key=lambda table: table.name != _FIRST)
            names = ", ".join(table.name for table in tables)
            connection.execute(text(f"LOCK TABLE {names} IN ACCESS EXCLUSIVE MODE"))
            for table in tables:
                name, order = table.name, ", ".join(column.name for column in table.primary_key)
                connection.execute(
                    text(f"CREATE TEMP TABLE jrr_{name} ON COMMIT DROP AS SELECT * FROM {name}")
                )
                connection.execute(text(f"TRUNCATE {name}"))  # a new file: the old one is gone
                connection.execute(
                    text(f"INSERT INTO {name} SELECT * FROM jrr_{name} ORDER BY {order}")
                )
        alone = engine.connect().execution_options(isolation_level="AUTOCOMMIT")
        with alone as connection, contextlib.suppress(SQLAlchemyError):
            connection.execute(text("CHECKPOINT"))  # not everybody may; it would come anyway
        return
    with engine.connect() as connection:
        raw = connection.connection.dbapi_connection
        assert raw is not None  # just opened
        raw.rollback()
        raw.execute("VACUUM")
        raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")
