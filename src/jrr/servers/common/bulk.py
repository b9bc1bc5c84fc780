"""Many rows in one statement: found by their keys, or inserted.

Drivers take a list of rows one by one, and SQLAlchemy prepares every value of every row. Here a
batch of uploads is a statement or a few, whose text is the same or nearly so each time.
"""

from collections.abc import Collection, Iterator, Sequence
from typing import Any

from sqlalchemy import Connection, Row, Table

_VALUES = 900  # in one statement of SQLite; builds of it may allow no more than 999


def insert_rows(connection: Connection, table: Table, rows: Sequence[dict[str, Any]]) -> int:
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


def find_rows(connection: Connection, table: Table, **among: Collection[Any]) -> list[Row[Any]]:
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
    found: list[Row[Any]] = []
    for some in _parts(list(among[many]), max(1, _VALUES - len(first))):
        sizes = {name: len(among[name]) for name in few} | {many: len(some)}
        where = " AND ".join(f"{name} IN ({', '.join('?' * size)})" for name, size in sizes.items())
        found += connection.exec_driver_sql(start + where, (*first, *some)).all()
    return found


def find_keys(
    connection: Connection, table: Table, names: Sequence[str], keys: Sequence[Sequence[Any]]
) -> list[Row[Any]]:
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
    rows: list[Row[Any]] = []
    one = f"({', '.join('?' * len(names))})"
    for some in _parts(keys, max(1, _VALUES // len(names))):
        wanted = f"WITH wanted ({columns}) AS (VALUES {', '.join([one] * len(some))})"
        query = f"{wanted} SELECT {table.name}.* FROM wanted CROSS JOIN {table.name} ON {same}"
        rows += connection.exec_driver_sql(query, tuple(value for key in some for value in key))
    return rows


def _list_of(connection: Connection, table: Table, name: str) -> str:
    """A place for a list of values of a column, in PostgreSQL."""
    return f"%s::{table.c[name].type.compile(connection.dialect)}[]"


def _parts(items: Sequence[Any], most: int) -> Iterator[Sequence[Any]]:
    for start in range(0, len(items), most):
        yield items[start : start + most]
