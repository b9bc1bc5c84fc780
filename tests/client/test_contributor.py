"""A contributor's client at servers: enrolment, cards that are kept, cards from one's own group."""

from pathlib import Path
from typing import Any

import pytest

from jrr import Contributor
from jrr.client.operator import new_invitations
from jrr.dealing.group_place import GroupPlace
from jrr.dealing.interface import Dealing
from jrr.dealing.kinds import Dealers, Groups
from jrr.errors import ArgumentError, DamagedError, ProtocolError
from jrr.survey.creation import SurveyRequest
from jrr.survey.draft import one_question
from jrr.survey.survey import Survey
from tests.client.in_process import House

DEALERS = ("https://dealer0.example", "https://dealer1.example")


def asked(dealing: Dealing, people: int, **more: Any) -> Survey:
    return SurveyRequest(
        draft=one_question("Do you?", epsilon=2.0),
        people=people,
        collector="https://collector.example",
        dealing=dealing,
        **({"colluders": 0, "dealer_epsilon": 20.0} | more),
    ).survey()


def person(home: House, invitation: str, state: Path) -> Contributor:
    me = Contributor(home.survey.link, invitation, limit=99.0, patience=0.0, state=state)
    me._http = home  # type: ignore[assignment]
    return me


def begun(survey: Survey, folder: Path, people: int) -> tuple[House, list[Contributor]]:
    home = House(survey, folder / "servers")
    invitations = new_invitations(people)
    home.everybody.install()
    home.everybody.invite(invitations)
    home.everybody.open()
    return home, [person(home, text, folder / "state") for text in invitations]


def test_who_enrols_is_dealt_a_card_and_keeps_it(tmp_path: Path) -> None:
    survey = asked(Dealers(DEALERS[:1], enrol_first=True), 15, mechanism="jrr")
    home, people = begun(survey, tmp_path, 16)
    for one in people:
        one.enrol()
        with pytest.raises(ProtocolError, match="enrol first"):
            one.check_ready()
    assert home.everybody.deal() == 16
    me = people[0]
    assert not me.has_cards
    assert me.fetch_cards()
    assert me.has_cards
    kept = next(path for path in (tmp_path / "state").iterdir() if path.suffix == ".cards")
    assert kept.stat().st_mode & 0o077 == 0
    home.silent.add(DEALERS[0])  # nobody needs the dealer any more
    assert me.answer("yes").carded
    assert not me.has_cards  # whoever has the report too would know more than it tells
    assert not people[1].fetch_cards()
    assert not people[1].answer("no").carded
    kept.write_text("{}")
    again = person(home, new_invitations(1)[0], tmp_path / "state")
    assert not again.has_cards
    kept.rename(again._device.file("cards"))
    with pytest.raises(DamagedError, match="delete it"):
        again.answer("yes")


def test_cards_of_several_dealers_are_kept_together(tmp_path: Path) -> None:
    home, (me, *_) = begun(asked(Dealers(DEALERS), 20), tmp_path, 3)
    assert me.fetch_cards()
    home.silent.update(DEALERS)
    assert me.answer(1).carded
    assert home.operator().show()["collector"]["questions"] == {"answer": 1}


def test_a_card_of_ones_own_group_is_taken_once(tmp_path: Path) -> None:
    survey = asked(Groups(), 9, mechanism="jrr", deck=9)
    home, (me, other) = begun(survey, tmp_path, 2)
    place = GroupPlace(survey=survey.hash, group="g", members=9, threshold=4, shuffled_id=2)
    for name in ("a.json", "b.json"):
        place.write(tmp_path / name)
    me.take_card(tmp_path / "a.json")
    assert not (tmp_path / "a.json").exists()
    with pytest.raises(ArgumentError, match="kept already"):
        me.take_card(tmp_path / "b.json")
    assert me.answer("no").carded
    assert not other.answer("no").carded
    assert home.everybody.close()["collector"]["settled"]
