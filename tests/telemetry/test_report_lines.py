"""Files of JSON lines: whatever made the reports, the same estimate comes out again."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jrr
from jrr import SeededRandom, tables
from jrr.errors import ArgumentError, DamagedError
from jrr.telemetry.asked import asked_from_dict

WORDS = jrr.Words("ab", 3)
PEOPLE = 120


def carded(m: jrr.Mechanism) -> Any:
    """Reports of a few people with cards, and a few without."""
    rng = SeededRandom(1)
    cards = m.deal(rng)
    values: Any = np.arange(len(cards)) % m.k
    if isinstance(m, jrr.MRR) and isinstance(m.coin, jrr.Block):
        values = np.stack(np.unravel_index(values, m.coin.sizes), axis=1)
    with_cards = m.respond(values, cards, rng)
    return np.concatenate([with_cards, m.respond(values[:10], None, rng)])


COINS = (jrr.Choice(3), jrr.Bits(4), jrr.Subset(5, 2), jrr.Window(8, 3), jrr.Block((2, 3)))


MECHANISMS: dict[str, Callable[[], jrr.Mechanism]] = {
    "RR": lambda: jrr.RR(k=3, epsilon=1.0),
    "JRR": lambda: jrr.JRR(40, p=0.7, rho=-0.4),
    "DRR": lambda: jrr.DRR(40, truth=0.2),
    "MRR": lambda: jrr.MRR.for_epsilon(1.0, n=40, announced=False),
    "MRR k=3": lambda: jrr.MRR.for_epsilon(1.0, n=40, k=3, announced=False),
    "SS": lambda: jrr.SS(k=9, epsilon=1.0),
    "SUE": lambda: jrr.SUE(k=9, epsilon=1.0),
    "OUE dealt": lambda: jrr.OUE(k=5, epsilon=1.0, coupling="dealt", n=40),
    "OLH": lambda: jrr.OLH(k=50, epsilon=1.0),
    "Piecewise": lambda: jrr.Piecewise(1.0, steps=8),
} | {
    f"MRR {coin}": lambda coin=coin: jrr.MRR(40, own=3.0, card_rate=0.5, total_rate=1.0, coin=coin)
    for coin in COINS
}


@pytest.mark.parametrize("name", MECHANISMS)
def test_every_mechanism(name: str, tmp_path: Path) -> None:
    m = MECHANISMS[name]()
    values = np.arange(PEOPLE) % m.k
    reports = carded(m) if m.deals else m.respond(values, None, SeededRandom(1))
    path = tmp_path / "reports.jsonl"
    held = [True] * 40 + [False] * 10 if m.deals else None
    assert jrr.write_reports(path, m, reports, carded=held) == len(reports)
    asked, read = jrr.read_reports(path)
    assert asked == m
    assert asked.tally(read) == m.tally(reports, held)
    first, *lines = path.read_text().splitlines()
    assert json.loads(first) == {"jrr": 1, "holds": "reports", "mechanism": m.to_dict()}
    # Single reports are the same lines: a device writes what the collector reads.
    assert [json.dumps(m.report_to_json(report)) for report in read] == lines
    # And so are the rows of a bulk result.
    flags = [None] * len(reports) if held is None else held
    pairs = zip(reports, flags, strict=True)
    assert [json.dumps(m.report_to_json(row, had)) for row, had in pairs] == lines


@pytest.mark.parametrize("name", MECHANISMS)
@pytest.mark.parametrize("report", [None, 1.5, 1 << 70, "7", b"", b"\xff" * 99, [300] * 99])
def test_what_is_no_report_is_not_written(name: str, report: object, tmp_path: Path) -> None:
    m = MECHANISMS[name]()
    with pytest.raises(ArgumentError, match="report must be"):
        m.report_to_json(report, m.deals or None)
    with pytest.raises(ArgumentError, match="report"):
        jrr.write_reports(tmp_path / "x.jsonl", m, [report], carded=m.deals or None)


def test_strings_numbers_and_rounds(tmp_path: Path) -> None:
    rng = SeededRandom(2)
    search = jrr.HeavyHitters(WORDS, 3.0, keep=4, levels=(1, 3))
    strings = search.respond(["ab", "b", "aba"] * 100, rng)
    tree = jrr.RangeTree.for_epsilon(0, 10, bins=16, epsilon=2.0)
    numbers = tree.respond([1.0, 2.0, 7.0] * 100, rng)
    daily = jrr.Longitudinal(jrr.RR(p=0.75), jrr.RR(p=0.9))
    day = daily.respond([0, 1, 1] * 100, daily.remember(300, rng), None, rng)
    for asked, reports in ((search, strings), (tree, numbers), (daily, day)):
        path = tmp_path / f"{type(asked).__name__}.jsonl"
        assert jrr.write_reports(path, asked, reports) == 300
        again, read = jrr.read_reports(path)
        assert again == asked
        if isinstance(asked, jrr.HeavyHitters):
            assert (read == strings).all()
            assert again.find(read, 3).to_dict() == search.find(strings, 3).to_dict()
            assert [again.report_to_json(row) for row in strings] == list(
                again.reports_to_json(strings)
            )
            with pytest.raises(ArgumentError, match="level"):
                again.report_to_json((2, 1, 1))
        else:
            assert again.estimate(read).to_dict() == asked.estimate(reports).to_dict()  # type: ignore[arg-type]
        # One report at a time says the same.
        lines = path.read_text().splitlines()[1:]
        singles = [again.report_from_json(json.loads(line)) for line in lines]
        assert [json.dumps(again.report_to_json(one)) for one in singles] == lines


@pytest.mark.parametrize("name", ["RR", "DRR", "MRR", "Piecewise", "MRR Window(steps=8, width=3)"])
def test_a_number_keeps_its_ends(name: str, tmp_path: Path) -> None:
    m = jrr.RR(epsilon=2.0) if name == "RR" else MECHANISMS[name]()
    rng = SeededRandom(4)
    hours = jrr.Numbers(0, 24, m, clip=True)
    people = np.linspace(0, 25, 40)
    reports = hours.respond(people, hours.deal(rng), rng)
    path = tmp_path / "hours.jsonl"
    assert jrr.write_reports(path, hours, reports) == 40
    header = json.loads(path.read_text().splitlines()[0])
    assert header["number"] == {"low": 0.0, "high": 24.0, "clip": True}
    assert header["mechanism"] == m.to_dict()
    asked, read = jrr.read_reports(path)
    assert asked == hours
    assert asked.estimate(read).to_dict() == hours.estimate(reports).to_dict()
    mean = tables.estimate(path).mean
    assert mean is not None
    assert mean.to_dict() == hours.estimate(reports).to_dict()
    single = asked.respond_one(7.5)
    assert asked.report_from_json(json.loads(json.dumps(asked.report_to_json(single)))) == single
    plain = tmp_path / "plain.jsonl"
    jrr.write_reports(plain, m, reports)
    with pytest.raises(ArgumentError, match="of one question"):
        jrr.read_reports(path, plain)
    for number in (3, [0, 1], {"low": 0}, {"low": 1, "high": 0, "clip": False}):
        path.write_text(json.dumps(header | {"number": number}) + "\n")
        with pytest.raises(DamagedError, match="low"):
            jrr.read_reports(path)


def test_files_add_up_and_grow_by_lines(tmp_path: Path) -> None:
    m = jrr.RR(p=0.75)
    first, second = tmp_path / "monday.jsonl", tmp_path / "tuesday.ndjson"
    jrr.write_reports(first, m, m.respond([0, 1] * 30))
    jrr.write_reports(second, m, [m.respond_one(1)])
    with second.open("a") as file:
        file.write(json.dumps(m.report_to_json(m.respond_one(0))) + "\n")
    asked, reports = jrr.read_reports(first, second)
    assert asked.estimate(reports).n == 62
    other = tmp_path / "other.jsonl"
    jrr.write_reports(other, jrr.RR(p=0.8), [1])
    with pytest.raises(ArgumentError, match="of one question"):
        jrr.read_reports(first, other)
    with pytest.raises(ArgumentError, match="does not exist yet"):
        jrr.write_reports(first, m, [1])
    assert jrr.write_reports(first, m, [1], force=True) == 1
    with pytest.raises(ArgumentError, match="ends in one of"):
        jrr.write_reports(tmp_path / "x.csv", m, [1])
    with pytest.raises(ArgumentError, match="exists"):
        jrr.read_reports(tmp_path / "none.jsonl")
    with pytest.raises(ArgumentError, match="at least one"):
        jrr.read_reports()


HEAD = '{"jrr": 1, "holds": "reports", "mechanism": {"mechanism": "RR", "k": 2, "p": 0.75}}\n'
SEARCH = json.dumps(
    {"jrr": 1, "holds": "reports", "mechanism": jrr.HeavyHitters(WORDS, 1.0).to_dict()}
)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("", "begin with a line that says what was asked"),
        ("1\n0\n", "begin with a line"),
        (HEAD.replace("reports", "cards"), "begin with a line"),
        (HEAD.replace(": 1,", ": 2,", 1), "of version 1"),
        (HEAD.replace('"RR"', '"PP"'), "mechanism"),
        (HEAD + "1\nno\n", "JSON in line 3"),
        (HEAD + "1, 0\n", "JSON in line 2"),
        (HEAD + "1\n\n0\n", "JSON in line 3"),
        (HEAD + "1, 0\n[1\n0]\n", "JSON in line 2"),
        (HEAD + "1\n" * 70_000 + "2\n", "line 70002: report must be a whole number in 0..1"),
        (HEAD + "1\n" + HEAD + "1\n", "line 3: report must be .* got report={'jrr'"),
        (HEAD + '{"report": 1, "carded": true}\n', "report"),
        (HEAD + "[" * 50_000 + "\n", "JSON in line 2"),
        (SEARCH + '\n[0, ["1", 0]]\n[0, ["01", 0]]\n', "line 3: .*seed"),
        (SEARCH + '\n[0, ["+1", 0]]\n', "seed"),
        (SEARCH + "\n[0, [1, 0]]\n", "seed"),
        (SEARCH + f'\n[0, ["{1 << 64}", 0]]\n', "seed"),
        (SEARCH + '\n[true, ["1", 0]]\n', "level"),
        (SEARCH + '\n[9, ["1", 0]]\n', "level"),
        (SEARCH + '\n[0, ["1", 1.0]]\n', "report"),
        (SEARCH + '\n[0, ["1", 77]]\n', "report"),
        (SEARCH + "\n7\n", "document"),
    ],
)
def test_what_is_no_file_of_reports_is_refused(text: str, named: str, tmp_path: Path) -> None:
    path = tmp_path / "reports.jsonl"
    path.write_text(text)
    with pytest.raises(DamagedError, match=named) as refused:
        jrr.read_reports(path)
    assert str(path) in str(refused.value)


def test_reports_without_their_mark_are_not_written(tmp_path: Path) -> None:
    m = jrr.DRR(40, truth=0.2)
    with pytest.raises(ArgumentError, match="carded"):
        jrr.write_reports(tmp_path / "reports.jsonl", m, np.array([0, 1]))
    swapped: Any = [0, 1]
    with pytest.raises(ArgumentError, match="asked must be what made the reports"):
        jrr.write_reports(tmp_path / "reports.jsonl", swapped, m)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("document", [None, {}, {"mechanism": "Words"}, {"mechanism": 7}])
def test_documents_of_nothing(document: object) -> None:
    with pytest.raises(ArgumentError):
        asked_from_dict(document)
    with pytest.raises(ArgumentError):
        jrr.Longitudinal.from_dict({"mechanism": "RangeTree", "fresh": {}, "permanent": None})
