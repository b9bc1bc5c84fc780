"""JSON lines and telemetry as tables: whoever counts, and in whatever file, it is the same."""

import json
import re
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import psycopg
import pyarrow.parquet as pq
import pytest

import jrr
from jrr import SeededRandom, tables
from jrr.cli.app import run
from jrr.errors import ArgumentError, DamagedError
from jrr.tables.header import Header
from jrr.tables.levels import Levelled, level_header
from tests.e2e.conftest import NewDatabase
from tests.e2e.conftest import new_postgres_database as new_postgres_database
from tests.e2e.conftest import postgres_server as postgres_server
from tests.tables.test_engines import ALL, agree, reports_file

SUFFIXES = (".jsonl", ".parquet", ".arrow", ".csv")
SEARCH = jrr.HeavyHitters(jrr.Words("abc", 4), 3.0, keep=6, levels=(2, 4))
STRINGS = ["abca", "b", "ccc", "a"]


def tree_of(kind: str) -> tuple[jrr.RangeTree, Any]:
    """A tree whose levels are of one kind, and reports by it."""
    rng, numbers = SeededRandom(3), np.arange(2_000) % 100 / 10
    if kind == "OLH":
        made = tuple(jrr.OLH(4**level, epsilon=2.0) for level in (1, 2))
        tree = jrr.RangeTree(0, 10, made)
        return tree, tree.respond(numbers, rng)
    if kind == "OUE":
        tree = jrr.RangeTree(0, 10, tuple(jrr.OUE(4**level, epsilon=2.0) for level in (1, 2)))
        return tree, tree.respond(numbers, rng)
    if kind == "RR":
        tree = jrr.RangeTree(0, 10, tuple(jrr.RR(4**level, epsilon=2.0) for level in (1, 2)))
        return tree, tree.respond(numbers, rng)
    groups = [numbers[at::2][:500] for at in (0, 1)]
    masked = tuple(jrr.MRR.for_epsilon(2.0, n=500, k=4**level, announced=False) for level in (1, 2))
    tree = jrr.RangeTree(0, 10, masked)
    return tree, [
        m.respond(tree.values(group, level), m.deal(rng), rng)
        for level, (m, group) in enumerate(zip(masked, groups, strict=True))
    ]


def masked_day() -> tuple[jrr.Longitudinal, Any, Any]:
    """Rounds by the default mechanism, one day's reports and what the dealer announced of it."""
    rng = SeededRandom(4)
    daily = jrr.Longitudinal(jrr.MRR.for_epsilon(2.0, n=500), jrr.RR(epsilon=3.0))
    cards = daily.fresh.deal(rng)
    day = daily.respond(np.arange(500) % 2, daily.remember(500, rng), cards, rng)
    return daily, day, daily.fresh.announce(cards, rng=rng)


def write(path: Path, asked: Levelled, reports: Any) -> Path:
    if path.suffix == ".jsonl":
        jrr.write_reports(path, asked, reports)
    else:
        tables.write_level_reports(path, asked, reports)
    return path


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_strings_are_found_in_every_format(suffix: str, tmp_path: Path) -> None:
    reports = SEARCH.respond(STRINGS * 500, SeededRandom(1))
    expected = SEARCH.find(reports, 5).to_dict()
    path = write(tmp_path / f"reports{suffix}", SEARCH, reports)
    assert tables.find(path, top=5).to_dict() == expected
    if suffix == ".jsonl":
        with pytest.raises(ArgumentError, match="a Parquet file for an engine"):
            tables.find(path, engine="duckdb")
        return
    assert tables.find(path, top=5, engine="duckdb").to_dict() == expected
    halves = [write(tmp_path / f"{at}{suffix}", SEARCH, reports[at::2]) for at in (0, 1)]
    assert tables.find(*halves, top=5).to_dict() == expected


@pytest.mark.slow_variants(".arrow-", ".csv-OUE", ".jsonl-RR")
@pytest.mark.parametrize("kind", ["RR", "OUE", "OLH", "MRR"])
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_numbers_are_the_same_in_every_format(kind: str, suffix: str, tmp_path: Path) -> None:
    tree, reports = tree_of(kind)
    expected = tree.estimate(reports).to_dict()
    path = write(tmp_path / f"reports{suffix}", tree, reports)
    assert tables.distribution(path).to_dict() == expected
    if suffix != ".jsonl":
        assert tables.distribution(path, engine="duckdb").to_dict() == expected


@pytest.mark.parametrize("kind", ["strings", "RR", "MRR"])
def test_reports_by_level_are_converted(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("jrr.tables.levels._LINES", 300)  # so that there are several batches
    asked: Levelled
    reports: Any
    read: Any
    if kind == "strings":
        asked, read = SEARCH, tables.find
        reports = SEARCH.respond(STRINGS * 300, SeededRandom(1))
        expected = SEARCH.find(reports).to_dict()
    else:
        (asked, reports), read = tree_of(kind), tables.distribution
        expected = asked.estimate(reports).to_dict()
    first = write(tmp_path / "reports.jsonl", asked, reports)
    lines = sorted(first.read_text().splitlines())
    for suffix in (".parquet", ".csv", ".arrow", "-again.jsonl"):
        out = tmp_path / f"converted{suffix}"
        assert tables.convert(first, out).asked == asked
        assert read(out).to_dict() == expected
        with pytest.raises(ArgumentError, match="does not exist yet"):
            tables.convert(first, out)
        first = out
    assert sorted(first.read_text().splitlines()) == lines
    first.write_text(f"{first.read_text()}[9, 1]\n")
    with pytest.raises(DamagedError, match=f"again.jsonl, line {len(lines) + 1}: "):
        tables.convert(first, tmp_path / "damaged.parquet")
    assert not (tmp_path / "damaged.parquet").exists()


KINDS = {"level": "smallint", "seed": "numeric", "report": "bigint", "carded": "boolean"}


def copied(url: str, name: str, path: Path) -> None:
    """A file of reports as a table of PostgreSQL."""
    whole = pq.read_table(path)
    rows = whole.select([name for name in whole.column_names if name in KINDS])
    columns = []
    for field in rows.schema:
        packed = field.name == "report" and "binary" in str(field.type)
        columns.append(f"{field.name} {'bytea' if packed else KINDS[field.name]}")
    with psycopg.connect(url, autocommit=True) as connection, connection.cursor() as cursor:
        cursor.execute(f"CREATE TABLE {name} ({', '.join(columns)})".encode())
        places = ", ".join(["%s"] * rows.num_columns)
        cursor.executemany(
            f"INSERT INTO {name} VALUES ({places})".encode(),
            list(zip(*(column.to_pylist() for column in rows.columns), strict=True)),
        )


def test_tables_of_postgresql(new_postgres_database: NewDatabase, tmp_path: Path) -> None:
    url = new_postgres_database()
    strings = SEARCH.respond(STRINGS * 500, SeededRandom(1))
    tree, numbers = tree_of("MRR")
    daily, day, announced = masked_day()
    jrr.write_reports(tmp_path / "day.jsonl", daily, day)
    tables.convert(tmp_path / "day.jsonl", tmp_path / "day.parquet")
    files = {
        "strings": write(tmp_path / "strings.parquet", SEARCH, strings),
        "numbers": write(tmp_path / "numbers.parquet", tree, numbers),
        "day": tmp_path / "day.parquet",
    }
    for name, path in files.items():
        copied(url, name, path)
    found = tables.find(url, top=5, engine="postgres", table="strings", header=SEARCH)
    assert found.to_dict() == SEARCH.find(strings, 5).to_dict()
    told = tables.distribution(url, engine="postgres", table="numbers", header=tree)
    assert told.to_dict() == tree.estimate(numbers).to_dict()
    header = Header.of_rounds(daily)
    result = tables.estimate(
        url, engine="postgres", table="day", header=header, announced=announced
    )
    assert result.estimate.to_dict() == daily.estimate(day, announced=announced).to_dict()


def test_every_mechanism_is_counted_in_postgresql(
    new_postgres_database: NewDatabase, tmp_path: Path
) -> None:
    url = new_postgres_database()
    for at, name in enumerate(ALL):
        path = reports_file(tmp_path / f"{at}.parquet", name)
        copied(url, f"t{at}", path)
        options: dict[str, Any] = {"table": f"t{at}", "header": tables.read_header(path)}
        found = tables.estimate(url, engine="postgres", **options).to_dict()
        assert found == tables.estimate(path).to_dict(), name


def test_announced_sums_in_every_file(tmp_path: Path, capsys: Any) -> None:
    """The default mechanism: reports in files, and the dealer's sum beside them."""
    daily, day, announced = masked_day()
    expected = daily.estimate(day, announced=announced).to_dict()
    jrr.write_reports(tmp_path / "day.jsonl", daily, day)
    told = tmp_path / "announced.json"
    told.write_text(json.dumps({"cards": announced.cards, "sum": announced}))
    for suffix in (".jsonl", ".parquet", ".csv"):
        path = tmp_path / f"day{suffix}"
        if suffix != ".jsonl":
            tables.convert(tmp_path / "day.jsonl", path)
        assert tables.estimate(path, announced=announced).estimate.to_dict() == expected
        with pytest.raises(ArgumentError, match="announced must be the sum"):
            tables.estimate(path)
        assert run(["file", "estimate", str(path), "--announced", str(told), "--json"]) == 0
        shown = json.loads(capsys.readouterr().out)
        assert shown["estimate"]["frequencies"] == expected["frequencies"]
    path = tmp_path / "day.parquet"
    one = tables.estimate(path, announced=announced, engine="duckdb").estimate
    assert one.to_dict() == expected
    wrong: Any
    for wrong in (jrr.mechanisms.marked_arrays.AnnouncedNumber(3, 499), {"a": 3}, [], "3"):
        with pytest.raises(ArgumentError, match="announced"):
            tables.estimate(path, announced=wrong)
    for text in ("[", "7", "{}", '{"cards": 0, "sum": null}', '{"cards": 2, "sum": 1.5}'):
        told.write_text(text)
        assert run(["file", "estimate", str(path), "--announced", str(told)]) == 2
        assert "announced" in capsys.readouterr().err


def test_announced_sums_of_groups(tmp_path: Path) -> None:
    rng = SeededRandom(5)
    m = jrr.MRR.for_epsilon(2.0, n=400, k=3)
    cards, regions = m.deal(rng), np.where(np.arange(400) % 4, "north", "south")
    reports = m.respond(np.arange(400) % 3, cards, rng)
    path = tmp_path / "reports.jsonl"
    header = {"jrr": 1, "holds": "reports", "mechanism": m.to_dict(), "columns": ["region"]}
    rows = [
        json.dumps(m.report_to_json(report) | {"region": region})
        for report, region in zip(reports, regions.tolist(), strict=True)
    ]
    path.write_text("\n".join([json.dumps(header), *rows]) + "\n")
    sums = m.announce_cells(cards, regions, rng=rng)
    found = tables.estimate(path, by="region", announced=sums)
    for group in found.groups:
        here = m.tally(reports[regions == group.name])
        expected = m.estimate(m.settle(here, announced=sums[group.name]))
        assert group.estimate.to_dict() == expected.to_dict()
    assert found.estimate.n == 400
    whole = {"north": sums["north"]}
    for by, wrong in (("region", whole), ("region", sums["north"]), (None, sums)):
        with pytest.raises(ArgumentError, match="announced"):
            tables.estimate(path, by=by, announced=wrong)
    closed = jrr.MRR.for_epsilon(2.0, n=40, announced=False)
    jrr.write_reports(tmp_path / "closed.jsonl", closed, closed.respond([0, 1] * 20, closed.deal()))
    with pytest.raises(ArgumentError, match="announced must be None"):
        tables.estimate(tmp_path / "closed.jsonl", announced=3)


@pytest.mark.parametrize("suffix", [".jsonl", ".parquet"])
def test_announced_sums_of_levels(suffix: str, tmp_path: Path, capsys: Any) -> None:
    rng = SeededRandom(6)
    tree = jrr.RangeTree.for_epsilon(0, 10, bins=16, epsilon=2.0, cards="masked", n=400)
    reports, sums, numbers = [], [], np.arange(200) % 10
    for level, m in enumerate(tree.mechanisms):
        cards = m.deal(rng)
        reports.append(m.respond(tree.values(numbers, level), cards, rng))
        sums.append(m.announce(cards, rng=rng))
    settled = [
        m.settle(m.tally(told), announced=one)
        for m, told, one in zip(tree.mechanisms, reports, sums, strict=True)
    ]
    expected = tree.estimate(settled)
    assert tree.estimate(reports, sums).to_dict() == expected.to_dict()
    path = write(tmp_path / f"reports{suffix}", tree, reports)
    assert tables.distribution(path, announced=sums).to_dict() == expected.to_dict()
    told = tmp_path / "announced.json"
    told.write_text(json.dumps([{"cards": one.cards, "sum": one} for one in sums]))
    command = ["file", "quantiles", "estimate", str(path), "--announced", str(told), "--json"]
    assert run(command) == 0
    quantiles = expected.to_dict(0.95, [0.25, 0.5, 0.75])
    assert json.loads(capsys.readouterr().out)["quantiles"] == quantiles["quantiles"]
    with pytest.raises(ArgumentError, match="2 sums, one for each level"):
        tables.distribution(path, announced=sums[:1])
    with pytest.raises(ArgumentError, match="announced must be the sum"):
        tables.distribution(path)


def test_several_answers_by_one_coin(tmp_path: Path, capsys: Any) -> None:
    """A block, from lines, tables and an engine: item by item, by group too."""
    rng = SeededRandom(7)
    m = jrr.MRR(300, own=3.0, card_rate=0.5, announced_rate=0.5, coin=jrr.Block((2, 3)))
    cards, answers = m.deal(rng), [[at % 2, at % 3] for at in range(300)]
    reports = m.respond(answers, cards, rng)
    announced = m.announce(cards, rng=rng)
    expected = [one.to_dict() for one in m.estimate(reports, announced=announced).items]
    lines, parquet, told = (tmp_path / name for name in ("b.jsonl", "b.parquet", "told.json"))
    jrr.write_reports(lines, m, reports)
    tables.convert(lines, parquet)
    told.write_text(json.dumps({"cards": announced.cards, "sum": announced}))
    for path, engine in ((lines, None), (parquet, None), (parquet, "duckdb")):
        found = tables.estimate(path, announced=announced, engine=engine)
        assert [one.to_dict() for one in found.estimate.items] == expected
        documents = found.to_dict()["items"]
        assert [one["estimate"] for one in documents.values()] == expected
        assert len(found.to_frame()) == 5
        assert found.heading == "Shares, 300 reports"
    assert run(["file", "estimate", str(lines), "--announced", str(told), "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)["estimates"]
    assert [one["estimate"] for one in shown.values()] == expected
    command = ["file", "estimate", str(lines), "--announced", str(told)]
    assert run([*command, "--plot", str(tmp_path / "x.png")]) == 2
    assert "plot must be left out where there are several" in capsys.readouterr().err
    places, cards = np.array(["north", "south"] * 150), m.deal(rng)
    header = {"jrr": 1, "holds": "reports", "mechanism": m.to_dict(), "columns": ["place"]}
    rows = [
        json.dumps(m.report_to_json(report) | {"place": place})
        for report, place in zip(m.respond(answers, cards, rng), places.tolist(), strict=True)
    ]
    lines.write_text("\n".join([json.dumps(header), *rows]) + "\n")
    sums = m.announce_cells(cards, places, rng=rng)
    for one in tables.estimate(lines, by="place", announced=sums).items.values():
        assert [group.name for group in one.groups] == ["north", "south"]
        assert sum(group.estimate.n for group in one.groups) == 300


def test_a_table_of_a_duckdb_file(tmp_path: Path) -> None:
    reports = SEARCH.respond(STRINGS * 500, SeededRandom(1))
    path = write(tmp_path / "reports.parquet", SEARCH, reports)
    with duckdb.connect(str(tmp_path / "all.duckdb")) as connection:
        connection.execute(f"CREATE TABLE strings AS FROM '{path}'")
    (tmp_path / "header.json").write_text(
        json.dumps({"jrr": 1, "holds": "reports"} | {"mechanism": SEARCH.to_dict()})
    )
    for header in (SEARCH, tmp_path / "header.json"):
        found = tables.find(
            tmp_path / "all.duckdb", top=5, engine="duckdb", table="strings", header=header
        )
        assert found.to_dict() == SEARCH.find(reports, 5).to_dict()
    with pytest.raises(DamagedError, match="must say what was asked"):
        tables.find(tmp_path / "all.duckdb", engine="duckdb", table="strings")


@pytest.mark.slow_variants("JRR", "SUE", "OUE", "OLH]", "DRR k=2", "MRR closed", "k-JRR")
@pytest.mark.parametrize("name", sorted(set(ALL) - {"RR k=300", "DRR k=300"}))
def test_json_lines_are_tables(name: str, tmp_path: Path) -> None:
    """Public columns included: what convert writes is what it reads, and engines count it."""
    parquet = reports_file(tmp_path / "reports.parquet", name)
    lines, again = tmp_path / "reports.jsonl", tmp_path / "again.csv"
    by = None if name.startswith("MRR") else "region"  # closed decks by group take long
    tables.convert(parquet, lines)
    expected = tables.estimate(parquet, by=by).to_dict()
    assert tables.estimate(lines, by=by).to_dict() == expected
    tables.convert(lines, again)
    assert tables.estimate(again, by=by).to_dict() == expected
    agree(lines, by=by)
    asked, reports = jrr.read_reports(lines)
    assert asked.tally(reports).n == tables.estimate(parquet).estimate.n
    first = json.loads(lines.read_text().splitlines()[1])
    assert {"report", "region", "age", "adult"} <= set(first)


def test_rounds_travel_with_what_devices_remember(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = SeededRandom(4)
    daily = jrr.Longitudinal(jrr.RR(k=3, epsilon=2.0), jrr.RR(k=3, epsilon=3.0))
    reports = daily.respond(np.arange(3_000) % 3, daily.remember(3_000, rng), None, rng)
    lines = tmp_path / "monday.jsonl"
    jrr.write_reports(lines, daily, reports)
    expected = daily.estimate(reports)
    for suffix in (".parquet", ".csv", ".arrow"):
        path = tmp_path / f"monday{suffix}"
        header = tables.convert(lines, path)
        assert header.asked == daily
        assert tables.read_header(path).asked == daily
        agree(path)
    agree(lines)
    result = tables.estimate(lines)
    assert result.estimate.to_dict() == expected.to_dict()
    assert result.to_dict()["mechanism"] == daily.to_dict()
    assert run(["file", "estimate", str(lines)]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "of this round alone" in shown
    assert "at most ε 3;" in shown
    # What was remembered is not lost on the way from the header to an estimate.
    with pytest.raises(ArgumentError, match="what devices remember"):
        result.header.mechanism.estimate(reports)
    assert Header.of_rounds(daily) == Header.from_json(Header.of_rounds(daily).to_json(), "x")


def test_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.chdir(tmp_path)
    Path("strings.txt").write_text("\n".join(STRINGS * 100))
    Path("numbers.txt").write_text("\n".join(str(at % 50) for at in range(500)))
    strings = ["file", "heavy-hitters", "perturb", "strings.txt", "--alphabet", "abc"]
    numbers = ["file", "quantiles", "perturb", "numbers.txt", "--range", "0:50", "--bins", "16"]
    for ending in ("jsonl", "parquet", "csv"):
        options = ["-e", "4", "--seed", "1"]
        assert run([*strings, "--length", "4", *options, "-o", f"s.{ending}"]) == 0
        assert run([*numbers, *options, "-o", f"n.{ending}"]) == 0
    capsys.readouterr()
    found = []
    for ending, *engine in (("jsonl",), ("parquet",), ("csv",), ("parquet", "--engine", "duckdb")):
        assert run(["file", "heavy-hitters", "find", f"s.{ending}", *engine, "--json"]) == 0
        first = json.loads(capsys.readouterr().out)
        assert run(["file", "quantiles", "estimate", f"n.{ending}", *engine, "--json"]) == 0
        found.append((first, json.loads(capsys.readouterr().out)))
    assert all(one == found[0] for one in found)
    assert found[0][0]["n"] == 400
    for name in ("s.jsonl", "s.parquet", "n.csv"):  # the command that reads them is named
        assert run(["file", "estimate", name]) != 0
        assert "jrr file " in capsys.readouterr().err
    assert run(["file", "quantiles", "estimate", "s.parquet"]) == 2
    assert "RangeTree" in capsys.readouterr().err


def test_what_is_no_such_file_is_refused(tmp_path: Path) -> None:
    reports = SEARCH.respond(STRINGS * 50, SeededRandom(1))
    path = write(tmp_path / "reports.csv", SEARCH, reports)
    with pytest.raises(ArgumentError, match="reports by RangeTree"):
        tables.distribution(path)
    with pytest.raises(ArgumentError, match="does not exist yet"):
        tables.write_level_reports(path, SEARCH, reports)
    with pytest.raises(ArgumentError, match="at least one"):
        tables.find()
    with pytest.raises(ArgumentError, match="without an engine"):
        tables.find(path, table="x")
    with pytest.raises(ArgumentError, match="see jrr"):
        tables.write_level_reports(tmp_path / "x.jsonl", SEARCH, reports)
    only = write(tmp_path / "only.parquet", SEARCH, reports[reports["level"] == 0])
    with pytest.raises(ArgumentError, match="of every level"):
        tables.find(only)
    good = path.read_text()
    for wrong, named in (
        (good.replace("\n1,", "\n9,", 1), "level"),
        (re.sub("[0-9a-f]{24}", "ff", good, count=1), "12 bytes"),
        (re.sub("[0-9a-f]{24}", "x" * 24, good, count=1), "hexadecimal"),
        (good.replace("report", "rapport", 1), "report"),
    ):
        path.write_text(wrong)
        with pytest.raises((DamagedError, ArgumentError), match=named):
            tables.find(path)
    for text in ("7", "{}", '{"holds": "reports", "mechanism": {}}', "["):
        with pytest.raises(DamagedError, match="header"):
            level_header(text, "x")


def test_lines_with_other_columns_are_refused(tmp_path: Path) -> None:
    path = reports_file(tmp_path / "reports.parquet", "RR k=2")
    lines = tmp_path / "reports.jsonl"
    tables.convert(path, lines)
    good = lines.read_text()
    for old, new in (('"region"', '"ragion"'), ('"age"', '"age": 1, "more"')):
        head, _, rest = good.partition("\n")
        lines.write_text(f"{head}\n{rest.replace(old, new, 1)}")
        with pytest.raises(DamagedError, match="an object of report"):
            tables.estimate(lines, by="region")
        with pytest.raises(DamagedError, match=r"reports.jsonl, line 2: .* an object of report"):
            jrr.read_reports(lines)
    with pytest.raises(ArgumentError, match="reports only"):
        tables.perturb(lines, "age", tmp_path / "x.csv", epsilon=1.0, labels=["0", "1"])
