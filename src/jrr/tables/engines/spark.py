"""Apache Spark: Parquet and CSV files wherever Spark finds them, counted by its workers."""

import itertools
import os
import shutil
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from jrr._base import checks
from jrr.errors import MissingExtraError
from jrr.tables.engines.base import BatchFunction, Engine
from jrr.tables.folders import open_table
from jrr.tables.formats import Table
from jrr.tables.progress import Progress


@contextmanager
def quiet() -> Iterator[None]:
    """Spark 4.3 warns of pandas 3, of which nothing here is used, and leaves sockets open."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        warnings.simplefilter("ignore", ResourceWarning)
        yield


def open_session() -> Any:
    """The session that is running, or a new one with Spark's own settings (spark-defaults.conf).

    Raises:
        MissingExtraError: where pyspark or Java is not installed.
    """
    running = active()
    if running is not None:
        return running
    _find_java()
    # Workers must have the same packages as this process.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = _spark().builder.appName("jrr")
    for setting in ("spark.ui.enabled", "spark.ui.showConsoleProgress"):
        builder = builder.config(setting, "false")
    with quiet():
        session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session


def active() -> Any | None:
    """The session that is running, if one is."""
    return _spark().getActiveSession()


def _spark() -> Any:
    try:
        with quiet():
            from pyspark.sql import SparkSession
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "pyspark":
            raise
        raise MissingExtraError("this engine needs pyspark", "spark") from None
    return SparkSession


def _find_java() -> None:
    home = os.environ.get("JAVA_HOME")
    if home is not None and not (Path(home) / "bin" / "java").exists():
        raise MissingExtraError(f"Spark needs Java: there is no bin/java in JAVA_HOME, {home}")
    if home is None and shutil.which("java") is None:
        raise MissingExtraError(
            "Spark needs Java 17 or later, and there is none: install it (on Debian: apt-get "
            "install openjdk-17-jre-headless) or set JAVA_HOME"
        )


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
