"""The one expression that counts reports, for every engine whose SQL Ibis writes.

Ibis only writes the query. Each engine runs it through its own interface, since Ibis's own
connections lag behind the newest DuckDB and Spark.
"""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from jrr._base import checks
from jrr.errors import needed
from jrr.tables.formats import Table
from jrr.tables.names import GROUP, MISSING, ROWS

with needed("this engine needs", "engines"):
    import ibis


def counting_query(
    table: Table, name: str, columns: Sequence[str], by: str | None, dialect: str
) -> str:
    """A query for how often every combination of these columns occurs, in every group.

    Args:
        table: one row for each report.
        name: of the table where the query runs.
        columns: the columns of a report, and whether it was made with a card.
        by: the column of the groups; None: no groups.
        dialect: of SQL: "duckdb", "postgres" or "pyspark".

    Returns:
        A query for rows of the columns, ROWS and, where there are groups, GROUP.

    Raises:
        ArgumentError: where `by` holds something that is no name of a group.
    """
    wanted = {column: table.types[column] for column in (*columns, *([] if by is None else [by]))}
    schema = ibis.Schema.from_pyarrow(pa.schema(wanted))
    return str(ibis.to_sql(count_reports(ibis.table(schema, name), columns, by), dialect=dialect))


def count_reports(rows: Any, columns: Sequence[str], by: str | None) -> Any:
    """How often every combination of columns occurs in an Ibis table, as an Ibis table."""
    keys = {name: rows[name] for name in columns}
    if by is None:
        return rows.group_by(**keys).agg(**{ROWS: rows.count()})
    counted = rows.group_by(**keys, **{GROUP: rows[by]}).agg(**{ROWS: rows.count()})
    # Names are made of the few rows that are left; one may then stand in several of them.
    return counted.mutate(**{GROUP: _group_name(counted[GROUP], by)})


def _group_name(column: Any, by: str) -> Any:
    """The name of a row's group; rows without one are a group of their own."""
    kind = column.type()
    if not (kind.is_string() or kind.is_integer() or kind.is_boolean()):
        raise checks.refusal("by", by, f"a column of texts, whole numbers or flags, not {kind}")
    return column.cast("string").nullif("").fill_null(MISSING)
