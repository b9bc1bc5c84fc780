"""The rule for small groups is one: from files, in Python, at the collector's server."""

import inspect
import json
from dataclasses import fields
from pathlib import Path

import pytest

from jrr import DRR, tables
from jrr.cli.app import run
from jrr.cli.file.estimate import estimate
from jrr.client.operator import EstimateWish
from jrr.errors import JrrError
from jrr.estimation.groups import MIN_CELL
from jrr.survey.survey import Survey
from tests.e2e import Pair, answer_all


@pytest.mark.slow_variants("postgresql")
def test_files_python_and_collector_have_one_rule_for_small_groups(
    pair: Pair, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The same reports through all three: the same groups, the same number of hidden ones."""
    mechanism = DRR(40, truth=0.5, own=0.1)
    groups = {"region": ("east", "north", "sea", "south")}
    survey = pair.survey(mechanism, groups=groups, min_cell=10)
    operator, people = pair.begin(survey, 40)
    regions = ["north"] * 19 + ["south"] * 10 + ["sea"] * 9 + ["east"] * 2
    answer_all(survey, people, groups=[{"region": region} for region in regions])
    operator.close()
    server = operator.estimate("answer", EstimateWish(by="region"))
    exported = tmp_path / "reports.parquet"
    exported.write_bytes(operator.export("parquet"))
    result = tables.estimate_survey(exported, by="region", min_cell=survey.min_cell)["answer"]
    capsys.readouterr()
    assert (
        run(["file", "estimate", str(exported), "--by", "region", "--min-cell", "10", "--json"])
        == 0
    )
    printed = json.loads(capsys.readouterr().out)["estimates"]["answer"]
    parts = ("groups", "groups_too_small", "differences")
    for document in (server, printed, result.to_dict()):
        assert {name: document[name] for name in parts} == result.groups.to_dict()
        assert [group["name"] for group in document["groups"]] == ["north", "south"]
        assert document["groups_too_small"] == 2
        assert "sea" not in json.dumps([document[name] for name in parts])


def test_all_three_ways_have_one_default() -> None:
    options = {option.name: option.default for option in estimate.params}
    assert options["min_cell"] == MIN_CELL
    assert inspect.signature(tables.estimate).parameters["min_cell"].default == MIN_CELL
    assert next(f.default for f in fields(Survey) if f.name == "min_cell") == MIN_CELL


def test_the_collector_keeps_an_early_estimate_back(sqlite_pair: Pair) -> None:
    survey = sqlite_pair.survey(DRR(40, truth=0.5, own=0.1), min_cell=10)
    operator, people = sqlite_pair.begin(survey, 12)
    answer_all(survey, people[:9])
    with pytest.raises(JrrError, match="fewer than 10 reports are not shown before the end"):
        operator.estimate("answer")
    answer_all(survey, people[9:10])
    assert operator.estimate("answer")["estimate"]["n"] == 10
