"""DuckDB counts what this process counts, to the last report, in every format and group."""

import csv
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import jrr
from jrr import tables
from jrr.cli.app import run
from jrr.errors import ArgumentError, DamagedError, MissingExtraError
from jrr.mechanisms.base import Mechanism
from jrr.tables.engine_counts import tally_of_repeated
from jrr.tables.engines import open_engine
from jrr.tables.folders import HEADER
from jrr.tables.header import Header
from tests.tables.test_files import DECK, MECHANISMS, SUFFIXES, in_memory, names_of, write_reports

PEOPLE = 3 * DECK
MASKED: dict[str, Callable[[], Mechanism]] = {
    "MRR closed": lambda: jrr.MRR.for_epsilon(1.0, n=DECK, announced=False),
    "MRR k=3": lambda: jrr.MRR.for_epsilon(1.0, n=DECK, k=3, announced=False),
    "Piecewise": lambda: jrr.Piecewise(1.0, steps=8),
}
ALL = MECHANISMS | MASKED


def reports_file(path: Path, name: str, decks: int = 2) -> Path:
    """Reports of a few people in three regions and one without, with an age."""
    m = ALL[name]()
    values = np.arange(PEOPLE, dtype=np.int64) % m.k
    reports, carded = in_memory(m, values, decks, (1, 2))
    held = int(carded.sum())
    header = Header(
        "reports",
        m,
        decks=tuple(f"deck {number}" for number in range(-(-held // DECK))),
        question="how?",
        labels=names_of(m.k) if m.k < 100 and name != "Piecewise" else (),
    )
    regions = [("north", "south, west", None, "")[at % 4] for at in range(PEOPLE)]
    extra = {"region": regions, "age": np.arange(PEOPLE) % 5, "adult": np.arange(PEOPLE) % 5 > 2}
    return write_reports(path, header, reports, carded, extra)


def agree(*paths: Path, engine: str = "duckdb", **options: Any) -> None:
    """Both count alike, whole documents: shares, error bars, groups, differences."""
    plain = tables.estimate(*paths, **options)
    counted = tables.estimate(*paths, **options, engine=engine)
    assert counted.to_dict() == plain.to_dict()
    assert counted.n_carded == plain.n_carded


@pytest.mark.parametrize("name", ALL)
def test_every_mechanism_is_counted_alike(name: str, tmp_path: Path) -> None:
    agree(reports_file(tmp_path / "reports.parquet", name))


@pytest.mark.slow_variants(
    "*-MRR closed]", ".csv-DRR k=5]", ".arrow", ".csv.gz", ".parquet-OUE dealt", ".csv-OLH"
)
@pytest.mark.parametrize("name", ["DRR k=5", "OUE dealt", "OLH", "MRR closed"])
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_every_format_and_group(suffix: str, name: str, tmp_path: Path) -> None:
    path = reports_file(tmp_path / f"reports{suffix}", name)
    agree(path, by="region")
    if name == "DRR k=5":
        agree(path, by="age")
        agree(path, by="adult")


def folder_of(path: Path, parts: int = 3) -> Path:
    """A file of reports as a folder of Parquet files, as Spark writes one."""
    folder = path.with_suffix("")
    folder.mkdir()
    whole = pq.read_table(path)
    for at in range(parts):
        rows = whole.slice(at * PEOPLE // parts, PEOPLE // parts)
        pq.write_table(rows.replace_schema_metadata(), folder / f"part-{at}.parquet")
    (folder / "_SUCCESS").touch()
    (folder / HEADER).write_text(tables.read_header(path).to_json())
    return folder


@pytest.mark.parametrize("name", ["RR k=2", "OUE"])
def test_a_folder_of_parquet_files_is_one_table(name: str, tmp_path: Path) -> None:
    path = reports_file(tmp_path / "reports.parquet", name)
    folder = folder_of(path)
    expected = tables.estimate(path, by="region").to_dict()
    for engine in (None, "duckdb"):
        assert tables.estimate(folder, by="region", engine=engine).to_dict() == expected


@pytest.mark.slow_variants("SUE dealt]", "OLH joint]")
@pytest.mark.parametrize("name", ["JRR even", "SUE dealt", "OLH joint"])
def test_a_table_of_a_database_file(name: str, tmp_path: Path) -> None:
    path = reports_file(tmp_path / "reports.parquet", name)
    header = tables.read_header(path)
    with duckdb.connect(str(tmp_path / "all.duckdb")) as database:
        database.execute(f"CREATE TABLE reports AS FROM '{path}'")
    (tmp_path / "header.json").write_text(header.to_json())
    options = {"by": "region", "engine": "duckdb", "table": "reports"}
    for what in (header, tmp_path / "header.json"):
        found = tables.estimate(tmp_path / "all.duckdb", **options, header=what)  # type: ignore[arg-type]
        assert found.to_dict() == tables.estimate(path, by="region").to_dict()
    with pytest.raises(ArgumentError, match="table must be one of"):
        tables.estimate(tmp_path / "all.duckdb", engine="duckdb", table="other", header=header)
    with pytest.raises(DamagedError, match="header"):
        tables.estimate(tmp_path / "all.duckdb", engine="duckdb", table="reports")
    (tmp_path / "none.duckdb").write_text("nothing of the kind")
    with pytest.raises(DamagedError, match="DuckDB"):
        tables.estimate(tmp_path / "none.duckdb", engine="duckdb", table="reports", header=header)


def test_reports_of_somebody_else_s_pipeline_need_a_header(tmp_path: Path) -> None:
    path = reports_file(tmp_path / "reports.parquet", "RR k=2")
    bare = tmp_path / "bare.parquet"
    pq.write_table(pq.read_table(path).replace_schema_metadata(), bare)
    expected = tables.estimate(path).to_dict()
    for engine in (None, "duckdb"):
        with pytest.raises(DamagedError, match="header"):
            tables.estimate(bare, engine=engine)
        found = tables.estimate(bare, engine=engine, header=tables.read_header(path))
        assert found.to_dict() == expected


def test_repeated_reports_are_counted_exactly() -> None:
    """Beyond what 32 bits hold, and not beyond what is exact."""
    header = Header("reports", jrr.RR(2, epsilon=1.0))
    reports, carded = np.array([0, 1]), np.array([False, False])
    tally = tally_of_repeated(header, reports, carded, np.array([(1 << 40) + 1, (1 << 41) + 3]))
    assert tally.cardless == ((1 << 40) + 1, (1 << 41) + 3)
    with pytest.raises(ArgumentError, match="fewer than"):
        tally_of_repeated(header, reports, carded, np.array([1 << 53, 1]))


def damaged(path: Path, column: str, values: list[Any]) -> Path:
    """The same file with another column."""
    whole = pq.read_table(path)
    kind = pa.array(values).type
    at = whole.column_names.index(column)
    field = pa.field(column, kind)
    pq.write_table(whole.set_column(at, field, pa.array(values, kind)), path)
    return path


@pytest.mark.parametrize(
    ("column", "values", "said"),
    [
        ("report", [0, 1, 2] * (PEOPLE // 3), "0..1"),
        ("report", [0, None] * (PEOPLE // 2), "no gaps"),
        ("report", [0.5] * PEOPLE, "whole numbers"),
        ("carded", [0] * PEOPLE, "boolean"),
        ("carded", [None, False] * (PEOPLE // 2), "no gaps"),
    ],
)
def test_rows_that_cannot_be_are_refused(
    column: str, values: list[Any], said: str, tmp_path: Path
) -> None:
    path = damaged(reports_file(tmp_path / "reports.parquet", "RR k=2"), column, values)
    with pytest.raises(DamagedError, match=said):
        tables.estimate(path, engine="duckdb")


def test_a_table_without_the_columns_of_reports_is_refused(tmp_path: Path) -> None:
    path = reports_file(tmp_path / "reports.parquet", "RR k=2")
    pq.write_table(pq.read_table(path).drop_columns(["carded"]), path)
    with pytest.raises(DamagedError, match="carded"):
        tables.estimate(path, engine="duckdb")


def test_what_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = reports_file(tmp_path / "reports.parquet", "JRR even")
    other = reports_file(tmp_path / "other.parquet", "JRR odd")
    for options, said in (
        ({"engine": "sqlite"}, "engine must be one of"),
        ({"engine": "duckdb", "weight": "age"}, "weight must be left out"),
        ({"engine": "duckdb", "by": "shoe"}, "by must be a column"),
        ({"engine": "duckdb", "decks": 1}, "decks must be"),  # more reports than cards
        ({"table": "reports"}, "table must be None"),
        ({"engine": "postgres"}, "table must be"),
        ({"header": tmp_path / "nowhere.json"}, "header must be a file that exists"),
    ):
        with pytest.raises(ArgumentError, match=said):
            tables.estimate(path, **options)
    with pytest.raises(ArgumentError, match="same kind of reports"):  # mixed mechanisms
        tables.estimate(path, other, engine="duckdb")
    mixed = folder_of(path)
    shutil.copy(other, mixed / "part-9.parquet")
    with pytest.raises(DamagedError, match="same header"):
        tables.estimate(mixed, engine="duckdb")
    with pytest.raises(ArgumentError, match="postgresql://"):
        tables.estimate(
            "mysql://u:secret@h/d",
            engine="postgres",
            table="t",
            header=Header("reports", jrr.RR(2, epsilon=1.0)),
        )
    monkeypatch.setitem(sys.modules, "duckdb", None)
    monkeypatch.delitem(sys.modules, "jrr.tables.engines.embedded")
    with pytest.raises(MissingExtraError, match=r"\.\[engines\]"):
        open_engine("duckdb")
    monkeypatch.setitem(sys.modules, "pyspark", None)
    monkeypatch.delitem(sys.modules, "pyspark.sql", raising=False)
    with pytest.raises(MissingExtraError, match=r"\.\[spark\]"):
        open_engine("spark")


def test_from_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    paths = [str(reports_file(tmp_path / f"{at}.parquet", "DRR k=5")) for at in range(2)]
    documents = []
    for more in ([], ["--engine", "duckdb"]):
        assert run(["file", "estimate", paths[0], "--by", "region", "--json", *more]) == 0
        documents.append(capsys.readouterr().out)
    assert documents[0] == documents[1]
    out = tmp_path / "all.csv"
    assert run(["file", "estimate", *paths, "--apart", "--engine", "duckdb", "-o", str(out)]) == 0
    assert capsys.readouterr().out.count("120 reports") == 2
    with out.open() as file:
        rows = list(csv.DictReader(file))
    assert [row["answer"] for row in rows] == 2 * list(names_of(5))
    assert {row["source"] for row in rows} == set(paths)


def test_the_example_for_dbt(tmp_path: Path) -> None:
    """Counts by hand give the shares of every group."""
    path = reports_file(tmp_path / "reports.parquet", "DRR k=5", decks=1)
    query = (
        f"SELECT coalesce(nullif(region, ''), '(missing)') AS region, carded, report, "
        f"count(*) AS reports FROM '{path}' GROUP BY ALL"
    )
    duckdb.execute(f"COPY ({query}) TO '{tmp_path / 'counts.csv'}'")
    (tmp_path / "header.json").write_text(tables.read_header(path).to_json())
    script = Path(__file__).parents[2] / "examples" / "dbt" / "estimate_counts.py"
    command = [
        sys.executable,
        str(script),
        str(tmp_path / "counts.csv"),
        str(tmp_path / "header.json"),
    ]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    for group in tables.estimate(path, by="region").groups:
        share = 100 * group.estimate.frequencies[0]
        assert f"{group.name}: plain {share:.1f}% (" in shown
