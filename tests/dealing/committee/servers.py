"""Three parties and a collector as processes, and what their operators do."""

import sqlite3
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from jrr import Mechanism
from jrr.client.operator import Operator, new_invitations
from jrr.dealing.committee.cards import Envelope, Record, card_key, open_card
from jrr.dealing.messages import card_request
from jrr.protocol.identity import invitation_secret, pseudonym
from jrr.research.processes import Running, running_committee
from jrr.survey.survey import Survey
from tests.dealing.committee.parties import survey_by
from tests.e2e import Answer, ask, enrol_all, path_of, read_rows


def names_of(survey: Survey, secret: bytes) -> list[bytes]:
    """Somebody's name at each party: nobody knows it but the two."""
    return [pseudonym(secret, survey.hash, role) for role in survey.dealing.roles]


@dataclass(frozen=True)
class Committee:
    """Three parties and a collector that run."""

    parties: tuple[Running, ...]
    collector: Running

    def rows(self, party: int, query: str) -> list[tuple[Any, ...]]:
        return read_rows(f"sqlite:///{self.parties[party].folder}/party.db", query)

    def change(self, party: int, query: str, *values: Any) -> None:
        """What a dishonest operator may do to its own database."""
        path = self.parties[party].folder / "party.db"
        with closing(sqlite3.connect(path)) as writer:
            changed = writer.execute(query, values).rowcount
            writer.commit()
        assert changed >= 1

    def survey(self, mechanism: Mechanism, **more: Any) -> Survey:
        given = {"collector": self.collector.url, "capacity": 100, "min_cell": 5} | more
        return survey_by(mechanism, running_committee(self.parties, 1), **given)

    def operator(self, survey: Survey) -> Operator:
        parties = {number: party.admin for number, party in enumerate(self.parties)}
        return Operator(survey, parties, self.collector.admin)

    def begin(self, survey: Survey, people: int) -> tuple[Operator, list[bytes]]:
        operator = self.operator(survey)
        operator.install()
        invitations = new_invitations(people)
        operator.invite(invitations)
        operator.open()
        return operator, [invitation_secret(text) for text in invitations]

    def dealt(self, survey: Survey, people: int) -> tuple[Operator, list[bytes]]:
        operator, secrets = self.begin(survey, people)
        enrol_all(survey, secrets)
        assert operator.deal(20.0, 20.0) == people
        return operator, secrets

    def fetch(self, survey: Survey, secret: bytes) -> list[Answer]:
        return [
            ask(party.url, "POST", path_of(survey, "cards"), card_request(name))
            for party, name in zip(self.parties, names_of(survey, secret), strict=True)
        ]

    def states(self, survey: Survey) -> list[str]:
        return [
            ask(party.url, "GET", path_of(survey, "status")).json["state"] for party in self.parties
        ]

    def hand(self, survey: Survey, secret: bytes) -> int:
        """Somebody's card, opened with nothing but the invitation and what parties serve."""
        replies = [reply.json for reply in self.fetch(survey, secret)]
        records = [Record.from_document(one["record"]) for one in replies]
        assert len(set(records)) == 1
        shown = [Envelope.from_document(one["envelope"]) for one in replies]
        mechanism = survey.dealt[0].for_people(records[0].n)
        return open_card(mechanism, card_key(secret, survey.hash), records[0], shown)
