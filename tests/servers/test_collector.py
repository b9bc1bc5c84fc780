"""The collector's server over HTTP, its exports, and changes between waves."""

import io
import json
from pathlib import Path
from typing import Any

import pyarrow.csv as pa_csv
import pytest
from fastapi import FastAPI
from sqlalchemy import Connection, Engine

from jrr.protocol.identity import COLLECTOR, accepted, invitation_secret, new_invitation, pseudonym
from jrr.servers.collector.change import ChangeWish
from jrr.servers.collector.results import EstimateQuery
from jrr.servers.collector.routes import collector_app
from jrr.servers.common.settings import Settings
from jrr.servers.common.tokens import token_digest
from jrr.survey.survey import Survey
from jrr.tables import estimate_survey
from tests.servers.asking import TOKEN, ask
from tests.servers.collecting import JOBS, answer, asking, begin, body, person, refusal

KINDS: dict[str, dict[str, Any]] = {
    "rr": {"mechanism": "rr"},
    "drr": {"mechanism": "drr"},
    "several": {
        "mechanism": "rr",
        "kind": {"kind": "several", "labels": ["a", "b"]},
    },
    "number": {"mechanism": "rr", "kind": {"kind": "number", "low": 0, "high": 10}},
    "oue": {"mechanism": "oue", "kind": {"kind": "choice", "labels": list("abcdefghi")}},
    "olh": {"mechanism": "olh", "kind": {"kind": "choice", "labels": list("abcdefghi")}},
}


@pytest.fixture
def app(engine: Engine, tmp_path: Path) -> FastAPI:
    database = f"sqlite:///{tmp_path}/collector.db"
    digest = token_digest(TOKEN)
    return collector_app(
        Settings(role="collector", database=database, admin_token_sha256=digest), engine
    )


def test_a_survey_from_its_document_to_its_results(app: FastAPI) -> None:
    survey = asking(2, "rr", only_if={"region": "süd"}, min_cell=3)
    public, admin = f"/v1/surveys/{survey.hash}", f"/v1/admin/surveys/{survey.hash}"
    assert ask(app, "PUT", admin, survey.to_bytes()) == (201, {"new": True})
    assert ask(app, "GET", f"{public}/status") == (200, {"state": "new", "n": None, "closes": None})
    sent = [body(survey, person(at), ("north", "süd")[at % 2]) for at in range(10)]
    assert ask(app, "POST", f"{public}/reports", sent[0])[0] == 425
    assert ask(app, "POST", f"{admin}/open", b"{}")[0] == 422
    assert ask(app, "POST", f"{admin}/open", b'{"n":null}') == (200, {"state": "open"})
    for one in sent:
        assert ask(app, "POST", f"{public}/reports", one) == (201, {"received": True})
    assert ask(app, "POST", f"{public}/reports", sent[3])[0] == 200
    other = json.loads(sent[3]) | {"open": {"region": "sea 𝛆"}}
    other["reports"].pop("q1")
    assert ask(app, "POST", f"{public}/reports", json.dumps(other).encode())[0] == 409
    assert ask(app, "POST", f"{public}/reports", b"{" * 10**5)[0] == 413
    assert ask(app, "POST", f"{public}/reports", b"{" * 3_000)[0] == 422
    shown = {
        "reports": 10,
        "questions": {"q0": 10, "q1": 5},
        "settled": True,
        "announced": 0,
        "invited": 0,
    }
    facts = {"survey": survey.hash, "state": "open", "n": None, "closes": None}
    assert ask(app, "GET", admin) == (200, facts | shown)
    status, found = ask(app, "GET", f"{admin}/estimate?question=q0&by=region&level=0.9")
    assert status == 200
    assert [one["name"] for one in found["groups"]] == ["north", "süd"]
    assert (found["name"], found["question"]) == ("q0", "0?")
    for wrong in ("", "?question=q9", "?question=q0&by=q0", "?question=q0&level=2"):
        assert ask(app, "GET", f"{admin}/estimate{wrong}")[0] == 422
    assert ask(app, "GET", f"{admin}/closing")[1]["reports"] == 10
    assert ask(app, "POST", f"{admin}/close", b'{"decks":1}')[0] == 422
    status, closed = ask(app, "POST", f"{admin}/close", b"{}")
    assert closed == {"state": "closed", "reports": 10, "discarded": 0, "settled": True}
    status, found = ask(app, "GET", f"{admin}/estimates")
    assert {name: one["cardless"] for name, one in found.items()} == {"q0": 10, "q1": 5}
    assert ask(app, "GET", f"{admin}/export?format=csv.json")[0] == 422


@pytest.mark.slow_variants("olh]")
@pytest.mark.parametrize("kind", KINDS)
def test_an_export_holds_what_the_collector_shows(
    connection: Connection, tmp_path: Path, kind: str
) -> None:
    survey = asking(2, only_if={"region": ["north", "süd"]}, **KINDS[kind])
    begin(connection, survey)
    for at, region in enumerate(("north", "süd", "sea 𝛆")):
        answer(connection, survey, range(10 * at, 10 * at + 10), region)
    JOBS.close(connection, survey.hash)
    path = tmp_path / "answers.parquet"
    path.write_bytes(JOBS.export(connection, survey.hash, "parquet"))
    for by in (None, "region"):
        found = estimate_survey(path, by=by)
        query = EstimateQuery(by=None if by is None else (by,))
        shown = JOBS.estimates(connection, survey.hash, query)
        assert set(found) == set(shown)
        for name, result in found.items():
            told = result.to_dict()
            if kind == "number":  # a file's result is the mean alone
                assert told["estimate"]["mean"] == shown[name]["mean"]["mean"]
                assert told["estimate"]["interval"] == shown[name]["mean"]["interval"]
                continue
            assert told["estimate"] == shown[name]["estimate"]
            assert told.get("groups") == shown[name].get("groups")
    table = pa_csv.read_csv(io.BytesIO(JOBS.export(connection, survey.hash, "csv")))
    assert table.num_rows == 30
    columns = [column for one in survey.sensitive for column in (one.name, f"{one.name}_carded")]
    assert table.column_names == ["region", *columns]
    last = table[f"{survey.sensitive[-1].name}_carded"].to_pylist()
    assert sum(flag in (None, "") for flag in last) == 10


def waves(**more: Any) -> tuple[Survey, Survey]:
    first = asking(2, "rr", invitations=True, waves=2, **more)
    return first, asking(2, "rr", invitations=True, waves=2, after=first, **more)


def test_changes_between_waves_all_or_paired(connection: Connection) -> None:
    first, second = waves(min_cell=5, min_batch=2)
    people = [new_invitation() for _ in range(30)]
    names = [pseudonym(invitation_secret(one), first.collector_salt, COLLECTOR) for one in people]
    for survey, some in ((first, names[:21]), (second, names[6:])):
        begin(connection, survey)
        hashes = accepted(people, survey.collector_salt, COLLECTOR)
        assert JOBS.invite(connection, survey.hash, hashes) == 30
        for at, name in enumerate(some):
            assert JOBS.receive(connection, survey.hash, body(survey, name, value=at % 2))
    for survey in (first, second):
        waits = JOBS.change(connection, second.hash, ChangeWish(since=first.hash))["changes"]
        assert "both waves are closed" in waits["q0"]["refused"]
        JOBS.close(connection, survey.hash)
    found = JOBS.change(connection, second.hash, ChangeWish(since=first.hash))
    assert [(one["n_before"], one["n_now"]) for one in found["changes"].values()] == [(21, 24)] * 2
    paired = JOBS.change(connection, second.hash, ChangeWish(since=first.hash, paired=True))
    assert paired["changes"]["q1"]["n_now"] == paired["changes"]["q1"]["n_before"] == 15
    with refusal("unknown-survey"):
        JOBS.change(connection, second.hash, ChangeWish(since="0" * 64))
    stranger = asking(1, "rr")
    begin(connection, stranger)
    with refusal("other-panel"):
        JOBS.change(connection, second.hash, ChangeWish(since=stranger.hash))


def test_a_pairing_that_leaves_few_out_is_not_shown(connection: Connection) -> None:
    first, second = waves(min_cell=5, min_batch=3)
    people = [new_invitation() for _ in range(20)]
    names = [pseudonym(invitation_secret(one), first.collector_salt, COLLECTOR) for one in people]
    for survey, some in ((first, names), (second, names[2:])):
        begin(connection, survey)
        JOBS.invite(connection, survey.hash, accepted(people, survey.collector_salt, COLLECTOR))
        for name in some:
            JOBS.receive(connection, survey.hash, body(survey, name))
        JOBS.close(connection, survey.hash)
    wish = ChangeWish(since=first.hash, paired=True)
    found = JOBS.change(connection, second.hash, wish)["changes"]
    assert "answered only one of the waves" in found["q0"]["refused"]
