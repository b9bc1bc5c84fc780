"""What the commands on files refuse: one line, an exit code, and nothing half-written.

Every test compares all files of the directory, byte by byte, before and after.
"""

import gzip
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import jrr
from jrr import tables
from jrr.cli.app import run
from jrr.errors import ArgumentError, DamagedError
from jrr.tables import seal
from tests.tables.test_files import write_data

REFUSED, DAMAGED = ArgumentError.exit_code, DamagedError.exit_code
PEOPLE = 60
ANSWERS = ["yes", "no", "no"] * (PEOPLE // 3)
PERTURB = ["--column", "smokes", "-e", "1", "--labels", "yes,no"]


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One of each file, made once."""
    folder = tmp_path_factory.mktemp("template")
    columns: dict[str, Any] = {
        "id": np.arange(PEOPLE),
        "smokes": ANSWERS,
        "region": ["north", "south"] * (PEOPLE // 2),
        "weight": np.arange(PEOPLE) / 7,
    }
    for suffix in ("csv", "csv.gz", "parquet", "arrow"):
        write_data(folder / f"data.{suffix}", columns)
    two, three = jrr.DRR(PEOPLE, 0.3), jrr.DRR(PEOPLE, 0.3, 0.1, k=3)
    for name, m, decks in (
        ("cards.parquet", two, 1),
        ("cards.arrow", two, 1),
        ("cards.csv", two, 1),
        ("three.parquet", three, 1),
        ("few.parquet", jrr.DRR(20, 0.3), 2),
        ("loose.parquet", jrr.DRR(PEOPLE, 0.99), 1),
        ("spent.parquet", two, 1),
    ):
        tables.deal(m, folder / name, decks=decks, rng=jrr.SeededRandom(1))
    labels = ["yes", "no"]
    tables.perturb(
        folder / "data.csv",
        "smokes",
        folder / "carded.parquet",
        labels=labels,
        cards=folder / "spent.parquet",
        rng=jrr.SeededRandom(2),
    )
    for suffix in ("csv", "csv.gz", "parquet", "arrow"):
        tables.perturb(
            folder / "data.parquet",
            "smokes",
            folder / f"reports.{suffix}",
            epsilon=1.0,
            labels=labels,
            keep=["region", "weight"],
            rng=jrr.SeededRandom(3),
        )
    for name, more in (
        ("other.parquet", {"epsilon": 2.0}),
        ("olh.csv", {"epsilon": 1.0, "mechanism": "olh"}),
        ("sue.csv", {"epsilon": 1.0, "mechanism": "sue"}),
    ):
        options: dict[str, Any] = {"labels": labels, "rng": jrr.SeededRandom(4), **more}
        tables.perturb(folder / "data.csv", "smokes", folder / name, **options)
    seal.make_keys(folder / "collector")
    tables.perturb(
        folder / "data.csv",
        "smokes",
        folder / "sealed.parquet",
        epsilon=1.0,
        labels=labels,
        seal=folder / "collector.pub",
    )
    return folder


@pytest.fixture
def work(template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory of one's own with these files, which is the current one."""
    folder = tmp_path / "work"
    shutil.copytree(template, folder)
    monkeypatch.chdir(folder)
    return folder


def snapshot(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else b""
        for path in sorted(folder.rglob("*"))
    }


Refused = Callable[..., str]


@pytest.fixture
def refused(work: Path, capsys: pytest.CaptureFixture[str]) -> Refused:
    """Run a command that must be refused; its one line on standard error."""

    def check(*arguments: str, words: str = "", code: int = REFUSED) -> str:
        before = snapshot(work)
        capsys.readouterr()
        assert run(arguments) == code
        captured = capsys.readouterr()
        assert captured.out == ""
        assert captured.err.startswith("jrr: error: ")
        assert captured.err.count("\n") == 1
        assert captured.err.endswith("\n")
        assert words in captured.err
        assert snapshot(work) == before
        return captured.err

    return check


# Columns and labels ---------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", ["csv", "csv.gz", "parquet", "arrow"])
def test_unknown_labels_and_missing_values_say_how_many(
    suffix: str, work: Path, refused: Refused
) -> None:
    cells = ["yes"] * 30 + ["no"] * 20 + ["maybe"] * 3 + ["?"] * 4 + [""] * 5
    write_data(work / f"d.{suffix}", {"smokes": cells})
    start = ["file", "perturb", f"d.{suffix}", "--column", "smokes", "-e", "1"]
    error = refused(*start, "--labels", "yes,no,maybe,?", words="missing values, got 5 in 62 rows")
    assert "column smokes" in error
    error = refused(*start, words="missing values, got 5 in 62 rows")
    assert "--missing" in error
    error = refused(*start, "--labels", "yes,no", "--missing", "none", words="others in 7 rows")
    assert "'?', 'maybe'" in error
    assert "column smokes" in error
    refused(*start, "--labels", "yes,no", "--skip-missing", words="others in 7 rows")
    assert run([*start, "--labels", "yes", "--other", "no", "--skip-missing"]) == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--column", "smoke", "-e", "1"], "column must be a column of data.csv, which has ['id'"),
        (["--column", "", "-e", "1"], "column must be a column of data.csv"),
        ([*PERTURB, "--keep", "town"], "keep must be a column of data.csv"),
        ([*PERTURB, "--keep", "smokes"], "keep must be another column than"),
        ([*PERTURB, "--keep", "region", "--keep", "region"], "keep"),
        ([*PERTURB, "--keep", "region", "--seal", "collector.pub"], "keep must be empty"),
        ([*PERTURB, "--seal", "collector.pub", "-o", "x.csv"], "out must be a Parquet or Arrow"),
        ([*PERTURB, "--seal", "collector.key"], "seal must be a public key"),
        ([*PERTURB, "--seal", "data.csv"], "seal must be a public key"),
        ([*PERTURB, "--seal", "none.pub"], "none.pub"),
        (["--column", "smokes"], "epsilon must be given where there are no cards"),
        (["--column", "smokes", "-e", "0"], "epsilon must be a finite number > 0"),
        (["--column", "smokes", "-e", "nan"], "epsilon must be a finite number > 0"),
        (["--column", "smokes", "-e", "1", "--labels", "yes"], "labels must be at least 2"),
        (["--column", "smokes", "-e", "1", "--labels", "yes,yes,no"], "'yes' is not"),
        (["--column", "smokes", "-e", "1", "--labels", "yes,,no"], "texts that are not empty"),
        (["--column", "smokes", "-e", "1", "--other", "x"], "labels must be given"),
        ([*PERTURB, "--missing", "none", "--skip-missing"], "either declined or skipped"),
        ([*PERTURB, "--labels-file", "data.csv"], "must not be given together"),
        (["--column", "smokes", "-e", "1", "--labels-file", "none.txt"], "none.txt"),
        ([*PERTURB, "--mechanism", "drr"], "--mechanism"),
        ([*PERTURB, "--seed", "-1"], "seed must be a whole number >= 0"),
        ([*PERTURB, "-o", "reports.txt"], "out must be a name that ends in one of"),
        ([*PERTURB, "-o", "no/where.parquet"], "no/where.parquet"),
        ([*PERTURB, "-o", "no/where.csv"], "no/where.csv"),
        ([*PERTURB, "-o", "reports.parquet"], "out must be a file that does not exist yet"),
        ([*PERTURB, "-o", "data.csv"], "out must be another file than the input"),
        ([*PERTURB, "-o", "data.csv", "--force"], "out must be another file than the input"),
        ([*PERTURB, "-o", "./data.csv", "--force"], "out must be another file than the input"),
        (["--column", "id", "-e", "1", "--labels-file", "collector.pub"], "others in 60 rows"),
        (["--column", "smokes", "-e", "1", "--labels", "yes,no,\udcff"], "labels"),
    ],
)
def test_perturb_refuses(arguments: list[str], words: str, work: Path, refused: Refused) -> None:
    files = ("none.pub", "none.txt")
    codes = (1, 2) if words in files else (2,)
    if "-o" not in arguments:
        arguments = [*arguments, "-o", "out.parquet"]
    for code in codes:  # a file that is not there may be a failure or a refusal
        try:
            refused("file", "perturb", "data.csv", *arguments, words=words, code=code)
            return
        except AssertionError:
            if code == codes[-1]:
                raise


def test_a_csv_output_does_not_replace_a_file_beside_it(work: Path, refused: Refused) -> None:
    (work / "out.csv.json").write_text("somebody's notes")
    refused("file", "perturb", "data.parquet", *PERTURB, "-o", "out.csv", words="out.csv.json")
    refused("file", "shuffle", "reports.arrow", "-o", "out.csv", words="out.csv.json")
    refused("file", "deal", "-n", "100", "-o", "out.csv", words="out.csv.json")


def test_missing_files_are_named(refused: Refused) -> None:
    for arguments in (
        ["file", "perturb", "none.csv", *PERTURB],
        ["file", "perturb", "data.csv", *PERTURB, "--cards", "none.csv"],
        ["file", "shuffle", "none.csv", "-o", "x.csv"],
        ["file", "shuffle", "reports.csv", "none.csv", "-o", "x.csv"],
        ["file", "estimate", "none.csv"],
        ["file", "estimate", "reports.csv", "none.csv"],
    ):
        refused(*arguments, words="none.csv")


def test_more_labels_than_can_be_meant(work: Path, refused: Refused) -> None:
    write_data(work / "d.csv", {"a": [f"text {at}" for at in range(1001)]})
    refused("file", "perturb", "d.csv", "--column", "a", "-e", "1", words="labels must be given")
    write_data(work / "e.csv", {"a": ["same"] * 10})
    refused(
        "file", "perturb", "e.csv", "--column", "a", "-e", "1", words="labels must be at least 2"
    )


# Cards ----------------------------------------------------------------------------------------

CARDS = ["file", "perturb", "data.csv", "--column", "smokes", "--labels", "yes,no", "-o", "out.csv"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--cards", "three.parquet"], "cards must be dealt for 2 answers, but they are for 3"),
        (["--cards", "few.parquet"], "cards must be enough for 60 answers, got 40"),
        (["--cards", "spent.parquet"], "cards must be fresh, but spent.parquet was used"),
        (["--cards", "reports.parquet"], "must be a file of cards, got"),
        (["--cards", "sealed.parquet"], "must be a file of cards, got"),
        (["--cards", "loose.parquet", "-e", "1"], "epsilon must be at least that of the cards"),
        (["--cards", "cards.parquet", "-e", "nan"], "epsilon must be"),
        (["--cards", "cards.parquet", "--mechanism", "olh"], "mechanism"),
        (["--cards", "cards.csv", "-o", "cards.csv", "--force"], "out must be another file"),
        (["--cards", "cards.parquet", "-o", "cards.parquet", "--force"], "out must be another"),
    ],
)
def test_cards_that_do_not_match(arguments: list[str], words: str, refused: Refused) -> None:
    refused(*CARDS, *arguments, words=words)


def test_cards_without_a_header(refused: Refused) -> None:
    for name in ("data.parquet", "data.csv"):
        refused(*CARDS, "--cards", name, words="must be a file that jrr wrote", code=DAMAGED)


def test_cards_are_spent_once_and_the_mark_says_for_what(work: Path, refused: Refused) -> None:
    assert run([*CARDS, "--cards", "cards.arrow"]) == 0
    assert "out.csv" in (work / "cards.arrow.spent").read_text()
    error = refused(*CARDS[:-1], "again.csv", "--cards", "cards.arrow", words="cards must be fresh")
    assert "out.csv" in error
    (work / "cards.arrow").unlink()
    refused("file", "deal", "-n", "100", "-o", "cards.arrow", words="cards.arrow.spent")
    assert run(["file", "deal", "-n", "100", "--closed-deck", "-o", "cards.arrow", "--force"]) == 0
    assert not (work / "cards.arrow.spent").exists()


def test_a_csv_file_of_cards_cut_at_a_line_end(work: Path, refused: Refused) -> None:
    """Fewer cards than were dealt: nobody may silently answer without one."""
    lines = (work / "cards.csv").read_text().splitlines(keepends=True)
    assert len(lines) == PEOPLE + 1
    for kept in (1, 2, 31, PEOPLE):
        (work / "cards.csv").write_text("".join(lines[:kept]))
        refused(*CARDS, "--cards", "cards.csv", words="cards.csv", code=DAMAGED)
        refused(*CARDS, "--cards", "cards.csv", "--cardless", words="cards.csv", code=DAMAGED)
    (work / "cards.csv").write_text("".join([*lines, lines[-1]]))
    refused(*CARDS, "--cards", "cards.csv", words="cards.csv", code=DAMAGED)


@pytest.mark.parametrize("card", ["2", "-1", "x", "", "1.5", "99999999999999999999"])
def test_cards_that_no_deck_has(card: str, work: Path, refused: Refused) -> None:
    lines = (work / "cards.csv").read_text().splitlines()
    lines[30] = card or '""'
    (work / "cards.csv").write_text("\n".join(lines) + "\n")
    refused(*CARDS, "--cards", "cards.csv", code=DAMAGED)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            ["-n", "10", "-e", "1", "--mechanism", "rr"],
            "mechanism must deal cards, but the best plan here is RR",
        ),
        (["-n", "100", "-e", "1", "--mechanism", "rr"], "mechanism must deal cards"),
        (["-n", "1"], "n must be a whole number >= 2"),
        (["-n", "100", "--decks", "0"], "decks must be a whole number in 1"),
        (["-n", "100", "-o", "cards.parquet"], "out must be a file that does not exist yet"),
        (["-n", "100", "--closed-deck", "-o", "no/where.csv"], "no/where.csv"),
        (["-n", "100", "-o", "cards.txt"], "out must be a name that ends in"),
        (["-n", "100", "--seed", "-1"], "seed must be a whole number >= 0"),
    ],
)
def test_deal_refuses(arguments: list[str], words: str, refused: Refused) -> None:
    out = [] if "-o" in arguments else ["-o", "new.parquet"]
    refused("file", "deal", *arguments, *out, words=words)


# Files that are cut off or damaged ------------------------------------------------------------


def places(size: int) -> list[int]:
    """Some byte positions: both ends, and spread over the file."""
    inner = np.linspace(0, size, 24, endpoint=False).astype(int).tolist()
    return sorted({*inner, 1, 3, 4, 7, 8, 12, size - 9, size - 8, size - 5, size - 4, size - 1})


@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
def test_truncated_files_are_refused_wherever_they_end(
    suffix: str, work: Path, refused: Refused
) -> None:
    for name, arguments in (
        ("data", ["file", "perturb", f"data.{suffix}", *PERTURB, "-o", "out.csv"]),
        ("reports", ["file", "estimate", f"reports.{suffix}"]),
        ("reports", ["file", "shuffle", f"reports.{suffix}", "-o", "out.csv"]),
        ("cards", [*CARDS, "--cards", f"cards.{suffix}"]),
    ):
        path = work / f"{name}.{suffix}"
        whole = path.read_bytes()
        for size in places(len(whole)):
            path.write_bytes(whole[:size])
            refused(*arguments, words=path.name, code=DAMAGED)
        path.write_bytes(whole)


@pytest.mark.parametrize("name", ["data.csv.gz", "reports.csv.gz"])
def test_truncated_gzip_files_are_refused_wherever_they_end(
    name: str, work: Path, refused: Refused
) -> None:
    path = work / name
    whole = path.read_bytes()
    command = ["file", "estimate", name]
    if name.startswith("data"):
        command = ["file", "perturb", name, *PERTURB, "-o", "out.csv"]
    for size in places(len(whole)):
        path.write_bytes(whole[:size])
        refused(*command, words=name, code=DAMAGED)
    for at in range(12, len(whole) - 8, 37):  # beyond the header, which has parts that do not count
        damaged = bytearray(whole)
        damaged[at] ^= 0x55
        path.write_bytes(damaged)
        refused(*command, code=DAMAGED)
    path.write_bytes(gzip.decompress(whole))
    refused(*command, words=name, code=DAMAGED)


DAMAGE = """
import contextlib, io, os, random, sys
from pathlib import Path
from jrr.cli.app import run

path, times, arguments = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
whole, chosen = path.read_bytes(), random.Random(1)
before = sorted(os.listdir("."))
codes = []
for _ in range(times):
    damaged = bytearray(whole)
    for _ in range(chosen.choice((1, 1, 2, 8))):
        at = chosen.randrange(len(damaged))
        size = chosen.choice((1, 1, 4, 8))
        damaged[at : at + size] = chosen.randbytes(chosen.choice((size, size, size, 0)))
    path.write_bytes(damaged)
    said = io.StringIO()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(said):
        code = run(arguments)
    assert code in (0, 2, 3), (code, said.getvalue())  # a changed name or label is a refusal
    assert said.getvalue().count("\\n") == (code > 0), said.getvalue()
    if code:
        assert sorted(os.listdir(".")) == before, os.listdir(".")
    Path("out.csv").unlink(missing_ok=True)
    Path("out.csv.json").unlink(missing_ok=True)
    codes.append(code)
print(len(codes) - codes.count(0))
"""


@pytest.mark.heavy
@pytest.mark.slow_variants("estimate-arrow]", "perturb", "estimate-csv]")
@pytest.mark.parametrize("suffix", ["parquet", "arrow", "csv"])
@pytest.mark.parametrize("step", ["perturb", "estimate"])
def test_damaged_bytes_end_in_a_refusal_and_never_in_a_crash(
    step: str, suffix: str, work: Path
) -> None:
    """In a process of its own, because reading wild offsets would end this one."""
    columns = ("--by", "region", "--weight", "weight")
    command = ["file", "estimate", f"reports.{suffix}", *columns, "--json"]
    if step == "perturb":
        kept = ["--keep", "region", "-o", "out.csv"]
        command = ["file", "perturb", f"data.{suffix}", *PERTURB, *kept]
    result = subprocess.run(
        [sys.executable, "-c", DAMAGE, command[2], "100", *command],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert result.returncode == 0, result.stderr[-2000:]
    assert int(result.stdout) > 10


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("data.csv", b""),
        ("data.csv", b"id,smokes"),  # not even a whole line
        ("data.csv", b"\n\n\n"),
        ("data.csv", b"id,smokes\n1,yes\n2\n3,no\n"),
        ("data.csv", b"id,smokes\n1,yes\n2,no,9\n"),
        ("data.csv", b"id,smokes\n1,yes\n2,\xff\xfe\n"),
        ("data.csv", bytes(range(256)) * 4),
        ("data.csv.gz", b""),
        ("data.csv.gz", b"id,smokes\n1,yes\n2,no\n"),
        ("data.csv.gz", gzip.compress(b"", mtime=0)),
        ("data.parquet", b""),
        ("data.parquet", b"PAR1PAR1"),
        ("data.parquet", b"PAR1" + bytes(100) + b"PAR1"),
        ("data.parquet", b"id,smokes\n1,yes\n2,no\n"),
        ("data.arrow", b""),
        ("data.arrow", b"ARROW1\0\0" + bytes(100) + b"ARROW1"),
        ("data.arrow", bytes(range(256)) * 40),
    ],
)
def test_files_without_a_usable_column(
    name: str, content: bytes, work: Path, refused: Refused
) -> None:
    (work / name).write_bytes(content)
    refused("file", "perturb", name, *PERTURB, "-o", "out.csv", code=DAMAGED)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("data.csv", b"id,smokes\n"),
        ("data.csv", b"smokes,smokes\nyes,yes\nno,no\n"),
        ("data.csv.gz", gzip.compress(b"id,smokes\n", mtime=0)),
    ],
)
def test_whole_files_without_an_answer_or_with_a_column_twice(
    name: str, content: bytes, work: Path, refused: Refused
) -> None:
    (work / name).write_bytes(content)
    refused("file", "perturb", name, *PERTURB, "-o", "out.csv")


def test_files_with_a_column_but_no_rows(work: Path, refused: Refused) -> None:
    for suffix in ("csv", "csv.gz", "parquet", "arrow"):
        write_data(work / f"d.{suffix}", {"smokes": pa.array([], pa.string())})
        words = "must have at least one row, got none"
        refused("file", "perturb", f"d.{suffix}", *PERTURB, "-o", "out.csv", words=words)
        write_data(work / f"d.{suffix}", {"smokes": [""] * 3, "x": list("abc")})
        words = "must have at least one answer, got none"
        out = ["-o", "out.csv"]
        refused("file", "perturb", f"d.{suffix}", *PERTURB, "--skip-missing", *out, words=words)


@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
def test_a_column_name_that_occurs_twice(suffix: str, work: Path, refused: Refused) -> None:
    table = pa.table([ANSWERS, ANSWERS, ANSWERS], names=["smokes", "x", "smokes"])
    if suffix == "parquet":
        pq.write_table(table, work / "d.parquet")
    else:
        with pa.ipc.new_file("d.arrow", table.schema) as writer:
            writer.write_table(table)
    refused("file", "perturb", f"d.{suffix}", *PERTURB, "-o", "out.csv", words="has only once")
    assert run(["file", "perturb", f"d.{suffix}", "--column", "x", "-e", "1", "-o", "out.csv"]) == 0


# Headers --------------------------------------------------------------------------------------


def header(name: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(Path(name).read_text())
    return document


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"jrr": 2}, "newer jrr (schema version 2, this one reads 1): update jrr"),
        ({"jrr": 0}, "jrr must be a whole number >= 1"),
        ({"jrr": "1"}, "jrr must be a whole number >= 1"),
        ({"jrr": True}, "jrr must be a whole number >= 1"),
        ({"rows": 59}, "must have the 59 rows it was written with, got 60"),
        ({"rows": 61}, "must have the 61 rows it was written with, got 60"),
        ({"rows": -1}, "rows must be a whole number >= 0"),
        ({"rows": "60"}, "rows must be a whole number >= 0"),
        ({"holds": "letters"}, "holds must be one of"),
        ({"holds": []}, "holds must be one of"),
        ({"mechanism": None}, "names a mechanism"),
        ({"mechanism": {}}, "names a mechanism"),
        ({"mechanism": {"mechanism": "XRR"}}, "mechanism must be one of"),
        ({"mechanism": {"mechanism": []}}, "mechanism must be one of"),
        ({"mechanism": {"mechanism": "RR", "k": 2}}, "mechanism fields must be exactly"),
        ({"mechanism": {"mechanism": "RR", "k": 2, "p": "1"}}, "p must be"),
        ({"mechanism": {"mechanism": "RR", "k": 2, "p": 0.1}}, "p must be"),
        ({"mechanism": {"mechanism": "RR", "k": 10**30, "p": 0.5}}, "k must be"),
        ({"labels": ["yes"]}, "labels must be 2 labels, one per value"),
        ({"labels": "yes,no"}, "labels must be a list of texts"),
        ({"labels": ["yes", 2]}, "labels must be a text"),
        ({"other": "perhaps"}, "'perhaps' is one of them"),
        ({"declined": 3}, "declined must be a text"),
        ({"decks": "abc"}, "decks must be a list of texts"),
        ({"shuffled": "no"}, "shuffled must be true or false"),
        ({"colluders": -1}, "colluders must be a whole number >= 0"),
        ({"extra": 1}, "perhaps some of"),
    ],
    ids=lambda value: str(value)[:40] if isinstance(value, dict) else "",
)
def test_headers_that_cannot_be_used(change: dict[str, Any], words: str, refused: Refused) -> None:
    document = header("reports.csv.json") | change
    Path("reports.csv.json").write_text(json.dumps(document))
    refused("file", "estimate", "reports.csv", words=words, code=DAMAGED)
    refused("file", "shuffle", "reports.csv", "-o", "out.parquet", words=words, code=DAMAGED)


def test_headers_that_say_something_else(refused: Refused) -> None:
    """Cards are not what was asked for; sealed reports lack their column, or first of all a key."""
    shuffle = ["file", "shuffle", "reports.csv", "-o", "out.parquet"]
    document = header("reports.csv.json")
    Path("reports.csv.json").write_text(json.dumps(document | {"holds": "cards"}))
    refused("file", "estimate", "reports.csv", words="must be a file of reports or sealed reports")
    refused(*shuffle, words="must be a file of reports or sealed reports")
    Path("reports.csv.json").write_text(json.dumps(document | {"holds": "sealed reports"}))
    refused("file", "estimate", "reports.csv", words="key must be the collector's private key")
    keyed = ["file", "estimate", "reports.csv", "--key", "collector.key"]
    refused(*keyed, words="column must be a column of reports.csv", code=DAMAGED)
    refused(*shuffle, words="column must be a column of reports.csv", code=DAMAGED)


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[]", b"null", b"1", b'"jrr"', b"\xff\xfe", b"[" * 100_000, b'{"jrr": 1}'],
    ids=lambda content: repr(content[:8]),
)
def test_headers_that_are_no_json_object(content: bytes, work: Path, refused: Refused) -> None:
    (work / "reports.csv.json").write_bytes(content)
    refused("file", "estimate", "reports.csv", words="reports.csv", code=DAMAGED)
    refused(
        "file", "shuffle", "reports.csv", "-o", "out.parquet", words="reports.csv", code=DAMAGED
    )


def test_a_header_that_is_missing_or_a_field_of_it(work: Path, refused: Refused) -> None:
    document = header("reports.csv.json")
    for name in ("jrr", "holds", "mechanism"):
        Path("reports.csv.json").write_text(
            json.dumps({key: value for key, value in document.items() if key != name})
        )
        refused("file", "estimate", "reports.csv", words="reports.csv", code=DAMAGED)
    (work / "reports.csv.json").unlink()
    missing: dict[str, Any] = {"words": "reports.csv.json, which is missing", "code": DAMAGED}
    refused("file", "estimate", "reports.csv", **missing)
    refused("file", "shuffle", "reports.csv", "-o", "out.csv", **missing)
    (work / "reports.csv.json").mkdir()
    refused("file", "estimate", "reports.csv", words="reports.csv.json", code=DAMAGED)


def test_a_header_of_another_mechanism(work: Path, refused: Refused) -> None:
    for name in ("reports", "olh", "sue"):
        for other in ("reports", "olh", "sue"):
            if name == other:
                continue
            document = header(f"{other}.csv.json") | {"rows": PEOPLE}
            (work / "mixed.csv").write_bytes((work / f"{name}.csv").read_bytes())
            (work / "mixed.csv.json").write_text(json.dumps(document))
            if (name, other) != ("olh", "reports"):  # whose column of reports is binary too
                refused("file", "estimate", "mixed.csv", code=DAMAGED)


def test_a_csv_file_cut_at_a_line_end(work: Path, refused: Refused) -> None:
    lines = (work / "reports.csv").read_text().splitlines(keepends=True)
    for kept in (1, 2, 30, PEOPLE):
        (work / "reports.csv").write_text("".join(lines[:kept]))
        words = f"must have the {PEOPLE} rows it was written with, got {kept - 1}"
        refused("file", "estimate", "reports.csv", words=words, code=DAMAGED)
        refused("file", "shuffle", "reports.csv", "-o", "out.parquet", words=words, code=DAMAGED)


@pytest.mark.parametrize(
    ("column", "cell"),
    [
        (0, "2"),
        (0, "-1"),
        (0, "x"),
        (0, ""),
        (0, "0.5"),
        (1, "yes"),
        (1, ""),
        (1, "True"),
        (1, "true"),  # plain RR deals no cards
    ],
)
def test_reports_that_nobody_could_make(
    column: int, cell: str, work: Path, refused: Refused
) -> None:
    lines = [line.split(",") for line in (work / "reports.csv").read_text().splitlines()]
    lines[30][column] = cell or '""'
    (work / "reports.csv").write_text("\n".join(map(",".join, lines)) + "\n")
    refused("file", "estimate", "reports.csv", code=DAMAGED)
    refused("file", "shuffle", "reports.csv", "-o", "out.parquet", code=DAMAGED)


@pytest.mark.parametrize(
    ("name", "column", "cell"),
    [
        ("olh.csv", 0, "18446744073709551616"),
        ("olh.csv", 0, "-1"),
        ("olh.csv", 0, "seed"),
        ("olh.csv", 1, "4"),
        ("olh.csv", 1, "4294967296"),
        ("sue.csv", 0, "04"),
        ("sue.csv", 0, "0"),
        ("sue.csv", 0, "0x"),
        ("sue.csv", 0, "zz"),
        ("sue.csv", 0, "é"),
        ("sue.csv", 0, "0101"),
    ],
)
def test_encoded_reports_that_nobody_could_make(
    name: str, column: int, cell: str, work: Path, refused: Refused
) -> None:
    lines = [line.split(",") for line in (work / name).read_text().splitlines()]
    lines[30][column] = cell
    (work / name).write_text("\n".join(map(",".join, lines)) + "\n")
    refused("file", "estimate", name, code=DAMAGED)
    refused("file", "shuffle", name, "-o", "out.parquet", code=DAMAGED)


def test_an_olh_report_too_large_for_its_column(work: Path, refused: Refused) -> None:
    """2³² + 1 is not 1."""
    tables.shuffle([work / "olh.csv"], work / "olh.arrow")
    with pa.ipc.open_file("olh.arrow") as reader:
        table = reader.read_all()
    wide = np.array(table["report"].to_pylist(), np.int64) + (1 << 32)
    table = table.set_column(1, pa.field("report", pa.int64()), pa.array(wide))
    with pa.ipc.new_file("wide.arrow", table.schema) as writer:
        writer.write_table(table)
    refused("file", "estimate", "wide.arrow", words="report", code=DAMAGED)
    refused("file", "shuffle", "wide.arrow", "-o", "out.arrow", words="report", code=DAMAGED)


# Several files, outputs and options -----------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["file", "estimate", "reports.csv", "reports.csv"], "files that are all different"),
        (["file", "estimate", "reports.csv", "./reports.csv"], "files that are all different"),
        (
            ["file", "estimate", "reports.csv", "other.parquet"],
            "must hold the same kind of reports",
        ),
        (
            ["file", "estimate", "reports.csv", "carded.parquet"],
            "must hold the same kind of reports",
        ),
        (
            ["file", "estimate", "reports.csv", "sealed.parquet"],
            "must hold the same kind of reports",
        ),
        (["file", "estimate", "cards.parquet"], "must be a file of reports or sealed reports"),
        (["file", "estimate", "collector.pub"], "must be a name that ends in one of"),
        (["file", "estimate", "reports.csv", "--by", "town"], "by must be a column of reports.csv"),
        (
            ["file", "estimate", "reports.csv", "--weight", "town"],
            "weight must be a column of reports",
        ),
        (
            ["file", "estimate", "reports.csv", "--weight", "region"],
            "column region must hold numbers",
        ),
        (["file", "estimate", "reports.csv", "--level", "1"], "level must be"),
        (["file", "estimate", "reports.csv", "--level", "nan"], "level must be"),
        (
            ["file", "estimate", "reports.csv", "--min-cell", "0"],
            "min_cell must be a whole number >= 1",
        ),
        (["file", "estimate", "reports.csv", "--top", "0"], "top must be a whole number >= 1"),
        (
            ["file", "estimate", "carded.parquet", "--decks", "0"],
            "decks must be a whole number >= 1",
        ),
        (["file", "estimate", "reports.csv", "--plot", "x.txt"], "path must end in one of"),
        (["file", "estimate", "sealed.parquet"], "key must be the collector's private key"),
        (
            ["file", "estimate", "sealed.parquet", "--key", "collector.pub"],
            "key must be a private key",
        ),
        (["file", "estimate", "sealed.parquet", "--key", "data.csv"], "key must be a private key"),
        (
            ["file", "estimate", "sealed.parquet", "--key", "collector.key", "--by", "region"],
            "by and weight must not be given for sealed reports",
        ),
        (["file", "shuffle", "reports.csv", "-o", "reports.csv"], "out must be another file"),
        (
            ["file", "shuffle", "reports.csv", "-o", "reports.csv", "--force"],
            "out must be another file",
        ),
        (
            ["file", "shuffle", "reports.csv", "-o", "data.csv"],
            "out must be a file that does not exist",
        ),
        (
            ["file", "shuffle", "reports.csv", "-o", "no/x.csv"],
            "out must be in a directory that exists",
        ),
        (
            ["file", "shuffle", "reports.csv", "-o", "x.json"],
            "out must be a name that ends in one of",
        ),
        (
            ["file", "shuffle", "reports.csv", "reports.csv", "-o", "x.csv"],
            "files that are all different",
        ),
        (
            ["file", "shuffle", "reports.csv", "other.parquet", "-o", "x.csv"],
            "the same kind of reports",
        ),
        (
            ["file", "shuffle", "cards.csv", "-o", "x.csv"],
            "must be a file of reports or sealed reports",
        ),
        (
            ["file", "shuffle", "sealed.parquet", "-o", "x.csv"],
            "out must be a Parquet or Arrow file",
        ),
        (["file", "shuffle", "-o", "x.csv"], "Missing argument"),
        (["file", "keys", "collector"], "name must be a file that does not exist yet"),
        (["file", "keys", "no/where"], "no/where.key"),
    ],
)
def test_other_commands_refuse(arguments: list[str], words: str, refused: Refused) -> None:
    refused(*arguments, words=words)


def test_a_file_without_a_header_is_no_file_of_reports(refused: Refused) -> None:
    for name in ("data.csv", "data.parquet"):
        refused("file", "estimate", name, words="must be a file that jrr wrote", code=DAMAGED)


def test_the_same_file_under_two_names(work: Path, refused: Refused) -> None:
    os.symlink("reports.parquet", "linked.parquet")
    os.link("reports.parquet", "hard.parquet")
    for other in ("linked.parquet", "hard.parquet"):
        refused("file", "estimate", "reports.parquet", other, words="files that are all different")
        refused("file", "shuffle", "reports.parquet", other, "-o", "x.csv", words="all different")
        refused(
            *("file", "shuffle", "reports.parquet", "-o", other, "--force"),
            words="out must be another",
        )


def test_groups_and_weights_come_from_public_columns(refused: Refused) -> None:
    """The report itself is no public attribute: its estimates would mean nothing."""
    for name in ("report", "carded"):
        refused("file", "estimate", "reports.csv", "--by", name, words="by")
        refused("file", "estimate", "reports.csv", "--weight", name, words="weight")


# Disks and signals ----------------------------------------------------------------------------

LIMITED = """
import contextlib, io, json, resource, signal, sys
from jrr.cli.app import run
import jrr.tables, jrr.reporting.plots

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
for size, arguments in json.loads(sys.argv[1]):
    with contextlib.ExitStack() as stack:
        out = stack.enter_context(contextlib.redirect_stdout(io.StringIO()))
        error = stack.enter_context(contextlib.redirect_stderr(io.StringIO()))
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
        code = run(arguments)
    print(json.dumps([code, out.getvalue(), error.getvalue()]), flush=True)
"""


def on_a_full_disk(runs: list[tuple[int, list[str]]]) -> list[tuple[int, str, str]]:
    """In another process, where writes beyond so many bytes fail as on a full disk."""
    result = subprocess.run(
        [sys.executable, "-B", "-c", LIMITED, json.dumps(runs)],
        capture_output=True,
        text=True,
        timeout=600,
        check=True,
    )
    return [tuple(json.loads(line)) for line in result.stdout.splitlines()]


def assert_failed(result: tuple[int, str, str], name: str) -> None:
    code, out, error = result
    assert code == 1, error
    assert out == ""
    assert error.startswith("jrr: error: ")
    assert error.count("\n") == 1
    assert name in error


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """20,000 people whose reports are not small, however they are packed."""
    folder = tmp_path_factory.mktemp("large")
    answers = [str(number) for number in np.random.default_rng(1).integers(0, 300, 20_000)]
    write_data(folder / "data.parquet", {"a": answers})
    (folder / "labels.txt").write_text("\n".join(map(str, range(300))))
    tables.deal(jrr.DRR(20_000, 0.3, 0.1, k=300), folder / "cards.parquet", rng=jrr.SeededRandom(1))
    tables.perturb(folder / "data.parquet", "a", folder / "reports.parquet", epsilon=1.0)
    return folder


posix = pytest.mark.skipif(sys.platform == "win32", reason="limits and signals of POSIX")


@pytest.mark.heavy
@pytest.mark.slow
@posix
@pytest.mark.parametrize("suffix", ["parquet", "arrow", "csv", "csv.gz"])
def test_a_full_disk_fails_and_leaves_nothing(
    suffix: str, large: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "full"
    shutil.copytree(large, folder)
    monkeypatch.chdir(folder)
    out = f"out.{suffix}"
    perturb = ["file", "perturb", "data.parquet", "--column", "a", "--labels-file", "labels.txt"]
    before = snapshot(folder)
    steps = [
        [*perturb, "-e", "1", "-o", out],
        [*perturb, "--cards", "cards.parquet", "-o", out],
        ["file", "shuffle", "reports.parquet", "-o", out],
        ["file", "deal", "-n", "60000", "-k", "5", "--closed-deck", "-o", out],
    ]
    for result in on_a_full_disk([(size, step) for step in steps for size in (0, 12_000)]):
        assert_failed(result, out)
    assert snapshot(folder) == before
    # An old output is still the old one, and the cards are still fresh.
    (folder / out).write_bytes(b"old")
    if suffix.startswith("csv"):
        (folder / f"{out}.json").write_bytes(b"old")
    before = snapshot(folder)
    forced = [[*step, "--force"] for step in steps]
    for result in on_a_full_disk([(2000, step) for step in forced]):
        assert_failed(result, out)
    assert snapshot(folder) == before
    [(code, _, error)] = on_a_full_disk([(1 << 30, forced[1])])
    assert code == 0, error
    assert (folder / "cards.parquet.spent").exists()


@pytest.mark.heavy
@pytest.mark.slow
@posix
def test_a_full_disk_for_keys_and_pictures(work: Path) -> None:
    before = snapshot(work)
    keys, picture = ["file", "keys", "new"], ["file", "estimate", "reports.csv", "--plot", "x.png"]
    first, second = on_a_full_disk([(50, keys), (50, picture)])
    assert_failed(first, "new.key")
    assert_failed(second, "x.png")
    assert snapshot(work) == before


@pytest.fixture(scope="module")
def huge(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files that keep every step busy for seconds: a million rows again and again."""
    folder = tmp_path_factory.mktemp("huge")
    rows = 1 << 20
    codes = (np.arange(rows) % 7 == 0).astype(np.int8)
    answers = pa.DictionaryArray.from_arrays(pa.array(codes), pa.array(["no", "yes"]))
    batch = pa.record_batch([answers], ["a"])
    with pq.ParquetWriter(folder / "data.parquet", batch.schema) as writer:
        for _ in range(16):
            writer.write_batch(batch)
    m = jrr.RR(2, epsilon=1.0)
    head = tables.Header("reports", m, question="a", labels=("no", "yes"))
    schema = pa.schema([("report", pa.uint8()), ("carded", pa.bool_())])
    schema = schema.with_metadata({b"jrr": head.to_json().encode()})
    reports = pa.record_batch([pa.array(codes.view(np.uint8)), np.zeros(rows, bool)], schema=schema)
    with pq.ParquetWriter(folder / "reports.parquet", schema) as writer:
        for _ in range(10):
            writer.write_batch(reports)
    lines = "1,false\n0,false\n" * (1 << 22)
    (folder / "reports.csv").write_text("report,carded\n" + lines)
    document = json.loads(head.to_json()) | {"rows": 1 << 23}
    (folder / "reports.csv.json").write_text(json.dumps(document))
    tables.deal(jrr.DRR(1 << 20, 0.3), folder / "cards.parquet", decks=4)
    return folder


def wait_for(happened: Callable[[], bool], process: "subprocess.Popen[str]") -> None:
    """Until something is seen from outside; the process must still run then."""
    until = time.monotonic() + 600
    while not happened():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < until
        time.sleep(0.005)
    assert process.poll() is None


@pytest.mark.heavy
@pytest.mark.slow_variants(
    "cards-SIGINT]", "estimate-SIGINT]", "perturb", "estimate-SIGTERM]", "shuffle"
)
@posix
@pytest.mark.parametrize("asked", [signal.SIGINT, signal.SIGTERM], ids=lambda asked: asked.name)
@pytest.mark.parametrize("step", ["perturb", "perturb csv", "cards", "shuffle", "estimate"])
def test_a_signal_in_the_middle_leaves_nothing(
    step: str, asked: signal.Signals, huge: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    perturb = ["file", "perturb", "data.parquet", "--column", "a", "--labels", "no,yes"]
    arguments = {
        "perturb": [*perturb, "-e", "1", "-o", str(folder / "x.parquet")],
        "perturb csv": [*perturb, "-e", "1", "-o", str(folder / "x.csv.gz")],
        "cards": [
            *perturb,
            "--cards",
            "cards.parquet",
            "--cardless",
            "-o",
            str(folder / "x.arrow"),
        ],
        "shuffle": ["file", "shuffle", "reports.parquet", "-o", str(folder / "x.parquet")],
        "estimate": ["file", "estimate", "reports.csv"],
    }[step]
    source = huge / arguments[2]
    before = sorted(path.name for path in huge.iterdir())

    def in_the_middle() -> bool:
        if step != "estimate":  # some bytes of a partial output are there
            return any(path.stat().st_size > 0 for path in folder.rglob("*") if path.is_file())
        descriptors = Path(f"/proc/{process.pid}/fd")
        try:
            return any(path.resolve() == source.resolve() for path in descriptors.iterdir())
        except FileNotFoundError:
            return False

    if step == "estimate" and not Path("/proc/self/fd").exists():
        pytest.skip("needs /proc to see that the file is being read")
    process = subprocess.Popen(
        [sys.executable, "-m", "jrr.cli", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=huge,
    )
    try:
        wait_for(in_the_middle, process)
        process.send_signal(asked)
        out, error = process.communicate(timeout=600)
    finally:
        if process.poll() is None:
            process.kill()
            process.communicate()
    assert process.returncode == 130, error
    assert out == ""
    assert error.strip().startswith("jrr: error: interrupted")
    assert error.strip().count("\n") == 0  # a line break first, after the terminal's ^C
    assert list(folder.rglob("*")) == []
    assert sorted(path.name for path in huge.iterdir()) == before  # no mark beside the cards


@pytest.mark.heavy
@pytest.mark.slow
@posix
@pytest.mark.parametrize("interrupted", [False, True])
def test_two_runs_at_once_do_not_use_the_same_cards(
    interrupted: bool, huge: Path, tmp_path: Path
) -> None:
    """A long run holds the cards while a short one asks for them; whatever ends how, once used."""
    cards = tmp_path / "cards.parquet"
    shutil.copy(huge / "cards.parquet", cards)
    write_data(tmp_path / "few.csv", {"a": ["yes", "no"] * 30})
    outputs = tmp_path / "long.parquet", tmp_path / "short.parquet"
    options = ["--column", "a", "--labels", "no,yes", "--cardless", "--cards", str(cards), "-o"]
    command = [sys.executable, "-m", "jrr.cli", "file", "perturb", str(huge / "data.parquet")]
    process = subprocess.Popen(
        [*command, *options, str(outputs[0])],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        wait_for(lambda: any(tmp_path.glob(".long*")), process)
        short = run(["file", "perturb", str(tmp_path / "few.csv"), *options, str(outputs[1])])
        if interrupted:
            process.send_signal(signal.SIGINT)
        process.communicate(timeout=600)
    finally:
        if process.poll() is None:
            process.kill()
            process.communicate()
    made = [path.exists() for path in outputs]
    assert made == [process.returncode == 0, short == 0]
    assert sum(made) <= 1
    assert (tmp_path / "cards.parquet.spent").exists() is any(made)


@pytest.mark.heavy
@posix
def test_a_killed_run_is_in_nobodys_way(huge: Path, tmp_path: Path) -> None:
    """No process can clean up after SIGKILL; the output is not there, and the step runs again."""
    out = tmp_path / "x.parquet"
    arguments = ["file", "shuffle", str(huge / "reports.parquet"), "-o", str(out)]
    process = subprocess.Popen([sys.executable, "-m", "jrr.cli", *arguments], text=True)
    try:
        wait_for(lambda: any(tmp_path.iterdir()), process)
    finally:
        process.kill()
        process.wait()
    assert not out.exists()
    small = tmp_path / "small.parquet"
    m = jrr.RR(2, epsilon=1.0)
    schema = pa.schema([("report", pa.uint8()), ("carded", pa.bool_())])
    schema = schema.with_metadata({b"jrr": tables.Header("reports", m).to_json().encode()})
    pq.write_table(pa.table([[0, 1, 1], [False] * 3], schema=schema), small)
    assert run(["file", "shuffle", str(small), "-o", str(out)]) == 0
    assert tables.tally(out)[1].cardless == (1, 2)
