"""Exported reports carry what dealers told of the masks: `jrr file estimate` needs nothing else."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import jrr
from jrr import MRR, tables
from jrr.cli.app import run
from jrr.client.closing import Ending
from jrr.client.export import export_reports
from jrr.client.operator import Operator
from jrr.errors import ArgumentError, DamagedError
from jrr.survey.answers import read_answer
from jrr.tables.header import Header
from tests.e2e import Pair, answer_all
from tests.e2e.test_announced_sums import hands_of

ANNOUNCED = MRR.for_epsilon(1.0, n=50, announced=True)
THREE = MRR.for_epsilon(1.0, n=50, announced=True, k=3)
PEOPLE = 40


def estimated(path: Path, capsys: pytest.CaptureFixture[str], *options: str) -> Any:
    """What the command says of a file, without asking anybody."""
    capsys.readouterr()
    assert run(["file", "estimate", str(path), "--min-cell", "5", "--json", *options]) == 0
    return json.loads(capsys.readouterr().out)


def exported(operator: Operator, folder: Path, number: int = 0) -> list[Path]:
    paths = [folder / f"reports{number}.{ending}" for ending in ("parquet", "csv")]
    for path in paths:
        export_reports(operator, path)
    return paths


@pytest.mark.slow_variants("postgresql")
@pytest.mark.parametrize("mechanism", [ANNOUNCED, THREE], ids=["k=2", "k=3"])
def test_the_file_says_what_the_server_says(
    pair: Pair, tmp_path: Path, capsys: pytest.CaptureFixture[str], mechanism: MRR
) -> None:
    operators = []
    for number in (0, 1):
        campaign = pair.campaign(mechanism)
        operator, people = pair.begin(campaign, PEOPLE)
        operators.append(operator)
        hands_of(pair.dealer.url, campaign, people[-3:])  # three vanish with their cards
        answer_all(campaign, people[:-3])
        assert operator.show()["collector"]["settled"] is False
        early = tmp_path / f"early{number}.parquet"
        export_reports(operator, early)
        with pytest.raises(ArgumentError, match="must be the sum that the dealer announced"):
            tables.estimate(early)
        operator.close()
        assert operator.show()["collector"]["settled"] is True
        found = operator.estimate()["estimate"]
        for path in exported(operator, tmp_path, number):
            assert estimated(path, capsys)["estimate"] == found
    # Mixed into another order, or with other reports, the sums are still those of all of them.
    parts = [tmp_path / f"reports{number}.parquet" for number in (0, 1)]
    mixed = tmp_path / "mixed.csv"
    tables.shuffle(parts[:1], mixed)
    assert estimated(mixed, capsys)["estimate"] == operators[0].estimate()["estimate"]
    both = tmp_path / "both.parquet"
    tables.shuffle(parts, both)
    together = tables.estimate(*parts).estimate
    assert estimated(both, capsys)["estimate"] == together.to_dict()
    assert together.counts[0] == pytest.approx(
        sum(operator.estimate()["estimate"]["counts"][0] for operator in operators)
    )
    _, tally = tables.tally(*parts)
    assert mechanism.estimate(tally).counts.tolist() == together.counts.tolist()


def test_sums_of_groups(
    sqlite_pair: Pair, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    places = {"region": ("north", "south"), "age": ("young", "old")}
    campaign = sqlite_pair.campaign(ANNOUNCED, covariates=places)
    operator, people = sqlite_pair.begin(campaign, PEOPLE)
    where = [
        {"region": places["region"][at % 2], "age": places["age"][at % 3 % 2]}
        for at in range(PEOPLE)
    ]
    answer_all(campaign, people, covariates=where)
    operator.close(ending=Ending(by="region"))
    found = operator.estimate(by="region")
    for path in exported(operator, tmp_path):
        by_region = estimated(path, capsys, "--by", "region")
        for name in ("estimate", "groups", "differences", "groups_too_small"):
            assert by_region[name] == found[name]
        assert estimated(path, capsys)["estimate"] == found["estimate"]
        with pytest.raises(ArgumentError, match="results by age need a sum of the cards of each"):
            tables.estimate(path, by="age")


def test_cards_that_nobody_fetched(
    sqlite_pair: Pair, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    campaign = sqlite_pair.campaign(
        MRR.for_epsilon(1.0, n=PEOPLE, announced=False), capacity=2 * PEOPLE
    )
    operator, people = sqlite_pair.begin(campaign, PEOPLE + 5)
    answer_all(campaign, people)
    before = exported(operator, tmp_path, 0)[0]
    wide = estimated(before, capsys)["estimate"]
    operator.close()
    found = operator.estimate()["estimate"]
    (tmp_path / "end").mkdir()
    for path in exported(operator, tmp_path / "end"):
        assert estimated(path, capsys)["estimate"] == found
    assert found["stderr"][0] < wide["stderr"][0]


def test_the_mean_of_a_number(
    sqlite_pair: Pair, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    campaign = sqlite_pair.campaign(ANNOUNCED, number=(0.0, 24.0), labels=("0", "24"))
    operator, people = sqlite_pair.begin(campaign, PEOPLE)
    rng = jrr.SeededRandom(3)
    answer_all(campaign, people, [read_answer(campaign, 8.0, rng) for _ in people])
    operator.close()
    found = operator.estimate()["mean"]
    for path in exported(operator, tmp_path):
        document = estimated(path, capsys)
        assert {name: document["estimate"][name] for name in found} == found


def test_what_a_header_refuses(sqlite_pair: Pair, tmp_path: Path) -> None:
    campaign = sqlite_pair.campaign(ANNOUNCED)
    operator, people = sqlite_pair.begin(campaign, PEOPLE)
    answer_all(campaign, people)
    operator.close()
    path = exported(operator, tmp_path)[1]
    beside = path.with_name(f"{path.name}.json")
    document = json.loads(beside.read_text())
    told = document["sums"]["announced"][""][0]
    for change, problem in (
        ({"sum": None}, "sum must be null exactly where there are no cards"),
        ({"cards": -1}, "cards must be a whole number"),
        ({"sum": [1, 2]}, "sum must be 1 whole numbers"),
    ):
        sums = document["sums"] | {"announced": {"": [told | change]}}
        beside.write_text(json.dumps(document | {"sums": sums}))
        with pytest.raises(DamagedError, match=problem):
            tables.estimate(path)
    sums = document["sums"] | {"announced": {"": [told | {"cards": PEOPLE - 1}]}}
    beside.write_text(json.dumps(document | {"sums": sums}))
    with pytest.raises(ArgumentError, match="reports with a card must be those of the announced"):
        tables.estimate(path)
    header = Header.from_dict(document)
    with pytest.raises(ArgumentError, match="sums must be None but for reports that hold masks"):
        replace(header, mechanism=jrr.RR(p=0.75))


def test_sums_of_merged_groups(
    sqlite_pair: Pair, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    campaign = sqlite_pair.campaign(ANNOUNCED, covariates={"region": ("north", "south", "sea")})
    operator, people = sqlite_pair.begin(campaign, 20)
    regions = ["north"] * 12 + ["south"] * 5 + ["sea"] * 3
    answer_all(campaign, people, covariates=[{"region": region} for region in regions])
    operator.close(ending=Ending(by="region", merge_small=True))
    found = operator.estimate(by="region")
    assert {one["name"]: one["n"] for one in found["groups"]} == {"north": 12, "south + sea": 8}
    for path in exported(operator, tmp_path):
        told = estimated(path, capsys, "--by", "region")
        assert told["groups"] == found["groups"]
        assert told["estimate"] == found["estimate"]
