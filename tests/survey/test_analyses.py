"""Analyses that are planned: cells, margins, and what will not be possible."""

from typing import Any

import pytest

from jrr.dealing.kinds import Dealers
from jrr.errors import ArgumentError
from jrr.survey.analyses import analysis_lines
from jrr.survey.creation import SurveyRequest
from jrr.survey.draft import Draft

OPEN = [
    {"name": "dept", "kind": "choice", "labels": ["a", "b", "c"], "text": "?", "sensitive": False},
    {"name": "sex", "kind": "choice", "labels": ["f", "m"], "text": "?", "sensitive": False},
    {"name": "age", "kind": "number", "low": 18, "high": 90, "text": "?", "sensitive": False},
]


def request_of(*analyses: str, people: int = 2_000, **more: Any) -> SurveyRequest:
    asked = {"name": "bribed", "kind": "yes-no", "text": "?"}
    document = {"title": "T", "questions": [*OPEN, asked], "analyses": list(analyses)} | more
    return SurveyRequest(
        draft=Draft.from_dict(document),
        people=people,
        dealing=Dealers(("https://dealer.example",)),
        collector="https://collector.example",
    )


def test_cells_follow_from_analyses_and_margins_are_shown() -> None:
    request = request_of("totals", "groups: dept × sex", "groups: dept")
    survey = request.survey()
    assert survey.cells == ("dept", "sex")
    assert survey.analyses == ("totals", "groups: dept × sex", "groups: dept")
    assert Draft.from_dict(request.draft.to_dict()) == request.draft
    total, crossing, groups = request.analyses()
    assert total.margins["bribed"] < groups.margins["bribed"] < crossing.margins["bribed"]
    (planned,) = request.plan().questions
    assert total.margins["bribed"] == pytest.approx(planned.margin, rel=0.15)  # six sums, not one
    assert analysis_lines([total])[0].startswith("totals: bribed ± 0.0")


def test_what_will_not_be_possible_is_said() -> None:
    pairs, ages = request_of("pairs", "regression: age").analyses()
    assert pairs.refused == "pairs need two waves: set waves = 2"
    assert "age makes no cells" in ages.refused
    assert "choose a mechanism without cards (rr)" in ages.refused
    assert not request_of("pairs", waves=2).analyses()[0].refused
    (small,) = request_of("groups: dept × sex", people=60).analyses()
    assert "cells will be merged" in small.note


@pytest.mark.parametrize("words", ["means", "groups", "groups: town", "totals: dept"])
def test_words_that_are_none_are_refused(words: str) -> None:
    with pytest.raises(ArgumentError, match="analyses"):
        request_of(words).survey()
