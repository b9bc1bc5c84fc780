"""Committed decks across restarts: servers start anew on their databases between all steps."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI

from jrr import DRR, MRR
from jrr.servers.collector.routes import collector_app
from jrr.servers.collector.witness import read_published, witness
from jrr.servers.common.database import connect, prepare
from jrr.servers.common.settings import Settings
from jrr.servers.common.tokens import token_digest
from jrr.servers.dealer.commitments import DeckJobs
from jrr.servers.dealer.jobs import DealerJobs
from jrr.servers.dealer.keyfiles import KeyFiles
from jrr.servers.dealer.routes import dealer_app
from jrr.survey import messages
from jrr.survey.campaign import Campaign
from jrr.survey.dealer_kinds import DealerServer
from tests.servers.asking import TOKEN, ask

DECKS = 4
MASKS = MRR(6, own=3.0, card_rate=0.8, total_rate=0.3)


@dataclass
class Servers:
    """Both servers of a campaign, started anew for every request."""

    folder: Path
    campaign: Campaign

    def settings(self, role: str) -> Settings:
        return Settings(
            role=role,
            database=f"sqlite:///{self.folder}/{role}.db",
            admin_token_sha256=token_digest(TOKEN),
            keys=str(self.folder / "keys"),
        )

    def started(self, role: str) -> FastAPI:
        engine = connect(self.settings(role).database)
        prepare(engine, role)
        return {"dealer": dealer_app, "collector": collector_app}[role](self.settings(role), engine)

    def post(self, role: str, act: str, body: Any, path: str = "/v1/admin/campaigns") -> Any:
        where = f"{path}/{self.campaign.hash}/{act}"
        return ask(self.started(role), "POST", where, json.dumps(body).encode())

    def get(self, role: str, what: str) -> Any:
        return ask(self.started(role), "GET", f"/v1/campaigns/{self.campaign.hash}/{what}")[1]

    def committed(self, notes: Any) -> tuple[int, Any]:
        draws = {name: notes[name] for name in ("beacon", "coin")}
        status, found = self.post("dealer", "decks", draws)
        return status, found


@pytest.fixture(params=[MASKS, DRR(6, truth=0.5, own=0.1)], ids=["mrr", "drr"])
def servers(request: pytest.FixtureRequest, tmp_path: Path) -> Servers:
    campaign = Campaign(
        question="Do you?",
        labels=("no", "yes"),
        mechanism=request.param,
        dealer=DealerServer("https://dealer.example"),
        collector="https://collector.example",
        capacity=6,
        invitations=False,
        committed_decks=DECKS,
    )
    made = Servers(tmp_path, campaign)
    for role in ("dealer", "collector"):
        path = f"/v1/admin/campaigns/{campaign.hash}"
        assert ask(made.started(role), "PUT", path, campaign.to_bytes())[0] == 201
    return made


def test_every_step_after_a_restart_is_the_one_before_it(servers: Servers) -> None:
    notes: Any = {"beacon": None, "coin": None}
    for act in ("dealer", "collector"):
        status, problem = servers.post(act, "open", {"n": None})
        assert status == 409, problem
    for stage in range(3):
        status, document = servers.committed(notes)
        assert status == 200
        assert servers.committed(notes) == (200, document)
        assert servers.get("dealer", "decks") == document
        status, notes = servers.post("collector", "decks", document)
        assert status == 200
        assert servers.post("collector", "decks", document) == (200, notes)
        assert servers.get("collector", "notes") == notes
        known = [notes[name] is not None for name in ("beacon", "coin", "faults")]
        assert known == [at <= stage for at in range(3)]
    assert notes["faults"] == []
    for name in ("beacon", "coin"):  # the dealer takes no second one, nor after an old backup
        status, problem = servers.committed(notes | {name: "00" * 32})
        assert (status, problem["type"]) == (409, "urn:jrr:problem:conflict")
    for act in ("dealer", "collector"):
        assert servers.post(act, "open", {"n": None}) == (200, {"state": "open"})
    bodies = [
        json.loads(messages.card_request(bytes([at]) * 32, mark=bytes([at + 9]) * 32))
        for at in range(4)
    ]
    hands = [servers.post("dealer", "cards", body, "/v1/campaigns") for body in bodies]
    assert [hand["proofs"][0]["place"] for _, hand in hands] == [0, 1, 2, 3]
    assert [servers.post("dealer", "cards", body, "/v1/campaigns") for body in bodies] == hands
    first = servers.post("dealer", "close", None)
    assert first[0] == 200
    assert servers.post("dealer", "close", None) == first
    document = servers.get("dealer", "decks")
    assert len(document["marks"]) == 4
    status, ended = servers.post("collector", "decks", document)
    assert (status, ended["faults"], ended["dealt"]) == (200, [], 4)
    assert servers.post("collector", "decks", document) == (200, ended)
    assert servers.get("dealer", "decks") == document
    assert not list((servers.folder / "keys").glob("*.key"))


def test_what_was_not_committed_was_shown_to_nobody_and_is_drawn_anew(servers: Servers) -> None:
    document = servers.committed({"beacon": None, "coin": None})[1]
    engine = connect(servers.settings("collector").database)
    published = read_published(json.dumps(document).encode())
    with engine.connect() as connection, connection.begin() as transaction:
        lost = witness(connection, servers.campaign.hash, published)
        transaction.rollback()  # the power fails
    engine.dispose()
    assert servers.get("collector", "notes")["beacon"] is None
    notes = servers.post("collector", "decks", document)[1]
    assert notes["beacon"] != lost.beacon.hex()  # type: ignore[union-attr]
    status, document = servers.committed(notes)
    assert status == 200
    notes = servers.post("collector", "decks", document)[1]
    engine = connect(servers.settings("dealer").database)
    jobs = DeckJobs(DealerJobs(KeyFiles(servers.folder / "keys")))
    coin = bytes.fromhex(notes["coin"])
    with engine.connect() as connection, connection.begin() as transaction:
        opened = jobs.open_others(connection, servers.campaign.hash, coin)
        transaction.rollback()
    engine.dispose()
    # The coin was written beside the key: after the rollback no other one is taken either.
    status, problem = servers.committed(notes | {"coin": "00" * 32})
    assert (status, problem["type"]) == (503, "urn:jrr:problem:no-key")
    assert servers.committed(notes) == (200, opened.to_dict())


def test_a_damaged_document_is_refused_and_nothing_is_drawn(servers: Servers) -> None:
    document = servers.committed({"beacon": None, "coin": None})[1]
    bad: list[Any] = [None, [], {}, document | {"seeds": 7}, document | {"more": 1}]
    for body in bad:
        assert servers.post("collector", "decks", body)[0] == 422
    for draws in ({"beacon": "7", "coin": None}, {"beacon": None}, {"beacon": 7, "coin": 7}):
        assert servers.post("dealer", "decks", draws)[0] == 422
    assert servers.post("dealer", "decks", {"beacon": None, "coin": "00" * 32})[0] == 409
    assert servers.get("collector", "notes")["promise"] is None
