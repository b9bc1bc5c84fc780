"""`jrr study bench`: every mechanism is measured, in turn with numpy; no limits on time."""

import json

import pytest

from jrr.cli.app import run
from jrr.research.bench import BARE, costs


def test_every_mechanism_is_measured_against_numpy() -> None:
    seen: list[tuple[int, int]] = []
    found = costs(200, 2, lambda done, total: seen.append((done, total)))
    assert [cost.name.split(",")[0] for cost in found][1:] == [
        "RR",
        "JRR",
        "DRR",
        "MRR",
        "GRR",
        "OUE",
        "OLH",
    ]
    assert found[0].name == BARE
    assert found[0].ratio == 1.0
    for cost in found:
        assert cost.ratio == pytest.approx(cost.nanoseconds / found[0].nanoseconds)
    assert seen == [(done, 16) for done in range(1, 17)]


def test_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["study", "bench", "--reports", "100", "--rounds", "1", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["costs"]) == 8
    assert run(["study", "bench", "--reports", "100", "--rounds", "1"]) == 0
    assert "ns per report" in capsys.readouterr().out
    assert run(["study", "bench", "--reports", "3"]) == 2
    assert (
        "reports must be a whole number in 20..100000000, got reports=3" in capsys.readouterr().err
    )
