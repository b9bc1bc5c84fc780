"""Data frames in, data frames out; what keeps the mechanism of reports, and what loses it."""

import itertools
import json
import math
import pickle
import re
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest

import jrr
from jrr import tables
from jrr.errors import ArgumentError, DamagedError

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")

PEOPLE = 240
DATA: dict[str, Any] = {
    "name": [f"person {number}" for number in range(PEOPLE)],
    "bribe": ["no", "no", "yes", "no"] * (PEOPLE // 4),
    "job": ["clerk", "judge", "other"] * (PEOPLE // 3),
    "age": [20, 30, 40] * (PEOPLE // 3),
    "region": ["south", "north"] * (PEOPLE // 2),
    "wave": [2, 1, 1] * (PEOPLE // 3),
}
ASKED = {"bribe": ["no", "yes"], "job": ["judge", "clerk", "other"]}
MAKE: dict[str, Callable[[Any], Any]] = {
    "pandas": lambda data: pd.DataFrame(data, index=range(1000, 1000 + PEOPLE)),
    "polars": pl.DataFrame,
    "Arrow": pa.table,
}
CLOSE = 300.0  # so large an ε that answers are as good as told


def rows_of(frame: Any) -> list[dict[str, Any]]:
    table = frame if isinstance(frame, pa.Table) else pa.table(frame)
    rows: list[dict[str, Any]] = table.to_pylist()
    return rows


@pytest.mark.parametrize("kind", MAKE)
@pytest.mark.parametrize("split", ["even", "block", {"bribe": 2, "job": 1}])
def test_frames_of_every_kind(kind: str, split: Any) -> None:
    people = MAKE[kind](DATA)
    reports = jrr.perturb_frame(people, ASKED, CLOSE, split=split)
    assert type(reports) is type(people)
    assert len(reports) == PEOPLE
    if kind == "pandas":
        assert list(reports.columns) == list(people.columns)
        assert list(reports.index) == list(people.index)
        assert list(reports["job"].cat.categories) == ASKED["job"]
        assert "jrr" not in people.attrs
        assert list(people["bribe"]) == DATA["bribe"]
    found = jrr.estimate_frame(reports, by=["region", "wave"])
    assert type(found) is type(people)
    rows = rows_of(found)
    assert [(row["region"], row["wave"]) for row in rows[::5]] == [
        *(("north", 1), ("north", 2), ("south", 1), ("south", 2))
    ]  # of the same type and in their order
    for row in rows:
        here = [
            (answer, region, wave) == (row["answer"], row["region"], row["wave"])
            for answer, region, wave in zip(
                DATA[row["question"]], DATA["region"], DATA["wave"], strict=True
            )
        ]
        assert row["share"] * row["reports"] == pytest.approx(sum(here), abs=1e-6)
        assert row["low"] <= row["share"] <= row["high"]
        assert row["level"] == 0.95
    headers = tables.headers_of(reports)
    assert {header.shared.questions for header in headers.values() if header.shared} == {
        ("bribe", "job")
    }


def test_numbers_histograms_and_rows_left_out() -> None:
    data = DATA | {"age": [20, None, 40] * (PEOPLE // 3)}
    asked = {
        "age": {"number": (0, 100), "skip_missing": True},
        "wave": jrr.Bins((0.5, 1.5, 2.5)),
    }
    for make in MAKE.values():
        reports = jrr.perturb_frame(make(data), asked, CLOSE)
        assert [row["age"] is None for row in rows_of(reports)] == [
            age is None for age in data["age"]
        ]
        mean, *bins = rows_of(jrr.estimate_frame(reports))
        assert mean["reports"] == PEOPLE * 2 // 3
        assert mean["answer"] is None
        assert abs(mean["mean"] - 30) < 6 * mean["stderr"] + 1e-9
        assert [row["share"] for row in bins] == pytest.approx([2 / 3, 1 / 3], abs=1e-6)
    with pytest.raises(ArgumentError, match="must have no missing values"):
        jrr.perturb_frame(pa.table(data), {"age": (0, 100)}, 1.0)


@pytest.mark.parametrize("mechanism", ["rr", "ss", "sue", "oue", "olh"])
def test_every_kind_of_report_goes_through_every_frame(mechanism: str, tmp_path: Path) -> None:
    for make in MAKE.values():
        how = {"job": {"labels": ASKED["job"], "mechanism": mechanism}}
        reports = jrr.perturb_frame(make(DATA), how, 8.0, rng=jrr.SeededRandom(3))
        path = tmp_path / "reports.parquet"
        _write(reports, path)
        here, there = (
            jrr.estimate_frame(reports, weight="wave"),
            jrr.estimate_frame(path, weight="wave"),
        )
        assert rows_of(here) == rows_of(there)
        assert rows_of(here)[0]["reports"] == PEOPLE


def _write(frame: Any, path: Path) -> None:
    if isinstance(frame, pa.Table):
        pq.write_table(frame, path)
    else:
        (frame.to_parquet if hasattr(frame, "to_parquet") else frame.write_parquet)(path)


@pytest.mark.parametrize("sizes", [(2, 2), (2, 3), (3, 4, 2)])
@pytest.mark.parametrize("epsilon", [0.3, 1.0, 4.0])
def test_a_block_is_what_its_columns_say(sizes: tuple[int, ...], epsilon: float) -> None:
    """Enumerated: one coin over all combinations; of each column the stated randomized response."""
    combinations = list(itertools.product(*map(range, sizes)))
    coin = jrr.RR(len(combinations), epsilon=epsilon)
    lie = (1 - coin.p) / (len(combinations) - 1)
    data = {str(j): [str(values[j]) for values in combinations * 30] for j in range(len(sizes))}
    asked = {name: sorted(set(column)) for name, column in data.items()}
    headers = tables.headers_of(jrr.perturb_frame(pa.table(data), asked, epsilon, split="block"))
    for j, header in enumerate(headers.values()):
        for truth, told in itertools.product(range(sizes[j]), repeat=2):
            first = next(values for values in combinations if values[j] == truth)
            chance = sum(
                coin.p if values == first else lie for values in combinations if values[j] == told
            )
            p = header.mechanism.to_dict()["p"]
            stated = p if told == truth else (1 - p) / (sizes[j] - 1)
            assert chance == pytest.approx(stated, rel=1e-12)
        assert header.shared == (epsilon, tuple(asked), True)
    assert math.log(coin.p / lie) <= epsilon * (1 + 1e-12)


@pytest.mark.parametrize("columns", range(1, 12))
def test_the_parts_of_epsilon_never_exceed_the_whole(columns: int) -> None:
    data = {str(number): ["no", "yes"] * 5 for number in range(columns)}
    for epsilon in (0.1, 0.3, 1.0, 2.0, 7.7):
        weights = {name: 1 / (3 + at) for at, name in enumerate(data)}
        for split in ("even", weights):
            asked = {key: ["no", "yes"] for key in data}
            reports = jrr.perturb_frame(pa.table(data), asked, epsilon, split=split)
            losses = [header.mechanism.epsilon() for header in tables.headers_of(reports).values()]
            spent = sum(map(Fraction, losses))
            assert Fraction(epsilon) * Fraction(999, 1000) < spent <= Fraction(epsilon)


def test_cards_in_a_frame(tmp_path: Path) -> None:
    """The reports are those of a file, word by word, and masks and cards are spent likewise."""
    mechanism = jrr.plan(PEOPLE, 1.0, announced=False).mechanism
    how: dict[str, Any] = {"labels": ASKED["bribe"]}
    found = []
    for place in ("file", "frame"):
        cards = tmp_path / f"{place}.parquet"
        tables.deal(mechanism, cards, rng=jrr.SeededRandom(5))
        rng = jrr.SeededRandom(6)
        if place == "file":
            out = tmp_path / "reports.parquet"
            tables.perturb(pa.table(DATA), "bribe", out, cards=cards, epsilon=1.0, rng=rng, **how)
            found.append(tables.estimate(out).estimate.counts.tolist())
            continue
        reports = jrr.perturb_frame(
            pd.DataFrame(DATA), {"bribe": how | {"cards": cards}}, 1.0, rng=rng
        )
        assert reports["bribe_carded"].all()
        found.append((jrr.estimate_frame(reports)["share"] * PEOPLE).tolist())
        with pytest.raises(ArgumentError, match="cards must be fresh"):
            jrr.perturb_frame(pa.table(DATA), {"bribe": how | {"cards": cards}}, 1.0)
        with pytest.raises(ArgumentError, match="bribe_carded"):
            jrr.estimate_frame(reports.drop(columns="bribe_carded"))
    assert found[0] == pytest.approx(found[1])


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({"columns": {"bribes": None}}, "columns must be a column of data frame"),
        ({"columns": {}}, "at least one column"),
        ({"columns": "bribe"}, "columns must be at least one column and how"),
        ({"columns": ["bribe"]}, "columns must be at least one column and how"),
        ({"columns": {"bribe": None}}, "since it declares no categories"),
        ({"columns": {"bribe": {"mechanism": "oue"}}}, "since it declares no categories"),
        ({"columns": {"bribe": [None, "yes"]}}, "texts that are not empty"),
        ({"frame": pl.DataFrame(DATA).lazy()}, "collect"),
        ({"frame": pd.concat([pd.DataFrame(DATA)] * 2, axis=1)}, "Duplicate column names"),
        ({"frame": pd.DataFrame(DATA).rename(columns={"age": 7})}, "texts as names, got frame=7"),
        ({"frame": pd.DataFrame(DATA).set_index("bribe")}, "a column, not the index"),
        ({"columns": {"bribe": {"label": ["no", "yes"]}}}, "got columns.*'label'"),
        ({"columns": {"bribe": ["no", "maybe"]}}, "must hold only the labels"),
        ({"epsilon": 0}, "epsilon must be"),
        ({"split": "odd"}, "split must be 'even', 'block' or a weight"),
        ({"split": {"bribe": 1}}, "a weight for each of"),
        ({"split": {"bribe": 1, "job": 0}}, "split"),
        ({"split": "block", "columns": {"bribe": ["no", "yes"], "age": (0, 100)}}, "in a block"),
        ({"keep": ["bribe"]}, "a column that is not perturbed"),
        ({"keep": ["town"]}, "keep must be a column"),
        ({"frame": [1, 2]}, "frame must be a data frame of pandas, polars or Arrow"),
        ({"frame": "people.csv"}, "frame must be a data frame of pandas, polars or Arrow"),
        ({"keep": "town"}, "keep must be a column .* got keep='town'"),
    ],
)
def test_what_is_refused(arguments: dict[str, Any], match: str) -> None:
    usual = {"frame": pa.table(DATA), "columns": ASKED, "epsilon": 1.0}
    with pytest.raises(ArgumentError, match=match):
        jrr.perturb_frame(**(usual | arguments))


def test_estimates_that_are_refused() -> None:
    reports = jrr.perturb_frame(pd.DataFrame(DATA), ASKED, 2.0, keep=["region"])
    assert list(reports.columns) == ["bribe", "job", "region"]
    with pytest.raises(ArgumentError, match="answers, not reports"):
        jrr.perturb_frame(reports, {"region": ["north", "south"]}, 1.0)
    with pytest.raises(ArgumentError, match="columns must be one of"):
        jrr.estimate_frame(reports, ["region"])
    for by in ("bribe", "town"):
        with pytest.raises(ArgumentError, match="by must be a column of the frame that holds no"):
            jrr.estimate_frame(reports, by=by)
    with pytest.raises(ArgumentError, match="by must be another name than those of the result"):
        jrr.estimate_frame(reports.assign(level=1), by="level")
    with pytest.raises(DamagedError, match="must hold only the labels"):
        jrr.estimate_frame(reports.assign(bribe="perhaps"))
    with pytest.warns(UserWarning, match="2 groups have fewer reports"):
        few = jrr.estimate_frame(reports.iloc[:25], ["bribe"], by=["region"], min_cell=30)
    assert len(few) == 0
    broken = reports.copy()
    broken.attrs["jrr"] = {"bribe": {"jrr": 1}}
    with pytest.raises(DamagedError, match="the header cannot be used"):
        jrr.estimate_frame(broken)
    headers = tables.headers_of(reports)
    lost = pd.DataFrame(reports.to_dict("list"))
    with pytest.raises(ArgumentError, match="headers must be column -> header, as"):
        jrr.estimate_frame(lost, headers={"bribe": jrr.RR(epsilon=1.0)})  # type: ignore[dict-item]
    again = jrr.estimate_frame(lost, headers=headers)
    assert again.equals(jrr.estimate_frame(reports))


@pytest.mark.parametrize(
    ("column", "labels"),
    [
        ([True, False], None),
        ([True, False], [False, True]),
        ([1.0, 0.0], [0, 1]),
        ([1, 0], [0.0, 1.0]),
        ([1, 0], ["0", "1"]),
    ],
)
def test_labels_are_written_as_cells_are(column: list[Any], labels: Any) -> None:
    for make in (pd.DataFrame, pl.DataFrame, pa.table):
        reports = jrr.perturb_frame(make({"q": column * 20}), {"q": labels}, CLOSE)
        shares = {row["answer"]: row["share"] for row in rows_of(jrr.estimate_frame(reports))}
        assert list(shares) in (["false", "true"], ["0", "1"])
        assert list(shares.values()) == pytest.approx([0.5, 0.5])


def test_rows_without_a_label_are_left_out() -> None:
    data = {"q": ["no", None, "yes", "no"] * 30}
    how = {"labels": ["no", "yes"], "skip_missing": True}
    for make in (pd.DataFrame, pl.DataFrame, pa.table):
        reports = jrr.perturb_frame(make(data), {"q": how}, CLOSE)
        no, _ = rows_of(jrr.estimate_frame(reports, "q"))
        assert no["reports"] == 90
        assert no["share"] == pytest.approx(2 / 3)


def test_an_index_is_kept_only_with_everything_or_by_its_name() -> None:
    people = pd.DataFrame(DATA).set_index("name")
    for keep, kept in ((None, True), (["name"], True), (["region"], False), ([], False)):
        reports = jrr.perturb_frame(people, ASKED, CLOSE, keep=keep)
        assert (list(reports.index) == DATA["name"]) is kept
        assert len(jrr.estimate_frame(reports)) == 5


def test_announced_sums_of_a_frame() -> None:
    rng = jrr.SeededRandom(8)
    m = jrr.MRR.for_epsilon(2.0, n=PEOPLE)
    values = np.array([one == "yes" for one in DATA["bribe"]], int)
    header = tables.Header("reports", m, question="bribe", labels=("no", "yes"), decks=("a",))
    sums: Any
    expected: dict[Any, jrr.Estimate]
    regions, waves = np.array(DATA["region"]), np.array(DATA["wave"])
    cells = np.array([f"{region} × {wave}" for region, wave in zip(regions, waves, strict=True)])
    for by, groups in ((["region"], regions), (["region", "wave"], cells), ([], None)):
        cards = m.deal(rng)
        told = m.respond(values, cards, rng)
        frame = pl.DataFrame(DATA | {"bribe": np.asarray(told), "bribe_carded": True})
        wish: Any = {"headers": {"bribe": header}, "min_cell": 1}
        if groups is None:
            sums = m.announce(cards, rng=rng)
            found = jrr.estimate_frame(frame, announced=sums, **wish)
            expected = {None: m.estimate(told, announced=sums)}
        else:
            sums = m.announce_cells(cards, groups, rng=rng)
            found = jrr.estimate_frame(frame, by=by, announced=sums, **wish)
            expected = {
                cell: m.estimate(m.settle(m.tally(told[groups == cell]), announced=one))
                for cell, one in sums.items()
            }
        rows = [row for row in rows_of(found) if row["answer"] == "yes"]
        for row, cell in zip(rows, sorted(expected, key=str), strict=True):
            assert row["share"] == expected[cell].frequencies[1]
        with pytest.raises(ArgumentError, match="announced"):
            jrr.estimate_frame(frame, by=by, **wish)
    two = jrr.perturb_frame(pa.table(DATA), ASKED, 2.0)
    with pytest.raises(ArgumentError, match="one question, whose sum was announced"):
        jrr.estimate_frame(two, announced=sums)


def test_the_errors_of_the_documents() -> None:
    page = (Path(__file__).parents[2] / "docs" / "frames.md").read_text("utf-8")
    rows = re.findall(r"^\| `(?:\"even|\{\"bribe|\"block).*", page, re.MULTILINE)
    told = [float(number) for row in rows for number in re.findall(r"\d\.\d\d", row)]
    data = pa.table({"a": ["x", "y"], "b": ["x", "y"]})
    splits: list[Any] = ["even", {"a": 3, "b": 1}, "block"]
    found = []
    for split in splits:
        asked = {key: ["x", "y"] for key in data.column_names}
        headers = tables.headers_of(jrr.perturb_frame(data, asked, 2.0, split=split)).values()
        variances = [header.mechanism.variance([500, 1500])[0] for header in headers]
        found += [round(100 * math.sqrt(variance) / 2000, 2) for variance in variances]
    assert told == [found[0], *found[2:5]]


# -- every way to lose the mechanism, or the mark -------------------------------------------------

_P, _L, _A = (make(DATA) for make in MAKE.values())
MECHANISM = jrr.plan(PEOPLE, 1.0, announced=False).mechanism


def _pandas() -> Any:
    return jrr.perturb_frame(_P, ASKED, 2.0)


def _polars() -> Any:
    return jrr.perturb_frame(_L, ASKED, 2.0)


def _arrow() -> Any:
    return jrr.perturb_frame(_A, ASKED, 2.0)


def _array() -> Any:
    return MECHANISM.respond([0, 1] * (PEOPLE // 2), MECHANISM.deal())


def _through(path: Path, write: Callable[[Path], Any], read: Callable[[Path], Any]) -> Any:
    write(path)
    return read(path)


def _in_folder(path: Path, *frames: Any) -> Path:
    """The name of a folder with a Parquet file of each."""
    path.mkdir()
    for at, frame in enumerate(frames):
        frame.to_parquet(path / f"{at}.parquet")
    return path


def _sql(frame: Any) -> Any:
    return duckdb.connect().register("reports", frame).sql("FROM reports")


def _copied(path: Path, write: Callable[[Path], Any]) -> Path:
    """A Parquet file that DuckDB wrote of another."""
    before, after = path.with_suffix(".parquet"), path.with_suffix(".copy.parquet")
    write(before)
    duckdb.sql(f"COPY (FROM '{before}') TO '{after}' (FORMAT parquet)")
    return after


_other = {"name": DATA["name"], "town": ["a"] * PEOPLE}
WAYS: list[tuple[str, str, Callable[[], Any], Callable[[Any, Path], Any], bool]] = [
    (
        "pandas",
        "rows chosen, sorted, sampled",
        _pandas,
        lambda f, p: f[f["age"] > 20].sort_values("age").sample(30),
        True,
    ),
    (
        "pandas",
        "columns added, dropped",
        _pandas,
        lambda f, p: f.assign(new=1).drop(columns="job"),
        True,
    ),
    (
        "pandas",
        "`concat` of frames perturbed alike",
        _pandas,
        lambda f, p: pd.concat([f, jrr.perturb_frame(_P, ASKED, 2.0)]),
        True,
    ),
    (
        "pandas",
        "`concat` with another ε",
        _pandas,
        lambda f, p: pd.concat([f, jrr.perturb_frame(_P, ASKED, 1.0)]),
        False,
    ),
    (
        "pandas",
        "column renamed",
        _pandas,
        lambda f, p: f.rename(columns={"bribe": "b", "job": "j"}),
        False,
    ),
    (
        "pandas",
        "`merge`, `join`",
        _pandas,
        lambda f, p: f.merge(pd.DataFrame(_other), on="name"),
        False,
    ),
    ("pandas", "Parquet", _pandas, lambda f, p: _through(p, f.to_parquet, pd.read_parquet), True),
    (
        "pandas",
        "a folder of Parquet files, by its name",
        _pandas,
        lambda f, p: _in_folder(p, f, jrr.perturb_frame(_P, ASKED, 2.0)),
        True,
    ),
    (
        "pandas",
        "Parquet, read by polars or Arrow",
        _pandas,
        lambda f, p: _through(p, f.to_parquet, pl.read_parquet),
        False,
    ),
    ("pandas", "pickle", _pandas, lambda f, p: _through(p, f.to_pickle, pd.read_pickle), True),
    ("pandas", "CSV", _pandas, lambda f, p: _through(p, f.to_csv, pd.read_csv), False),
    ("pandas", "JSON", _pandas, lambda f, p: _through(p, f.to_json, pd.read_json), False),
    ("pandas", "`to_dict`", _pandas, lambda f, p: pd.DataFrame(f.to_dict("list")), False),
    ("pandas", "Feather", _pandas, lambda f, p: _through(p, f.to_feather, pd.read_feather), True),
    ("pandas", "`groupby` with `count`", _pandas, lambda f, p: f.groupby("age").count(), False),
    ("pandas", "`DataFrame` made of it", _pandas, lambda f, p: pd.DataFrame(f), False),
    ("pandas", "`melt`", _pandas, lambda f, p: f.melt("age", ["bribe", "job"]), False),
    ("pandas", "SQL by DuckDB", _pandas, lambda f, p: _sql(f).df(), False),
    ("pandas", "as a numpy array", _pandas, lambda f, p: f.to_numpy(), False),
    ("pandas", "as polars", _pandas, lambda f, p: pl.from_pandas(f), False),
    ("pandas", "as Arrow", _pandas, lambda f, p: pa.table(f), False),
    (
        "pandas",
        "files with another ε in a folder, by its name",
        _pandas,
        lambda f, p: _in_folder(p, f, jrr.perturb_frame(_P, ASKED, 1.0)),
        False,
    ),
    (
        "polars",
        "rows chosen, sorted, sampled",
        _polars,
        lambda f, p: f.filter(pl.col("age") > 20).sort("age").sample(30),
        True,
    ),
    (
        "polars",
        "columns added, dropped",
        _polars,
        lambda f, p: f.with_columns(new=1).drop("job"),
        True,
    ),
    (
        "polars",
        "`concat` of frames perturbed alike",
        _polars,
        lambda f, p: pl.concat([f, jrr.perturb_frame(_L, ASKED, 2.0)]),
        True,
    ),
    (
        "polars",
        "`concat` with another ε",
        _polars,
        lambda f, p: pl.concat([f, jrr.perturb_frame(_L, ASKED, 1.0)]),
        False,
    ),
    ("polars", "column renamed", _polars, lambda f, p: f.rename({"bribe": "b"}), True),
    ("polars", "`join`", _polars, lambda f, p: f.join(pl.DataFrame(_other), on="name"), True),
    (
        "polars",
        "Parquet",
        _polars,
        lambda f, p: _through(p, f.write_parquet, pl.read_parquet),
        True,
    ),
    (
        "polars",
        "Parquet, read by pandas",
        _polars,
        lambda f, p: _through(p, f.write_parquet, pd.read_parquet),
        False,
    ),
    (
        "polars",
        "one column of several written over",
        _polars,
        lambda f, p: f.with_columns(bribe=_L["bribe"]),
        False,
    ),
    ("polars", "pickle", _polars, lambda f, p: pickle.loads(pickle.dumps(f)), True),
    ("polars", "CSV", _polars, lambda f, p: _through(p, f.write_csv, pl.read_csv), False),
    ("polars", "JSON", _polars, lambda f, p: _through(p, f.write_json, pl.read_json), False),
    ("polars", "SQL by DuckDB", _polars, lambda f, p: _sql(f).pl(), False),
    ("polars", "as a numpy array", _polars, lambda f, p: f.to_numpy(), False),
    ("polars", "as pandas", _polars, lambda f, p: f.to_pandas(), False),
    ("polars", "as Arrow", _polars, lambda f, p: f.to_arrow(), True),
    ("Arrow", "rows chosen", _arrow, lambda f, p: f.slice(3, 100), True),
    (
        "Arrow",
        "`concat_tables` of tables perturbed alike",
        _arrow,
        lambda f, p: pa.concat_tables([f, f]),
        True,
    ),
    (
        "Arrow",
        "`concat_tables` with another ε",
        _arrow,
        lambda f, p: pa.concat_tables([f, jrr.perturb_frame(_A, ASKED, 1.0)]),
        False,
    ),
    (
        "Arrow",
        "`concat_tables` with answers",
        _arrow,
        lambda f, p: pa.concat_tables([f, _A]),
        False,
    ),
    ("Arrow", "`join`", _arrow, lambda f, p: f.join(pa.table(_other), "name"), True),
    (
        "Arrow",
        "Parquet",
        _arrow,
        lambda f, p: _through(p, lambda q: pq.write_table(f, q), pq.read_table),
        True,
    ),
    (
        "Arrow",
        "Parquet, read by pandas",
        _arrow,
        lambda f, p: _through(p, lambda q: pq.write_table(f, q), pd.read_parquet),
        False,
    ),
    (
        "Arrow",
        "Parquet, copied by DuckDB",
        _arrow,
        lambda f, p: _copied(p, lambda q: pq.write_table(f, q)),
        False,
    ),
    ("Arrow", "pickle", _arrow, lambda f, p: pickle.loads(pickle.dumps(f)), True),
    (
        "Arrow",
        "CSV",
        _arrow,
        lambda f, p: _through(p, lambda q: pc.write_csv(f, q), pc.read_csv),
        False,
    ),
    ("Arrow", "SQL by DuckDB", _arrow, lambda f, p: _sql(f).to_arrow_table(), False),
    ("Arrow", "as pandas", _arrow, lambda f, p: f.to_pandas(), False),
    ("Arrow", "as polars", _arrow, lambda f, p: pl.from_arrow(f), True),
    (
        "Arrow",
        "`to_pylist`, JSON",
        _arrow,
        lambda f, p: pa.Table.from_pylist(json.loads(json.dumps(f.to_pylist()))),
        False,
    ),
    (
        "numpy",
        "rows chosen, concatenated, copied",
        _array,
        lambda a, p: np.concatenate([a[:9], a[[20, 30]], a[40:].copy()]),
        True,
    ),
    ("numpy", "pickle", _array, lambda a, p: pickle.loads(pickle.dumps(a)), True),
    (
        "numpy",
        "`np.array`, `astype`, arithmetic",
        _array,
        lambda a, p: np.array(a).astype(np.int16) + 0,
        False,
    ),
    (
        "numpy",
        "`np.save` and `np.load`",
        _array,
        lambda a, p: _through(p.with_suffix(".npy"), lambda q: np.save(q, a), np.load),
        False,
    ),
    ("numpy", "`tolist`, JSON", _array, lambda a, p: json.loads(json.dumps(a.tolist())), False),
    (
        "numpy",
        "single reports as JSON",
        _array,
        lambda a, p: [
            MECHANISM.report_from_json(
                json.loads(json.dumps(MECHANISM.report_to_json(int(one), carded=True)))
            )
            for one in a
        ],
        True,
    ),
    (
        "numpy",
        "JSON lines (`jrr.write_reports`)",
        _array,
        lambda a, p: _through(
            p.with_suffix(".jsonl"),
            lambda q: jrr.write_reports(q, MECHANISM, a),
            lambda q: jrr.read_reports(q)[1],
        ),
        True,
    ),
    ("numpy", "as a column of pandas", _array, lambda a, p: pd.Series(a), False),
]


@pytest.mark.parametrize("way", WAYS, ids=lambda way: f"{way[0]}: {way[1]}".replace("`", ""))
def test_the_mechanism_is_kept_or_the_estimate_refused(way: Any, tmp_path: Path) -> None:
    _, _, make, change, kept = way

    def estimated() -> int:
        changed = change(make(), tmp_path / "frame")
        if make is _array:
            return int(MECHANISM.estimate(changed).n)
        return len(jrr.estimate_frame(changed, min_cell=1))

    if kept:
        assert estimated() > 0
    else:
        # polars and Arrow refuse CSV, and to join what differs, by themselves.
        refusals = (ArgumentError, pl.exceptions.PolarsError, pa.ArrowInvalid)
        with pytest.raises(refusals):
            estimated()


def test_refusals_name_what_was_meant_and_repeat_no_answers(tmp_path: Path) -> None:
    path = tmp_path / "reports.csv"
    reports = _pandas()
    reports.to_csv(path)
    with pytest.raises(ArgumentError, match="Parquet file or folder"):
        jrr.estimate_frame(path)
    with pytest.raises(ArgumentError, match=r"options must be some of .*got options='epsilon'"):
        jrr.estimate_frame(reports, epsilon=2.0)
    twice = pd.concat([_P[["bribe"]], _P[["bribe"]]], axis=1)
    for frame in (_P["bribe"], DATA["bribe"], twice):
        with pytest.raises(ArgumentError, match="frame must be a data frame") as refused:
            jrr.perturb_frame(frame, ASKED, 1.0)
        assert "yes" not in str(refused.value)


def test_frames_that_arrow_joined_before_it_knew_the_type_are_refused() -> None:
    """Columns of different mechanisms are one column then, which says that of the first."""
    header = tables.headers_of(_arrow())["bribe"].to_json()
    told = {"ARROW:extension:name": "jrr.report", "ARROW:extension:metadata": header}
    field = pa.field("bribe", pa.string(), metadata=told)
    early = pa.table([["no", "yes"] * 30], pa.schema([field]))
    with pytest.raises(ArgumentError, match=r"read after jrr.tables was imported"):
        jrr.estimate_frame(early)


@pytest.mark.parametrize("kind", ["polars", "Arrow"])
def test_a_question_that_lost_its_type_beside_others_is_not_left_out(kind: str) -> None:
    """Else a person who wrote over one of two columns would see the other alone."""
    reports = jrr.perturb_frame(MAKE[kind](DATA), ASKED, 2.0)
    place = list(DATA).index("bribe")
    plain: Any = DATA["bribe"]
    if kind == "polars":
        lost = reports.with_columns(bribe=pl.Series(plain))
    else:
        lost = reports.set_column(place, "bribe", pa.array(plain))
    ways: tuple[Any, ...] = ({}, {"by": "bribe"}, {"columns": "job"})
    for way in ways:
        with pytest.raises(ArgumentError, match=r"say which mechanism.*got frame=\['bribe'\]"):
            jrr.estimate_frame(lost, **way)
    headers = tables.headers_of(reports)
    assert len(jrr.estimate_frame(lost, headers={"job": headers["job"]})) == 3


@pytest.mark.parametrize("kind", MAKE)
def test_reports_are_not_perturbed_again_by_another_way(kind: str, tmp_path: Path) -> None:
    reports = jrr.perturb_frame(MAKE[kind](DATA), ASKED, 2.0)
    frame, out = tmp_path / "frame.parquet", tmp_path / "again.parquet"
    _write(reports, frame)
    file, csv = tmp_path / "reports.parquet", tmp_path / "reports.csv"
    for made in (file, csv):
        tables.perturb(
            MAKE[kind](DATA), "job", made, epsilon=1.0, labels=ASKED["job"], keep=["region"]
        )
    for data in (reports, frame, file, csv):
        with pytest.raises(ArgumentError, match="data must be answers, not reports"):
            tables.perturb(data, "region", out, epsilon=1.0, labels=["north", "south"])
    if kind == "pandas":  # whose attrs still say so when the columns do not
        for data in (reports[["region"]], reports.rename(columns={"bribe": "b", "job": "j"})):
            with pytest.raises(ArgumentError, match="answers, not reports"):
                tables.perturb(data, "region", out, epsilon=1.0, labels=["north", "south"])
            with pytest.raises(ArgumentError, match="answers, not reports"):
                jrr.perturb_frame(data, {"region": ["north", "south"]}, 1.0)
    assert not out.exists()
    with pytest.raises(ArgumentError, match=r"read by jrr.estimate_frame"):
        tables.estimate(frame)


def test_a_folder_is_read_with_its_partitions(tmp_path: Path) -> None:
    reports = _pandas()
    reports.to_parquet(tmp_path / "parts", partition_cols=["region"])
    found = rows_of(jrr.estimate_frame(tmp_path / "parts", by="region"))
    expected = rows_of(jrr.estimate_frame(reports, by="region"))
    assert [row["share"] for row in found] == [row["share"] for row in expected]
    (tmp_path / "none").mkdir()
    with pytest.raises(ArgumentError, match="folder of Parquet files that exists"):
        jrr.estimate_frame(tmp_path / "none")


def test_the_table_of_the_documents_is_this_one() -> None:
    page = (Path(__file__).parents[2] / "docs" / "frames.md").read_text("utf-8")
    for library, what, _, _, kept in WAYS:
        assert f"| {library} | {what} | {'kept' if kept else 'refused'} |" in page
    assert page.count("| kept |") + page.count("| refused |") == len(WAYS)
