"""What lies beside the dealer's keys: seats that were given away, keys that are gone or missing."""

import logging
from pathlib import Path

import pytest
from sqlalchemy import Connection, Engine

from jrr.errors import ArgumentError, JrrError
from jrr.servers.common.database import connect, prepare
from jrr.servers.common.problems import Problem
from jrr.servers.dealer.closing import ClosingWish, DealerClosing
from jrr.servers.dealer.jobs import DealerJobs
from jrr.servers.dealer.keyfiles import KeyFiles
from jrr.servers.dealer.seating import Visitor
from jrr.survey.survey import Survey
from tests.servers.surveys import survey_of

NAME = "0" * 64


def dealing(folder: Path) -> tuple[Engine, Survey, DealerJobs]:
    engine = connect(f"sqlite:///{folder}/dealer.db")
    prepare(engine, "dealer")
    made = survey_of(mechanism="drr")
    jobs = DealerJobs(KeyFiles(folder / "keys"))
    with engine.begin() as connection:
        jobs.install(connection, made)
        jobs.open(connection, made.hash)
    return engine, made, jobs


def give(connection: Connection, jobs: DealerJobs, made: Survey, person: int) -> None:
    connection.info["committed"] = []
    jobs.cards(connection, Visitor(made.hash, bytes([person]) * 32))
    for act in connection.info["committed"]:
        act()


def test_a_database_from_an_older_backup_deals_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    engine, made, jobs = dealing(tmp_path)
    with engine.connect() as connection:
        with connection.begin():
            for person in range(3):
                give(connection, jobs, made, person)
        with connection.begin() as later:
            give(connection, jobs, made, 3)
            later.rollback()  # as a backup from before the fourth person
    assert jobs.keys.seats(made.hash) == 4
    restored = DealerJobs(KeyFiles(tmp_path / "keys"))
    with engine.begin() as connection, caplog.at_level(logging.ERROR):
        for _ in range(5):
            with pytest.raises(Problem, match="cannot open its deck") as refused:
                restored.cards(connection, Visitor(made.hash, bytes([9]) * 32))
            assert (refused.value.status, refused.value.kind) == (503, "no-key")
        with pytest.raises(Problem):
            restored.check_ready(connection)
    assert len(caplog.records) == 1  # not one for each
    assert "has 3 seats" in caplog.text
    assert "4 were given away" in caplog.text


def test_a_lost_count_of_seats_is_noticed(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    engine, made, jobs = dealing(tmp_path)
    with engine.begin() as connection:
        give(connection, jobs, made, 0)
    (tmp_path / "keys" / f"{made.hash}.seats").unlink()
    restored = DealerJobs(KeyFiles(tmp_path / "keys"))
    with (
        engine.begin() as connection,
        caplog.at_level(logging.ERROR),
        pytest.raises(Problem, match="cannot open its deck"),
    ):
        restored.cards(connection, Visitor(made.hash, bytes([9]) * 32))
    assert "that counts them is missing" in caplog.text


def test_a_restart_without_a_loss_goes_on(tmp_path: Path) -> None:
    engine, made, jobs = dealing(tmp_path)
    with engine.begin() as connection:
        for person in range(3):
            give(connection, jobs, made, person)
        again = DealerJobs(KeyFiles(tmp_path / "keys"))
        give(connection, again, made, 4)
        again.check_ready(connection)
    assert again.keys.seats(made.hash) == 4


def test_a_missing_key_is_not_a_burned_one(tmp_path: Path) -> None:
    engine, made, _ = dealing(tmp_path)
    kept = (tmp_path / "keys").rename(tmp_path / "elsewhere")
    jobs = DealerJobs(KeyFiles(tmp_path / "keys"))
    with engine.begin() as connection:
        with pytest.raises(Problem) as refused:
            jobs.cards(connection, Visitor(made.hash, bytes(32)))
        assert refused.value.status == 503
        with pytest.raises(Problem):
            jobs.check_ready(connection)
        (tmp_path / "keys").rmdir()
        kept.rename(tmp_path / "keys")  # it was only not mounted
        jobs.check_ready(connection)
        give(connection, jobs, made, 0)
        DealerClosing(jobs.decks, jobs.keys).close(connection, made.hash, ClosingWish())
        jobs.check_ready(connection)
        with pytest.raises(Problem) as refused:
            jobs.cards(connection, Visitor(made.hash, bytes(32)))
        assert refused.value.status == 410


def test_another_dealers_key_is_not_overwritten(tmp_path: Path) -> None:
    first, second = KeyFiles(tmp_path), KeyFiles(tmp_path)
    key, wrapped = first.create(NAME)
    with pytest.raises(ArgumentError, match="do two dealers share"):
        second.create(NAME)
    assert second.unwrap(NAME, wrapped) == key
    first.burn(NAME)
    with pytest.raises(JrrError):  # a new key for a survey that is over: other cards
        second.create(NAME)
