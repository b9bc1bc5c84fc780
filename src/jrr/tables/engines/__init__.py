"""Counting reports where they lie: in DuckDB, PostgreSQL or Apache Spark.

Reports are counted by value, card and group. That is written once, as an Ibis expression
(jrr.tables.engines.expression); an engine opens tables and runs it. What comes back are a few
rows with exact counts, which become the tallies that every estimate is made from.
"""

from jrr._base import checks
from jrr.tables.engines.base import Engine

ENGINES = ("duckdb", "spark", "postgres")


def open_engine(name: str) -> Engine:
    """The engine of that name, ready to run.

    Raises:
        ArgumentError: where there is no such engine.
        MissingExtraError: where what it needs is not installed; the message says what.
    """
    checks.one_of("engine", name, ENGINES)
    if name == "spark":
        from jrr.tables.engines.spark import Spark

        return Spark()
    if name == "postgres":
        from jrr.tables.engines.postgres import PostgreSQL

        return PostgreSQL()
    from jrr.tables.engines.embedded import DuckDB

    return DuckDB()
