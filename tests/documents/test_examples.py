"""Every example for a kind of user runs, and its figures hold at the seed it names."""

import json
import runpy
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.heavy

FOLDER = Path(__file__).parents[2] / "examples"
KINDS = ("survey_researcher", "telemetry_engineer", "paper_researcher", "analyst_at_scale")


def outcome(name: str) -> dict[str, Any]:
    """Run an example as a script would be run; returns the names it has defined."""
    return runpy.run_path(str(FOLDER / f"{name}.py"))


def test_survey_researcher(capsys: pytest.CaptureFixture[str]) -> None:
    names = outcome("survey_researcher")
    assert names["plan"].guarantees["cards"] <= 1.0
    assert names["plan"].guarantees["dealer"] <= 3.0
    assert names["plan"].stderr() < names["plain"].stderr()
    assert names["low"] < 0.14 < names["high"]
    assert names["low"] < names["share"] < names["high"]
    assert f"{100 * names['share']:.1f}% said yes" in capsys.readouterr().out


@pytest.mark.slow
def test_telemetry_engineer(capsys: pytest.CaptureFixture[str]) -> None:
    names = outcome("telemetry_engineer")
    fault = names["MODES"].index("fault")
    for day, broken in names["faults"].items():
        estimate = names["daily"][day]
        assert estimate.n == names["DEVICES"]
        low, high = estimate.interval(0.95)
        assert low[fault] < broken / names["DEVICES"] < high[fault], day
    low, high = names["change"].interval(0.95)
    assert low[fault] < 0.02 < high[fault]
    assert "tuesday minus monday" in capsys.readouterr().out


@pytest.mark.slow
def test_telemetry_tallies_are_all_that_the_estimate_needs() -> None:
    names = outcome("telemetry_engineer")
    announced, mechanism = names["announced"], names["mechanism"]
    merged = names["estimate_of"](names["tallies"], announced)
    reports = [mechanism.report_from_json(json.loads(line)) for line in names["reports"]]
    tally = mechanism.tally(reports, deck="tuesday")
    whole = mechanism.estimate(mechanism.settle(tally, announced=announced))
    assert merged.counts.tolist() == whole.counts.tolist()
    assert merged.stderr.tolist() == whole.stderr.tolist()


def test_paper_researcher(capsys: pytest.CaptureFixture[str]) -> None:
    names = outcome("paper_researcher")
    for number, (printed, exact, ours) in enumerate(names["losses"], start=1):
        assert ours == pytest.approx(exact, abs=1e-9)
        assert (printed < exact - 1e-3) == (2 <= number <= 4)
    assert names["simulated"] == pytest.approx(names["formula"], rel=0.05)
    assert names["first_loss"] == 152
    assert "from 152 colluders on" in capsys.readouterr().out


def test_analyst_at_scale(capsys: pytest.CaptureFixture[str]) -> None:
    names = outcome("analyst_at_scale")
    result, yes = names["result"], names["yes"]
    assert result.estimate.n == names["PEOPLE"]
    for group in result.groups:
        low, high = group.estimate.interval(0.95)
        assert low[yes] < names["SHARES"][group.name] < high[yes], group.name
    assert "east - north" in capsys.readouterr().out


@pytest.mark.parametrize("name", KINDS)
def test_examples_use_public_names_only(name: str) -> None:
    imports = [
        line
        for line in (FOLDER / f"{name}.py").read_text("utf-8").splitlines()
        if line.startswith(("import jrr", "from jrr"))
    ]
    assert set(imports) <= {"import jrr", "from jrr import tables"}
