"""A survey's own export says all that `jrr file estimate` needs: the same figures exactly."""

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from jrr import tables
from jrr.cli.app import run
from jrr.client.ending import Ending
from jrr.client.operator import EstimateWish, Operator
from jrr.dealing.kinds import Nobody
from jrr.errors import ArgumentError, DamagedError
from tests.e2e import Pair
from tests.e2e.test_several_questions import DOCUMENT, answer_survey, survey_at

PEOPLE = 60
SETTINGS: dict[str, dict[str, Any]] = {
    "announced MRR": {},
    "closed decks": {"closed_deck": True},
    "drr": {"mechanism": "drr"},
    "no dealer": {"dealing": Nobody(), "mechanism": "rr"},
    "bits": {"dealing": Nobody(), "mechanism": "oue"},
    "hashes": {"dealing": Nobody(), "mechanism": "olh"},
}


def exported(operator: Operator, folder: Path) -> Path:
    path = folder / "answers.parquet"
    path.write_bytes(operator.export("parquet"))
    return path


def estimated(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    capsys.readouterr()
    code = run(["file", "estimate", *words, "--json"])
    shown = capsys.readouterr()
    assert code == 0, shown.err
    return json.loads(shown.out)["estimates"]


@pytest.mark.slow_variants("closed decks]", "bits]", "no dealer]", "hashes]")
@pytest.mark.parametrize("kind", SETTINGS)
def test_the_file_says_what_the_collector_says(
    sqlite_pair: Pair, tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str
) -> None:
    document = DOCUMENT
    if kind in ("bits", "hashes"):  # encodings of many values do not tell numbers
        asked = [one for one in DOCUMENT["questions"] if one["name"] != "days"]
        document = DOCUMENT | {"questions": asked}
    survey = survey_at(sqlite_pair, PEOPLE, document, **SETTINGS[kind])
    operator, secrets = sqlite_pair.begin(survey, PEOPLE)
    answer_survey(survey, secrets[:50])
    operator.close()
    found = operator.estimates()
    path = exported(operator, tmp_path)
    for engine in ([], ["--engine", "duckdb"]):
        told = estimated(capsys, str(path), *engine)
        assert list(told) == [one.name for one in survey.sensitive]
        for name, facts in told.items():
            shown = found[name].get("mean", found[name]["estimate"])
            assert facts["estimate"] == shown, (engine, name)
            assert facts["carded"] == found[name]["carded"]
            # What the plan and the report say, of all answers that share a coin with it.
            answer = survey.by_name[name]
            losses = {view: answer.guarantee(view) for view in ("report", "cards", "dealer")}
            assert facts["guarantees"].items() >= losses.items()
            if name in survey.joint:
                alone = answer.mechanism.epsilon("dealer", answer.colluders)
                assert facts["guarantees"]["dealer"] > alone
    # On a screen too, and in Python.
    assert run(["file", "estimate", str(path)]) == 0
    screen = capsys.readouterr().out
    assert all(one.name in screen for one in survey.sensitive)
    results = tables.estimate_survey(path)
    assert survey.joint or kind != "announced MRR"  # the default: one coin
    estimate = results["drinks"].estimate.to_dict()
    assert estimate == found["drinks"]["estimate"]
    with pytest.raises(ArgumentError, match="estimate_survey"):
        tables.estimate(path)


def test_a_branch_that_nobody_reached_hides_no_other_question(
    sqlite_pair: Pair, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    survey = survey_at(sqlite_pair, PEOPLE, DOCUMENT | {"split": "even"})
    operator, secrets = sqlite_pair.begin(survey, PEOPLE)
    for at, secret in enumerate(secrets[:20]):
        answer_survey(survey, [secret], 2 * at)  # all of the office, and welding is of workshops
    operator.close()
    path = exported(operator, tmp_path)
    told = estimated(capsys, str(path))
    assert set(told) == {one.name for one in survey.sensitive} - {"welding"}
    assert run(["file", "estimate", str(path)]) == 0
    assert "Nobody answered: welding" in capsys.readouterr().out


def test_groups_have_the_sums_that_were_announced_for_them(
    sqlite_pair: Pair, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = [DOCUMENT["questions"][0] | {"prefer_not": True}, *DOCUMENT["questions"][1:]]
    survey = survey_at(sqlite_pair, PEOPLE, DOCUMENT | {"questions": asked})
    operator, secrets = sqlite_pair.begin(survey, PEOPLE)
    answer_survey(survey, secrets[:50])
    operator.close(Ending(by="sector"))
    found = operator.estimates(EstimateWish(by="sector"))
    path = exported(operator, tmp_path)
    for engine in ([], ["--engine", "duckdb"]):
        # Groups as small as the collector shows, without --min-cell: the file says how small.
        assert survey.smallest_group == 5
        told = estimated(capsys, str(path), "--by", "sector", *engine)
        for name in ("drinks", "mood", "pills.1"):
            assert told[name]["groups"] == found[name]["groups"], (engine, name)
    few = estimated(capsys, str(path), "--by", "sector", "--min-cell", "50")
    assert few["drinks"]["groups"] == []
    assert run(["file", "estimate", str(path)]) == 0
    words = " ".join(capsys.readouterr().out.split())
    assert "Loss by this one answer: ε" in words
    assert "Each contributor's loss" not in words
    assert words.count("losses by several answers add up: over all questions") == 1
    table = tmp_path / "answers.csv"
    table.write_bytes(operator.export("csv"))
    assert run(["file", "estimate", str(table)]) == 2
    refused = " ".join(capsys.readouterr().err.split())
    assert "answers.csv must be a survey's answers as Parquet" in refused
    assert "-o answers.parquet" in refused
    assert run(["file", "estimate", str(path), "--by", "age"]) == 2
    assert run(["file", "pool", str(path)]) == 2  # never questions with each other


def test_before_the_end_and_what_is_damaged(sqlite_pair: Pair, tmp_path: Path) -> None:
    survey = survey_at(sqlite_pair, PEOPLE)
    operator, secrets = sqlite_pair.begin(survey, PEOPLE)
    answer_survey(survey, secrets[:20])
    path = exported(operator, tmp_path)
    with pytest.raises(ArgumentError, match="announced must be the sum"):
        tables.estimate_survey(path)
    with pytest.raises(ArgumentError, match="engine must be None or 'duckdb'"):
        tables.estimate_survey(path, engine="spark")
    whole = pq.read_table(path)
    spoiled = tmp_path / "spoiled.parquet"
    meta = dict(whole.schema.metadata)
    for key in (b"jrr_headers", b"jrr_survey"):
        pq.write_table(whole.replace_schema_metadata(meta | {key: b"{}"}), spoiled)
        with pytest.raises(DamagedError):
            tables.estimate_survey(spoiled)
    pq.write_table(whole.drop_columns(["drinks_carded"]), spoiled)
    with pytest.raises(DamagedError, match="drinks_carded"):
        tables.estimate_survey(spoiled)
    pq.write_table(whole.replace_schema_metadata({}), spoiled)
    with pytest.raises(ArgumentError, match="a survey's answers"):
        tables.estimate_survey(spoiled)
