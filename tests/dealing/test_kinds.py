"""Who may deal which cards."""

import json
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from jrr import MRR
from jrr._base.wording import show_epsilon
from jrr.dealing.interface import Dealing
from jrr.dealing.kinds import Committee, Dealers, Groups, Nobody, Party
from jrr.errors import ArgumentError
from jrr.survey.creation import SurveyRequest
from jrr.survey.draft import Draft, one_question
from jrr.survey.survey import Survey

DEALER, OTHER = "https://dealer.example", "https://other.example"
TWO = Dealers((DEALER, OTHER))
PARTIES = Committee(
    parties=tuple(
        Party(url=f"https://p{at}.example", link=f"p{at}.example:7", certificate=f"c{at}")
        for at in range(3)
    ),
    threshold=1,
)


def survey_by(dealing: Dealing, **more: Any) -> Survey:
    settings: dict[str, Any] = {"people": 1_000, "collector": "https://collector.example"} | more
    return SurveyRequest(draft=one_question("Do you?"), dealing=dealing, **settings).survey()


@pytest.mark.parametrize(
    "dealing",
    [
        Dealers((DEALER,)),
        Dealers((DEALER,), enrol_first=True),
        Dealers((DEALER, OTHER), leave_out=True),
        PARTIES,
    ],
    ids=["one dealer", "enrolment", "several", "committee"],
)
def test_a_document_says_who_deals(dealing: Dealing) -> None:
    survey = survey_by(dealing, verified=False)
    again = Survey.from_bytes(survey.to_bytes())
    assert again.dealing == dealing
    assert again.hash == survey.hash
    told = json.loads(survey.to_bytes())["dealing"]
    assert told["kind"] in ("dealers", "committee")


def test_sums_are_announced_unless_decks_are_closed() -> None:
    made = survey_by(Dealers((DEALER,)))
    assert made.announces
    assert made.mechanisms["answer"].name == "MRR"
    assert show_epsilon(made.cost) == "1"
    closed = survey_by(Dealers((DEALER,)), closed_deck=True)
    assert (closed.mechanisms["answer"].name, closed.announces) == ("MRR", False)
    # Without loss a closed deck is for fewer lost cards than with much of it.
    patient = survey_by(Dealers((DEALER,)), closed_deck=True, lost=0.3)
    assert patient.mechanisms != closed.mechanisms
    asked = survey_by(TWO)
    assert asked.mechanisms["answer"] == made.mechanisms["answer"].for_dealers(2)
    with pytest.raises(ArgumentError, match="left out where several deal"):
        survey_by(TWO, closed_deck=True)


def test_several_dealers() -> None:
    assert TWO.addresses == (DEALER, OTHER)
    assert TWO.roles == ("dealer:0", "dealer:1")
    survey = survey_by(TWO)
    announced = MRR.for_epsilon(1.0, n=20, announced=True)
    for wrong in (announced, announced.for_dealers(3)):
        with pytest.raises(ArgumentError, match=r"for as many dealers as are named \(for_dealers"):
            replace(survey, mechanisms={"answer": wrong}, promised=None, informed=None, study=None)
    with pytest.raises(ArgumentError, match="only cards that are numbers add up"):
        survey_by(TWO, mechanism="drr")
    with pytest.raises(ArgumentError, match="card sums are announced where several"):
        replace(survey_by(Dealers((DEALER,)), mechanism="drr"), dealing=TWO)
    with pytest.raises(ArgumentError, match="false where several dealers deal"):
        Dealers((DEALER, OTHER), enrol_first=True)
    with pytest.raises(ArgumentError, match="false with one dealer"):
        Dealers((DEALER,), leave_out=True)
    with pytest.raises(ArgumentError, match="1 to 16"):
        Dealers(())


@pytest.mark.parametrize(
    ("urls", "owner"),
    [
        ((DEALER, f"{DEALER}:443"), "another dealer's"),
        ((DEALER, "https://collector.example"), "the collector's"),
    ],
)
def test_one_server_is_not_both(urls: tuple[str, ...], owner: str) -> None:
    with pytest.raises(ArgumentError, match=f"another host or port than {owner}"):
        survey_by(Dealers(urls))


def test_who_shuffles_known_cards_is_not_asked_to_draw_masks() -> None:
    assert not survey_by(PARTIES).mechanisms["answer"].masked
    with pytest.raises(ArgumentError, match="sorted decks where a committee deals"):
        survey_by(PARTIES, mechanism="mrr")
    with pytest.raises(ArgumentError, match="JRR, DRR or OLH"):  # a card for each bit
        survey_by(PARTIES, mechanism="oue-joint")
    with pytest.raises(ArgumentError, match="certificates of their own"):
        msgspec.structs.replace(PARTIES, parties=(PARTIES.parties[0],) * 3)
    with pytest.raises(ArgumentError, match="threshold"):
        msgspec.structs.replace(PARTIES, threshold=2)


@pytest.mark.parametrize("dealing", [PARTIES, Groups()], ids=["committee", "groups"])
def test_who_meets_deals_one_deck(dealing: Dealing) -> None:
    asked = [{"name": f"q{at}", "kind": "yes-no", "text": "?"} for at in range(2)]
    draft = Draft.from_dict({"title": "T", "questions": asked})
    request = SurveyRequest(
        draft=draft,
        people=8,
        deck=8,
        colluders=1,
        mechanism="drr",
        collector="https://collector.example",
        dealing=dealing,
    )
    with pytest.raises(ArgumentError, match="here are 2 answers with cards"):
        request.survey()


def test_nobody_deals_where_there_are_no_cards() -> None:
    assert survey_by(Nobody(), mechanism="rr").dealt == ()
    with pytest.raises(ArgumentError, match="dealing must name who deals"):
        survey_by(Nobody())
    with pytest.raises(ArgumentError, match="one with cards"):
        survey_by(TWO, mechanism="rr")
