"""Three parties of a committee deal one deck; each serves its shares and judges complaints."""

import json
import socket
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from sqlalchemy import Engine

from jrr.dealing.committee.cards import Envelope, Record, open_card
from jrr.dealing.interface import Person
from jrr.dealing.kinds import Committee, Party, card_key_of, evidence_against
from jrr.dealing.messages import ShareEvidence, card_request, complaint_request
from jrr.protocol.identity import pseudonym
from jrr.servers.common.certificates import make_certificate
from jrr.servers.common.database import connect, prepare
from jrr.servers.common.settings import Settings
from jrr.servers.common.tokens import token_digest
from jrr.servers.party.routes import party_app
from jrr.survey.survey import Survey
from tests.servers.asking import TOKEN, ask
from tests.servers.surveys import survey_of

PEOPLE = [Person(bytes([who]) * 20) for who in range(1, 8)]
SOON = {"patience": 20.0, "join": 20.0, "again": False}


def free_port() -> int:
    with closing(socket.create_server(("127.0.0.1", 0))) as taken:
        return int(taken.getsockname()[1])


class Parties:
    """Three applications in this process, and a survey that they hold."""

    def __init__(self, folder: Path) -> None:
        self.apps: list[FastAPI] = []
        self.engines: list[Engine] = []
        parties = []
        for number in range(3):
            home = folder / str(number)
            home.mkdir()
            public, secret = make_certificate(home / "party")
            settings = Settings(
                role="party",
                database=f"sqlite:///{home}/party.db",
                admin_token_sha256=token_digest(TOKEN),
                link_certificate=str(public),
                link_key=str(secret),
            )
            self.engines.append(connect(settings.database))
            prepare(self.engines[-1], "party")
            self.apps.append(party_app(settings, self.engines[-1]))
            parties.append(
                Party(
                    url=f"https://party{number}.example",
                    link=f"127.0.0.1:{free_port()}",
                    certificate=public.read_text(),
                )
            )
        committee = Committee(parties=tuple(parties), threshold=1)
        self.survey: Survey = survey_of(
            people=5, mechanism="jrr", dealing=committee, capacity=7, epsilon=3.0
        )
        admin = f"/v1/admin/surveys/{self.survey.hash}"
        for app in self.apps:
            assert ask(app, "PUT", admin, self.survey.to_bytes()) == (201, {"new": True})

    def admin(self, what: str, body: Any = None) -> list[tuple[int, Any]]:
        """All operators at once."""
        path = f"/v1/admin/surveys/{self.survey.hash}/{what}"
        data = b"" if body is None else json.dumps(body).encode()
        with ThreadPoolExecutor(3) as pool:
            return list(pool.map(lambda app: ask(app, "POST", path, data), self.apps))

    def shown(self) -> list[Any]:
        path = f"/v1/admin/surveys/{self.survey.hash}"
        return [ask(app, "GET", path)[1] for app in self.apps]

    def name(self, person: Person, number: int) -> bytes:
        return pseudonym(person.secret, self.survey.hash, self.survey.dealing.roles[number])

    def person(self, what: str, person: Person, key: bytes | None = None) -> list[tuple[int, Any]]:
        path = f"/v1/surveys/{self.survey.hash}/{what}"
        return [
            ask(app, "POST", path, card_request(self.name(person, number), key))
            for number, app in enumerate(self.apps)
        ]

    def enrol(self, person: Person) -> list[int]:
        key = card_key_of(self.survey, person).public_key().public_bytes_raw()
        return [status for status, _ in self.person("seats", person, key)]

    def card(self, person: Person) -> int:
        """Opened with nothing but the invitation and what parties serve."""
        replies = [reply for _, reply in self.person("cards", person)]
        (record,) = {Record.from_document(one["record"]) for one in replies}
        shares = [Envelope.from_document(one["envelope"]) for one in replies]
        mechanism = self.survey.dealt[0].for_people(replies[0]["n"])
        return open_card(mechanism, card_key_of(self.survey, person), record, shares)

    def complain(self, person: Person, evidence: ShareEvidence | None) -> list[tuple[int, Any]]:
        path = f"/v1/surveys/{self.survey.hash}/complaints"
        return [
            ask(app, "POST", path, complaint_request(self.name(person, number), None, evidence))
            for number, app in enumerate(self.apps)
        ]


@pytest.fixture
def parties(tmp_path: Path) -> Iterator[Parties]:
    made = Parties(tmp_path)
    yield made
    for engine in made.engines:
        engine.dispose()


def test_from_enrolment_to_the_end(parties: Parties) -> None:
    *people, late = PEOPLE
    assert parties.enrol(people[0]) == [425] * 3
    assert parties.admin("open") == [(200, {"state": "enrolling"})] * 3
    for person in people:
        assert parties.enrol(person) == [201] * 3
    assert parties.enrol(people[0]) == [200] * 3
    assert [status for status, _ in parties.person("seats", people[0], bytes(32))] == [409] * 3
    assert [status for status, _ in parties.person("seats", late)] == [422] * 3  # without a key
    assert [status for status, _ in parties.person("cards", people[0])] == [425] * 3
    first = parties.admin("deal", SOON)
    assert [(status, told["n"]) for status, told in first] == [(200, 6)] * 3
    assert len({told["record"] for _, told in first}) == 1
    again = [told for _, told in parties.admin("deal", SOON)]
    assert [told["record"] for told in again] == [told["record"] for _, told in first]
    deck = parties.survey.dealt[0].for_people(6).sorted_deck
    assert deck is not None
    expected = dict(zip(deck.faces.tolist(), deck.counts, strict=True))
    assert Counter(map(parties.card, people)) == Counter(expected)
    assert [told["state"] for told in parties.shown()] == ["serving"] * 3
    assert [status for status, _ in parties.person("cards", late)] == [404] * 3
    assert parties.enrol(late) == [410] * 3

    # Somebody who complains without reason loses the own card, and nobody else's.
    reply = parties.person("cards", people[0])[1][1]
    envelope = Envelope.from_document(reply["envelope"])
    evidence = evidence_against(1, envelope, card_key_of(parties.survey, people[0]))
    assert parties.complain(people[0], evidence) == [(200, {"finding": "false"})] * 3
    assert [status for status, _ in parties.person("cards", people[0])] == [410] * 3
    wrong = evidence_against(2, envelope, card_key_of(parties.survey, people[1]))
    assert [status for status, _ in parties.complain(people[1], wrong)] == [422] * 3
    assert parties.complain(people[1], None) == [(200, {"finding": "unproven"})] * 3
    for told in parties.shown():
        assert (told["lost"], told["members"], told["served_by_all"]) == (2, 6, True)
    assert len(list(map(parties.card, people[2:]))) == 4

    assert parties.admin("close") == [(200, {"state": "closed", "n": 6, "decks": 1})] * 3
    for told in parties.shown():
        assert (told["members"], told["committed"], told["burned"]) == (0, False, True)
    assert [status for status, _ in parties.person("cards", people[2])] == [410] * 3


def test_a_party_that_is_missing_and_wishes_that_are_none(parties: Parties) -> None:
    parties.admin("open")
    for person in PEOPLE[:5]:
        parties.enrol(person)
    path = f"/v1/admin/surveys/{parties.survey.hash}/deal"
    for wish in ({}, SOON | {"patience": -1}, SOON | {"again": 1}, SOON | {"more": 1}):
        status, problem = ask(parties.apps[0], "POST", path, json.dumps(wish).encode())
        assert status == 422, problem
    soon = json.dumps(SOON | {"join": 0.3}).encode()
    status, problem = ask(parties.apps[0], "POST", path, soon)
    assert (status, "no cards were dealt" in problem["detail"]) == (409, True)
    assert [told["state"] for told in parties.shown()] == ["enrolling"] * 3


def test_a_survey_that_others_deal_is_refused(parties: Parties) -> None:
    other = survey_of()
    path = f"/v1/admin/surveys/{other.hash}"
    status, problem = ask(parties.apps[0], "PUT", path, other.to_bytes())
    assert (status, problem["detail"]) == (422, "the survey must be dealt by a committee")
