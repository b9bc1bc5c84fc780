"""Files of cards and reports: what goes in comes out, in any format, however small the batches."""

import dataclasses
import itertools
import json
import tracemalloc
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from numpy.typing import NDArray
from scipy import stats

import jrr
from jrr import tables
from jrr.mechanisms.base import Mechanism
from jrr.tables import formats, seal
from jrr.tables.columns import cards_from_arrow, report_fields, reports_to_arrow
from jrr.tables.formats import Table
from jrr.tables.header import Header
from jrr.tables.names import CARDED, MISSING, SEALED
from jrr.tables.reports import open_reports, rows_of
from tests.statistics_rules import OFF, P_VALUE, accepts_only, chi_square, skewed

SUFFIXES = (".parquet", ".arrow", ".csv", ".csv.gz")
DECK = 40
CARDS_SEED, SEED = 11, 12
ODD = ("plain", "with, comma", 'say "hi"', "naïve – 東京 🙂", "two\nlines", " blank", "NA", "true")

MECHANISMS: dict[str, Callable[[], Mechanism]] = {
    "RR k=2": lambda: jrr.RR(2, epsilon=1.0),
    "RR k=300": lambda: jrr.RR(300, epsilon=1.0),
    "JRR even": lambda: jrr.JRR(DECK, 0.6, s=0.4),
    "JRR odd": lambda: jrr.JRR(DECK + 1, 0.6, s=0.4),
    "k-JRR": lambda: jrr.JRR(DECK, 0.4, s=0.3, k=5),
    "DRR k=2": lambda: jrr.DRR(DECK, 0.3, 0.1),
    "DRR k=5": lambda: jrr.DRR(DECK, 0.3, 0.1, k=5, deck=[16, 8, 8, 8, 0]),
    "DRR k=300": lambda: jrr.DRR(DECK, 0.3, 0.1, k=300),
    "SUE": lambda: jrr.SUE(11, epsilon=1.0),
    "SUE joint": lambda: jrr.SUE(11, q=0.3, s=0.2, coupling="joint", n=DECK),
    "SUE dealt": lambda: jrr.SUE(16, q=0.3, s=0.2, coupling="dealt", n=DECK),
    "OUE": lambda: jrr.OUE(11, epsilon=1.0),
    "OUE joint": lambda: jrr.OUE(11, q=0.3, s=0.2, coupling="joint", n=DECK + 1),
    "OUE dealt": lambda: jrr.OUE(11, q=0.3, s=0.2, coupling="dealt", n=DECK),
    "OLH": lambda: jrr.OLH(11, epsilon=1.0),
    "OLH joint": lambda: jrr.OLH(11, g=4, p=0.5, s=0.2, coupling="joint", n=DECK),
}


@cache
def mechanism_named(name: str) -> Mechanism:
    return MECHANISMS[name]()


def names_of(k: int) -> tuple[str, ...]:
    """Labels that are hard on a file format."""
    return (*ODD, *(f"v{number}" for number in range(k)))[:k]


def following(suffix: str) -> str:
    return SUFFIXES[(SUFFIXES.index(suffix) + 1) % len(SUFFIXES)]


def write_data(path: Path, columns: dict[str, Any]) -> Path:
    """A table as people have it, in the format of the name."""
    table = pa.table(columns)
    if path.name.endswith(".parquet"):
        pq.write_table(table, path)
    elif path.name.endswith(".arrow"):
        with pa.ipc.new_file(str(path), table.schema) as writer:
            writer.write_table(table)
    else:
        with pa.output_stream(str(path), compression="detect") as stream:
            pa.csv.write_csv(table, stream)
    return path


def write_reports(
    path: Path,
    header: Header,
    reports: NDArray[Any],
    carded: NDArray[np.bool_],
    extra: dict[str, Any] | None = None,
) -> Path:
    """A file of reports that were made in memory."""
    text = formats.format_of(path) == "csv"
    arrays = {name: pa.array(values) for name, values in (extra or {}).items()}
    fields = [
        *report_fields(header.mechanism, text),
        pa.field(CARDED, pa.bool_(), False),
        *(pa.field(name, array.type) for name, array in arrays.items()),
    ]
    columns = [
        *reports_to_arrow(header.mechanism, reports, text),
        pa.array(carded),
        *arrays.values(),
    ]
    schema = pa.schema(fields)
    formats.write(path, schema, header, [pa.record_batch(columns, schema=schema)])
    return path


def in_memory(
    m: Mechanism, values: NDArray[np.int64], decks: int, seeds: tuple[int, int]
) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """The reports of these people, of whom the first hold the cards of so many decks."""
    words, rng = jrr.SeededRandom(seeds[0]), jrr.SeededRandom(seeds[1])
    hands = [m.deal(words) for _ in range(decks)]
    cards = (
        None if hands[0] is None else np.concatenate([hand for hand in hands if hand is not None])
    )
    held = 0 if cards is None else min(len(cards), len(values))
    reports = np.concatenate(
        (
            m.respond(values[:held], None if cards is None else cards[:held], rng),
            m.respond(values[held:], None, rng),
        )
    )
    return reports, np.arange(len(values)) < held


def rows_in(path: Path) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """All reports and flags of a file."""
    table, header = open_reports(path, "reports")
    parts = list(rows_of(table, header))
    flags = [np.broadcast_to(part.carded, len(part.reports)) for part in parts]
    return np.concatenate([part.reports for part in parts]), np.concatenate(flags)


def bag(reports: NDArray[Any], carded: NDArray[np.bool_]) -> Counter[tuple[bytes, bool]]:
    """Which reports there are, without their order."""
    wide = reports if reports.dtype.names or reports.ndim > 1 else reports.astype(np.uint32)
    return Counter((row.tobytes(), bool(flag)) for row, flag in zip(wide, carded, strict=True))


def named(tally: jrr.Tally, decks: Sequence[str]) -> jrr.Tally:
    return dataclasses.replace(tally, decks=tuple(decks))


def survey_file(
    m: Mechanism, folder: Path, suffix: str, values: NDArray[np.int64], decks: int, seed: int
) -> tuple[Path, Header]:
    """Deal, and perturb a column of labels with the cards."""
    labels = names_of(m.k)
    data = write_data(
        folder / f"data{seed}{following(suffix)}",
        {"id": np.arange(len(values)), "answer": [labels[value] for value in values]},
    )
    out = folder / f"reports{seed}{suffix}"
    if m.moments.deck is None:
        kind = m.to_dict()["mechanism"].lower()
        header = tables.perturb(
            data,
            "answer",
            out,
            epsilon=1.0,
            mechanism=kind,
            labels=labels,
            rng=jrr.SeededRandom(seed),
        )
    else:
        cards = folder / f"cards{seed}{suffix}"
        tables.deal(m, cards, decks=decks, colluders=2, rng=jrr.SeededRandom(CARDS_SEED + seed))
        header = tables.perturb(
            data,
            "answer",
            out,
            labels=labels,
            cards=cards,
            cardless=True,
            rng=jrr.SeededRandom(seed),
        )
    return out, header


# Round trips ----------------------------------------------------------------------------------


@pytest.mark.slow_variants("*-.csv.gz]", "*-.arrow]")
@pytest.mark.heavy
@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("name", MECHANISMS)
def test_reports_through_files_are_the_reports_in_memory(
    name: str, suffix: str, tmp_path: Path
) -> None:
    """Two decks and 13 people without a card; a second file with one more deck."""
    m = mechanism_named(name)
    surveys = []
    for decks, people, seed in ((2, 2 * DECK + 13, SEED), (1, DECK - 3, SEED + 1)):
        values = np.random.default_rng(seed).integers(0, m.k, people)
        out, header = survey_file(m, tmp_path, suffix, values, decks, seed)
        reports, carded = in_memory(m, values, decks, (CARDS_SEED + seed, seed))
        assert header.mechanism == m
        assert header.labels == names_of(m.k)
        assert header.question == "answer"
        assert tables.read_header(out) == header
        read, flags = rows_in(out)
        assert np.array_equal(read, reports)
        assert np.array_equal(flags, carded)
        dealt = m.moments.deck is not None
        assert len(header.decks) == (decks if dealt else 0)
        assert header.colluders == (2 if dealt else 0)
        expected = named(m.tally(reports, carded), header.decks)
        assert tables.tally(out) == (header, expected)
        surveys.append((out, header, expected, bag(reports, carded)))

    (first, header, one, some), (second, other, two, more) = surveys
    merged, both = tables.tally(first, second)
    assert both == one + two
    assert merged.decks == tuple(sorted((*header.decks, *other.decks)))

    mixed = tmp_path / f"mixed{following(suffix)}"
    shuffled, rows = tables.shuffle([first, second], mixed, rng=jrr.SeededRandom(3))
    assert rows == both.n
    assert shuffled == dataclasses.replace(merged, shuffled=True)
    assert tables.read_header(mixed) == shuffled
    assert tables.tally(mixed) == (shuffled, both)
    assert bag(*rows_in(mixed)) == some + more
    again = tmp_path / f"again{following(following(suffix))}"
    tables.shuffle([mixed], again, rng=jrr.SeededRandom(4))
    assert tables.tally(again) == (shuffled, both)

    direct, found = m.estimate(both), tables.estimate(first, second)
    assert np.array_equal(found.estimate.counts, direct.counts)
    assert np.array_equal(found.estimate.stderr, direct.stderr)
    assert np.array_equal(found.estimate.interval(), direct.interval())
    assert found.n_carded == both.n_carded
    assert np.array_equal(tables.estimate(again).estimate.stderr, direct.stderr)


@pytest.mark.parametrize("name", [name for name in MECHANISMS if MECHANISMS[name]().moments.deck])
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_cards_through_files_are_the_cards_in_memory(
    name: str, suffix: str, tmp_path: Path
) -> None:
    m = mechanism_named(name)
    path = tmp_path / f"cards{suffix}"
    header = tables.deal(m, path, decks=3, colluders=1, rng=jrr.SeededRandom(5))
    assert tables.read_header(path) == header
    assert len(set(header.decks)) == 3
    words = jrr.SeededRandom(5)
    expected = np.concatenate([cards for _ in range(3) if (cards := m.deal(words)) is not None])
    table, _ = open_reports(path, "cards")
    columns = [batch.column(0) for batch in table.batches(["card"])]
    assert np.array_equal(
        np.concatenate([cards_from_arrow(m, column) for column in columns]), expected
    )


def test_decks_dealt_twice_have_other_names(tmp_path: Path) -> None:
    m = jrr.DRR(10, 0.3)
    headers = [
        tables.deal(m, tmp_path / f"{at}.parquet", decks=2, rng=jrr.SeededRandom(1))
        for at in range(20)
    ]
    assert len({deck for header in headers for deck in header.decks}) == 40


def test_only_the_decks_that_were_used_are_counted(tmp_path: Path) -> None:
    """25 people take cards of three of five decks of ten; the rest of the cards is not dealt."""
    m = jrr.DRR(10, 0.3)
    dealt = tables.deal(m, tmp_path / "cards.arrow", decks=5, rng=jrr.SeededRandom(1))
    data = write_data(tmp_path / "data.csv", {"a": ["yes", "no", "no", "no", "yes"] * 5})
    header = tables.perturb(data, "a", tmp_path / "r.csv", cards=tmp_path / "cards.arrow")
    assert header.decks == dealt.decks[:3]
    assert tables.tally(tmp_path / "r.csv")[1].decks == tuple(sorted(dealt.decks[:3]))


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_kept_columns_are_copied_in_order(suffix: str, tmp_path: Path) -> None:
    """Columns lie before and behind the answers, and are asked for in another order."""
    regions = ["no, rth", 'so"uth', "", "öst", "two\nlines"] * 20
    data = write_data(
        tmp_path / f"data{suffix}",
        {
            "weight": np.arange(100) / 4,
            "unused": ["x"] * 100,
            "region": regions,
            "answer": ["yes", "no"] * 50,
            "age": np.arange(100),
        },
    )
    for target in SUFFIXES:
        out = tmp_path / f"reports{target}"
        tables.perturb(
            data, "answer", out, epsilon=600.0, keep=["age", "region", "weight"], force=True
        )
        table = Table(out)
        assert table.columns == ["report", CARDED, "age", "region", "weight"]
        columns: dict[str, list[str]] = {name: [] for name in table.columns}
        for batch in table.batches(table.columns):
            for name in columns:
                columns[name] += batch.column(name).cast(pa.string()).to_pylist()
        assert [float(text) for text in columns["weight"]] == list(np.arange(100) / 4)
        assert columns["age"] == [str(age) for age in range(100)]
        assert columns["region"] == regions
        assert columns["report"] == ["1", "0"] * 50  # at this ε everybody tells the truth


def test_labels_in_the_order_that_was_asked_for(tmp_path: Path) -> None:
    data = write_data(tmp_path / "d.csv", {"a": ["b", "a", "c", "b"]})
    header = tables.perturb(data, "a", tmp_path / "r.arrow", epsilon=600.0, labels=["c", "b", "a"])
    assert header.labels == ("c", "b", "a")
    assert rows_in(tmp_path / "r.arrow")[0].tolist() == [1, 2, 0, 1]


def test_found_labels_are_sorted_as_numbers_where_they_are(tmp_path: Path) -> None:
    for texts, expected in (
        (["10", "9", "-1", "9"], ("-1", "9", "10")),
        (["10", "9", "x", "9"], ("10", "9", "x")),
        (["--5", "1", "-2", "1"], ("--5", "-2", "1")),
    ):
        data = write_data(tmp_path / "d.parquet", {"a": texts})
        header = tables.perturb(data, "a", tmp_path / "r.arrow", epsilon=1.0, force=True)
        assert header.labels == expected


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_other_declined_and_skipped_cells(suffix: str, tmp_path: Path) -> None:
    cells = ["yes", "", "no", "perhaps", "  ", "yes", "no"]
    data = write_data(tmp_path / f"d{suffix}", {"a": cells, "w": list("1234567")})

    def told(labels: tables.Labels) -> list[str]:
        header = tables.perturb(
            data, "a", tmp_path / "r.arrow", epsilon=600.0, labels=labels, keep=["w"], force=True
        )
        assert (header.other, header.declined) == (labels.other, labels.declined)
        return [header.names[value] for value in rows_in(tmp_path / "r.arrow")[0]]

    declining = told(tables.Labels(("yes", "no"), other="else", declined="prefer not to say"))
    silent = "prefer not to say"
    assert declining == ["yes", silent, "no", "else", silent, "yes", "no"]
    skipping = told(tables.Labels(("yes", "no", "else"), other="else", skip_missing=True))
    assert skipping == ["yes", "no", "else", "yes", "no"]
    kept = pa.ipc.open_file(str(tmp_path / "r.arrow")).read_all()["w"].to_pylist()
    assert [str(w) for w in kept] == ["1", "3", "4", "6", "7"]


@pytest.mark.parametrize(
    ("array", "labels"),
    [
        (pa.array([3, 1, 1, -2]), ("-2", "1", "3")),
        (pa.array([3, 1, 1, 2], pa.uint8()), ("1", "2", "3")),
        (pa.array([True, False, True]), ("false", "true")),
        (pa.array([1.0, 2.0, 1.0]), ("1", "2")),
        (pa.array([1.5, 2.0, 1.5]), ("1.5", "2")),
        (pa.array(np.array([1, 2], np.float16)), None),
        (pa.array([1.0, 2.0, float("inf")]), None),
        (pa.array([1.0, 2.0, 1e300]), None),
        (pa.array(["a", "b", "a"]).dictionary_encode(), ("a", "b")),
        (pa.array([7, 8, 7]).dictionary_encode(), ("7", "8")),
        (pa.array(["a", "b"], pa.large_string()), ("a", "b")),
        (pa.array([b"a", b"b"]), ("a", "b")),
        (pa.array([1, 2], pa.date32()), ("1970-01-02", "1970-01-03")),
        (pa.nulls(3), None),
        (pa.array([[1], [2]]), None),
        (pa.array([{"x": 1}, {"x": 2}]), None),
        (pa.array([b"a", b"\xff"]), None),
    ],
    ids=lambda case: str(case.type) if isinstance(case, pa.Array) else "",
)
def test_columns_of_any_type_are_labels_or_refused(
    array: Any, labels: tuple[str, ...] | None, tmp_path: Path
) -> None:
    data = write_data(tmp_path / "d.parquet", {"a": array})
    out = tmp_path / "r.parquet"
    if labels is None:
        try:
            tables.perturb(data, "a", out, epsilon=600.0)
        except jrr.JrrError:
            assert [path.name for path in tmp_path.iterdir()] == ["d.parquet"]
            return
    header = tables.perturb(data, "a", out, epsilon=600.0, force=True)
    assert labels is None or header.labels == labels
    assert len(header.labels) == len(set(array.to_pylist()))


def test_not_a_number_is_a_missing_value(tmp_path: Path) -> None:
    """Other tools write gaps in a column of numbers as NaN."""
    data = write_data(tmp_path / "d.parquet", {"a": [1.0, 2.0, float("nan"), None]})
    with pytest.raises(jrr.JrrError, match="no missing values, got 2 in 4 rows"):
        tables.perturb(data, "a", tmp_path / "r.parquet", epsilon=1.0, labels=["1", "2"])
    labels = tables.Labels(("1", "2"), skip_missing=True)
    tables.perturb(data, "a", tmp_path / "r.parquet", epsilon=1.0, labels=labels)
    assert tables.tally(tmp_path / "r.parquet")[1].n == 2


def test_a_number_is_one_label_in_every_batch(
    tmp_path: Path, small_batches: Callable[[int], None]
) -> None:
    """Some batches hold whole numbers only: their texts must not depend on it."""
    numbers = [1.0, 1e15, 123456789.0] * 3 + [0.5, 1e15, 1.0]
    data = write_data(tmp_path / "d.parquet", {"a": numbers, "b": ["x", "y"] * 6})
    small_batches(3)
    header = tables.perturb(data, "a", tmp_path / "r.parquet", epsilon=1.0)
    assert len(header.labels) == 4
    tables.perturb(data, "b", tmp_path / "s.parquet", epsilon=1.0, keep=["a"])
    found = tables.estimate(tmp_path / "s.parquet", by="a", min_cell=1)
    assert sorted(group.estimate.n for group in found.groups) == [1, 3, 4, 4]


# Batches --------------------------------------------------------------------------------------


@pytest.fixture
def small_batches(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Make every step work on so many rows at a time; CSV files on a few hundred bytes."""

    def patch(rows: int) -> None:
        whole, options = Table.batches, pa.csv.ReadOptions

        def batches(self: Table, columns: Sequence[str], _rows: int = 0) -> Iterator[Any]:
            yield from whole(self, columns, rows)

        monkeypatch.setattr(Table, "batches", batches)
        monkeypatch.setattr(
            pa.csv, "ReadOptions", lambda **more: options(**(more | {"block_size": 256}))
        )
        for module in ("card_file", "shuffling", "formats"):
            monkeypatch.setattr(import_module(f"jrr.tables.{module}"), "BATCH", rows)

    return patch


@pytest.mark.slow_variants("*-.csv.gz]", "*-.arrow]")
@pytest.mark.heavy
@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("name", ["RR k=300", "JRR odd", "k-JRR", "DRR k=2", "DRR k=5"])
def test_small_batches_make_the_same_reports(
    name: str, suffix: str, tmp_path: Path, small_batches: Callable[[int], None]
) -> None:
    """One word per report, so that batches do not show: neither in making nor in counting."""
    m = mechanism_named(name)
    values = np.random.default_rng(SEED).integers(0, m.k, 3 * DECK + 50)
    reports, carded = in_memory(m, values, 3, (CARDS_SEED + SEED, SEED))
    small_batches(7)
    out, header = survey_file(m, tmp_path, suffix, values, 3, SEED)
    table, _ = open_reports(out, "reports")
    assert len(list(table.batches(["report"]))) > 3
    read, flags = rows_in(out)
    assert np.array_equal(read, reports)
    assert np.array_equal(flags, carded)
    expected = named(m.tally(reports, carded), header.decks)
    assert tables.tally(out)[1] == expected
    mixed = tmp_path / f"mixed{following(suffix)}"
    for bucket in (3, 50, 10_000):
        _, rows = tables.shuffle([out], mixed, rng=jrr.SeededRandom(1), bucket=bucket, force=True)
        assert rows == len(values)
        assert tables.tally(mixed)[1] == expected
        assert bag(*rows_in(mixed)) == bag(reports, carded)
        assert not [path.name for path in tmp_path.iterdir() if path.name.startswith(".")]


@pytest.mark.slow_variants(".csv.gz-", ".arrow-")
@pytest.mark.heavy
@pytest.mark.parametrize("kind", ["rr", "sue", "oue", "olh"])
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_small_batches_keep_every_row_in_its_place(
    kind: str, suffix: str, tmp_path: Path, small_batches: Callable[[int], None]
) -> None:
    """At a very large ε the report supports the truth, whatever words it was made from."""
    values = np.random.default_rng(SEED).integers(0, 11, 400)
    labels = names_of(11)
    data = write_data(tmp_path / f"d{following(suffix)}", {"a": [labels[v] for v in values]})
    small_batches(7)
    out = tmp_path / f"r{suffix}"
    header = tables.perturb(data, "a", out, epsilon=36.0, mechanism=kind, labels=labels)
    reports, _ = rows_in(out)
    m = header.mechanism
    for value, report in zip(values, reports[:100] if kind == "olh" else reports, strict=False):
        if kind == "oue":  # a held bit is reported half the time, no other ever
            continue
        one = m.tally(report[None]).cardless
        assert one[value] == 1
    if kind == "oue":
        supports = np.array([m.tally(report[None]).cardless for report in reports])
        assert not supports[np.arange(11)[None, :] != values[:, None]].any()
        assert 120 < supports.sum() < 280
    mixed = tmp_path / f"m{following(suffix)}"
    tables.shuffle([out], mixed, bucket=20)
    assert tables.tally(mixed)[1] == tables.tally(out)[1]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_small_batches_estimate_the_same(
    suffix: str, tmp_path: Path, small_batches: Callable[[int], None]
) -> None:
    out, _ = grouped(tmp_path, suffix)
    whole = tables.estimate(out, by="region", weight="weight", min_cell=20)
    small_batches(7)
    parts = tables.estimate(out, by="region", weight="weight", min_cell=20)
    assert parts.estimate.counts == pytest.approx(whole.estimate.counts)
    assert [group.name for group in parts.groups] == [group.name for group in whole.groups]
    for one, two in zip(parts.groups, whole.groups, strict=True):
        assert one.estimate.counts == pytest.approx(two.estimate.counts)
        assert one.estimate.stderr == pytest.approx(two.estimate.stderr)
    unweighted = tables.estimate(out, by="region", min_cell=20)
    assert unweighted.estimate.n == 300


def test_row_groups_smaller_than_a_batch(tmp_path: Path) -> None:
    m = jrr.RR(3, epsilon=1.0)
    reports = np.random.default_rng(1).integers(0, 3, 5000).astype(np.uint8)
    schema = pa.schema([("report", pa.uint8()), (CARDED, pa.bool_())])
    schema = schema.with_metadata({formats.META: Header("reports", m).to_json().encode()})
    table = pa.table([reports, np.zeros(5000, bool)], schema=schema)
    pq.write_table(table, tmp_path / "r.parquet", row_group_size=11)
    with pa.ipc.new_file(str(tmp_path / "r.arrow"), schema) as writer:
        writer.write_table(table, max_chunksize=11)
    for suffix in ("parquet", "arrow"):
        assert tables.tally(tmp_path / f"r.{suffix}")[1] == m.tally(reports)


@pytest.mark.heavy
def test_values_of_several_lines_in_a_csv_file_larger_than_a_block(tmp_path: Path) -> None:
    """Wherever a block ends, a quoted line break does not end a row."""
    for shift in range(3):
        data = tmp_path / "d.csv"
        lines = '"on\ne"\n"tw\no"\n' * 1_300_000
        data.write_text(f'a\n"{"z" * shift}\nx"\n{lines}')
        header = tables.perturb(data, "a", tmp_path / "r.arrow", epsilon=600.0, force=True)
        assert header.labels == tuple(sorted(("on\ne", "tw\no", f"{'z' * shift}\nx")))
        assert sum(tables.tally(tmp_path / "r.arrow")[1].cardless) == 2_600_001


def test_an_identifier_is_refused_as_a_group_before_it_fills_the_memory(tmp_path: Path) -> None:
    m = jrr.RR(2, epsilon=1.0)
    n = 20_000
    reports = np.zeros(n, np.uint8)
    ids = {"id": [f"person {at}" for at in range(n)]}
    out = write_reports(tmp_path / "r.parquet", Header("reports", m), reports, reports > 1, ids)
    tracemalloc.start()
    try:
        with pytest.raises(jrr.JrrError, match="by must be a column with at most 10000 groups"):
            tables.estimate(out, by="id")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 100 << 20


# The shuffler ---------------------------------------------------------------------------------


@pytest.mark.statistical
@pytest.mark.parametrize("bucket", [1 << 23, 1 << 15])
def test_shuffling_is_uniform_over_all_orders_of_four_rows(bucket: int, tmp_path: Path) -> None:
    """The relative orders of 50,000 disjoint fours of one uniform permutation are independent."""
    fours = 50_000
    n = 4 * fours
    m = jrr.RR(1 << 18, p=0.5)
    reports = np.arange(n, dtype=np.uint32)
    rows = write_reports(tmp_path / "r.arrow", Header("reports", m), reports, np.zeros(n, bool))
    out = tmp_path / "s.arrow"
    tables.shuffle([rows], out, rng=jrr.SeededRandom(SEED), bucket=bucket)
    mixed, _ = rows_in(out)
    place = np.empty(n, np.int64)
    place[mixed.astype(np.int64)] = np.arange(n)
    law = [1 / 24] * 24
    # Rows that lie side by side, or as far apart as can be.
    for four in (place.reshape(fours, 4), place.reshape(4, fours).T):
        digits = np.argsort(four, axis=1) @ np.array([64, 16, 4, 1])
        counts = np.unique(digits, return_counts=True)[1]
        assert len(counts) == 24
        accepts_only(partial(chi_square, counts), law, skewed(law))


@pytest.mark.slow_variants("100]")
@pytest.mark.statistical
@pytest.mark.parametrize("bucket", [1, 100])
def test_shuffling_four_rows_reaches_every_order(bucket: int, tmp_path: Path) -> None:
    """Small files have buckets too, most of them empty."""
    m = jrr.RR(4, epsilon=1.0)
    reports = np.arange(4, dtype=np.uint8)
    rows = write_reports(tmp_path / "r.parquet", Header("reports", m), reports, np.zeros(4, bool))
    rng = jrr.SeededRandom(SEED)
    seen: Counter[tuple[int, ...]] = Counter()
    for _ in range(250):
        tables.shuffle([rows], tmp_path / "s.arrow", rng=rng, bucket=bucket, force=True)
        seen[tuple(rows_in(tmp_path / "s.arrow")[0].tolist())] += 1
    orders = list(itertools.permutations(range(4)))
    assert chi_square([seen[order] for order in orders], [1 / 24] * 24) > P_VALUE
    assert len(seen) == 24
    never_moved: Counter[tuple[int, ...]] = Counter({(0, 1, 2, 3): 250})  # the negative control
    assert chi_square([never_moved[order] for order in orders], [1 / 24] * 24) < P_VALUE


def test_shuffling_without_a_seed_is_another_order_each_time(tmp_path: Path) -> None:
    m = jrr.RR(256, epsilon=1.0)
    reports = np.arange(256, dtype=np.uint8)
    rows = write_reports(tmp_path / "r.arrow", Header("reports", m), reports, np.zeros(256, bool))
    orders = []
    for _ in range(3):
        tables.shuffle([rows], tmp_path / "s.arrow", force=True)
        orders.append(tuple(rows_in(tmp_path / "s.arrow")[0].tolist()))
    assert len({*orders, tuple(range(256))}) == 4


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_shuffling_drops_identifiers_and_kept_columns(suffix: str, tmp_path: Path) -> None:
    people = [f"person-{at}" for at in range(50)]
    data = write_data(tmp_path / "d.csv", {"name": people, "a": ["yes", "no"] * 25})
    tables.perturb(data, "a", tmp_path / f"r{suffix}", epsilon=1.0, keep=["name"])
    out = tmp_path / "s.arrow"  # not compressed: a name would be seen
    tables.shuffle([tmp_path / f"r{suffix}"], out)
    assert Table(out).columns == ["report", CARDED]
    assert b"person-" not in out.read_bytes()
    assert b"name" not in out.read_bytes()
    tables.shuffle([tmp_path / f"r{suffix}"], tmp_path / "s.csv")
    assert (tmp_path / "s.csv").read_text().startswith(f'"report","{CARDED}"')


# Sealed reports -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return seal.make_keys(tmp_path_factory.mktemp("keys") / "collector")


SEALING = ["RR k=300", "JRR odd", "DRR k=5", "SUE dealt", "OUE", "OLH", "OLH joint"]


@pytest.mark.parametrize("name", SEALING)
@pytest.mark.parametrize("suffix", [".parquet", ".arrow"])
def test_sealed_reports_are_opened_by_the_collector_only(
    name: str, suffix: str, tmp_path: Path, keys: tuple[Path, Path]
) -> None:
    m = mechanism_named(name)
    values = np.random.default_rng(SEED).integers(0, m.k, DECK + 5)
    labels = names_of(m.k)
    data = write_data(tmp_path / "d.csv", {"a": [labels[value] for value in values]})
    out, dealing = tmp_path / f"r{suffix}", m.moments.deck is not None
    how: dict[str, Any] = {"epsilon": 1.0, "mechanism": m.to_dict()["mechanism"].lower()}
    if dealing:
        tables.deal(m, tmp_path / "c.arrow", rng=jrr.SeededRandom(CARDS_SEED))
        how = {"cards": tmp_path / "c.arrow", "cardless": True}
    private, public = keys
    header = tables.perturb(
        data, "a", out, labels=labels, seal=public, rng=jrr.SeededRandom(SEED), **how
    )
    assert header.holds == "sealed reports"
    reports, carded = in_memory(m, values, 1, (CARDS_SEED, SEED))
    expected = named(m.tally(reports, carded), header.decks)
    assert tables.tally(out, key=private) == (header, expected)

    mixed = tmp_path / "s.arrow"
    tables.shuffle([out], mixed, rng=jrr.SeededRandom(1), bucket=10)
    assert tables.tally(mixed, key=private)[1] == expected
    assert Table(mixed).columns == [SEALED]
    before, after = (
        [text for batch in Table(path).batches([SEALED]) for text in batch.column(0).to_pylist()]
        for path in (out, mixed)
    )
    assert sorted(before) == sorted(after)
    assert before != after
    assert len(set(before)) == len(before) == DECK + 5
    assert len({len(text) for text in before}) == 1
    for path in (out, mixed):
        with pytest.raises(jrr.JrrError, match="key must be the collector's private key"):
            tables.tally(path)


def sealed_file(folder: Path, public: Path, rows: int = 30) -> Path:
    data = write_data(folder / "d.csv", {"a": ["yes", "no", "no"] * (rows // 3)})
    out = folder / "r.arrow"
    tables.perturb(data, "a", out, epsilon=1.0, labels=["yes", "no"], seal=public)
    return out


def test_equal_answers_are_sealed_to_different_texts(
    tmp_path: Path, keys: tuple[Path, Path]
) -> None:
    """No byte of the sealed texts tells equal reports from unequal ones."""
    data = write_data(tmp_path / "d.csv", {"a": ["yes", "no"] + ["no"] * 62})
    out = tmp_path / "r.arrow"
    tables.perturb(data, "a", out, epsilon=600.0, labels=["yes", "no"], seal=keys[1])
    texts = np.array(
        [
            list(text)
            for batch in Table(out).batches([SEALED])
            for text in batch.column(0).to_pylist()
        ]
    )
    constant = (texts == texts[0]).all(axis=0)
    assert not constant.any()


def test_another_key_opens_nothing(tmp_path: Path, keys: tuple[Path, Path]) -> None:
    out = sealed_file(tmp_path, keys[1])
    other, _ = seal.make_keys(tmp_path / "other")
    with pytest.raises(jrr.JrrError, match="sealed to this key and for this survey"):
        tables.tally(out, key=other)


@pytest.mark.parametrize(
    "change",
    [
        {"mechanism": jrr.RR(2, epsilon=2.0).to_dict()},
        {"labels": ["no", "yes"]},
        {"question": "b"},
        {"colluders": 3},
        {"declined": "no"},
        {"other": "no"},
    ],
    ids=lambda change: next(iter(change)),
)
def test_a_header_that_was_changed_opens_nothing(
    change: dict[str, Any], tmp_path: Path, keys: tuple[Path, Path]
) -> None:
    out = sealed_file(tmp_path, keys[1])
    rewrite(out, out, **change)
    with pytest.raises(jrr.JrrError, match="sealed to this key and for this survey"):
        tables.tally(out, key=keys[0])


def test_shuffling_and_merging_do_not_break_the_seal(
    tmp_path: Path, keys: tuple[Path, Path]
) -> None:
    out = sealed_file(tmp_path, keys[1])
    rewrite(out, tmp_path / "s.arrow", shuffled=True, decks=["a", "b"])
    assert tables.tally(tmp_path / "s.arrow", key=keys[0])[1] == tables.tally(out, key=keys[0])[1]


def rewrite(path: Path, out: Path, column: Any = None, **changes: Any) -> None:
    """The file with another header, or other sealed texts."""
    with pa.ipc.open_file(str(path)) as reader:
        table = reader.read_all()
    document = json.loads(table.schema.metadata[formats.META]) | changes
    array = table.column(0).combine_chunks() if column is None else column
    schema = pa.schema([pa.field(SEALED, array.type)])
    schema = schema.with_metadata({formats.META: json.dumps(document).encode()})
    with pa.ipc.new_file(str(out), schema) as writer:
        writer.write_table(pa.table([array], schema=schema))


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text[:-1],
        lambda text: text[:40],
        lambda text: b"",
        lambda text: text + b"\0",
        lambda text: bytes([text[0] ^ 1]) + text[1:],
        lambda text: text[:-1] + bytes([text[-1] ^ 1]),
        lambda text: text[:34] + bytes([text[34] ^ 128]) + text[35:],
        lambda text: bytes(len(text)),
        lambda text: None,
    ],
    ids=["short", "key only", "empty", "long", "key", "tag", "body", "zeros", "null"],
)
def test_damaged_sealed_reports_are_refused(
    damage: Callable[[bytes], bytes | None], tmp_path: Path, keys: tuple[Path, Path]
) -> None:
    out = sealed_file(tmp_path, keys[1])
    texts = Table(out)._file.read_all().column(0).to_pylist()
    texts[17] = damage(texts[17])
    rewrite(out, tmp_path / "bad.arrow", pa.array(texts, pa.binary()))
    with pytest.raises(jrr.JrrError, match="got another at row 17"):
        tables.tally(tmp_path / "bad.arrow", key=keys[0])
    refused_or_done(lambda: tables.shuffle([tmp_path / "bad.arrow"], tmp_path / "s.arrow"))


@pytest.mark.parametrize("length", [0, 4, 6, 10])
def test_a_sealed_report_of_another_length_is_refused(
    length: int, tmp_path: Path, keys: tuple[Path, Path]
) -> None:
    """Whoever has the public key may seal anything."""
    out = sealed_file(tmp_path, keys[1])
    header = tables.read_header(out)
    text = seal._suite().encrypt(bytes(length), seal._public(keys[1]), header.binding())
    texts = Table(out)._file.read_all().column(0).to_pylist()
    rewrite(out, tmp_path / "bad.arrow", pa.array([*texts, text], pa.binary()))
    with pytest.raises(jrr.JrrError):
        tables.tally(tmp_path / "bad.arrow", key=keys[0])


def refused_or_done(step: Callable[[], object]) -> None:
    """A refusal, or nothing; any other error fails the test."""
    try:
        step()
    except jrr.JrrError:
        return


def test_the_private_key_is_readable_by_its_owner_only(tmp_path: Path) -> None:
    private, public = seal.make_keys(tmp_path / "k")
    assert private.stat().st_mode & 0o777 == 0o600
    assert public.stat().st_mode & 0o044
    before = private.read_bytes(), public.read_bytes()
    with pytest.raises(jrr.JrrError, match="does not exist yet"):
        seal.make_keys(tmp_path / "k")
    assert (private.read_bytes(), public.read_bytes()) == before
    seal.make_keys(tmp_path / "k", force=True)
    assert private.read_bytes() != before[0]
    assert private.stat().st_mode & 0o777 == 0o600


# Groups ---------------------------------------------------------------------------------------

SIZES = {"north": 140, "south": 120, "": 12, "east": 9, "west": 8, None: 11}


def grouped(folder: Path, suffix: str, cards: bool = True) -> tuple[Path, dict[str, Any]]:
    """300 people of three decks of 90, the last 30 without a card; groups are mixed."""
    m: Mechanism = jrr.DRR(90, 0.4, 0.1, k=3) if cards else jrr.RR(3, epsilon=1.0)
    rng = np.random.default_rng(SEED)
    regions = np.array([name for name, size in SIZES.items() for _ in range(size)], object)
    rng.shuffle(regions)
    values = rng.integers(0, 3, 300)
    reports, carded = in_memory(m, values, 3, (CARDS_SEED, SEED))
    weights = rng.gamma(2.0, size=300)
    header = Header(
        "reports",
        m,
        decks=("a", "b", "c") if cards else (),
        colluders=2,
        question="answer",
        labels=("x", "y", "z"),
    )
    extra = {"region": regions.tolist(), "weight": weights}
    out = write_reports(folder / f"grouped{suffix}", header, reports, carded, extra)
    names = np.array([name or MISSING for name in regions])
    return out, {
        "m": m,
        "reports": reports,
        "carded": carded,
        "regions": names,
        "weights": weights,
        "decks": 3 if cards else 1,
    }


@pytest.mark.slow_variants(
    "*-.csv.gz]", "False-*-.arrow]", "True-*-.csv]", "True-True-.arrow", "False-True-.csv"
)
@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("cards", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
def test_each_group_is_estimated_from_its_own_rows(
    weighted: bool, cards: bool, suffix: str, tmp_path: Path
) -> None:
    out, known = grouped(tmp_path, suffix, cards)
    m, decks = known["m"], known["decks"]

    def directly(part: NDArray[np.bool_]) -> jrr.Estimate:
        more: dict[str, Any] = {"weights": known["weights"][part]} if weighted else {}
        tally = m.tally(known["reports"][part], known["carded"][part], **more)
        estimate = m.estimate(tally, decks)
        assert isinstance(estimate, jrr.Estimate)
        return estimate

    found = tables.estimate(out, by="region", weight="weight" if weighted else None, min_cell=20)
    expected = {
        MISSING: directly(known["regions"] == MISSING),
        "north": directly(known["regions"] == "north"),
        "south": directly(known["regions"] == "south"),
    }
    assert [group.name for group in found.groups] == list(expected)  # 17 are too few to show
    assert found.groups.hidden == 2
    for group in found.groups:
        same(group.estimate, expected[group.name])
    same(found.estimate, directly(np.ones(300, bool)))

    every = tables.estimate(out, by="region", weight="weight" if weighted else None, min_cell=1)
    assert [group.name for group in every.groups] == [MISSING, "east", "north", "south", "west"]
    assert every.groups.hidden == 0
    counts = np.sum([group.estimate.counts for group in every.groups], axis=0)
    assert counts == pytest.approx(every.estimate.counts)
    assert sum(group.estimate.n for group in every.groups) == every.estimate.n == 300

    pairs = list(itertools.combinations(found.groups, 2))
    differences = found.groups.differences()
    assert [(a, b) for a, b, _ in differences] == [(a.name, b.name) for a, b in pairs]
    for (first, second), (_, _, difference) in zip(pairs, differences, strict=True):
        direct = jrr.difference(expected[first.name], expected[second.name], same_deck=cards)
        assert difference.frequencies == pytest.approx(direct.frequencies)
        assert difference.stderr == pytest.approx(direct.stderr)
        assert np.ravel(difference.interval()) == pytest.approx(np.ravel(direct.interval()))
        apart = jrr.difference(expected[first.name], expected[second.name], same_deck=False)
        tied = not np.allclose(direct.stderr, apart.stderr, rtol=1e-6)
        assert tied is cards


def same(first: jrr.Estimate, second: jrr.Estimate) -> None:
    assert first.n == second.n
    assert first.weight == pytest.approx(second.weight)
    assert first.counts == pytest.approx(second.counts)
    assert first.stderr == pytest.approx(second.stderr)
    assert np.ravel(first.interval()) == pytest.approx(np.ravel(second.interval()))


def test_groups_count_the_decks_of_the_whole(tmp_path: Path) -> None:
    """A group that would fit into one deck drew from three, or from as many as are named."""
    out, known = grouped(tmp_path, ".parquet")
    part = known["regions"] == "north"
    tally = known["m"].tally(known["reports"][part], known["carded"][part])
    for decks in (None, 3, 7):
        found = tables.estimate(out, by="region", decks=decks)
        same(found.groups[1].estimate, known["m"].estimate(tally, decks or 3))
    short = known["m"].estimate(tally, 2).stderr
    assert (short < tables.estimate(out, by="region").groups[1].estimate.stderr).all()


def test_the_smallest_cell_is_kept_to_the_row(tmp_path: Path) -> None:
    out, _ = grouped(tmp_path, ".csv")
    for min_cell, names in (
        (8, [MISSING, "east", "north", "south", "west"]),
        (9, [MISSING, "east", "north", "south"]),
        (23, [MISSING, "north", "south"]),
        (24, ["north", "south"]),
        (41, ["north", "south"]),
        (301, []),
    ):
        found = tables.estimate(out, by="region", min_cell=min_cell)
        assert [group.name for group in found.groups] == names
        assert found.groups.hidden == 5 - len(names)
        assert found.estimate.n == 300


def test_groups_of_several_files_are_one_group(tmp_path: Path) -> None:
    out, known = grouped(tmp_path, ".arrow")
    header = tables.read_header(out)
    halves = []
    for at, suffix in ((0, ".csv"), (1, ".parquet")):
        part = np.arange(300) % 2 == at
        halves.append(
            write_reports(
                tmp_path / f"half{suffix}",
                header,
                known["reports"][part],
                known["carded"][part],
                {"region": known["regions"][part].tolist()},
            )
        )
    whole, parts = (tables.estimate(*paths, by="region") for paths in ([out], halves))
    assert [group.name for group in whole.groups] == [group.name for group in parts.groups]
    for one, two in zip(whole.groups, parts.groups, strict=True):
        same(one.estimate, two.estimate)


@pytest.mark.parametrize(
    ("column", "groups"),
    [
        (pa.array([1, 2, None] * 30), ["(missing)", "1", "2"]),
        (pa.array([1.0, 2.0, None] * 30), ["(missing)", "1", "2"]),
        (pa.array([True, False, None] * 30), ["(missing)", "false", "true"]),
        (pa.array(["a", "", None] * 30), ["(missing)", "a"]),
        (pa.array(["a", "b", None] * 30).dictionary_encode(), ["(missing)", "a", "b"]),
        (pa.nulls(90), ["(missing)"]),
        (pa.array([[1], [2], None] * 30), None),
    ],
    ids=lambda case: str(case.type) if isinstance(case, pa.Array) else "",
)
def test_groups_by_columns_of_any_type(
    column: Any, groups: list[str] | None, tmp_path: Path
) -> None:
    m = jrr.RR(2, epsilon=1.0)
    reports = np.arange(90, dtype=np.uint8) % 2
    out = write_reports(
        tmp_path / "r.arrow", Header("reports", m), reports, reports > 1, {"g": column}
    )
    if groups is None:
        refused_or_done(lambda: tables.estimate(out, by="g"))
        return
    assert [group.name for group in tables.estimate(out, by="g").groups] == groups


@pytest.mark.slow  # the differences themselves: tests/estimation/test_estimates.py
@pytest.mark.statistical
@pytest.mark.parametrize(
    "build", [lambda: jrr.DRR(300, 0.3, 0.05), lambda: jrr.JRR(300, 0.6, s=0.4)]
)
def test_differences_of_groups_hold_their_level(
    build: Callable[[], jrr.DRR | jrr.JRR], tmp_path: Path
) -> None:
    """One deck, two groups of 120 and 180 at 10% and 30%, through files."""
    m, surveys = build(), 300
    rng = np.random.default_rng(SEED)
    groups = np.where(np.arange(300) < 120, "a", "b")
    values = np.zeros(300, np.int64)
    values[:12] = values[-54:] = 1
    truth = 0.1 - 0.3
    understated = 2 * NormalDist().cdf((1 - OFF) * NormalDist().inv_cdf(0.975)) - 1
    covered = {0.95: 0, understated: 0}
    header = Header("reports", m, decks=("a",))
    everybody = np.ones(300, bool)
    for at in range(surveys):
        reports = m.respond(values, m.deal(rng), rng)
        path = tmp_path / f"{at}.arrow"
        write_reports(path, header, reports, everybody, {"g": groups.tolist()})
        [(_, _, difference)] = tables.estimate(path, by="g").groups.differences()
        path.unlink()
        for level in covered:
            low, high = difference.interval(level)
            covered[level] += bool(low[1] <= truth <= high[1])
    accepts_only(
        lambda level: float(stats.binom.cdf(covered[level], surveys, 0.95)), 0.95, understated
    )


# Weights from files ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "column",
    [
        pa.array([1, 2, 3] * 10),
        pa.array([1.0, 2.0, 3.0] * 10, pa.float32()),
        pa.array(["1", "2.0", "3e0"] * 10),
        pa.array([1, 2, 3] * 10).dictionary_encode(),
    ],
    ids=lambda column: str(column.type),
)
@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
def test_weights_are_numbers_however_they_are_stored(
    column: Any, suffix: str, tmp_path: Path
) -> None:
    m = jrr.RR(2, epsilon=1.0)
    reports = (np.arange(30) % 5 == 0).astype(np.uint8)
    data = {"w": column}
    out = write_reports(tmp_path / f"r{suffix}", Header("reports", m), reports, reports > 1, data)
    expected = m.estimate(m.tally(reports, weights=[1, 2, 3] * 10))
    same(tables.estimate(out, weight="w").estimate, expected)


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        ([1.0, -1.0, 2.0], "weights must be 0 or in 1e-50..1e50"),
        ([1.0, float("nan"), 2.0], "weights must be 0 or in 1e-50..1e50"),
        ([1.0, None, 2.0], "column w must have no gaps, got 1 missing values"),
        (["1", "x", "2"], "column w must hold numbers"),
        ([0.0, 0.0, 0.0], "weights must not all be 0"),
    ],
)
def test_weights_that_are_refused(weights: list[Any], words: str, tmp_path: Path) -> None:
    m = jrr.RR(2, epsilon=1.0)
    reports = np.array([0, 1, 1], np.uint8)
    data = {"w": weights}
    out = write_reports(tmp_path / "r.arrow", Header("reports", m), reports, reports > 1, data)
    with pytest.raises(jrr.JrrError, match=words):
        tables.estimate(out, weight="w")


def test_a_group_that_weighs_nothing_does_not_hide_the_others(tmp_path: Path) -> None:
    """People outside the population have weight 0: their group has no share, the rest has."""
    m = jrr.RR(2, epsilon=1.0)
    reports = np.arange(90, dtype=np.uint8) % 2
    groups = ["a", "b", "c"] * 30
    weights = [1.0, 2.0, 0.0] * 30
    data = {"g": groups, "w": weights}
    out = write_reports(tmp_path / "r.arrow", Header("reports", m), reports, reports > 1, data)
    found = tables.estimate(out, by="g", weight="w")
    assert [group.name for group in found.groups] == ["a", "b"]
    assert found.groups.hidden == 1
    assert found.estimate.weight == pytest.approx(90)


# Progress -------------------------------------------------------------------------------------


def test_progress_ends_at_the_total(tmp_path: Path, small_batches: Callable[[int], None]) -> None:
    data = write_data(tmp_path / "d.parquet", {"a": ["yes", "no"] * 50})
    small_batches(7)
    told: list[tuple[int, int | None]] = []

    def progress(done: int, total: int | None) -> None:
        told.append((done, total))

    def check(total: int | None) -> None:
        assert told[-1] == (100, total)
        assert [done for done, _ in told] == sorted(done for done, _ in told)
        assert len(told) > 10
        told.clear()

    tables.perturb(data, "a", tmp_path / "r.parquet", epsilon=1.0, progress=progress)
    check(100)
    tables.estimate(tmp_path / "r.parquet", progress=progress)
    check(100)
    tables.shuffle([tmp_path / "r.parquet"], tmp_path / "s.csv", progress=progress)
    check(100)
