"""Apache Spark: Parquet and CSV files wherever Spark finds them, counted by its workers."""

import itertools
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from jrr._base import checks
from jrr.tables.engines.base import BatchFunction, Engine
from jrr.tables.engines.spark_session import open_session, quiet
from jrr.tables.folders import open_table
from jrr.tables.formats import Table
from jrr.tables.progress import Progress

_numbers = itertools.count()  # of views


class Spark(Engine):
    """A cluster, or this machine."""

    name, dialect = "spark", "pyspark"

    def __init__(self) -> None:
        self._session = open_session()

    def reader(self, name: str | None) -> Callable[[str | Path], Table]:
        """Files."""
        if name is not None:
            raise checks.refusal("table", name, f"None with the engine {self.name}")
        return open_table

    def open(self, table: Table) -> str:
        """Its name in a query."""
        view = f"jrr_reports_{next(_numbers)}"
        self._frame(table).createTempView(view)
        return view

    def run(self, query: str, progress: Progress, rows: int | None) -> Any:
        """Run it on the workers."""
        with quiet():
            return self._session.sql(query).toArrow()

    def map(
        self, table: Table, columns: Sequence[str], function: BatchFunction, *texts: str
    ) -> Iterator[Any]:
        """What the workers make of their shares of the rows."""
        frame = self._frame(table).select(*columns)
        schema = ", ".join(f"{name} string" for name in texts)
        with quiet():
            yield from frame.mapInArrow(function, schema).toArrow().to_batches()

    def _frame(self, table: Table) -> Any:
        """The table as a data frame of Spark."""
        if table.format == "csv":
            delimiter, encoding = table.writing
            options = {"sep": delimiter, "encoding": encoding, "quote": '"', "escape": '"'}
            reading = self._session.read.options(**options, header=True, multiLine=True)
            return reading.csv(str(table.path))
        if table.format != "parquet":
            raise checks.refusal("reports", str(table.path), "a Parquet or CSV file for Spark")
        return self._session.read.parquet(str(table.path))
