"""Spark counts, deals and perturbs as this process does."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from jrr import tables
from jrr.errors import ArgumentError, MissingExtraError
from tests.tables.test_engines import folder_of, reports_file

pyspark = pytest.importorskip("pyspark", reason="pyspark is not installed: make spark")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not (shutil.which("java") or os.environ.get("JAVA_HOME")),
        reason="Spark needs Java: make spark",
    ),
    # Of Spark itself: its sockets, and what it thinks of pandas 3.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    from jrr.tables.engines.spark_session import open_session

    folder = str(tmp_path_factory.mktemp("spark"))
    os.environ["PYSPARK_SUBMIT_ARGS"] = (
        f"--driver-memory 2g --conf spark.master=local[2] --conf spark.sql.shuffle.partitions=3 "
        f"--conf spark.local.dir={folder} pyspark-shell"
    )
    running = open_session()
    yield running
    running.stop()


@pytest.mark.parametrize("name", ["RR k=2", "DRR k=5", "OUE dealt", "OLH", "MRR closed", "MRR k=3"])
@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
def test_counts_alike(session: Any, suffix: str, name: str, tmp_path: Path) -> None:
    path = reports_file(tmp_path / f"reports{suffix}", name)
    for by in (None, "region"):
        plain = tables.estimate(path, by=by).to_dict()
        assert tables.estimate(path, by=by, engine="spark").to_dict() == plain


def test_folders_and_refusals(
    session: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = reports_file(tmp_path / "reports.parquet", "JRR even")
    folder = folder_of(path)
    plain = tables.estimate(path, by="age").to_dict()
    assert tables.estimate(folder, by="age", engine="spark").to_dict() == plain
    arrow = reports_file(tmp_path / "reports.arrow", "JRR even")
    with pytest.raises(ArgumentError, match="Parquet or CSV"):
        tables.estimate(arrow, engine="spark")
    from jrr.tables.engines import spark_session

    monkeypatch.setattr(spark_session, "active", lambda: None)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(MissingExtraError, match="JAVA_HOME"):
        tables.estimate(path, engine="spark")
    monkeypatch.delenv("JAVA_HOME")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MissingExtraError, match="Java 17"):
        tables.estimate(path, engine="spark")
