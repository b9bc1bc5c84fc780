"""convert: a file of reports into another format."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from jrr.tables.columns import report_batch, report_schema
from jrr.tables.formats import check_output, format_of, write
from jrr.tables.grouping import texts
from jrr.tables.header import Header
from jrr.tables.levels import LevelHeader, convert_levels
from jrr.tables.names import RESERVED
from jrr.tables.reports import open_reports, rows_of


def convert(reports: str | Path, out: str | Path, *, force: bool = False) -> Header | LevelHeader:
    """Write the same reports in the same order, with all their columns.

    Reports of strings and of numbers by ranges are sorted by level instead, some thousands at a
    time.

    Args:
        reports: a file of reports.
        out: a Parquet, Arrow, CSV or JSON lines file, by the ending of its name; in CSV, and from
            it, the other columns become texts.
        force: overwrite an existing file.

    Returns:
        The header of both files.

    Raises:
        ArgumentError: where the file does not exist or holds no reports, or the output exists.
        DamagedError: where it cannot be read as what it claims to be.
    """
    path = check_output(out, force, reports)
    by_level = convert_levels(reports, path)
    if by_level is not None:
        return by_level
    table, header = open_reports(reports, "reports")
    to_csv = format_of(path) == "csv"
    text = to_csv or table.format == "csv"
    extra = [name for name in table.columns if name not in RESERVED]
    fields = [pa.field(name, pa.string() if text else table.types[name]) for name in extra]
    schema = report_schema(header.mechanism, to_csv, *fields)

    def batches() -> Iterator[Any]:
        for rows in rows_of(table, header, extra):
            more = [rows.batch.column(name) for name in extra]
            if text:
                more = [texts(column) for column in more]
            reports, carded = rows.reports, rows.carded
            yield report_batch(schema, header.mechanism, reports, carded, *more, text=to_csv)

    write(path, schema, header, batches())
    return header
