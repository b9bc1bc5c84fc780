"""Numbers from the command line and in files: planned, dealt, perturbed, estimated."""

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jrr
from jrr import tables
from jrr.cli.app import run
from jrr.errors import ArgumentError, DamagedError
from jrr.mechanisms.numbers import NumberRange
from tests.cli.test_files import document, done
from tests.tables.test_files import write_data

pytestmark = pytest.mark.heavy

N = 1_000
Capsys = pytest.CaptureFixture[str]


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A thousand people who work 30 hours in the south and 50 in the north."""
    monkeypatch.chdir(tmp_path)
    people = np.arange(N)
    columns = {
        "hours": np.where(people % 2 == 0, 30.0, 50.0),
        "region": np.where(people % 2 == 0, "south", "north"),
        "weight": 1 + people % 3,
    }
    for name in ("d.csv", "d.parquet"):
        write_data(tmp_path / name, columns)
    return tmp_path


def holds(found: dict[str, Any], mean: float) -> bool:
    low, high = found["interval"]
    return bool(low < mean < high)


@pytest.mark.statistical
@pytest.mark.parametrize("mechanism", ["auto", "rr", "piecewise"])
@pytest.mark.parametrize(("data", "reports"), [("d.csv", "r.csv"), ("d.parquet", "r.parquet")])
def test_a_number_without_cards(
    work: Path, capsys: Capsys, mechanism: str, data: str, reports: str
) -> None:
    asked = ("--column", "hours", "--number", "0:80", "-e", "1", "--keep", "region")
    options = (*asked, "--keep", "weight", "--mechanism", mechanism, "--seed", "4", "-o", reports)
    perturbed = document("file", "perturb", data, *options, capsys=capsys)
    assert perturbed["number"] == [0, 80]
    assert not perturbed["labels_from_data"]
    header = tables.read_header(reports)
    assert header.number == NumberRange(0.0, 80.0)
    assert header.labels == ()
    found = document("file", "estimate", reports, "--by", "region", capsys=capsys)
    assert found["number"] == [0, 80]
    assert holds(found["estimate"], 40)
    assert found["estimate"]["sum"] == pytest.approx(N * found["estimate"]["mean"])
    by_name = {group["name"]: group for group in found["groups"]}
    assert holds(by_name["south"], 30)
    assert holds(by_name["north"], 50)
    (gap,) = found["differences"]
    assert (gap["first"], gap["second"]) == ("north", "south")
    assert gap["difference"] == pytest.approx(by_name["north"]["mean"] - by_name["south"]["mean"])
    assert holds(gap, 20)
    weighted = document("file", "estimate", reports, "--weight", "weight", capsys=capsys)[
        "estimate"
    ]
    assert weighted["effective_n"] < N
    assert holds(weighted, 40)
    sampled = document("file", "estimate", reports, "--population", "sample", capsys=capsys)[
        "estimate"
    ]
    assert sampled["sum"] is None
    assert sampled["stderr"] >= found["estimate"]["stderr"]


@pytest.mark.statistical
@pytest.mark.parametrize("word", ["mrr", "drr"])
def test_a_number_with_cards(work: Path, capsys: Capsys, word: str) -> None:
    dealt = document(
        *(
            *("file", "deal", "number", "--range", "0:80", "-n", str(N), "-e", "1"),
            *("--mechanism", word),
        ),
        "--closed-deck",
        *("--seed", "1", "-o", "c.parquet"),
        capsys=capsys,
    )
    assert dealt["guarantees"]["cards"] <= 1
    options = ("--column", "hours", "--number", "0:80", "--cards", "c.parquet", "-o", "r.csv")
    done("file", "perturb", "d.csv", *options, "--keep", "region", "--seed", "2", capsys=capsys)
    found = document("file", "estimate", "r.csv", "--by", "region", capsys=capsys)
    assert found["carded"] == N
    assert found["mechanism"] == dealt["mechanism"]
    assert holds(found["estimate"], 40)
    assert holds(found["differences"][0], 20)
    # In memory the same files say the same.
    result = tables.estimate("r.csv", by="region")
    assert result.mean is not None
    assert result.mean.mean == found["estimate"]["mean"]
    assert list(result.means()) == ["", "north", "south"]


def test_what_is_printed_and_written(work: Path, capsys: Capsys) -> None:
    done(
        *("file", "perturb", "d.csv", "--column", "hours", "--number", "0:80", "-e", "1"),
        capsys=capsys,
    )
    reports = "d.reports.parquet"
    shown = done("file", "estimate", reports, "--plot", "m.png", "-o", "m.csv", capsys=capsys)
    assert "mean" in shown
    assert "The number lies in 0..80" in shown
    assert "Picture: m.png" in shown
    assert (work / "m.png").stat().st_size > 5_000
    (row,) = csv.DictReader((work / "m.csv").read_text().splitlines())
    assert row["group"] == ""
    assert float(row["low"]) < float(row["mean"]) < float(row["high"])
    assert row["reports"] == str(N)
    done("file", "shuffle", reports, "-o", "s.parquet", capsys=capsys)
    again = document("file", "estimate", "s.parquet", capsys=capsys)["estimate"]
    assert again["mean"] == pytest.approx(float(row["mean"]))


def test_a_histogram_of_a_number(work: Path, capsys: Capsys) -> None:
    asked = ("--column", "hours", "--bins", "0,35,45,80", "-e", "3", "--seed", "2")
    perturbed = document("file", "perturb", "d.parquet", *asked, "-o", "h.csv", capsys=capsys)
    assert perturbed["labels"] == ["0 to 35", "35 to 45", "45 to 80"]
    shares = document("file", "estimate", "h.csv", capsys=capsys)["estimate"]["frequencies"]
    assert shares == pytest.approx([0.5, 0.0, 0.5], abs=0.1)


def test_a_plan_for_a_number(work: Path, capsys: Capsys) -> None:
    about = ("--range", "0:80", "--mean", "40", "--sd", "10")
    asked = ("plan", "number", *about, "-n", "1000", "-e", "2")
    plan = document(*asked, capsys=capsys)
    assert plan["question"]["mechanism"]["coin"][0] == "window"
    by_name = {row["name"]: row["stderr"] for row in plan["compare"]}
    assert plan["stderr"] == min(by_name.values()) == by_name["mrr"]
    assert by_name["mrr"] < by_name["piecewise"] < by_name["rr"]
    wider = document(*asked, "--population", "sample", capsys=capsys)
    assert wider["stderr"] ** 2 == pytest.approx(plan["stderr"] ** 2 + 10**2 / 990, rel=1e-9)
    shown = done(*asked, capsys=capsys)
    assert "Mean of a number in 0..80" in shown
    assert "Expected standard error" in shown


def test_empty_cells_and_texts(work: Path, capsys: Capsys) -> None:
    (work / "gaps.csv").write_text("hours,who\n 30 ,a\n,b\n50,c\n")
    asked = ("file", "perturb", "gaps.csv", "--column", "hours", "--number", "0:80", "-e", "1")
    assert run(asked) == 2
    assert "--skip-missing" in capsys.readouterr().err
    done(*asked, "--skip-missing", "-o", "r.csv", capsys=capsys)
    assert document("file", "estimate", "r.csv", capsys=capsys)["reports"] == 2
    (work / "words.csv").write_text("hours\n30\nmany\n")
    assert (
        run(("file", "perturb", "words.csv", "--column", "hours", "--number", "0:80", "-e", "1"))
        == 2
    )
    assert "column hours must hold numbers" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--number", "0:40"), "column hours: numbers must be in 0..40, got 500 beyond"),
        (("--number", "9:1"), "above low=9"),
        (("--number", "nine"), "LOW:HIGH"),
        (("--number", "0:80", "--labels", "a,b"), "only one of labels, number and bins"),
        (("--number", "0:80", "--bins", "0,1,2"), "only one of labels, number and bins"),
        (("--bins", "0,x"), "numbers between commas"),
        (("--clip",), "together with number or bins"),
        (("--number", "0:80", "--mechanism", "olh"), "mechanism must be one of"),
        (("--labels", "30,50", "--mechanism", "piecewise"), "mechanism must be one of"),
    ],
)
def test_refusals_of_perturb(
    work: Path, capsys: Capsys, options: tuple[str, ...], words: str
) -> None:
    assert run(("file", "perturb", "d.csv", "--column", "hours", "-e", "1", *options)) == 2
    assert words in " ".join(capsys.readouterr().err.split())
    assert not (work / "d.reports.parquet").exists()


@pytest.mark.parametrize(
    "options",
    [
        ("plan", "number"),
        ("plan", "number", "--range", "0:9", "--mean", "10"),
        ("plan", "--mechanism", "piecewise"),
        ("file", "deal", "number", "--sd", "3", "-o", "c.csv"),
        ("file", "deal", "number", "--range", "0:9", "--mechanism", "piecewise", "-o", "c.csv"),
    ],
)
def test_refusals_of_plan_and_deal(work: Path, capsys: Capsys, options: tuple[str, ...]) -> None:
    assert run(options) == 2
    assert "error" in capsys.readouterr().err.lower()


def test_clipped_numbers_are_said_to_be(work: Path, capsys: Capsys) -> None:
    asked = ("--column", "hours", "--number", "0:40", "--clip", "-e", "1", "-o", "r.csv")
    done("file", "perturb", "d.csv", *asked, capsys=capsys)
    assert tables.read_header("r.csv").number == NumberRange(0.0, 40.0, clip=True)
    done(
        *("file", "perturb", "d.csv", "--column", "hours", "--number", "0:80", "-e", "1"),
        capsys=capsys,
    )
    with pytest.raises(ArgumentError, match="same kind of reports"):
        tables.estimate("r.csv", "d.reports.parquet")


def test_headers_of_files_without_a_number_are_as_before() -> None:
    header = tables.Header("reports", jrr.RR(p=0.75), labels=("no", "yes"))
    assert "number" not in header.to_dict()
    numbered = tables.Header("reports", jrr.RR(p=0.75), number=NumberRange(0.0, 9.0))
    text = numbered.to_json()
    assert tables.Header.from_json(text, "x") == numbered
    for wrong in ('"high": 9.0', '"clip": false'):
        with pytest.raises(DamagedError, match="cannot be used"):
            tables.Header.from_json(text.replace(wrong, wrong.split(":")[0] + ": null"), "x")
    with pytest.raises(ArgumentError, match="None where answers have labels"):
        tables.Header("reports", jrr.RR(p=0.75), labels=("no", "yes"), number=NumberRange(0.0, 9.0))
    assert json.loads(text)["number"] == {"low": 0.0, "high": 9.0, "clip": False}
