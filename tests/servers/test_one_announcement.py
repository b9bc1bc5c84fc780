"""One announcement, wherever a dealer breaks down: no two, and the only one is not lost."""

import json
import shutil
import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from sqlalchemy import Connection, Engine

from jrr.servers.common.database import connect, prepare
from jrr.servers.common.problems import Problem, unavailable
from jrr.servers.common.settings import Settings
from jrr.servers.common.tokens import token_digest
from jrr.servers.dealer.closing import ClosingWish, DealerClosing
from jrr.servers.dealer.jobs import DealerJobs
from jrr.servers.dealer.keyfiles import KeyFiles
from jrr.servers.dealer.routes import dealer_app
from jrr.servers.dealer.seating import Visitor
from jrr.survey.survey import Survey
from tests.servers.asking import TOKEN, ask
from tests.servers.surveys import survey_of

PEOPLE = 12


def closing_of(jobs: DealerJobs) -> DealerClosing:
    """Its jobs at the end."""
    return DealerClosing(jobs.decks, jobs.keys)


@dataclass
class Dealing:
    """A dealer of its own, its files, and what it gave to whom."""

    folder: Path
    survey: Survey
    serials: dict[str, list[str]]  # by question
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
        return self.folder / "keys" / f"{self.survey.hash}.key"

    def started(self) -> FastAPI:
        """The server, as after a start."""
        self.engine.dispose()
        self.engine = connect(self.settings.database)
        prepare(self.engine, "dealer")
        return dealer_app(self.settings, self.engine)

    def names(self, count: int = PEOPLE) -> dict[str, Any]:
        questions = {name: {"": serials[:count]} for name, serials in self.serials.items()}
        return {"survey": self.survey.hash, "announcement": 1, "by": [], "questions": questions}

    def job(self) -> DealerJobs:
        return DealerJobs(KeyFiles(self.folder / "keys"))

    def close(self, connection: Connection, names: dict[str, Any]) -> dict[str, Any]:
        """The job alone, as a server would do it."""
        wish = ClosingWish(request=names)
        return closing_of(self.job()).close(connection, self.survey.hash, wish)


@pytest.fixture
def dealing(tmp_path: Path) -> Iterator[Dealing]:
    survey = survey_of(2, deck=10)
    engine = connect(f"sqlite:///{tmp_path}/dealer.db")
    prepare(engine, "dealer")
    jobs = DealerJobs(KeyFiles(tmp_path / "keys"))
    serials: dict[str, list[str]] = {"q0": [], "q1": []}
    with engine.begin() as connection:
        jobs.install(connection, survey)
        jobs.open(connection, survey.hash)
        for person in range(PEOPLE):
            dealt = jobs.cards(connection, Visitor(survey.hash, bytes([person]) * 32))
            for name, given in dealt["cards"].items():
                serials[name].append(given["serial"])
    made = Dealing(tmp_path, survey, serials, engine)
    yield made
    made.engine.dispose()


def announce(app: FastAPI, dealing: Dealing, names: dict[str, Any]) -> tuple[int, Any]:
    path = f"/v1/admin/surveys/{dealing.survey.hash}/close"
    return ask(app, "POST", path, json.dumps({"request": names}).encode())


def cards_in(told: dict[str, Any]) -> dict[str, int]:
    return {name: groups[""]["cards"] for name, groups in told["sums"]["questions"].items()}


def test_before_the_commit_nothing_has_happened(dealing: Dealing) -> None:
    with dealing.engine.connect() as connection, connection.begin() as transaction:
        dealing.close(connection, dealing.names())
        transaction.rollback()  # the power fails
    assert dealing.key_file.exists()
    status, told = announce(dealing.started(), dealing, dealing.names())
    assert (status, cards_in(told)) == (200, {"q0": PEOPLE, "q1": PEOPLE})
    assert not dealing.key_file.exists()


@pytest.mark.parametrize("names", [PEOPLE, PEOPLE - 1])
def test_between_commit_and_burning_the_sum_is_kept_and_the_key_goes(
    dealing: Dealing, names: int
) -> None:
    with dealing.engine.begin() as connection:
        first = dealing.close(connection, dealing.names())
    assert dealing.key_file.exists()  # the power fails here: nobody was told
    app = dealing.started()
    assert not dealing.key_file.exists()  # the next start finishes it
    status, told = announce(app, dealing, dealing.names(names))
    assert (status, told) == (200, first) if names == PEOPLE else status == 409


def test_what_cannot_be_burned_is_not_told(
    dealing: Dealing, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = dealing.started()

    def fail(self: KeyFiles, survey: str) -> None:
        raise OSError("the disk is gone")

    with monkeypatch.context() as broken:
        broken.setattr(KeyFiles, "burn", fail)
        status, problem = announce(app, dealing, dealing.names())
        assert (status, problem["type"]) == (503, "urn:jrr:problem:unavailable")
    with dealing.engine.begin() as connection:
        kept = dealing.close(connection, dealing.names())
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
    name, jobs = dealing.survey.hash, dealing.job()
    with dealing.engine.begin() as connection:
        closing_of(jobs).close(connection, name, ClosingWish(request=dealing.names()))
        with pytest.raises(Problem, match="burned"):  # in the same breath, before any burning
            jobs.cards(connection, Visitor(name, bytes(32)))
        found = closing_of(jobs).check(connection, name, dealing.names())
        assert found == {"unknown": {"q0": [], "q1": []}, "announced": True}
        with pytest.raises(Problem, match="another request"):
            closing_of(jobs).check(connection, name, dealing.names(PEOPLE - 1))


@pytest.mark.parametrize("groups", [{}, {"": []}], ids=["no group", "no names"])
def test_no_names_at_all_are_refused_and_nothing_is_lost(
    dealing: Dealing, groups: dict[str, Any]
) -> None:
    app = dealing.started()
    nobody = {"questions": {"q0": groups, "q1": groups}}
    status, problem = announce(app, dealing, dealing.names() | nobody)
    assert status == 422
    assert "request must name the serials of the cards that came back, got" in problem["detail"]
    assert dealing.key_file.exists()
    status, told = announce(app, dealing, dealing.names())
    assert (status, cards_in(told)) == (200, {"q0": PEOPLE, "q1": PEOPLE})


def test_of_six_dealers_on_one_database_one_announces(dealing: Dealing) -> None:
    """Each names another set; two sums could differ by one person's card."""
    apps = [dealing.started()]
    engines = [connect(dealing.settings.database) for _ in range(5)]
    apps += [dealer_app(dealing.settings, engine) for engine in engines]
    names = [dealing.names(PEOPLE - at) for at in range(6)]
    with ThreadPoolExecutor(6) as pool:
        replies = list(pool.map(lambda at: announce(apps[at], dealing, names[at]), range(6)))
    told = [(at, reply) for at, (status, reply) in enumerate(replies) if status == 200]
    # Who is told to try again did not announce either: there is one sum in the database.
    assert all(status in (200, 409, 410, 503) for status, _ in replies)
    assert len(told) <= 1
    again = [announce(apps[0], dealing, one) for one in names]
    kept = [(at, reply) for at, (status, reply) in enumerate(again) if status == 200]
    assert len(kept) == 1
    assert told in ([], kept)
    assert sorted(status for status, _ in again) == [200] + 5 * [409]
    assert not dealing.key_file.exists()
    for engine in engines:
        engine.dispose()


def test_six_jobs_at_once_wait_for_each_other(dealing: Dealing) -> None:
    def attempt(at: int) -> object:
        engine = connect(dealing.settings.database)
        try:
            with engine.begin() as connection:
                return dealing.close(connection, dealing.names(PEOPLE - at))
        except Problem as problem:
            return problem.status, problem.kind
        finally:
            engine.dispose()

    with ThreadPoolExecutor(6) as pool:
        told = list(pool.map(attempt, range(6)))
    assert sum(isinstance(one, dict) for one in told) == 1
    assert told.count((409, "announced")) == 5


def test_a_database_that_stays_locked_is_answered_by_try_again(dealing: Dealing) -> None:
    dealing.engine.dispose()
    dealing.engine = connect(dealing.settings.database, patience=0.05)
    app = dealer_app(dealing.settings, dealing.engine)
    with closing(sqlite3.connect(dealing.folder / "dealer.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        status, problem = announce(app, dealing, dealing.names())
        assert (status, problem["type"]) == (503, "urn:jrr:problem:unavailable")
        assert "Retry-After" in unavailable().headers
        other.execute("ROLLBACK")
    status, told = announce(app, dealing, dealing.names())
    assert (status, cards_in(told)) == (200, {"q0": PEOPLE, "q1": PEOPLE})
