"""Counts as people write them on the command line: 10,000 people are ten thousand."""

import json

import click
import pytest

from jrr.cli.app import run
from jrr.cli.values import read_count


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("10000", 10_000),
        ("10,000", 10_000),
        ("10_000", 10_000),
        (" 1,234,567 ", 1_234_567),
        ("1_234_567", 1_234_567),
        ("0", 0),
        ("-3", -3),  # refused by whoever needs more, with its own reason
        ("+7", 7),
        ("999", 999),
    ],
)
def test_thousands_are_read(text: str, count: int) -> None:
    assert read_count(text) == count
    assert read_count(count) == count


@pytest.mark.parametrize(
    "text",
    [
        *("10,00", "10,0000", "1000,000", ",000", "10,", "10,,000", "1,000_000", "10_00", "1_0"),
        *("10.000", "1e4", "10 000", "ten", "", "10,000.0", "-10,000", "١٠"),
    ],
)
def test_what_could_mean_two_numbers_is_refused(text: str) -> None:
    with pytest.raises(click.BadParameter, match="10000, 10,000 or 10_000, got"):
        read_count(text)


def planned(capsys: pytest.CaptureFixture[str], n: str) -> str:
    assert run(["plan", "-n", n, "-e", "1", "--mechanism", "rr", "--json"]) == 0
    return capsys.readouterr().out


def test_a_plan_of_10_000_people(capsys: pytest.CaptureFixture[str]) -> None:
    plain = planned(capsys, "10000")
    assert json.loads(plain)["n"] == 10_000
    assert planned(capsys, "10,000") == planned(capsys, "10_000") == plain
    assert run(["plan", "-n", "10,00", "-e", "1"]) == 2
    told = capsys.readouterr().err
    assert "-n" in told
    assert "10,000" in told
    assert "'10,00'" in told


def test_bounds_hold_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["plan", "-n", "1,000", "-e", "1", "--max-bytes", "0"]) == 2
    assert "max-bytes" in capsys.readouterr().err
