"""Apache Spark: Parquet and CSV files wherever Spark finds them, counted by its workers."""

import itertools
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from jrr._base import checks
from jrr.estimation.groups import AnyTally
from jrr.estimation.tally import Tally
from jrr.tables.columns import carded_from_arrow, report_fields, reports_from_arrow
from jrr.tables.engines.base import Engine
from jrr.tables.engines.spark_session import open_session, quiet
from jrr.tables.formats import Table
from jrr.tables.grouping import add_rows
from jrr.tables.header import Header
from jrr.tables.names import CARDED
from jrr.tables.progress import Progress
from jrr.tables.reports import ReportRows

_numbers = itertools.count()  # of views


class Spark(Engine):
    """A cluster, or this machine."""

    name, dialect = "spark", "pyspark"

    def __init__(self) -> None:
        self._session = open_session()

    def open(self, table: Table) -> str:
        """Its name in a query."""
        view = f"jrr_reports_{next(_numbers)}"
        self._frame(table).createTempView(view)
        return view

    def run(self, query: str, progress: Progress, rows: int | None) -> Any:
        """Run it on the workers."""
        with quiet():
            return self._session.sql(query).toArrow()

    def tally_rows(
        self, table: Table, header: Header, by: str | None, progress: Progress
    ) -> dict[str, AnyTally]:
        """Count on the workers: each tells one tally for each group of its share of the rows."""
        names = [field.name for field in report_fields(header.mechanism, text=False)]
        columns = [*names, CARDED, *([] if by is None else [by])]
        frame = self._frame(table).select(*columns)
        with quiet():
            told = frame.mapInArrow(
                tally_share(header.to_json(), by), "part string, tally string"
            ).collect()
        found: dict[str, AnyTally] = {}
        for row in told:
            tally = Tally.from_json(row.tally)
            found[row.part] = found[row.part] + tally if row.part in found else tally
        return found

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


def tally_share(header_text: str, by: str | None) -> Callable[[Iterable[Any]], Iterator[Any]]:
    """A function of Arrow batches for Spark's workers: group and tally of all of them.

    Args:
        header_text: what the rows are; workers read it themselves.
        by: the column of the groups.
    """

    def tally_batches(batches: Iterable[Any]) -> Iterator[Any]:
        header = Header.from_json(header_text, "header")
        found: dict[str, AnyTally] = {}
        for batch in batches:
            if batch.num_rows:
                reports = reports_from_arrow(header.mechanism, batch)
                rows = ReportRows(reports, carded_from_arrow(batch.column(CARDED)), batch)
                add_rows(found, header, rows, by, path=Path("rows of Spark"))
        texts = [list(found), [tally.to_json() for tally in found.values()]]
        yield pa.record_batch([pa.array(text, pa.string()) for text in texts], ["part", "tally"])

    return tally_batches
