"""Questions that share a coin where nobody deals: asked, estimated, exported and analysed."""

from pathlib import Path
from typing import Any

import numpy as np

import jrr
from jrr.client.ending import Ending
from jrr.client.export import export_survey
from jrr.client.operator import EstimateWish
from jrr.dealing.kinds import Nobody
from jrr.survey.creation import SurveyRequest
from jrr.survey.draft import Draft
from tests.client.in_process import House
from tests.statistics_rules import SURE

PEOPLE = 240
YES_NO = {"kind": "yes-no", "text": "?"}
DOCUMENT: dict[str, Any] = {
    "title": "T",
    "epsilon": 5.0,
    "split": "together",
    "ask": 3,
    "questions": [
        {"name": "sector", "sensitive": False} | YES_NO,
        {"name": "a", "prefer_not": True} | YES_NO,
        {"name": "b"} | YES_NO,
        {"name": "c", "kind": "several", "text": "C?", "labels": ["u", "v"]},
        {"name": "d", "only_if": {"sector": "yes"}} | YES_NO,
    ],
}


def answers(at: int) -> dict[str, Any]:
    held = {
        "sector": "yes" if at % 2 else "no",
        "a": None if at % 8 == 0 else ("yes" if at % 3 == 0 else "no"),
        "b": "yes" if at % 3 == 0 or at % 5 == 0 else "no",
        "c": [label for label, step in (("u", 3), ("v", 5)) if at % step == 0],
    }
    return held | ({"d": "yes" if at % 4 == 1 else "no"} if at % 2 else {})


def test_all_the_way(tmp_path: Path) -> None:
    survey = SurveyRequest(
        draft=Draft.from_dict(DOCUMENT),
        people=PEOPLE,
        collector="https://collector.example",
        dealing=Nobody(),
        mechanism="rr",
    ).survey()
    assert [one.ask for one in survey.together] == [3]
    assert 4.999 < survey.guarantee("everything") <= 5.0
    home = House(survey, tmp_path / "server")
    people = [answers(at) for at in range(PEOPLE)]
    home.answered(people)
    home.everybody.close(Ending())

    def share(name: str, wanted: Any, among: Any = None) -> float:
        chosen = [one for one in people if name in one and (among is None or among(one))]
        return float(np.mean([wanted(one[name]) for one in chosen]))

    shown = home.everybody.estimates(EstimateWish(level=SURE))
    for name, place, truth in (
        ("a", 1, share("a", lambda told: told == "yes")),
        ("a", 2, share("a", lambda told: told is None)),
        ("b", 1, share("b", lambda told: told == "yes")),
        ("c.1", 1, share("c", lambda told: "u" in told)),
        ("c.2", 1, share("c", lambda told: "v" in told)),
        ("d", 1, share("d", lambda told: told == "yes")),
    ):
        low, high = shown[name]["estimate"]["interval"][place]
        assert shown[name]["asked"] == 0.75
        assert low <= truth <= high < low + 1.2
    written = export_survey(home.everybody, tmp_path / "answers.parquet")
    loaded = jrr.load_survey(survey, written["answers"])
    assert loaded.total("b").frequencies.tolist() == shown["b"]["estimate"]["frequencies"]
    # What one coin told of two questions goes together beyond what the answers do.
    table = loaded.two_way("b", "c.1")
    low, high = table.interval(SURE)
    pairs = [[1 - share("b", lambda told: told == "yes"), 0.0], [0.0, 0.0]]
    both = share("c", lambda told: "u" in told)
    pairs[1] = [share("b", lambda told: told == "yes") - both, both]
    assert (low <= pairs).all()
    assert (pairs <= high).all()
