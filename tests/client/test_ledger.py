"""The contributor's ledger on disk: private, whole, locked; and what a client does with it."""

import json
import multiprocessing
import sqlite3
import stat
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from jrr import JRR, RR, Contributor, Mechanism
from jrr.client.http import Http
from jrr.client.ledger import Entry, Ledger
from jrr.client.operator import Operator, Tokens
from jrr.errors import DamagedError, ProtocolError
from jrr.mechanisms.base import Mechanism as AnyMechanism
from jrr.survey.campaign import Campaign
from jrr.survey.identity import new_invitation
from jrr.survey.spending import Expense, expense_of, total
from jrr.survey.steps import Call, Reply
from tests.survey.test_promises import campaign


def entry(asked: Campaign, person: str = "me", **more: Any) -> Entry:
    settings: dict[str, Any] = {
        "campaign": asked.hash,
        "person": person,
        "question": "q",
        "expense": expense_of(asked),
        "mechanism": asked.mechanism,
        "report": 1,
    }
    return Entry(**(settings | more))


def fine(before: list[Expense]) -> None:
    """No limit."""


def test_what_was_entered_is_there_once(tmp_path: Path) -> None:
    ledger, asked = Ledger(tmp_path / "ledger.sqlite"), campaign(RR(2, 1.0))
    second, third = campaign(RR(2, 1.0)), campaign(RR(2, 1.0))
    assert ledger.expenses() == []
    ledger.enter(entry(asked), fine)
    ledger.enter(entry(asked), fine)  # the same answer is not paid twice
    ledger.enter(entry(second, report=0), fine)
    ledger.enter(entry(third, expense=None, report=0), fine)  # sent again
    assert len(ledger.expenses()) == 2
    assert all(ledger.has_answered(one.hash, "me") for one in (asked, second, third))
    assert not ledger.has_answered(asked.hash, "you")
    ledger.enter(entry(asked, person="you"), fine)
    assert len(ledger.expenses()) == 3
    assert ledger.remembered("q") == 1
    assert ledger.remembered("another") is None
    assert stat.S_IMODE(ledger.path.stat().st_mode) == 0o600


def test_what_is_refused_leaves_nothing(tmp_path: Path) -> None:
    ledger, asked = Ledger(tmp_path / "ledger.sqlite"), campaign(RR(2, 1.0))

    def refuse(before: list[Expense]) -> None:
        raise ProtocolError("too much")

    with pytest.raises(ProtocolError):
        ledger.enter(entry(asked), refuse)
    assert ledger.expenses() == []


def test_a_damaged_ledger_is_named(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    path.write_bytes(b"no database" * 1_000)
    with pytest.raises(DamagedError, match=r"ledger\.sqlite"):
        Ledger(path).expenses()
    path.unlink()
    ledger = Ledger(path)
    ledger.enter(entry(campaign(RR(2, 1.0))), fine)
    with sqlite3.connect(path) as writer:
        writer.execute("UPDATE answers SET expense = '{}'")
    with pytest.raises(DamagedError, match="ledger"):
        ledger.expenses()


def _spend(path: str, number: int, document: bytes, results: Any) -> None:
    asked = Campaign.from_bytes(document)

    def at_most_three(before: list[Expense]) -> None:
        if total(before, 0.0).epsilon + 1.0 > 3.0 + 1e-9:
            raise ProtocolError("too much")

    try:
        Ledger(Path(path)).enter(entry(asked, f"person {number}"), at_most_three)
        results.put(True)
    except ProtocolError:
        results.put(False)


@pytest.mark.slow
def test_programs_at_once_cannot_spend_the_same_rest(tmp_path: Path) -> None:
    asked = campaign(RR(2, 1.0))
    path = str(tmp_path / "ledger.sqlite")
    spawn = multiprocessing.get_context("spawn")
    results = spawn.Queue()
    people = [
        spawn.Process(target=_spend, args=(path, number, asked.to_bytes(), results))
        for number in range(6)
    ]
    for process in people:
        process.start()
    outcomes = [results.get(timeout=600) for _ in people]
    for process in people:
        process.join()
    assert sorted(outcomes) == [False, False, False, True, True, True]
    assert len(Ledger(Path(path)).expenses()) == 3


class Servers:
    """A collector that answers without a socket."""

    def __init__(self, asked: Campaign) -> None:
        self.campaigns = {asked.hash: asked}
        self.bodies: list[dict[str, Any]] = []

    def call(self, call: Call) -> Reply:
        name = call.address.split("/v1/campaigns/")[1].split("/")[0]
        if call.address.endswith("/reports"):
            self.bodies.append(json.loads(call.body or b""))
            return Reply(201)
        if call.address.endswith("/status"):
            return Reply(200, b'{"state": "open"}')
        return Reply(200, self.campaigns[name].to_bytes())


def person(servers: Servers, asked: Campaign, state: Path, **more: Any) -> Contributor:
    servers.campaigns[asked.hash] = asked
    settings: dict[str, Any] = {"limit": 1.0, "state": state, "invitation": new_invitation()}
    me = Contributor(f"{asked.collector}/v1/campaigns/{asked.hash}", **(settings | more))
    me._http = servers  # type: ignore[assignment]
    return me


def plain(epsilon: float, **more: Any) -> Campaign:
    mechanism: AnyMechanism = RR(2, epsilon)
    return campaign(mechanism, **more)


def test_limits_hold_over_campaigns(tmp_path: Path) -> None:
    first = plain(1.0)
    servers = Servers(first)
    me = person(servers, first, tmp_path)
    me.answer(1)
    assert me.spent.epsilon == pytest.approx(1.0)
    me.answer(1)  # the same report again costs nothing
    with pytest.raises(ProtocolError, match="spent before"):
        person(servers, plain(0.1), tmp_path).answer(1)
    assert len(servers.bodies) == 2
    assert servers.bodies[0] == servers.bodies[1]
    # Somebody else's ledger is empty.
    person(servers, plain(0.5), tmp_path, ledger=tmp_path / "other.sqlite").answer(0)
    assert len(servers.bodies) == 3


def test_a_hundred_small_answers_reach_the_limit_exactly(tmp_path: Path) -> None:
    servers = Servers(plain(0.25))
    for number in range(4):
        person(servers, plain(0.25), tmp_path, limit=1.0000001).answer(number % 2)
    with pytest.raises(ProtocolError):
        person(servers, plain(0.25), tmp_path, limit=1.0000001).answer(1)
    assert len(servers.bodies) == 4


@pytest.mark.parametrize("mechanism", [RR(2, 1.0), RR(5, 1.0)], ids=str)
def test_a_question_that_repeats_is_answered_by_the_same_report(
    mechanism: Mechanism, tmp_path: Path
) -> None:
    asked = [campaign(mechanism) for _ in range(5)]
    servers = Servers(asked[0])
    me = person(servers, asked[0], tmp_path)
    assert me.repeat() is None  # nothing is remembered yet
    assert not me.can_repeat()
    me.answer(1)
    assert me.can_repeat()
    for again in asked[1:]:
        receipt = person(servers, again, tmp_path).repeat()
        assert receipt is not None
        assert not receipt.carded
    assert me.spent.epsilon == pytest.approx(1.0)
    assert len({json.dumps(body["report"]) for body in servers.bodies}) == 1
    assert len({body["pseudonym"] for body in servers.bodies}) == 5
    # The next campaign asks the same: the limit is spent, the report is not.
    again = campaign(mechanism)
    other = person(servers, again, tmp_path)
    with pytest.raises(ProtocolError):
        other.check_spending()
    assert other.repeat() is not None
    different = campaign(mechanism, question="Another?")
    assert person(servers, different, tmp_path).repeat() is None


def test_reports_from_before_there_was_a_ledger_are_entered(tmp_path: Path) -> None:
    asked = plain(0.5)
    servers = Servers(asked)
    me = person(servers, asked, tmp_path)
    me.answer(1)
    (tmp_path / "ledger.sqlite").unlink()
    assert me.spent.epsilon == 0.0
    me.resume()
    assert me.spent.epsilon == pytest.approx(0.5)


def test_a_campaign_that_understates_its_cost_is_refused(tmp_path: Path) -> None:
    honest = campaign(JRR(100, p=0.6, s=0.2))
    promised = dict(honest.promised or {})
    promised["everything"] *= 0.9
    lying = replace(honest, promised=promised)
    servers = Servers(lying)
    with pytest.raises(ProtocolError, match="less than what holds"):
        person(servers, lying, tmp_path, limit=9.0).answer(1)
    assert servers.bodies == []


@pytest.mark.parametrize("status", [401, 403])
def test_a_wrong_token_names_its_variable(status: int, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = campaign(JRR(100, p=0.6, s=0.2))
    monkeypatch.setattr(Http, "request", lambda *_, **__: Reply(status))
    for tokens, variable in (
        (Tokens(collector="x"), "JRR_COLLECTOR_TOKEN"),
        (Tokens(dealer="x"), "JRR_DEALER_TOKEN"),
    ):
        with pytest.raises(ProtocolError, match=f"is {variable} the token"):
            Operator.by_tokens(asked, tokens).show()
