"""Dealer and collector under faults at every step, in random order; wrong servers are caught."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from jrr.dealing.decks import QuestionDecks
from jrr.servers.collector.jobs import Intake
from jrr.servers.dealer.store import DealerStore
from tests.e2e.conftest import NewDatabase
from tests.e2e.conftest import new_postgres_database as new_postgres_database
from tests.e2e.conftest import postgres_server as postgres_server
from tests.faults.machine import FaultMachine
from tests.faults.servers import Fault, FaultyServer, watched_writers

pytestmark = pytest.mark.heavy

QUIET = [HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large]


def profile(examples: int, steps: int, **more: Any) -> settings:
    return settings(
        max_examples=examples,
        stateful_step_count=steps,
        deadline=None,
        suppress_health_check=QUIET,
        database=None,
        derandomize=True,  # the same every time; the long profile tries other runs
        **more,
    )


SHORT = profile(12, 10, phases=[Phase.generate])
# It ends with the first failure, which long runs meet sooner.
UNTIL_CAUGHT = profile(100, 30, phases=[Phase.generate], report_multiple_bugs=False)


def run(cls: type[FaultMachine], chosen: settings) -> None:
    with watched_writers():
        run_state_machine_as_test(cls, settings=chosen)


def test_nothing_is_lost_doubled_or_dealt_twice() -> None:
    FaultMachine.faults_seen.clear()
    run(FaultMachine, SHORT)
    tried = {fault for _, fault in FaultMachine.faults_seen}
    assert tried == set(Fault) - {Fault.NONE, Fault.ACKNOWLEDGES_FIRST}
    assert {act for act, _ in FaultMachine.faults_seen} >= {"answer", "fetch", "enrol"}


@pytest.mark.slow
def test_nothing_is_lost_in_many_runs() -> None:
    run(FaultMachine, settings(profile(60, 25), derandomize=False))


@pytest.mark.slow
def test_nothing_is_lost_on_postgresql(new_postgres_database: NewDatabase) -> None:
    def databases(folder: Path) -> tuple[str, str]:
        return new_postgres_database(), new_postgres_database()

    class OnPostgres(FaultMachine):
        pass

    OnPostgres.databases = staticmethod(databases)
    run(OnPostgres, profile(8, 12, phases=[Phase.generate]))


# Negative controls: servers that are wrong must be caught ---------------------------------------


def test_a_server_that_acknowledges_before_it_commits_is_caught(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Where the commit should fail, it answers as if it had not."""
    check = FaultMachine._check

    plain = FaultyServer.ask

    def hasty(self: Any, method: str, path: str, document: Any = None, fault: Any = None) -> Any:
        before = (Fault.ERROR_BEFORE, Fault.CRASH_BEFORE)
        return plain(
            self,
            method,
            path,
            document,
            Fault.ACKNOWLEDGES_FIRST if fault in before else fault or Fault.NONE,
        )

    def lenient(self: Any, server: Any, act: str, reply: Any, fault: Fault, due: int) -> bool:
        if server.fired and fault in (Fault.ERROR_BEFORE, Fault.CRASH_BEFORE):
            fault = Fault.ACKNOWLEDGES_FIRST  # whoever hears "received" believes it
        return check(self, server, act, reply, fault, due)

    monkeypatch.setattr(FaultyServer, "ask", hasty)
    monkeypatch.setattr(FaultMachine, "_check", lenient)
    with pytest.raises((AssertionError, ExceptionGroup)):
        run(FaultMachine, UNTIL_CAUGHT)


def test_a_dealer_that_deals_a_seat_twice_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = QuestionDecks.card

    def card(self: QuestionDecks, block: int, seat: int) -> Any:
        return plain(self, block, 0)

    monkeypatch.setattr(QuestionDecks, "card", card)
    with pytest.raises((AssertionError, ExceptionGroup), match="dealt twice"):
        run(FaultMachine, UNTIL_CAUGHT)


@pytest.mark.slow
def test_a_collector_that_takes_another_report_for_a_repeat_is_caught(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Intake, "_is_repeat", lambda self, report: report.name in self._kept)
    with pytest.raises((AssertionError, ExceptionGroup), match=r"conflict|answer"):
        run(FaultMachine, UNTIL_CAUGHT)


def test_a_dealer_that_stores_no_seats_is_caught(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(DealerStore, "add_seats", lambda *arguments: None)
    with pytest.raises((AssertionError, ExceptionGroup)):
        run(FaultMachine, UNTIL_CAUGHT)
