"""`jrr plan rounds`."""

import json

import pytest

from jrr.cli.app import run


def test_a_year_remembered(capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        run(["plan", "rounds", "-n", "1000", "--rounds", "365", "--permanent", "2", "--json"]) == 0
    )
    found = json.loads(capsys.readouterr().out)
    assert found["epsilon"]["value"]["dealer"] <= 2.0
    assert found["epsilon"]["history"]["everything"] > 100
    assert 0 < found["stderr"] < 0.1


def test_fresh_rounds_in_words(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["plan", "rounds", "-n", "1000", "-T", "10", "--mechanism", "rr"]) == 0
    shown = capsys.readouterr().out
    assert "nothing is remembered" in shown
    assert "everything, also when it changed" in shown


def test_refusals(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["plan", "rounds", "--rounds", "0"]) == 2
    assert "rounds" in capsys.readouterr().err
    assert run(["plan", "rounds", "--permanent", "-1"]) == 2
