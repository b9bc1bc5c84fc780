"""The dealer's server: one seat, one key and one closing for all questions of a survey."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fastapi import FastAPI
from sqlalchemy import Engine, event, select

from jrr.dealing.decks import QuestionDecks
from jrr.dealing.kinds import Dealers, Nobody
from jrr.dealing.messages import card_request
from jrr.errors import DamagedError
from jrr.servers.common.database import connect, prepare
from jrr.servers.common.settings import Settings
from jrr.servers.common.tokens import token_digest
from jrr.servers.dealer.routes import dealer_app
from jrr.servers.dealer.store import DealerStore
from jrr.survey.closing import ClosingSums
from jrr.survey.survey import Survey
from tests.servers.asking import TOKEN, ask
from tests.servers.surveys import DEALER, survey_of

ENROL = Dealers((DEALER,), enrol_first=True)


class Server:
    """A dealer with one survey."""

    def __init__(self, folder: Path, survey: Survey, *, is_new: bool = True) -> None:
        self.folder, self.survey = folder, survey
        folder.mkdir(exist_ok=True)
        self.engine: Engine = connect(f"sqlite:///{folder}/dealer.db")
        prepare(self.engine, "dealer")
        settings = Settings(
            role="dealer",
            database=f"sqlite:///{folder}/dealer.db",
            admin_token_sha256=token_digest(TOKEN),
            keys=str(folder / "keys"),
        )
        self.app: FastAPI = dealer_app(settings, self.engine)
        admin = f"/v1/admin/surveys/{survey.hash}"
        if is_new:
            assert ask(self.app, "PUT", admin, survey.to_bytes()) == (201, {"new": True})
        assert ask(self.app, "PUT", admin, survey.to_bytes()) == (200, {"new": False})

    def person(self, what: str, who: int, device: int | None = None) -> tuple[int, Any]:
        path = f"/v1/surveys/{self.survey.hash}/{what}"
        secret = None if device is None else bytes([device]) * 32
        return ask(self.app, "POST", path, card_request(bytes([who]) * 32, device=secret))

    def admin(self, what: str, body: Any = None) -> tuple[int, Any]:
        path = f"/v1/admin/surveys/{self.survey.hash}/{what}"
        return ask(self.app, "POST", path, b"" if body is None else json.dumps(body).encode())

    def show(self) -> Any:
        status, shown = ask(self.app, "GET", f"/v1/admin/surveys/{self.survey.hash}")
        assert status == 200
        return shown

    def request(self, dealt: list[Any], **more: Any) -> dict[str, Any]:
        """All cards that were dealt came back."""
        names = [one.name for one in self.survey.dealt]
        questions = {name: {"": [one["cards"][name]["serial"] for one in dealt]} for name in names}
        return {
            "survey": self.survey.hash,
            "announcement": 1,
            "by": [],
            "questions": questions,
        } | more


@pytest.fixture
def started(tmp_path: Path) -> Iterator[Any]:
    made: list[Server] = []

    def start(survey: Survey) -> Server:
        made.append(Server(tmp_path / str(len(made)), survey))
        return made[-1]

    yield start
    for server in made:
        server.engine.dispose()


def deal_to(server: Server, people: int) -> list[Any]:
    assert server.admin("open") == (200, {"state": "open"})
    dealt = [server.person("cards", who) for who in range(people)]
    assert {status for status, _ in dealt} == {200}
    return [reply for _, reply in dealt]


def test_everybody_has_one_seat_and_a_card_of_every_question(started: Any) -> None:
    server = started(survey_of(3))
    dealt = deal_to(server, 8)
    for one in dealt:
        assert (one["survey"], one["n"], list(one["cards"])) == (
            server.survey.hash,
            None,
            ["q0", "q1", "q2"],
        )
    assert server.person("cards", 0) == (200, dealt[0])
    serials = {given["serial"] for one in dealt for given in one["cards"].values()}
    assert len(serials) == 24
    with server.engine.connect() as connection:
        rows = connection.execute(select(DealerStore.seats)).all()
    assert len({(row.block, row.number) for row in rows}) == 8
    assert [path.suffix for path in sorted((server.folder / "keys").iterdir())] == [
        ".key",
        ".seats",
    ]
    assert server.show() == {
        "survey": server.survey.hash,
        "state": "open",
        "n": None,
        "invited": 0,
        "seats": 8,
        "closes": None,
        "announced": 0,
        "burned": False,
    }


def test_statements_do_not_grow_with_questions(started: Any) -> None:
    counts = []
    for questions in (1, 20):
        server = started(survey_of(questions))
        server.admin("open")
        seen: list[str] = []
        event.listen(
            server.engine,
            "before_cursor_execute",
            lambda _c, _cursor, statement, *_, seen=seen: seen.append(statement),
        )
        fewest = 99
        for person in range(1, 6):  # now and then housekeeping comes between
            seen.clear()
            server.person("cards", person)
            fewest = min(fewest, len(seen))
        counts.append(fewest)
    assert counts[0] == counts[1] < 15


def test_all_cards_or_none(started: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    server = started(survey_of(2))
    server.admin("open")
    first = server.person("cards", 1)
    card, calls = QuestionDecks.card, []

    def fail(self: QuestionDecks, block: int, seat: int) -> dict[str, Any]:
        calls.append(seat)
        if len(calls) == 2:  # the second question's
            raise DamagedError("the deck is damaged")
        return card(self, block, seat)

    with monkeypatch.context() as broken:
        broken.setattr(QuestionDecks, "card", fail)
        assert server.person("cards", 2)[0] == 422
    assert server.show()["seats"] == 1  # and the next one has the seat
    assert server.person("cards", 3)[0] == 200
    assert server.person("cards", 1) == first
    assert server.show()["seats"] == 2


def test_who_comes_from_another_device_is_refused(started: Any) -> None:
    server = started(survey_of(2))
    server.admin("open")
    status, first = server.person("cards", 1, device=7)
    assert status == 200
    for device in (8, None):
        status, problem = server.person("cards", 1, device=device)
        assert (status, problem["type"]) == (409, "urn:jrr:problem:other-device")
    assert server.person("cards", 1, device=7) == (200, first)


def test_no_card_is_left_beyond_the_capacity(started: Any) -> None:
    server = started(survey_of(2, people=20, capacity=3, deck=10))
    deal_to(server, 3)
    status, problem = server.person("cards", 9)
    assert (status, problem["type"]) == (404, "urn:jrr:problem:no-card-left")


def test_one_request_closes_all_questions_and_burns_the_key(started: Any) -> None:
    server = started(survey_of(2))
    dealt = deal_to(server, 8)
    request = server.request(dealt)
    assert server.admin("check", request) == (
        200,
        {"unknown": {"q0": [], "q1": []}, "announced": False},
    )
    status, problem = server.admin("close")
    assert (status, problem["type"]) == (409, "urn:jrr:problem:sum-wanted")
    status, told = server.admin("close", {"request": request})
    assert status == 200
    sums = ClosingSums.from_document(server.survey, told["sums"])
    assert sums.sizes == {"q0": {"": 8}, "q1": {"": 8}}
    assert told | {"sums": None} == {
        "state": "closed",
        "n": None,
        "burned": True,
        "decks": 1,
        "sums": None,
        "undealt": {},
    }
    assert not list((server.folder / "keys").glob("*.key"))
    assert server.show()["announced"]
    # The same again is told the same, with the request or without; another is refused.
    assert server.admin("close", {"request": request}) == (200, told)
    assert server.admin("close", {"without_sum": True}) == (200, told)
    status, problem = server.admin("close", {"request": server.request(dealt[1:])})
    assert (status, problem["type"]) == (409, "urn:jrr:problem:announced")
    status, problem = server.person("cards", 1)
    assert (status, problem["type"]) == (410, "urn:jrr:problem:closed")


def test_sums_are_of_the_named_cards(started: Any) -> None:
    server = started(survey_of(2, people=200, epsilon=8.0))
    dealt = deal_to(server, 150)
    _, told = server.admin("close", {"request": server.request(dealt)})
    for name, groups in told["sums"]["questions"].items():
        cards = [one["cards"][name]["card"] for one in dealt]
        assert abs(groups[""]["sum"] - np.sum(cards)) < 60  # a wrong set of cards is far off


def test_what_is_wrong_in_one_question_closes_none(started: Any) -> None:
    server = started(survey_of(2))
    dealt = deal_to(server, 8)
    request = server.request(dealt)
    made_up = "00" * 16
    request["questions"]["q1"][""].append(made_up)
    assert server.admin("check", request)[1]["unknown"] == {"q0": [], "q1": [made_up]}
    status, problem = server.admin("close", {"request": request})
    assert status == 422
    assert "got 1 that nobody was given" in problem["detail"]
    swapped = server.request(dealt)
    swapped["questions"] = {
        "q0": swapped["questions"]["q1"],
        "q1": swapped["questions"]["q0"],
    }
    found = server.admin("check", swapped)[1]["unknown"]
    assert [len(some) for some in found.values()] == [8, 8]  # a serial is of one question
    few = server.request(dealt)
    few["questions"]["q1"][""] = few["questions"]["q1"][""][:4]
    status, problem = server.admin("close", {"request": few})
    assert status == 422
    assert "serials must be at least 5" in problem["detail"]
    missing = server.request(dealt)
    del missing["questions"]["q1"]
    status, problem = server.admin("close", {"request": missing})
    assert status == 422
    assert "questions must be exactly ['q0', 'q1']" in problem["detail"]
    assert server.show()["state"] == "open"
    # A question that nobody answered with a card has no sum, and the others have theirs.
    few["questions"]["q1"][""] = []
    status, told = server.admin("close", {"request": few})
    assert status == 200
    assert told["sums"]["questions"]["q1"] == {"": {"cards": 0, "sum": None}}


def test_sums_by_group(started: Any) -> None:
    server = started(survey_of(2))
    dealt = deal_to(server, 12)
    names = {
        question: [one["cards"][question]["serial"] for one in dealt] for question in ("q0", "q1")
    }
    questions = {
        question: {"office": some[:6], "workshop": some[6:]} for question, some in names.items()
    }
    request = {
        "survey": server.survey.hash,
        "announcement": 1,
        "by": ["sector"],
        "questions": questions,
    }
    status, told = server.admin("close", {"request": request})
    assert status == 200
    sums = ClosingSums.from_document(server.survey, told["sums"])
    assert sums.sizes == {name: {"office": 6, "workshop": 6} for name in names}


def test_closed_without_a_sum(started: Any) -> None:
    server = started(survey_of(2))
    dealt = deal_to(server, 8)
    request = server.request(dealt)
    status, problem = server.admin("close", {"request": request, "without_sum": True})
    assert status == 422
    assert "without_sum must be false" in problem["detail"]
    status, told = server.admin("close", {"request": None, "without_sum": True})
    assert (status, told["sums"], told["state"]) == (200, None, "closed")
    for path, body in (("close", {"request": request}), ("check", request)):
        status, problem = server.admin(path, body)
        assert (status, problem["detail"]) == (
            410,
            "the cards are burned, and no sum was announced",
        )
    assert not server.show()["announced"]


@pytest.mark.parametrize("body", [{"without_sum": 1}, {"request": []}, {"sum": True}, []])
def test_a_wish_that_is_none(started: Any, body: Any) -> None:
    server = started(survey_of())
    status, problem = server.admin("close", body)
    assert status == 422
    assert "body is not acceptable" in problem["detail"]


def test_closed_decks_tell_the_sum_of_the_cards_that_nobody_fetched(started: Any) -> None:
    server = started(survey_of(2, closed_deck=True, deck=10))
    dealt = deal_to(server, 14)
    status, problem = server.admin("close", {"request": {}})
    assert (status, problem["type"]) == (409, "urn:jrr:problem:wrong-state")
    status, told = server.admin("close")
    assert (status, told["decks"], told["sums"]) == (200, 2, None)
    assert {name: one["cards"] for name, one in told["undealt"].items()} == {"q0": 6, "q1": 6}
    assert all(isinstance(one["sum"], int) for one in told["undealt"].values())
    assert len(dealt) == 14
    assert server.admin("close") == (200, told)


def test_decks_from_a_key_are_closed_with_nothing_told(started: Any) -> None:
    server = started(survey_of(2, mechanism="drr", deck=10))
    dealt = deal_to(server, 12)
    assert all(set(given) == {"card"} for one in dealt for given in one["cards"].values())
    status, told = server.admin("close")
    assert (status, told) == (
        200,
        {"state": "closed", "n": None, "burned": True, "decks": 2, "sums": None, "undealt": {}},
    )


def test_several_questions_with_enrolment(started: Any) -> None:
    server = started(survey_of(2, dealing=ENROL))
    assert server.admin("open") == (200, {"state": "enrolling"})
    for who in range(30):
        assert server.person("seats", who, device=who) == (201, {"enrolled": True})
    assert server.person("seats", 3, device=3) == (200, {"enrolled": True})
    assert server.person("seats", 3, device=4)[0] == 409
    assert server.person("cards", 3, device=3)[0] == 425
    assert server.admin("deal") == (200, {"n": 30})
    assert server.admin("deal") == (200, {"n": 30})
    assert server.person("seats", 31)[0] == 410
    assert server.person("cards", 31)[1]["type"] == "urn:jrr:problem:unknown-pseudonym"
    assert server.person("cards", 3, device=4)[0] == 409
    dealt = [server.person("cards", who, device=who)[1] for who in range(25)]
    assert {one["n"] for one in dealt} == {30}
    # Cards that nobody fetched are none that came back.
    with server.engine.connect() as connection:
        assert len(DealerStore(connection).places(server.survey.hash)) == 25
    status, told = server.admin("close", {"request": server.request(dealt)})
    assert (status, told["n"], told["decks"]) == (200, 30, 1)
    sums = ClosingSums.from_document(server.survey, told["sums"])
    assert sums.sizes == {"q0": {"": 25}, "q1": {"": 25}}


def test_too_few_to_deal_to(started: Any) -> None:
    server = started(survey_of(2, dealing=ENROL))
    server.admin("open")
    for who in range(5):
        server.person("seats", who)
    status, problem = server.admin("deal")
    assert status == 422
    assert "5 have enrolled, at least 19 are needed" in problem["detail"]
    assert server.show()["state"] == "enrolling"


def test_nobody_enrols_where_cards_are_dealt_on_arrival(started: Any) -> None:
    server = started(survey_of())
    server.admin("open")
    status, problem = server.person("seats", 1)
    assert (status, problem["type"]) == (409, "urn:jrr:problem:no-enrolment")
    assert server.admin("deal")[0] == 409


def test_several_dealers_each_deal_their_own_cards(started: Any) -> None:
    survey = survey_of(2, dealing=Dealers((DEALER, "https://other.example")))
    servers = [started(survey), started(survey)]
    dealt = [deal_to(server, 8) for server in servers]
    mine, other = (server.request(some) for server, some in zip(servers, dealt, strict=True))
    serials = {
        serial for one in (mine, other) for g in one["questions"].values() for serial in g[""]
    }
    assert len(serials) == 32
    found = servers[0].admin("check", other)[1]["unknown"]
    assert [len(some) for some in found.values()] == [8, 8]
    for server, request in zip(servers, (mine, other), strict=True):
        status, told = server.admin("close", {"request": request})
        assert (status, told["sums"]["questions"]["q1"][""]["cards"]) == (200, 8)


def test_a_survey_that_nobody_deals_is_refused(started: Any) -> None:
    server = started(survey_of())
    other = survey_of(mechanism="rr", dealing=Nobody())
    path = f"/v1/admin/surveys/{other.hash}"
    status, problem = ask(server.app, "PUT", path, other.to_bytes())
    assert (status, problem["detail"]) == (422, "the survey's cards must be dealt by dealers")


@pytest.mark.parametrize(
    "body",
    [b"", b"[]", b'{"pseudonym":"00"}', b'{"pseudonym":5}', b'{"pseudonym":"%s","mark":"0"}'],
)
def test_a_request_that_is_none(started: Any, body: bytes) -> None:
    server = started(survey_of())
    server.admin("open")
    status, _ = ask(server.app, "POST", f"/v1/surveys/{server.survey.hash}/cards", body)
    assert status == 422
