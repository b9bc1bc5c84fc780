"""PostgreSQL: tables counted by the server that holds them."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

from jrr._base import checks
from jrr.errors import ArgumentError, UnreachableError, needed
from jrr.tables.engines.base import DatabaseTable, Engine, quoted
from jrr.tables.formats import Batches, Table
from jrr.tables.progress import Progress

with needed("this engine needs", "engines"):
    import psycopg

_SCHEMES = ("postgresql://", "postgres://")
# PostgreSQL's numbers of types -> Arrow's types; anything else is text.
_TYPES: dict[int, Any] = {
    16: pa.bool_(),
    17: pa.binary(),
    20: pa.int64(),
    21: pa.int16(),
    23: pa.int32(),
    1700: pa.decimal128(38, 0),
}


class PostgreSQL(Engine):
    """A server that counts; this process sees counts only, but for reports of seeds and bits."""

    name, dialect = "postgres", "postgres"

    def __init__(self) -> None:
        self._url: str | None = None

    def reader(self, name: str | None) -> Callable[[str | Path], Table]:
        """Opens the table of that name at an address."""
        if name is None:
            raise checks.refusal("table", name, "the name of a table with the engine postgres")

        def open_at(url: str | Path) -> Table:
            return self.table(str(url), name)

        return open_at

    def table(self, url: str, name: str, definition: str | None = None) -> DatabaseTable:
        """A table, or what a query gives.

        Args:
            url: postgresql://…
            name: of the table, or of the query's rows.
            definition: the query, where it is no table.

        Raises:
            ArgumentError: where the address is none, or there is no such table.
            UnreachableError: where nobody answers there.
        """
        if not url.startswith(_SCHEMES):  # it may hold a password: it is not shown
            raise ArgumentError("reports must be an address as postgresql://user@host/database")
        self._url = url
        first = f"{_named(name, definition)}SELECT * FROM {quoted(name)} LIMIT 0"
        with self._cursor() as cursor:
            try:
                cursor.execute(first)
            except psycopg.errors.UndefinedTable:
                raise checks.refusal("table", name, "a table of this database") from None
            return DatabaseTable(name, _schema(cursor), self._stream, definition)

    def open(self, table: Table) -> str:
        """Its name in a query."""
        assert isinstance(table, DatabaseTable)  # the reader opens nothing else
        self._definition = _named(table.name, table.definition)
        return table.name

    def run(self, query: str, progress: Progress, rows: int | None) -> Any:
        """Run it where the reports are."""
        with self._cursor() as cursor:
            cursor.execute(self._definition + query)
            return pa.Table.from_batches([_batch(cursor, cursor.fetchall())])

    def _stream(self, query: str, rows: int) -> Batches:
        with self._cursor("jrr") as cursor:
            cursor.execute(query)
            while block := cursor.fetchmany(rows):
                yield _batch(cursor, block)

    @contextmanager
    def _cursor(self, name: str = "") -> Iterator[Any]:
        assert self._url is not None
        try:
            with psycopg.connect(self._url) as connection:
                connection.read_only = True
                with connection.cursor(name) if name else connection.cursor() as cursor:
                    yield cursor
        except psycopg.OperationalError as error:
            reason = str(error).splitlines()[0]
            raise UnreachableError(f"the database does not answer: {reason}") from None


def _named(name: str, definition: str | None) -> str:
    return "" if definition is None else f"WITH {quoted(name)} AS ({definition}) "


def _schema(cursor: Any) -> Any:
    columns = cursor.description or ()
    return pa.schema([(one.name, _TYPES.get(one.type_code, pa.string())) for one in columns])


def _batch(cursor: Any, rows: Any) -> Any:
    schema = _schema(cursor)
    columns = zip(*rows, strict=True) if rows else [[] for _ in schema]
    return pa.record_batch(
        [
            pa.array(column if pa.types.is_binary(field.type) else list(column), field.type)
            for column, field in zip(columns, schema, strict=True)
        ],
        schema=schema,
    )
