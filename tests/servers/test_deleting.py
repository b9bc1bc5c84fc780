"""Deleting a survey: of its data nothing is left, and the time of that is kept."""

import asyncio
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from sqlalchemy import select

from jrr.errors import ArgumentError
from jrr.protocol.documents import hashed
from jrr.servers.collector.routes import collector_app
from jrr.servers.collector.store import CollectorStore
from jrr.servers.common.database import connect, prepare
from jrr.servers.common.settings import Settings
from jrr.servers.common.tokens import token_digest
from tests.servers.asking import TOKEN, ask
from tests.servers.collecting import asking, body, person
from tests.servers.surveys import survey_of
from tests.servers.test_dealer import Server

NOW = datetime(2030, 5, 6, 7, 8, 9, tzinfo=UTC)
WHEN = "2030-05-06T07:08:09Z"


def collector(folder: Path) -> tuple[FastAPI, Any]:
    settings = Settings(
        role="collector",
        database=f"sqlite:///{folder}/collector.db",
        admin_token_sha256=token_digest(TOKEN),
    )
    engine = connect(settings.database)
    prepare(engine, "collector")
    return collector_app(settings, engine, lambda: NOW), engine


def test_of_answers_nothing_is_left_but_the_time_and_the_document(tmp_path: Path) -> None:
    app, engine = collector(tmp_path)
    kept, gone = asking(1, "rr"), asking(2, "rr")
    for survey in (kept, gone):
        path = f"/v1/admin/surveys/{survey.hash}"
        assert ask(app, "PUT", path, survey.to_bytes())[0] == 201
        assert ask(app, "POST", f"{path}/open", b'{"n": null}')[0] == 200
        for who in range(30):
            upload = body(survey, person(who if survey is kept else 100 + who))
            assert ask(app, "POST", f"/v1/surveys/{survey.hash}/reports", upload)[0] == 201
    people = CollectorStore.people
    with engine.connect() as connection:
        query = select(people.c.pseudonym).where(people.c.survey == gone.hash)
        names = [bytes(name) for name in connection.execute(query).scalars()]
    assert len(names) == 30
    assert ask(app, "DELETE", path)[0] == 409  # open: people are still answering
    assert ask(app, "POST", f"{path}/close", b'{"by": [], "merge_small": false}')[0] == 200
    assert ask(app, "DELETE", path, authorization="Bearer guess")[0] == 401
    assert ask(app, "DELETE", path) == (200, {"deleted": WHEN})
    assert ask(app, "DELETE", path) == (200, {"deleted": WHEN})  # again changes nothing

    for method, where, sent in (
        ("GET", path, b""),
        ("GET", f"{path}/estimates", b""),
        ("GET", f"{path}/export?format=csv", b""),
        ("GET", f"/v1/surveys/{gone.hash}", b""),
        ("GET", f"/v1/surveys/{gone.hash}/status", b""),
        ("POST", f"/v1/surveys/{gone.hash}/reports", body(gone, person(1))),
        ("PUT", path, gone.to_bytes()),  # it does not come back
        ("POST", f"{path}/open", b'{"n": null}'),
    ):
        status, reply = ask(app, method, where, sent)
        assert (status, WHEN in reply["detail"]) == (410, True), (method, where)
    with engine.connect() as connection:
        for table in CollectorStore.metadata.sorted_tables:
            if table is not CollectorStore.surveys:
                rows = connection.execute(select(table.c.survey)).scalars()
                assert gone.hash not in set(rows), table.name
        assert CollectorStore(connection).deletions() == {gone.hash: WHEN}
        assert CollectorStore(connection).kept() == [kept.hash]
    # Another survey is as it was, and no file holds what was deleted.
    assert ask(app, "GET", f"/v1/admin/surveys/{kept.hash}")[1]["reports"] == 30
    engine.dispose()
    left = b"".join(file.read_bytes() for file in tmp_path.iterdir())
    assert not any(name in left for name in names)


@pytest.mark.parametrize("opened", [False, True])
def test_a_dealer_destroys_the_key_too(tmp_path: Path, opened: bool) -> None:
    survey = survey_of(2)
    server = Server(tmp_path / "dealer", survey)
    path = f"/v1/admin/surveys/{survey.hash}"
    key = tmp_path / "dealer" / "keys" / f"{survey.hash}.key"
    assert key.exists()
    if opened:
        assert server.admin("open")[0] == 200
        assert server.person("cards", 1)[0] == 200
        assert ask(server.app, "DELETE", path)[0] == 409
        assert key.exists()
        assert server.admin("close", {"without_sum": True})[0] == 200
    status, reply = ask(server.app, "DELETE", path)
    assert (status, set(reply)) == (200, {"deleted"})
    assert not key.exists()
    assert server.person("cards", 1)[0] == 410
    assert ask(server.app, "GET", "/readyz")[0] == 200
    server.engine.dispose()


def test_a_revoked_invitation_does_not_come_back_in_a_later_wave(tmp_path: Path) -> None:
    app, engine = collector(tmp_path)
    first = asking(1, "rr", waves=2, invitations=True)
    second = asking(1, "rr", waves=2, invitations=True, after=first)
    people = {"names": [hashed(person(who)).hex() for who in range(3)]}
    for survey, invited in ((first, 3), (first, 2), (second, 2)):
        path = f"/v1/admin/surveys/{survey.hash}"
        assert ask(app, "PUT", path, survey.to_bytes())[0] in (200, 201)
        asked = json.dumps(people).encode()
        assert ask(app, "POST", f"{path}/invitations", asked) == (200, {"invited": invited})
        lost = json.dumps({"names": people["names"][:1]}).encode()
        assert ask(app, "POST", f"{path}/revoke", lost)[0] == 200
    engine.dispose()


def test_what_is_kept_long_enough_is_deleted_by_the_server_itself(tmp_path: Path) -> None:
    app, engine = collector(tmp_path)  # its clock says NOW
    due = asking(1, "rr", closes="2030-04-06T07:08:09Z", keep_days=30)
    later = asking(2, "rr", closes="2030-04-06T07:08:10Z", keep_days=30)
    never = asking(3, "rr", closes="9999-12-31T00:00:00Z", keep_days=30)  # after the last year
    for survey in (due, later, never):
        path = f"/v1/admin/surveys/{survey.hash}"
        assert ask(app, "PUT", path, survey.to_bytes())[0] == 201
        assert ask(app, "POST", f"{path}/open", b'{"n": null}')[0] == 200
    asyncio.run(app.state.delete_due())
    with engine.connect() as connection:
        assert CollectorStore(connection).deletions() == {due.hash: WHEN}
    assert ask(app, "DELETE", f"/v1/admin/surveys/{later.hash}")[0] == 200
    engine.dispose()
    assert asking(1, "rr", closes="2030-04-06T07:08:09Z", keep_days=30).keep_days == 30
    with pytest.raises(ArgumentError, match="keep_days must be left out where there is no closing"):
        asking(1, "rr", keep_days=30)


def test_one_look_that_fails_is_not_the_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app, engine = collector(tmp_path)
    looks: list[int] = []

    async def look() -> None:
        looks.append(len(looks))
        raise OverflowError

    async def run() -> None:
        async with app.router.lifespan_context(app):
            for _ in range(100):
                await asyncio.sleep(0.01)
                if len(looks) > 2:
                    break

    app.state.delete_due = look
    monkeypatch.setattr("jrr.servers.common.web.HOUR", 0.001)
    asyncio.run(run())
    assert len(looks) > 2
    engine.dispose()
