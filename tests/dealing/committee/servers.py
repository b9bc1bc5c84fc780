"""Three parties and a collector as processes, and what their operators do."""

import sqlite3
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from jrr.client.operator import Operator, new_invitations
from jrr.mechanisms import Mechanism
from jrr.research.processes import Running, running_committee
from jrr.survey import messages
from jrr.survey.campaign import ENROL, Campaign
from jrr.dealing.committee.cards import Envelope, Record, card_key, open_card
from jrr.protocol.identity import invitation_secret, pseudonym
from tests.e2e import Answer, ask, enrol_all, path_of, read_rows


def names_of(campaign: Campaign, secret: bytes) -> list[bytes]:
    """Somebody's name at each party: nobody knows it but the two."""
    return [pseudonym(secret, campaign.hash, role) for role in campaign.dealer.roles]


@dataclass(frozen=True)
class Committee:
    """Three parties and a collector that run."""

    parties: tuple[Running, ...]
    collector: Running

    def database(self, party: int) -> str:
        return f"sqlite:///{self.parties[party].folder / 'party.db'}"

    def rows(self, party: int, query: str) -> list[tuple[Any, ...]]:
        return read_rows(self.database(party), query)

    def change(self, party: int, query: str, *values: Any) -> None:
        """What a dishonest operator may do to its own database."""
        path = self.parties[party].folder / "party.db"
        with closing(sqlite3.connect(path)) as writer:
            changed = writer.execute(query, values).rowcount
            writer.commit()
        assert changed >= 1

    def campaign(self, mechanism: Mechanism, **more: Any) -> Campaign:
        settings: dict[str, Any] = {
            "question": "Do you?",
            "labels": tuple(f"answer {value}" for value in range(mechanism.k)),
            "mechanism": mechanism,
            "dealer": running_committee(self.parties, 1),
            "collector": self.collector.url,
            "dealing": ENROL,
            "capacity": 100,
            "min_cell": 5,
        }
        return Campaign(**(settings | more))

    def operator(self, campaign: Campaign) -> Operator:
        return Operator(
            campaign, None, self.collector.admin, tuple(party.admin for party in self.parties)
        )

    def begin(self, campaign: Campaign, people: int) -> tuple[Operator, list[bytes]]:
        operator = self.operator(campaign)
        operator.install()
        invitations = new_invitations(people)
        operator.invite(invitations)
        operator.open()
        return operator, [invitation_secret(text) for text in invitations]

    def dealt(self, campaign: Campaign, people: int) -> tuple[Operator, list[bytes]]:
        operator, secrets = self.begin(campaign, people)
        enrol_all(campaign, secrets)
        assert operator.deal(20.0, 20.0) == people
        return operator, secrets

    def fetch(self, campaign: Campaign, secret: bytes) -> list[Answer]:
        return [
            ask(party.url, "POST", path_of(campaign, "cards"), messages.card_request(name))
            for party, name in zip(self.parties, names_of(campaign, secret), strict=True)
        ]

    def states(self, campaign: Campaign) -> list[str]:
        return [
            ask(party.url, "GET", path_of(campaign, "status")).json["state"]
            for party in self.parties
        ]

    def hand(self, campaign: Campaign, secret: bytes) -> int:
        """Somebody's card, opened with nothing but the invitation and what parties serve."""
        replies = [reply.json for reply in self.fetch(campaign, secret)]
        records = [Record.from_document(one["record"]) for one in replies]
        assert len(set(records)) == 1
        shown = [Envelope.from_document(one["envelope"]) for one in replies]
        mechanism = campaign.for_people(records[0].n)
        return open_card(mechanism, card_key(secret, campaign.hash), records[0], shown)
