"""What answers can be read from: CSV as people have it, spreadsheets, data frames, labels."""

import csv
import gzip
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import jrr
from jrr import tables
from jrr.cli.app import run
from jrr.errors import ArgumentError, DamagedError, MissingExtraError
from jrr.tables import Labels

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")

ANSWERS = ["nein", "ja", "weiß nicht", "nein"] * 10
REGIONS = ["Süd", "Nord"] * 20
NAMES = ("ja", "nein", "weiß nicht")


def perturbed(data: Any, tmp_path: Path, **more: Any) -> tuple[tables.Header, Any]:
    """Perturbed so little that the truth is seen."""
    out = tmp_path / "out.parquet"
    settings: dict[str, Any] = {"epsilon": 60.0, "keep": ["Region"], "force": True}
    header = tables.perturb(data, "Raucht", out, **(settings | more))
    return header, tables.estimate(out, by="Region", min_cell=1)


def check_truth(header: tables.Header, result: Any) -> None:
    found = dict(zip(header.names, result.estimate.frequencies, strict=True))
    expected = {name: ANSWERS.count(name) / 40 for name in NAMES}
    assert found == pytest.approx(expected, abs=1e-9)
    assert sorted(group.name for group in result.groups) == ["Nord", "Süd"]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252", "latin-1"])
@pytest.mark.parametrize("packed", [False, True])
def test_csv_as_people_have_it(delimiter: str, encoding: str, packed: bool, tmp_path: Path) -> None:
    rows = [["Raucht", "Region", "Bemerkung, frei; oder | so"]]
    rows += [[a, r, "x"] for a, r in zip(ANSWERS, REGIONS, strict=True)]
    text = "".join(
        delimiter.join(f'"{cell}"' if cell.startswith("Bem") else cell for cell in row) + "\r\n"
        for row in rows
    )
    path = tmp_path / ("data.csv.gz" if packed else "data.csv")
    data = text.encode(encoding)
    path.write_bytes(gzip.compress(data) if packed else data)
    told = encoding in ("cp1252", "latin-1")
    if told:
        with pytest.raises(DamagedError, match=r"encoding must be given.*--encoding cp1252"):
            perturbed(path, tmp_path)
        check_truth(*perturbed(path, tmp_path, encoding=encoding))
    else:
        check_truth(*perturbed(path, tmp_path))
        check_truth(*perturbed(path, tmp_path, delimiter=delimiter))


def test_what_is_told_of_a_file_is_checked(tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    path.write_text("Raucht;Region\nja;Nord\nnein;Nord\n")
    for wrong in ("", "ab", "ä", 33):
        with pytest.raises(ArgumentError, match="delimiter must be"):
            perturbed(path, tmp_path, delimiter=wrong)
    for wrong in ("utf-99", "", 3):
        with pytest.raises(ArgumentError, match="encoding must be"):
            perturbed(path, tmp_path, encoding=wrong)
    with pytest.raises(ArgumentError, match="column must be a column"):
        perturbed(path, tmp_path, delimiter=",")
    tables.perturb(path, "Raucht", tmp_path / "reports.parquet", epsilon=1.0)
    with pytest.raises(ArgumentError, match="is no CSV file"):
        perturbed(tmp_path / "reports.parquet", tmp_path, delimiter=";")


FRAME = {"Raucht": ANSWERS, "Region": REGIONS}


def frames() -> dict[str, Any]:
    kinds = ["nein", "weiß nicht", "ja", "nie"]
    return {
        "pandas": pd.DataFrame(FRAME),
        "pandas index": pd.DataFrame(FRAME, index=range(100, 140)),
        "pandas object": pd.DataFrame(FRAME).astype(object),
        "pandas categories": pd.DataFrame(FRAME).astype({"Raucht": pd.CategoricalDtype(kinds)}),
        "polars": pl.DataFrame(FRAME),
        "polars categories": pl.DataFrame(FRAME).with_columns(
            pl.col("Raucht").cast(pl.Categorical)
        ),
        "polars enum": pl.DataFrame(FRAME).with_columns(pl.col("Raucht").cast(pl.Enum(kinds))),
        "arrow": pa.table(FRAME),
        "arrow dictionary": pa.table(
            {"Raucht": pa.array(ANSWERS).dictionary_encode(), "Region": REGIONS}
        ),
        "chunks": pa.concat_tables([pa.table(FRAME).slice(0, 13), pa.table(FRAME).slice(13)]),
        "mapping": FRAME,
    }


@pytest.mark.parametrize("kind", list(frames()))
def test_data_frames(kind: str, tmp_path: Path) -> None:
    header, result = perturbed(frames()[kind], tmp_path)
    if kind in ("pandas categories", "polars enum"):  # declared, also what nobody holds
        assert header.labels == ("nein", "weiß nicht", "ja", "nie")
        found = dict(zip(header.names, result.estimate.frequencies, strict=True))
        assert found.pop("nie") == pytest.approx(0.0, abs=1e-9)
        assert found == pytest.approx({name: ANSWERS.count(name) / 40 for name in NAMES})
    else:
        check_truth(header, result)


def test_a_frame_has_no_file_to_write_beside(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match="out must be given"):
        tables.perturb(pd.DataFrame(FRAME), "Raucht", epsilon=1.0)
    for wrong in (3, object(), [1, 2]):
        with pytest.raises(ArgumentError, match="data must be"):
            perturbed(wrong, tmp_path)
    with pytest.raises(ArgumentError, match="left out for a data frame"):
        perturbed(pd.DataFrame(FRAME), tmp_path, delimiter=";")


@pytest.mark.parametrize("with_labels", [False, True])
@pytest.mark.parametrize("ending", ["xlsx", "sav", "dta"])
def test_spreadsheets_and_statistics(ending: str, with_labels: bool, tmp_path: Path) -> None:
    path = tmp_path / f"Daten.{ending}"
    codes = {"nein": 0.0, "ja": 1.0, "weiß nicht": 9.0}
    coded = [codes[answer] for answer in ANSWERS]
    if ending == "xlsx":
        openpyxl = pytest.importorskip("openpyxl")
        book = openpyxl.Workbook()
        sheet = book.active
        sheet.append(["Raucht", "Region"])
        for row in zip(ANSWERS if with_labels else coded, REGIONS, strict=True):
            sheet.append(row)
        sheet.cell(60, 5).value = None  # formatted, and empty
        book.save(path)
    else:
        pyreadstat = pytest.importorskip("pyreadstat")
        frame = pd.DataFrame({"Raucht": coded, "Region": REGIONS})
        labels = {code: name for name, code in codes.items()}
        if ending == "dta":
            labels = {int(code): name for code, name in labels.items()}
        write = pyreadstat.write_sav if ending == "sav" else pyreadstat.write_dta
        more = {"variable_value_labels": {"Raucht": labels}} if with_labels else {}
        write(frame, str(path), **more)
    header, result = perturbed(path, tmp_path)
    if with_labels:
        check_truth(header, result)
    else:
        assert header.labels == ("0", "1", "9")
    with pytest.raises(ArgumentError, match="is no CSV file"):
        perturbed(path, tmp_path, encoding="utf-8")
    path.write_bytes(b"no such thing")
    with pytest.raises(DamagedError, match="cannot be read"):
        perturbed(path, tmp_path)
    path.unlink()
    with pytest.raises(ArgumentError, match="a file that exists"):
        perturbed(path, tmp_path)


@pytest.mark.parametrize(("ending", "package"), [("xlsx", "openpyxl"), ("sav", "pyreadstat")])
def test_a_missing_package_is_named(
    ending: str, package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / f"data.{ending}"
    path.write_bytes(b"x")
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtraError, match=rf"{package}: pip install '\.\[formats\]'"):
        perturbed(path, tmp_path)


def columns() -> dict[str, Any]:
    kinds = ["no", "yes", "never"]
    texts = ["yes", "no", "yes"]
    return {
        "list": texts,
        "tuple": tuple(texts),
        "numpy": np.array(texts),
        "objects": np.array(texts, object),
        "pandas": pd.Series(texts),
        "categorical": pd.Categorical(texts, kinds),
        "categories": pd.Series(texts, dtype=pd.CategoricalDtype(kinds)),
        "polars": pl.Series(texts),
        "enum": pl.Series(texts, dtype=pl.Enum(kinds)),
        "arrow": pa.array(texts),
        "chunked": pa.chunked_array([texts[:1], texts[1:]]),
        "dictionary": pa.DictionaryArray.from_arrays(pa.array([1, 0, 1]), pa.array(kinds)),
    }


@pytest.mark.parametrize("kind", list(columns()))
def test_labels_become_values_and_reports(kind: str) -> None:
    column = columns()[kind]
    values = Labels(("no", "yes", "never")).values(column)
    assert values.tolist() == [1, 0, 1]
    reports = jrr.RR(3, p=1.0).respond(values)
    assert reports.tolist() == [1, 0, 1]
    own = Labels.of(column)
    declared = kind in ("categorical", "categories", "enum", "dictionary")
    assert own.names == (("no", "yes", "never") if declared else ("no", "yes"))
    assert own.values(column).tolist() == [1, 0, 1]


def test_cells_that_mean_nothing_are_refused() -> None:
    labels = Labels(("no", "yes"))
    with pytest.raises(ArgumentError, match="must have no missing values, got 1"):
        labels.values(["no", None])
    with pytest.raises(ArgumentError, match="got others in 1 rows, such as 'maybe'"):
        labels.values(["no", "maybe"])
    assert Labels(("no", "yes"), declined="?").values(["yes", None]).tolist() == [1, 2]
    for wrong in ("no", 3, object()):
        with pytest.raises(ArgumentError, match="column must be"):
            labels.values(wrong)


# -- results as a table --------------------------------------------------------------------


def test_results_as_csv(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, result = perturbed(pd.DataFrame(FRAME), tmp_path, epsilon=3.0)
    out = tmp_path / "results.csv"
    command = [
        *("file", "estimate", str(tmp_path / "out.parquet"), "--by", "Region", "--min-cell", "1"),
    ]
    assert run([*command, "--level", "0.9", "-o", str(out)]) == 0
    assert f"Results: {out}" in "".join(capsys.readouterr().out.split("\n"))
    with out.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    assert [row["group"] for row in rows] == [""] * 3 + ["Nord"] * 3 + ["Süd"] * 3
    assert [row["answer"] for row in rows[:3]] == list(NAMES)
    low, high = result.estimate.interval(0.9)
    for at, row in enumerate(rows[:3]):
        assert float(row["share"]) == result.estimate.frequencies[at]
        assert float(row["stderr"]) == result.estimate.stderr[at]
        assert (float(row["low"]), float(row["high"])) == (low[at], high[at])
        assert float(row["count"]) == result.estimate.counts[at]
        assert (row["level"], row["reports"]) == ("0.9", "40")
    assert run([*command, "-o", str(out)]) == 2  # it is there
    assert "does not exist yet" in capsys.readouterr().err
    assert run([*command, "-o", str(out), "--force"]) == 0
    assert run([*command, "-o", str(tmp_path / "results.txt")]) == 2
    assert "ends in .csv" in capsys.readouterr().err
