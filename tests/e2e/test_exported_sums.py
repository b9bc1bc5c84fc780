"""Exported reports carry what dealers told of the masks: `jrr file estimate` needs nothing else."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import jrr
from jrr import MRR, tables
from jrr.cli.app import run
from jrr.client.ending import Ending
from jrr.client.operator import EstimateWish, Operator
from jrr.errors import ArgumentError, DamagedError
from jrr.tables.formats import META, WholeTable
from jrr.tables.header import Header
from jrr.tables.names import HEADERS
from jrr.tables.survey_answers import open_survey_answers
from tests.e2e import Pair, answer_all
from tests.e2e.test_announced_sums import hands_of

ANNOUNCED = MRR.for_epsilon(1.0, n=50, announced=True)
THREE = MRR.for_epsilon(1.0, n=50, announced=True, k=3)
PEOPLE = 40


def estimated(path: Path, capsys: pytest.CaptureFixture[str], *options: str) -> Any:
    """What the command says of the only question in a file, without asking anybody."""
    capsys.readouterr()
    assert run(["file", "estimate", str(path), "--min-cell", "5", "--json", *options]) == 0
    found = json.loads(capsys.readouterr().out)
    return found["estimates"]["answer"] if "estimates" in found else found


def exported(operator: Operator, path: Path) -> Path:
    path.write_bytes(operator.export("parquet"))
    return path


def reports_alone(answers: Path, out: Path) -> Path:
    """The reports of the only question in a file of their own, with their header."""
    ((table, header),) = open_survey_answers(answers)["answer"].tables
    assert isinstance(table, WholeTable)
    pq.write_table(table.whole.replace_schema_metadata({META: header.to_json()}), out)
    return out


@pytest.mark.slow_variants("postgresql")
@pytest.mark.parametrize("mechanism", [ANNOUNCED, THREE], ids=["k=2", "k=3"])
def test_the_file_says_what_the_server_says(
    pair: Pair, tmp_path: Path, capsys: pytest.CaptureFixture[str], mechanism: MRR
) -> None:
    operators: list[Operator] = []
    parts: list[Path] = []
    for number in (0, 1):
        survey = pair.survey(mechanism)
        operator, people = pair.begin(survey, PEOPLE)
        operators.append(operator)
        hands_of(pair.dealer.url, survey, people[-3:])  # three vanish with their cards
        answer_all(survey, people[:-3])
        assert operator.show()["collector"]["settled"] is False
        early = exported(operator, tmp_path / f"early{number}.parquet")
        with pytest.raises(ArgumentError, match="must be the sum that the dealer announced"):
            tables.estimate_survey(early)
        operator.close()
        assert operator.show()["collector"]["settled"] is True
        found = operator.estimate("answer")["estimate"]
        path = exported(operator, tmp_path / f"answers{number}.parquet")
        assert estimated(path, capsys)["estimate"] == found
        parts.append(reports_alone(path, tmp_path / f"reports{number}.parquet"))
        assert estimated(parts[-1], capsys)["estimate"] == found
    # Mixed into another order, or with other reports, the sums are still those of all of them.
    mixed = tmp_path / "mixed.csv"
    tables.shuffle(parts[:1], mixed)
    assert estimated(mixed, capsys)["estimate"] == operators[0].estimate("answer")["estimate"]
    both = tmp_path / "both.parquet"
    tables.shuffle(parts, both)
    together = tables.estimate(*parts).estimate
    assert estimated(both, capsys)["estimate"] == together.to_dict()
    assert together.counts[0] == pytest.approx(
        sum(operator.estimate("answer")["estimate"]["counts"][0] for operator in operators)
    )
    _, tally = tables.tally(*parts)
    assert mechanism.estimate(tally).counts.tolist() == together.counts.tolist()


def test_sums_of_groups(
    sqlite_pair: Pair, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    places = {"region": ("north", "south"), "age": ("young", "old")}
    survey = sqlite_pair.survey(ANNOUNCED, groups=places)
    operator, people = sqlite_pair.begin(survey, PEOPLE)
    where = [
        {"region": places["region"][at % 2], "age": places["age"][at % 3 % 2]}
        for at in range(PEOPLE)
    ]
    answer_all(survey, people, groups=where)
    operator.close(Ending(by="region"))
    found = operator.estimate("answer", EstimateWish(by="region"))
    path = exported(operator, tmp_path / "answers.parquet")
    by_region = estimated(path, capsys, "--by", "region")
    for name in ("estimate", "groups", "differences", "groups_too_small"):
        assert by_region[name] == found[name]
    assert estimated(path, capsys)["estimate"] == found["estimate"]
    with pytest.raises(ArgumentError, match="results by age need a sum of the cards of each"):
        tables.estimate_survey(path, by="age")


def test_cards_that_nobody_fetched(
    sqlite_pair: Pair, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    survey = sqlite_pair.survey(
        MRR.for_epsilon(1.0, n=PEOPLE, announced=False), capacity=2 * PEOPLE
    )
    operator, people = sqlite_pair.begin(survey, PEOPLE + 5)
    answer_all(survey, people)
    before = exported(operator, tmp_path / "early.parquet")
    wide = estimated(before, capsys)["estimate"]
    operator.close()
    found = operator.estimate("answer")["estimate"]
    path = exported(operator, tmp_path / "answers.parquet")
    assert estimated(path, capsys)["estimate"] == found
    assert found["stderr"][0] < wide["stderr"][0]


def test_what_a_header_refuses(sqlite_pair: Pair, tmp_path: Path) -> None:
    survey = sqlite_pair.survey(ANNOUNCED)
    operator, people = sqlite_pair.begin(survey, PEOPLE)
    answer_all(survey, people)
    operator.close()
    path = exported(operator, tmp_path / "answers.parquet")
    whole = pq.read_table(path)
    metadata = whole.schema.metadata
    document = json.loads(metadata[HEADERS])["answer"]
    told = document["sums"]["announced"][""][0]

    def changed(**change: Any) -> Path:
        sums = document["sums"] | {"announced": {"": [told | change]}}
        headers = json.dumps({"answer": document | {"sums": sums}})
        pq.write_table(whole.replace_schema_metadata(metadata | {HEADERS: headers}), path)
        return path

    wrong: list[tuple[dict[str, Any], str]] = [
        ({"sum": None}, "sum must be null exactly where there are no cards"),
        ({"cards": -1}, "cards must be a whole number"),
        ({"sum": [1, 2]}, "sum must be 1 whole numbers"),
    ]
    for change, problem in wrong:
        with pytest.raises(DamagedError, match=problem):
            tables.estimate_survey(changed(**change))
    with pytest.raises(ArgumentError, match="reports with a card must be those of the announced"):
        tables.estimate_survey(changed(cards=PEOPLE - 1))
    header = Header.from_dict(document)
    with pytest.raises(ArgumentError, match="sums must be None but for reports that hold masks"):
        replace(header, mechanism=jrr.RR(p=0.75))


def test_sums_of_merged_groups(
    sqlite_pair: Pair, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    survey = sqlite_pair.survey(ANNOUNCED, groups={"region": ("north", "south", "sea")})
    operator, people = sqlite_pair.begin(survey, 20)
    regions = ["north"] * 12 + ["south"] * 5 + ["sea"] * 3
    answer_all(survey, people, groups=[{"region": region} for region in regions])
    operator.close(Ending(by="region", merge_small=True))
    found = operator.estimate("answer", EstimateWish(by="region"))
    assert {one["name"]: one["n"] for one in found["groups"]} == {"north": 12, "south + sea": 8}
    path = exported(operator, tmp_path / "answers.parquet")
    told = estimated(path, capsys, "--by", "region")
    assert told["groups"] == found["groups"]
    assert told["estimate"] == found["estimate"]
