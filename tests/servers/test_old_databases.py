"""Databases written by an earlier version are still served: what it stored, and in its states."""

import asyncio
import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from sqlalchemy import Engine

from jrr.servers.collector.routes import collector_app
from jrr.servers.common.certificates import make_certificate
from jrr.servers.common.database import connect, prepare
from jrr.servers.common.settings import Settings
from jrr.servers.common.tokens import new_token, token_digest
from jrr.servers.dealer.routes import dealer_app
from jrr.servers.party.routes import party_app
from jrr.survey.identity import DEALER, invitation_secret, party_role, pseudonym
from jrr.survey.messages import card_request

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "databases.json").read_text("utf-8"))
ARRIVAL, COMMITTEE = GOLDEN["invitations"]["arrival"], GOLDEN["invitations"]["committee"]
TOKEN = new_token()
App = Callable[[Settings, Engine], FastAPI]


def ask(app: FastAPI, method: str, path: str, body: bytes = b"") -> tuple[int, Any]:
    """One request, without a socket."""
    path, _, query = path.partition("?")
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "path": path,
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "headers": [(b"authorization", f"Bearer {TOKEN}".encode())],
        "scheme": "http",
        "server": ("test", 80),
        "client": ("test", 1),
    }
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    asyncio.run(app(scope, receive, send))
    data = b"".join(message.get("body", b"") for message in sent)
    return sent[0]["status"], json.loads(data)


def opened(role: str, make: App, folder: Path) -> FastAPI:
    """The application on a database as it was dumped."""
    path = folder / f"{role}.db"
    with closing(sqlite3.connect(path)) as writer:
        writer.executescript(GOLDEN["databases"][role])
    public, private = make_certificate(folder / "party")
    settings = Settings(
        role=role,
        database=f"sqlite:///{path}",
        admin_token_sha256=token_digest(TOKEN),
        keys=str(folder / "keys"),
        link_certificate=str(public),
        link_key=str(private),
    )
    engine = connect(settings.database)
    prepare(engine, role, migrate=True)
    app = make(settings, engine)
    app.state.engine = engine
    return app


def test_the_collector_counts_the_reports_that_it_has(tmp_path: Path) -> None:
    app = opened("collector", collector_app, tmp_path)
    for campaign, n in ((ARRIVAL["hash"], None), (COMMITTEE["hash"], 12)):
        path = f"/v1/admin/campaigns/{campaign}"
        status, shown = ask(app, "GET", path)
        assert (status, shown["state"], shown["n"]) == (200, "open", n)
        assert (shown["invited"], shown["reports"], shown["by_round"]) == (12, 11, [11])
        status, found = ask(app, "GET", f"{path}/estimate?by=region")
        assert (status, found["carded"], found["cardless"]) == (200, 11, 0)
        assert [group["name"] for group in found["groups"]] == ["north", "south"]
        status, _ = ask(app, "POST", f"{path}/close", b'{"decks":1}')
        assert status == 200
        assert ask(app, "GET", path)[1]["state"] == "closed"
    app.state.engine.dispose()


def test_the_dealer_gives_out_the_same_cards(tmp_path: Path) -> None:
    (tmp_path / "keys").mkdir()
    campaign = ARRIVAL["hash"]
    (tmp_path / "keys" / f"{campaign}.key").write_bytes(bytes.fromhex(ARRIVAL["wrapping"]))
    app = opened("dealer", dealer_app, tmp_path)
    cards = []
    for invitation in (ARRIVAL["first"], ARRIVAL["first"], ARRIVAL["last"]):
        name = pseudonym(invitation_secret(invitation), campaign, DEALER)
        status, reply = ask(app, "POST", f"/v1/campaigns/{campaign}/cards", card_request(name))
        assert (status, reply["n"]) == (200, 11)
        cards.append(reply["cards"])
    assert cards[0] == cards[1] == ARRIVAL["cards"]
    assert ask(app, "GET", f"/v1/admin/campaigns/{campaign}")[1]["seats"] == 12
    app.state.engine.dispose()


def test_a_party_serves_the_shares_that_it_has(tmp_path: Path) -> None:
    app = opened("party", party_app, tmp_path)
    campaign = COMMITTEE["hash"]
    assert ask(app, "GET", f"/v1/campaigns/{campaign}/status")[1] == {"state": "serving", "n": 12}
    name = pseudonym(invitation_secret(COMMITTEE["last"]), campaign, party_role(0))
    status, reply = ask(app, "POST", f"/v1/campaigns/{campaign}/cards", card_request(name))
    assert (status, reply["n"], len(reply["rounds"])) == (200, 12, 1)
    app.state.engine.dispose()


@pytest.mark.parametrize("role", ["dealer", "collector", "party"])
def test_the_dump_is_of_the_first_revision(role: str) -> None:
    assert f"{role}_0001" in GOLDEN["databases"][role]
