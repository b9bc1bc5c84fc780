"""DuckDB: CSV, Parquet and Arrow files, and tables of a DuckDB file, counted in this process."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow.dataset

from jrr._base import checks
from jrr.errors import DamagedError, needed
from jrr.tables.engines.base import DatabaseTable, Engine, quoted
from jrr.tables.folders import ParquetFolder, open_table
from jrr.tables.formats import Batches, Table, WholeTable
from jrr.tables.progress import Progress

with needed("this engine needs", "engines"):
    import duckdb

MEMORY = "1500MB"  # beyond it DuckDB writes to the disk
_ASKED_EVERY = 0.2  # seconds between two looks at how far a query is
_VIEW = "jrr_reports"


class DuckDB(Engine):
    """An embedded database without a server."""

    name = dialect = "duckdb"

    def __init__(self) -> None:
        self._connection = _connect(":memory:")

    def reader(self, name: str | None) -> Callable[[str | Path], Table]:
        """Files, or the table of that name in a DuckDB file."""
        if name is None:
            return open_table

        def open_database(path: str | Path) -> Table:
            if not Path(path).is_file():
                raise checks.refusal("path", str(path), "a DuckDB file that exists")
            try:
                self._connection = _connect(str(path), read_only=True)
                tables = [row[0] for row in self._connection.sql("SHOW TABLES").fetchall()]
                if name not in tables:
                    raise checks.refusal("table", name, f"one of {tables}")
                empty = self._connection.sql(f"FROM {quoted(name)} LIMIT 0").to_arrow_table()
            except duckdb.Error as error:
                raise DamagedError(f"{path} cannot be read as a DuckDB file: {error}") from None
            return DatabaseTable(name, empty.schema, self._stream)

        return open_database

    def open(self, table: Table) -> str:
        """Its name in a query."""
        if isinstance(table, DatabaseTable):
            return table.name
        rows: Any
        if isinstance(table, WholeTable):
            rows = self._connection.from_arrow(table.whole)
        elif isinstance(table, ParquetFolder):
            rows = self._connection.read_parquet([str(part) for part in table.parts])
        elif table.format == "parquet":
            rows = self._connection.read_parquet(str(table.path))
        elif table.format == "csv":
            delimiter, encoding = table.writing
            rows = self._connection.read_csv(
                str(table.path),
                all_varchar=True,
                header=True,
                sep=delimiter,
                quotechar='"',
                encoding=encoding,
            )
        elif table.format == "jsonl":
            empty = pyarrow.schema(list(table.types.items())).empty_table()
            batches = list(table.batches(table.columns))
            whole = pyarrow.Table.from_batches(batches) if batches else empty
            rows = self._connection.from_arrow(whole)
        else:
            rows = self._connection.from_arrow(
                pyarrow.dataset.dataset(str(table.path), format="ipc")
            )
        rows.create_view(_VIEW, replace=True)
        return _VIEW

    def run(self, query: str, progress: Progress, rows: int | None) -> Any:
        """Run it in a thread of its own, and look how far it is."""
        connection = self._connection
        with ThreadPoolExecutor(1) as worker:
            running = worker.submit(lambda: connection.sql(query).to_arrow_table())
            while True:
                try:
                    return running.result(_ASKED_EVERY)
                except TimeoutError:
                    if rows is not None:
                        done = max(0.0, connection.query_progress()) / 100
                        progress(int(done * rows), rows)
                except duckdb.Error as error:
                    raise DamagedError(f"reports cannot be counted: {error}") from None
                except KeyboardInterrupt:
                    connection.interrupt()
                    raise

    def _stream(self, query: str, rows: int) -> Batches:
        yield from self._connection.sql(query).to_arrow_reader(rows)


def _connect(database: str, *, read_only: bool = False) -> Any:
    # Nothing is fetched from elsewhere.
    settings: dict[str, Any] = {
        "memory_limit": MEMORY,
        "preserve_insertion_order": "false",
        "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false",
    }
    connection = duckdb.connect(database, read_only=read_only, config=settings)
    connection.execute("SET enable_progress_bar_print = false")  # it would go to standard output
    return connection
