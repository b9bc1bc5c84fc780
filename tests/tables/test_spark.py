"""Spark counts, deals and perturbs as this process does."""

import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import jrr
from jrr import tables
from jrr.dealing.split_deck import RowDecks
from jrr.errors import ArgumentError, MissingExtraError
from jrr.tables.engines import spark_perturbing
from jrr.tables.engines.spark_perturbing import perturb_on_spark
from tests.statistics_rules import OFF, SURE
from tests.tables.test_engines import ALL, agree, folder_of, reports_file
from tests.tables.test_telemetry_tables import SEARCH, STRINGS, masked_day, tree_of, write

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
    from jrr.tables.engines.spark import open_session

    folder = str(tmp_path_factory.mktemp("spark"))
    os.environ["PYSPARK_SUBMIT_ARGS"] = (
        f"--driver-memory 2g --conf spark.master=local[2,4] --conf spark.sql.shuffle.partitions=3 "
        f"--conf spark.local.dir={folder} pyspark-shell"
    )
    running = open_session()
    yield running
    running.stop()


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
def test_counts_alike(session: Any, suffix: str, name: str, tmp_path: Path) -> None:
    path = reports_file(tmp_path / f"reports{suffix}", name)
    for by in (None, "region"):
        plain = tables.estimate(path, by=by).to_dict()
        assert tables.estimate(path, by=by, engine="spark").to_dict() == plain


def test_telemetry_is_counted_alike(session: Any, tmp_path: Path) -> None:
    strings = SEARCH.respond(STRINGS * 500, jrr.SeededRandom(1))
    path = write(tmp_path / "strings.parquet", SEARCH, strings)
    found = tables.find(path, top=5, engine="spark").to_dict()
    assert found == SEARCH.find(strings, 5).to_dict()
    for kind in ("OLH", "MRR"):
        tree, numbers = tree_of(kind)
        path = write(tmp_path / f"{kind}.parquet", tree, numbers)
        told = tables.distribution(path, engine="spark").to_dict()
        assert told == tree.estimate(numbers).to_dict()
    daily, day, announced = masked_day()
    jrr.write_reports(tmp_path / "day.jsonl", daily, day)
    tables.convert(tmp_path / "day.jsonl", tmp_path / "day.parquet")
    agree(tmp_path / "day.parquet", engine="spark", announced=announced)


def test_frames_that_went_through_spark_are_refused(session: Any, tmp_path: Path) -> None:
    """Spark reads a frame's Parquet file as plain columns: the mechanism is lost and missed."""
    people = pa.table({"bribe": ["no", "yes"] * 60})
    reports = jrr.perturb_frame(people, {"bribe": ["no", "yes"]}, 2.0)
    pq.write_table(reports, tmp_path / "frame.parquet")
    assert len(jrr.estimate_frame(tmp_path / "frame.parquet")) == 2
    read = session.read.parquet(str(tmp_path / "frame.parquet"))
    read.write.parquet(str(tmp_path / "written"))
    for passed_on in (read.toArrow(), tmp_path / "written"):
        with pytest.raises(ArgumentError, match="say which mechanism made them"):
            jrr.estimate_frame(passed_on)
    with pytest.raises(ArgumentError, match=r"read by jrr\.estimate_frame"):
        tables.estimate(tmp_path / "frame.parquet", engine="spark")


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
    from jrr.tables.engines import spark as engine

    monkeypatch.setattr(engine, "active", lambda: None)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(MissingExtraError, match="JAVA_HOME"):
        tables.estimate(path, engine="spark")
    monkeypatch.delenv("JAVA_HOME")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MissingExtraError, match="Java 17"):
        tables.estimate(path, engine="spark")


def write_answers(path: Path, rows: int, parts: int) -> Path:
    path.mkdir()
    at = np.arange(rows)
    for part in range(parts):
        mine = at[part::parts]
        answers = pa.array(np.where(mine % 10 < 3, "yes", "no"))
        table = pa.table({"answer": answers, "row": pa.array(mine), "region": pa.array(mine % 2)})
        pq.write_table(table, path / f"part-{part}.parquet", row_group_size=1 << 15)
    return path


PERTURBED = {
    "DRR": jrr.DRR(50_000, truth=0.3, own=0.05),
    "MRR": jrr.MRR(50_000, own=3.0, card_rate=0.9, total_rate=0.2),
    "RR": jrr.RR(2, epsilon=1.0),
}


@pytest.mark.parametrize("name", PERTURBED)
def test_perturbed_folders_are_estimated_alike(session: Any, name: str, tmp_path: Path) -> None:
    rows = 150_001
    data = write_answers(tmp_path / "answers", rows, 3)
    m, cards = PERTURBED[name], name != "RR"
    out = tmp_path / "reports"
    options: dict[str, Any] = {"labels": ["no", "yes"], "keep": ["region", "row"]}
    header = perturb_on_spark(data, "answer", out, m, **options, session=session)
    assert len(header.decks) == (4 if cards else 0)
    for engine in (None, "duckdb", "spark"):
        found = tables.estimate(out, by="region", engine=engine)
        assert found.estimate.n == rows
        assert found.n_carded == (rows if cards else 0)
        low, high = found.estimate.interval(SURE)
        assert low[1] <= 0.3 <= high[1]
    wrong = 0.3 * (1 - OFF)
    assert not low[1] <= wrong <= high[1]
    with pytest.raises(ArgumentError, match="does not exist yet"):
        perturb_on_spark(data, "answer", out, m, **options, session=session)


# Reports of "no" are the cards themselves, but with a chance below 10^-8.
ALL_CARD: dict[str, Any] = {
    "DRR": jrr.DRR(40_000, truth=1e-9),
    "MRR": jrr.MRR(40_000, own=30.0, card_rate=0.9, total_rate=0.2),
}


@pytest.mark.parametrize("name", ALL_CARD)
def test_every_deck_is_balanced_and_whole(session: Any, name: str, tmp_path: Path) -> None:
    """The faces of every deck of JRR and DRR, the sum of every deck of MRR, over all tasks."""
    m, rows, key = ALL_CARD[name], 120_000, bytes(range(32))
    data = tmp_path / "answers"
    data.mkdir()
    for part in range(5):
        mine = np.arange(part * rows // 5, (part + 1) * rows // 5)
        table = pa.table({"answer": pa.array(["no"] * len(mine)), "row": pa.array(mine)})
        pq.write_table(table, data / f"part-{part}.parquet")
    out = tmp_path / "reports"
    options: dict[str, Any] = {"labels": ["no", "yes"], "keep": ["row"], "key": key}
    perturb_on_spark(data, "answer", out, m, **options, session=session)
    reports = np.concatenate(
        [pq.read_table(part)["report"] for part in sorted(out.glob("*.parquet"))]
    )
    decks = reports.reshape(-1, m.n).astype(np.int64)  # tasks, and so parts, are in their order
    assert len(decks) == 3
    for number, deck in enumerate(decks):
        assert np.array_equal(deck, RowDecks(m, key).cards(number * m.n, m.n))
        assert not np.array_equal(deck, decks[number - 1])
    if name == "DRR":
        for deck in decks:
            assert np.bincount(deck).tolist() == [m.n // 2, m.n // 2]
    else:
        assert np.abs(decks.sum(axis=1)).max() < 8 * np.sqrt(m.masks.variance_of(m.n))


def test_a_task_that_runs_again_gives_the_same_reports(session: Any, tmp_path: Path) -> None:
    """However often it runs, and however large Spark's batches are."""
    data = write_answers(tmp_path / "answers", 200_000, 2)
    m = jrr.JRR(200_000, 0.6, s=0.4)
    rows = []
    for run, batch in (("first", "10000"), ("again", "777")):
        session.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", batch)
        out = tmp_path / run
        perturb_on_spark(
            data, "answer", out, m, labels=["no", "yes"], keep=["row"], session=session,
            key=bytes(32),
        )  # fmt: skip
        rows.append(pq.read_table(out).sort_by("row"))
    assert rows[0].equals(rows[1])
    other = tmp_path / "other"
    perturb_on_spark(data, "answer", other, m, labels=["no", "yes"], keep=["row"], session=session)
    assert not pq.read_table(other).sort_by("row").equals(rows[0])


@pytest.mark.parametrize("name", ["DRR", "MRR"])
def test_a_worker_that_dies_changes_no_report(session: Any, name: str, tmp_path: Path) -> None:
    """Spark starts the task again; it kills its own Python worker the first time."""
    data = write_answers(tmp_path / "answers", 70_000, 1)
    m = PERTURBED[name]
    kept: dict[str, Any] = {"labels": ["no", "yes"], "keep": ["row"], "key": bytes(32)}
    perturb_on_spark(data, "answer", tmp_path / "calm", m, **kept, session=session)
    marker = tmp_path / "died"
    whole = spark_perturbing._respond

    def dying(*words: Any, **more: Any) -> Any:
        inner = whole(*words, **more)

        def respond(batches: Any) -> Iterator[Any]:
            for at, batch in enumerate(inner(batches)):
                yield batch
                if at == 0 and not marker.exists():
                    marker.touch()
                    os.kill(os.getpid(), signal.SIGKILL)

        return respond

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(spark_perturbing, "_respond", dying)
        perturb_on_spark(data, "answer", tmp_path / "hurt", m, **kept, session=session)
    assert marker.exists()
    calm, hurt = (pq.read_table(tmp_path / name).sort_by("row") for name in ("calm", "hurt"))
    assert calm.equals(hurt)


def test_what_perturbing_refuses(session: Any, tmp_path: Path) -> None:
    data = write_answers(tmp_path / "answers", 100, 1)
    m, out = jrr.RR(2, epsilon=1.0), tmp_path / "out"
    for column, mechanism, more, said in (
        ("nothing", m, {}, "column must be"),
        ("answer", m, {"labels": ["no", "yes", "perhaps"]}, "labels must be"),
        ("answer", m, {"labels": ["no", "maybe"]}, "must hold one of"),
        ("answer", m, {"keep": ["answer"]}, "keep must be"),
        ("answer", m, {"cards": True}, "mechanism must be"),
        ("answer", jrr.MRR.for_epsilon(1.0, n=100, announced=True), {}, "closed deck"),
    ):
        options: dict[str, Any] = {"labels": ["no", "yes"]} | more
        with pytest.raises(ArgumentError, match=said):
            perturb_on_spark(data, column, out, mechanism, **options, session=session)
    for address in (f"file://{out}", Path(f"file://{out}"), "s3a://bucket/out"):
        with pytest.raises(ArgumentError, match="not an address"):
            perturb_on_spark(data, "answer", address, m, labels=["no", "yes"], session=session)
    with pytest.raises(ArgumentError, match="key must be 32 bytes"):
        perturb_on_spark(data, "answer", out, m, labels=["no", "yes"], session=session, key=b"")
    assert not list(tmp_path.glob("*out*")) + list(tmp_path.glob(".*"))


def test_numbers_with_a_fraction_are_refused(session: Any, tmp_path: Path) -> None:
    """Spark writes 1.0 where we write 1: with a label for others all answers would be others."""
    pq.write_table(pa.table({"answer": [0.0, 1.0] * 20}), tmp_path / "answers.parquet")
    labels = tables.Labels(("0.0", "other"), other="other")
    with pytest.raises(ArgumentError, match="not double"):
        perturb_on_spark(
            tmp_path / "answers.parquet", "answer", tmp_path / "out", jrr.RR(2, epsilon=1.0),
            labels=labels, session=session,
        )  # fmt: skip


@pytest.mark.parametrize(("n", "k"), [(7_999, 2), (5_000, 2), (12_000, 3)])
def test_cards_that_no_row_has_cost_nothing(session: Any, n: int, k: int, tmp_path: Path) -> None:
    """A last deck that is not used up: its other cards are told as a sum."""
    labels = [str(value) for value in range(k)]
    pq.write_table(pa.table({"answer": labels * (8_000 // k)}), tmp_path / "answers.parquet")
    rows = 8_000 // k * k
    errors = []
    for size in (rows, n):
        m, out = jrr.MRR.for_epsilon(1.0, n=size, k=k, announced=False), tmp_path / f"out{size}"
        perturb_on_spark(
            tmp_path / "answers.parquet", "answer", out, m, labels=labels, session=session
        )
        found = tables.estimate(out).estimate
        errors.append(float(found.stderr[0]))
        assert abs(found.frequencies[0] - 1 / k) < 6 * found.stderr[0]
    assert errors[1] < 1.1 * errors[0]


def test_machines_may_come_between_two_passes(session: Any, tmp_path: Path) -> None:
    """How files are cut follows the number of cores, unless it is held."""
    data = tmp_path / "answers.parquet"
    rows = pa.table({"answer": ["no", "yes"] * 200_000, "row": range(400_000)})
    pq.write_table(rows, data, row_group_size=10_000)
    counted = spark_perturbing._count_shares

    def and_more_cores(*words: Any) -> Any:
        shares = counted(*words)
        session.conf.set("spark.sql.leafNodeDefaultParallelism", "16")
        return shares

    session.conf.set("spark.sql.files.openCostInBytes", "1000")
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(spark_perturbing, "_count_shares", and_more_cores)
            perturb_on_spark(
                data, "answer", tmp_path / "out", jrr.RR(2, epsilon=1.0), labels=["no", "yes"],
                session=session,
            )  # fmt: skip
    finally:
        session.conf.unset("spark.sql.leafNodeDefaultParallelism")
        session.conf.unset("spark.sql.files.openCostInBytes")
    assert pq.read_table(tmp_path / "out").num_rows == 400_000
