"""What goes between collector and dealers at the end: documents that are read back."""

import json
from typing import Any

import pytest

from jrr.errors import ArgumentError, DamagedError
from jrr.estimation.told_sums import CardSum
from jrr.survey.closing import ClosingRequest, ClosingSums, ToldSums
from jrr.survey.grouping import CardGrouping
from tests.servers.surveys import survey_of

SURVEY = survey_of(2)
CLOSED = survey_of(2, closed_deck=True)
SERIALS = tuple(bytes([at]) * 16 for at in range(20))


def request_of(first: tuple[bytes, ...], second: tuple[bytes, ...]) -> ClosingRequest:
    questions = {"q0": {"": first}, "q1": {"": second}}
    return ClosingRequest(survey=SURVEY.hash, grouping=CardGrouping(), questions=questions)


def sums_of(**more: Any) -> dict[str, Any]:
    sums = ClosingSums(
        survey=SURVEY.hash,
        grouping=CardGrouping(),
        questions={"q0": {"": CardSum(10, -4)}, "q1": {"": CardSum(0, None)}},
    )
    return sums.to_document() | more


def test_a_request_is_the_same_in_any_order() -> None:
    request = request_of(SERIALS[:10], SERIALS[10:])
    again = ClosingRequest.from_document(SURVEY, json.loads(json.dumps(request.to_document())))
    assert again.digest == request.digest
    assert request_of(SERIALS[9::-1], SERIALS[:9:-1]).digest == request.digest
    assert request_of(SERIALS[:9], SERIALS[10:]).digest != request.digest
    assert again.sizes == {"q0": {"": 10}, "q1": {"": 10}}
    assert not again.is_empty
    assert request_of((), ()).is_empty


def test_a_request_that_is_none() -> None:
    good = request_of(SERIALS[:10], SERIALS[10:]).to_document()
    one = good["questions"]["q0"]
    wrong: list[Any] = [
        None,
        {},
        good | {"more": 1},
        good | {"survey": "0" * 64},
        good | {"questions": {"q0": one}},
        good | {"questions": good["questions"] | {"q2": {}}},
        good | {"questions": good["questions"] | {"q1": {"office": []}}},
        good | {"questions": good["questions"] | {"q1": {"": "00" * 16}}},
        good | {"questions": good["questions"] | {"q1": {"": ["00"]}}},
        good | {"questions": good["questions"] | {"q1": 5}},
    ]
    for document in wrong:
        with pytest.raises(DamagedError):
            ClosingRequest.from_document(SURVEY, document)
    with pytest.raises(ArgumentError, match="named once each, got 10 named again"):
        ClosingRequest.from_document(SURVEY, good | {"questions": {"q0": one, "q1": one}})
    with pytest.raises(ArgumentError, match="by must be"):
        ClosingRequest.from_document(SURVEY, good | {"by": ["age"]})


def test_sums_are_read_back_and_nothing_else_is() -> None:
    sums = ClosingSums.from_document(SURVEY, json.loads(json.dumps(sums_of())))
    assert sums.to_document() == sums_of()
    assert sums.sizes == {"q0": {"": 10}, "q1": {"": 0}}
    told = ToldSums(announced=((sums,),))
    assert ToldSums.from_document(SURVEY, json.loads(json.dumps(told.to_document()))) == told
    assert told.of("q0").announced == {"": (CardSum(10, -4),)}
    for wrong in (
        {"cards": 5, "sum": None},
        {"cards": 0, "sum": 1},
        {"cards": 5, "sum": [1]},
        {"cards": 5},
        5,
    ):
        questions = {"q0": {"": wrong}, "q1": {}}
        with pytest.raises(DamagedError):
            ClosingSums.from_document(SURVEY, sums_of(questions=questions))


def test_what_is_left_of_closed_decks() -> None:
    left = ToldSums(undealt={"q0": CardSum(3, 1), "q1": CardSum(3, -4)}, decks=2)
    assert ToldSums.from_document(CLOSED, left.to_document()) == left
    assert left.of("q1").undealt == CardSum(3, -4)
    with pytest.raises(DamagedError, match="undealt must be of questions with closed decks"):
        ToldSums.from_document(SURVEY, left.to_document() | {"announced": [[sums_of()]]})
    with pytest.raises(DamagedError, match="list of 0"):
        ToldSums.from_document(CLOSED, left.to_document() | {"announced": [[sums_of()]]})
    with pytest.raises(DamagedError, match="list of 1, one from each dealer"):
        ToldSums().adding(SURVEY, ToldSums().to_document())
    with pytest.raises(DamagedError, match="announced must be empty"):
        ToldSums().adding(CLOSED, left.to_document() | {"announced": [sums_of()]})
