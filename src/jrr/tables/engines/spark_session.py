"""A session of Apache Spark, found or started; who lacks Spark or Java is told so."""

import os
import shutil
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from jrr.errors import MissingExtraError


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
