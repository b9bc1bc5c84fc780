"""The audit log: what operators do is noted, with the name of their token."""

import json
import os
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from sqlalchemy import Engine

from jrr.servers.collector.jobs import CollectorJobs
from jrr.servers.collector.routes import collector_app
from jrr.servers.common.audit import ON_BEHALF, audit_path
from jrr.servers.common.settings import Settings
from jrr.servers.common.tokens import token_digest
from tests.servers.asking import TOKEN, ask
from tests.servers.collecting import asking, body, engine_in, person


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(
        role="collector",
        database=f"sqlite:///{tmp_path}/collector.db",
        admin_token_sha256=f"alice={token_digest(TOKEN)}",
    )


@pytest.fixture
def app(settings: Settings, tmp_path: Path) -> FastAPI:
    engine: Engine = engine_in(tmp_path)
    return collector_app(settings, engine)


def lines(settings: Settings) -> list[tuple[str, str, str, int | None]]:
    entries = [json.loads(line) for line in Path(audit_path(settings)).read_text().splitlines()]
    assert all(one["role"] == "collector" and one["time"].endswith("+00:00") for one in entries)
    return [(one["who"], one["what"], one["survey"], one["status"]) for one in entries]


def test_who_did_what(app: FastAPI, settings: Settings) -> None:
    survey = asking(1, "rr")
    path = f"/v1/admin/surveys/{survey.hash}"
    document = survey.to_bytes()

    def status(method: str, path: str, body: bytes = b"", **headers: str) -> int:
        return ask(app, method, path, body, **headers)[0]

    assert status("PUT", path, document, authorization="Bearer guess") == 401  # no line
    # Only the console may say that it asks for somebody else.
    assert status("PUT", path, document, **{ON_BEHALF: "mallory"}) == 201
    assert status("POST", f"{path}/open", b'{"n": null}') == 200
    upload = body(survey, person(1))
    assert status("POST", f"/v1/surveys/{survey.hash}/reports", upload) == 201
    assert status("GET", path, b"") == 200  # only looked at
    assert status("POST", f"{path}/close", b'{"by": [], "merge_small": false}') == 200
    assert status("GET", f"{path}/export?format=csv", b"") == 200
    assert status("POST", f"{path}/open", b'{"n": null}') == 410
    done = [("create", 201), ("open", 200), ("close", 200), ("export", 200), ("open", 410)]
    assert lines(settings) == [
        ("alice", what, survey.hash, status) for what, ends in done for status in (None, ends)
    ]
    assert Path(audit_path(settings)).stat().st_mode & 0o077 == 0
    assert person(1).hex() not in Path(audit_path(settings)).read_text()


def test_what_somebody_has_no_right_to_is_noted(settings: Settings, tmp_path: Path) -> None:
    holder = replace(settings, admin_token_sha256=f"bob:look={token_digest(TOKEN)}")
    app, path = collector_app(holder, engine_in(tmp_path)), f"/v1/admin/surveys/{'ab' * 32}"
    assert ask(app, "GET", path, b"")[0] == 404  # looked for, which is nothing to note
    assert ask(app, "DELETE", path, b"")[0] == 403
    assert lines(settings) == [("bob", "delete", "ab" * 32, 403)]


def test_what_ends_in_an_unexpected_error_is_noted_too(
    app: FastAPI, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    survey = asking(1, "rr")
    path = f"/v1/admin/surveys/{survey.hash}"
    ask(app, "PUT", path, survey.to_bytes())

    def broken(*_: object) -> None:
        raise RuntimeError

    monkeypatch.setattr("jrr.servers.collector.jobs.CollectorJobs.open", broken)
    with pytest.raises(RuntimeError):  # answered, logged and raised for the server
        ask(app, "POST", f"{path}/open", b'{"n": null}')
    opened = "alice", "open", survey.hash
    assert lines(settings)[2:] == [(*opened, None), (*opened, 500)]


def test_what_is_done_is_on_the_disk_before(
    app: FastAPI, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server that is killed in the middle has noted what it began."""
    survey = asking(1, "rr")
    seen: list[object] = []
    install, fsync = CollectorJobs.install, os.fsync

    def installing(*arguments: Any) -> bool:
        seen.append(lines(settings))
        return install(*arguments)

    def syncing(descriptor: int) -> None:
        seen.append(threading.current_thread() is threading.main_thread())
        fsync(descriptor)

    monkeypatch.setattr(CollectorJobs, "install", installing)
    monkeypatch.setattr(os, "fsync", syncing)
    assert ask(app, "PUT", f"/v1/admin/surveys/{survey.hash}", survey.to_bytes())[0] == 201
    # Synced, then done, then synced; never in the thread of the event loop.
    assert seen == [False, [("alice", "create", survey.hash, None)], False]


def test_what_cannot_be_noted_is_not_done(
    app: FastAPI, settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    survey = asking(1, "rr")
    path = f"/v1/admin/surveys/{survey.hash}"
    Path(audit_path(settings)).mkdir()  # no file that could be appended to
    assert ask(app, "PUT", path, survey.to_bytes())[0] == 503
    assert "the audit log cannot be written" in caplog.text
    Path(audit_path(settings)).rmdir()
    assert ask(app, "GET", path)[0] == 404
    assert ask(app, "PUT", path, survey.to_bytes())[0] == 201
