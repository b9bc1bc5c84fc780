"""The contributor's ledger on disk: private, whole, locked; and what a client does with it."""

import json
import multiprocessing
import sqlite3
import stat
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from jrr import Contributor
from jrr.client.device import Ledger
from jrr.client.http import Http
from jrr.client.operator import Operator, Tokens
from jrr.dealing.kinds import Dealers
from jrr.errors import ArgumentError, DamagedError, ProtocolError, UnreachableError
from jrr.protocol.identity import new_invitation
from jrr.protocol.steps import Call, Reply
from jrr.survey.creation import SurveyRequest
from jrr.survey.draft import Draft, one_question
from jrr.survey.spending import Expense, expenses_of, total
from jrr.survey.survey import Survey

COLLECTOR = "https://collector.example"


def plain(epsilon: float, questions: int = 1) -> Survey:
    """Yes-no questions q0, q1, … of randomized response, each of this ε."""
    asked = [{"name": f"q{at}", "kind": "yes-no", "text": f"{at}?"} for at in range(questions)]
    document = {"title": "T", "epsilon": epsilon * questions, "split": "even"}
    draft = Draft.from_dict(document | {"questions": asked})
    return SurveyRequest(draft=draft, people=100, collector=COLLECTOR, mechanism="rr").survey()


def dealt(mechanism: str, **more: Any) -> Survey:
    return SurveyRequest(
        draft=one_question("Do you?"),
        people=1_000,
        collector=COLLECTOR,
        dealing=Dealers(("https://dealer.example",)),
        mechanism=mechanism,
        **more,
    ).survey()


def costs(survey: Survey, *numbers: int) -> list[Expense]:
    return [expenses_of([survey.sensitive[number]])[0] for number in numbers]


def fine(before: list[Expense]) -> None:
    """No limit."""


def test_what_was_entered_is_there_once(tmp_path: Path) -> None:
    ledger, asked = Ledger(tmp_path / "ledger.sqlite"), plain(1.0, 3)
    assert ledger.expenses() == []
    ledger.enter("me", costs(asked, 0), fine)
    ledger.enter("me", costs(asked, 0, 1), fine)  # the same answer is not paid twice
    assert len(ledger.expenses()) == 2
    assert ledger.answered(asked.hash, "me") == {"q0", "q1"}
    assert ledger.answered(asked.hash, "you") == set()
    ledger.enter("you", costs(asked, 0), fine)
    assert len(ledger.expenses()) == 3
    assert stat.S_IMODE(ledger.path.stat().st_mode) == 0o600


def test_what_is_refused_leaves_nothing(tmp_path: Path) -> None:
    ledger, asked = Ledger(tmp_path / "ledger.sqlite"), plain(1.0)

    def refuse(before: list[Expense]) -> None:
        raise ProtocolError("too much")

    with pytest.raises(ProtocolError):
        ledger.enter("me", costs(asked, 0), refuse)
    assert ledger.expenses() == []


def test_a_damaged_ledger_is_named(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    path.write_bytes(b"no database" * 1_000)
    with pytest.raises(DamagedError, match=r"ledger\.sqlite"):
        Ledger(path).expenses()
    path.unlink()
    ledger = Ledger(path)
    ledger.enter("me", costs(plain(1.0), 0), fine)
    with sqlite3.connect(path) as writer:
        writer.execute("UPDATE answers SET expense = '{}'")
    with pytest.raises(DamagedError, match="ledger"):
        ledger.expenses()


def _spend(path: str, number: int, document: bytes, results: Any) -> None:
    asked = Survey.from_bytes(document)

    def at_most_three(before: list[Expense]) -> None:
        if total(before, 0.0).epsilon + 1.0 > 3.0 + 1e-9:
            raise ProtocolError("too much")

    try:
        Ledger(Path(path)).enter("me", costs(asked, number), at_most_three)
        results.put(True)
    except ProtocolError:
        results.put(False)


@pytest.mark.slow
def test_programs_at_once_cannot_spend_the_same_rest(tmp_path: Path) -> None:
    asked = plain(1.0, 6)
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

    def __init__(self) -> None:
        self.surveys: dict[str, Survey] = {}
        self.bodies: list[dict[str, Any]] = []
        self.status = 201

    def call(self, call: Call) -> Reply:
        name = call.address.split("/v1/surveys/")[1].split("/")[0]
        if call.address.endswith("/reports"):
            self.bodies.append(json.loads(call.body or b""))
            return Reply(self.status)
        if call.address.endswith("/status"):
            return Reply(200, b'{"state": "open"}')
        return Reply(200, self.surveys[name].to_bytes())


def person(servers: Servers, asked: Survey, state: Path, **more: Any) -> Contributor:
    servers.surveys[asked.hash] = asked
    settings: dict[str, Any] = {"limit": 1.0, "state": state, "invitation": new_invitation()}
    me = Contributor(asked.link, **(settings | more))
    me._http = servers  # type: ignore[assignment]
    return me


def test_limits_hold_over_questions_and_surveys(tmp_path: Path) -> None:
    servers = Servers()
    with pytest.raises(ProtocolError, match="more than your limit"):
        person(servers, plain(1.0, 2), tmp_path).answer({"q0": 1, "q1": 0})
    me = person(servers, plain(1.0), tmp_path)
    me.answer(1)
    assert me.spent.epsilon == pytest.approx(1.0)
    assert me.answer(0).before  # what was answered stands, and costs nothing more
    with pytest.raises(ProtocolError, match="spent before"):
        person(servers, plain(0.1), tmp_path).answer(1)
    assert len(servers.bodies) == 1
    # Somebody else's ledger is empty.
    person(servers, plain(0.5), tmp_path, ledger=tmp_path / "other.sqlite").answer(0)
    assert len(servers.bodies) == 2


def test_small_answers_reach_the_limit_exactly(tmp_path: Path) -> None:
    servers = Servers()
    for number in range(4):
        person(servers, plain(0.25), tmp_path, limit=1.0000001).answer(number % 2)
    with pytest.raises(ProtocolError):
        person(servers, plain(0.25), tmp_path, limit=1.0000001).answer(1)
    assert len(servers.bodies) == 4


def test_saved_answers_are_sent_again_and_entered_into_a_new_ledger(tmp_path: Path) -> None:
    servers = Servers()
    me = person(servers, plain(0.5), tmp_path, patience=0.0)
    assert me.resume() is None
    servers.status = 503
    with pytest.raises(UnreachableError, match="503"):
        me.answer(1)
    servers.status = 201
    (tmp_path / "ledger.sqlite").unlink()
    assert me.spent.epsilon == 0.0
    assert me.resume() is not None
    assert me.spent.epsilon == pytest.approx(0.5)
    assert servers.bodies[0] == servers.bodies[1]


def test_answers_are_by_question_where_there_are_several(tmp_path: Path) -> None:
    me = person(Servers(), plain(0.1, 2), tmp_path)
    with pytest.raises(ArgumentError, match="q0, q1"):
        me.answer("yes")
    with pytest.raises(ArgumentError, match="invitation must be given"):
        person(Servers(), plain(0.1), tmp_path, invitation=None).answer("yes")


def test_a_survey_that_understates_its_cost_is_refused(tmp_path: Path) -> None:
    honest = dealt("jrr")
    informed = {name: 0.9 * epsilon for name, epsilon in (honest.informed or {}).items()}
    lying = replace(honest, informed=informed, promised=None, study=None)
    servers = Servers()
    with pytest.raises(ProtocolError, match="less than what holds"):
        person(servers, lying, tmp_path, limit=9.0).answer(1)
    assert servers.bodies == []


@pytest.mark.parametrize("status", [401, 403])
def test_a_wrong_token_names_its_variable(status: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Http, "request", lambda *_, **__: Reply(status))
    for tokens, variable in (
        (Tokens(collector="x"), "JRR_COLLECTOR_TOKEN"),
        (Tokens(dealer="x"), "JRR_DEALER_TOKEN"),
        (Tokens(dealers={0: "x"}), "JRR_DEALER_TOKEN"),
    ):
        with pytest.raises(ProtocolError, match=f"is {variable} the token"):
            Operator.by_tokens(dealt("mrr"), tokens).show()


def test_tokens_are_of_those_who_deal() -> None:
    with pytest.raises(ArgumentError, match="number of a party"):
        Operator.by_tokens(dealt("mrr"), Tokens(parties={0: "x"}))
    with pytest.raises(ArgumentError, match="number of a dealer"):
        Operator.by_tokens(dealt("mrr"), Tokens(dealers={1: "x"}))
    with pytest.raises(ArgumentError, match="tokens must be given"):
        Operator.by_tokens(plain(1.0), Tokens(dealer="x"))
    several = dealt("mrr", colluders=0)
    several = replace(
        several,
        dealing=Dealers(("https://a.example", "https://b.example")),
        mechanisms={"answer": several.mechanisms["answer"].for_dealers(2)},
        promised=None,
        study=None,
        informed=None,
        consent={"en": "{cost}"},
    )
    with pytest.raises(ArgumentError, match="NUMBER:TOKEN"):
        Operator.by_tokens(several, Tokens(dealer="x"))
    operator = Operator.by_tokens(several, Tokens(dealers={1: "x"}, collector="y"))
    assert list(operator.servers) == ["dealer 1", "collector"]
