"""The whole way of a questionnaire of which each person is asked half, in two waves, over HTTP."""

import asyncio
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from jrr import tables
from jrr.client.export import export_survey
from jrr.client.fleet import drive_all
from jrr.client.operator import EstimateWish, new_invitations
from jrr.protocol.identity import COLLECTOR, invitation_secret, pseudonym
from jrr.survey.contributor import contribute
from jrr.survey.survey import Survey
from jrr.survey.together import not_asked
from tests.e2e import LIMITS, Pair
from tests.e2e.test_several_questions import survey_at
from tests.statistics_rules import SURE, UNSEEDED

SHARES = (5, 10, 20, 30, 40, 50, 65, 80)  # hundredths who would say yes
DOCUMENT: dict[str, Any] = {
    "title": "Eight questions",
    "epsilon": 2.0,
    "split": "together",
    "ask": 4,
    "waves": 2,
    "questions": [
        {"name": f"q{at}", "kind": "yes-no", "text": f"Question {at}?"} for at in range(8)
    ],
}


def truth(person: int, item: int, wave: int) -> bool:
    """Every item in its own order of the people; five more of a hundred say yes in wave 2."""
    return (person * 37 + item * 11 + person // 100) % 100 < SHARES[item] + 5 * (wave - 1)


def answers_of(survey: Survey, secret: bytes, person: int) -> dict[str, Any]:
    left_out = not_asked(survey, pseudonym(secret, survey.collector_salt, COLLECTOR))
    told = {f"q{at}": "yes" if truth(person, at, survey.wave) else "no" for at in range(8)}
    return {name: answer for name, answer in told.items() if name not in left_out}


def whole_way(pair: Pair, invited: int, answering: int, folder: Path) -> None:
    first = survey_at(pair, invited, DOCUMENT, response=answering / invited)
    second = survey_at(pair, invited, DOCUMENT, response=answering / invited, after=first)
    assert [one.ask for one in second.together] == [4]
    assert first.guarantee("everything") <= 2.0
    assert not_asked(first, bytes(32)) == not_asked(second, bytes(32))  # so that answers compare
    operator, again = pair.operator(first), pair.operator(second)
    invitations = new_invitations(invited)
    secrets = [invitation_secret(text) for text in invitations]
    rng = np.random.default_rng(29)
    misses = held = 0
    everybody: dict[int, np.ndarray[Any, Any]] = {}
    for one, survey in ((operator, first), (again, second)):
        one.install()
        one.invite(invitations)
        one.open()
        people = np.sort(rng.permutation(invited)[:answering])
        steps = [
            contribute(survey, secrets[at], answers_of(survey, secrets[at], at), LIMITS)
            for at in people.tolist()
        ]
        receipts = asyncio.run(drive_all(steps))
        assert all(getattr(receipt, "carded", False) for receipt in receipts), receipts[:2]
        one.close()
        everybody[survey.wave] = np.array(
            [[truth(at, item, survey.wave) for item in range(8)] for at in people.tolist()]
        )
        for level in (0.95, SURE):
            found = one.estimates(EstimateWish(level=level))
            for item in range(8):
                result, true = found[f"q{item}"], everybody[survey.wave][:, item].mean()
                low, high = result["estimate"]["interval"][1]
                assert result["asked"] == 0.5
                assert abs(result["estimate"]["n"] - answering / 2) < 3.5 * answering**0.5
                if level == SURE:
                    assert low <= true <= high
                    assert answering < 1_000 or not low <= true + 0.3 <= high
                else:
                    held, misses = held + 1, misses + (not low <= true <= high)
    change = again.change(first, wish=EstimateWish(level=SURE))["changes"]
    for item in range(8):
        moved = everybody[2][:, item].mean() - everybody[1][:, item].mean()
        low, high = change[f"q{item}"]["interval"][1]
        assert low <= moved <= high
    assert stats.binom.sf(misses - 1, held, 0.05) > UNSEEDED
    _exports_say_the_same(again, second, folder)


def _exports_say_the_same(operator: Any, survey: Survey, folder: Path) -> None:
    """The file's own estimate, its header and codebook, and the report."""
    path = folder / "answers.parquet"
    export_survey(operator, path)
    shown = operator.estimates(EstimateWish())
    for name, result in tables.estimate_survey(path).items():
        assert result.header.share_asked == 0.5
        assert result.estimate.to_dict() == shown[name]["estimate"]
    codebook = json.loads((folder / "answers.parquet.codebook.json").read_text("utf-8"))
    assert codebook["together"] == [{"questions": [f"q{at}" for at in range(8)], "ask": 4}]
    columns = {row["column"]: row for row in codebook["columns"]}
    assert columns["q0"]["asked_if"] == "drawn for each person: 4 of 8 questions"
    assert survey.share_asked("q0") == 0.5


def test_a_few_people_all_the_way(sqlite_pair: Pair, tmp_path: Path) -> None:
    whole_way(sqlite_pair, 160, 96, tmp_path)


@pytest.mark.slow
def test_two_thousand_people_in_two_waves(sqlite_pair: Pair, tmp_path: Path) -> None:
    """Of 2,000 who are invited 60% answer, each of them four questions of eight."""
    whole_way(sqlite_pair, 2_000, 1_200, tmp_path)
