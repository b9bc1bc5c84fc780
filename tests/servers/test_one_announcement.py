"""One announcement, wherever a dealer breaks down: no two, and the only one is not lost."""

import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from sqlalchemy import Engine

from jrr import MRR
from jrr.servers.common.database import connect, prepare
from jrr.servers.common.problems import Problem
from jrr.servers.common.settings import Settings
from jrr.servers.common.tokens import token_digest
from jrr.servers.dealer.jobs import DealerJobs
from jrr.servers.dealer.keyfiles import KeyFiles
from jrr.servers.dealer.routes import dealer_app
from jrr.survey.campaign import Campaign
from jrr.survey.dealer_kinds import DealerServer
from tests.servers.test_old_databases import TOKEN, ask

PEOPLE = 12


@dataclass
class Dealing:
    """A dealer of its own, its files, and what it gave to whom."""

    folder: Path
    campaign: Campaign
    serials: list[str]
    engine: Engine

    @property
    def settings(self) -> Settings:
        return Settings(
            role="dealer",
            database=f"sqlite:///{self.folder}/dealer.db",
            admin_token_sha256=token_digest(TOKEN),
            keys=str(self.folder / "keys"),
        )

    @property
    def key_file(self) -> Path:
        return self.folder / "keys" / f"{self.campaign.hash}.key"

    def started(self) -> FastAPI:
        """The server, as after a start."""
        self.engine.dispose()
        self.engine = connect(self.settings.database)
        prepare(self.engine, "dealer")
        return dealer_app(self.settings, self.engine)

    def names(self, count: int = PEOPLE) -> dict[str, Any]:
        rounds = [{"": self.serials[:count]}]
        return {"campaign": self.campaign.hash, "by": None, "rounds": rounds}

    def job(self) -> DealerJobs:
        return DealerJobs(KeyFiles(self.folder / "keys"))


@pytest.fixture
def dealing(tmp_path: Path) -> Iterator[Dealing]:
    campaign = Campaign(
        question="Do you?",
        labels=("no", "yes"),
        mechanism=MRR.for_epsilon(10, 1.0, announced=True),
        dealer=DealerServer("https://dealer.example"),
        collector="https://collector.example",
        capacity=20,
        min_cell=5,
        invitations=False,
    )
    engine = connect(f"sqlite:///{tmp_path}/dealer.db")
    prepare(engine, "dealer")
    jobs = DealerJobs(KeyFiles(tmp_path / "keys"))
    serials = []
    with engine.begin() as connection:
        jobs.install(connection, campaign)
        jobs.open(connection, campaign.hash)
        for person in range(PEOPLE):
            hand = jobs.cards(connection, campaign.hash, bytes([person]) * 32, None)
            serials += hand["serials"]
    made = Dealing(tmp_path, campaign, serials, engine)
    yield made
    made.engine.dispose()


def announce(app: FastAPI, dealing: Dealing, names: dict[str, Any]) -> tuple[int, Any]:
    path = f"/v1/admin/campaigns/{dealing.campaign.hash}/announce"
    return ask(app, "POST", path, json.dumps(names).encode())


def test_before_the_commit_nothing_has_happened(dealing: Dealing) -> None:
    name = dealing.campaign.hash
    with dealing.engine.connect() as connection, connection.begin() as transaction:
        dealing.job().announce(connection, name, dealing.names())
        transaction.rollback()  # the power fails
    assert dealing.key_file.exists()
    status, told = announce(dealing.started(), dealing, dealing.names())
    assert (status, told["rounds"][0][""]["cards"]) == (200, PEOPLE)
    assert not dealing.key_file.exists()


@pytest.mark.parametrize("names", [PEOPLE, PEOPLE - 1])
def test_between_commit_and_burning_the_sum_is_kept_and_the_key_goes(
    dealing: Dealing, names: int
) -> None:
    name = dealing.campaign.hash
    with dealing.engine.begin() as connection:
        first = dealing.job().announce(connection, name, dealing.names())
    assert dealing.key_file.exists()  # the power fails here: nobody was told
    app = dealing.started()
    assert not dealing.key_file.exists()  # the next start finishes it
    status, told = announce(app, dealing, dealing.names(names))
    assert (status, told) == (200, first) if names == PEOPLE else status == 409


def test_what_cannot_be_burned_is_not_told(
    dealing: Dealing, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = dealing.started()

    def fail(self: KeyFiles, campaign: str) -> None:
        raise OSError("the disk is gone")

    with monkeypatch.context() as broken:
        broken.setattr(KeyFiles, "burn", fail)
        status, problem = announce(app, dealing, dealing.names())
        assert (status, problem["type"]) == (503, "urn:jrr:problem:unavailable")
    with dealing.engine.begin() as connection:
        kept = dealing.job().announce(connection, dealing.campaign.hash, dealing.names())
    assert announce(app, dealing, dealing.names()) == (200, kept)
    assert not dealing.key_file.exists()


def test_a_backup_from_before_the_end_announces_nothing_more(dealing: Dealing) -> None:
    dealing.engine.dispose()
    backup = dealing.folder / "backup.db"
    shutil.copy(dealing.folder / "dealer.db", backup)
    status, _ = announce(dealing.started(), dealing, dealing.names())
    assert status == 200
    dealing.engine.dispose()
    for file in dealing.folder.glob("dealer.db*"):
        file.unlink()
    shutil.copy(backup, dealing.folder / "dealer.db")
    app = dealing.started()
    for names in (dealing.names(), dealing.names(PEOPLE - 1)):
        status, problem = announce(app, dealing, names)
        assert (status, problem["detail"]) == (410, "the cards are burned")


def test_cards_and_serials_end_with_the_commit(dealing: Dealing) -> None:
    name, jobs = dealing.campaign.hash, dealing.job()
    with dealing.engine.begin() as connection:
        jobs.announce(connection, name, dealing.names())
        with pytest.raises(Problem, match="burned"):  # in the same breath, before any burning
            jobs.cards(connection, name, bytes(32), None)
        assert jobs.unknown(connection, name, dealing.names()) == []
