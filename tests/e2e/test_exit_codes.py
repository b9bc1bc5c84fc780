"""A command ends with the code of what happened (jrr.errors), and says it in one line."""

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import jrr.servers
from jrr import DRR
from jrr.cli.app import run
from jrr.client.http import Admin
from jrr.errors import (
    ArgumentError,
    DamagedError,
    IntegrityError,
    InterruptedRunError,
    JrrError,
    MissingExtraError,
    ProtocolError,
    UnreachableError,
)
from jrr.protocol.steps import ABORTED_DEAL, MISSING_PARTY, problem_document
from jrr.research.processes import free_port
from tests.e2e import http_reply, pretender, survey_of

Ends = Callable[..., str]


@pytest.fixture
def ends(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Ends:
    """Run a command that ends with the code of an error; its one line."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("JRR_COLLECTOR_TOKEN", "token")
    monkeypatch.delenv("JRR_DEALER_TOKEN", raising=False)

    def do(error: type[JrrError], *arguments: object) -> str:
        assert run([str(argument) for argument in arguments]) == error.exit_code
        captured = capsys.readouterr()
        assert captured.out == ""
        said = captured.err.strip()
        assert said.startswith("jrr: error: ")
        assert "\n" not in said
        return said

    return do


def survey_file(collector: str) -> Path:
    survey = survey_of(DRR(20, truth=0.5, own=0.1), "http://127.0.0.1:9", collector)
    file = Path("survey.json")
    file.write_bytes(survey.to_bytes())
    return file


def test_an_argument_is_refused(ends: Ends) -> None:
    assert "file must be a survey's document" in ends(
        ArgumentError, "survey", "show", "missing.json"
    )
    assert "exactly one of --count and --from" in ends(
        ArgumentError,
        "survey",
        "invite",
        survey_file("http://127.0.0.1:8"),
        "--count",
        1,
        "--from",
        "x",
    )


def test_a_file_is_damaged(ends: Ends) -> None:
    file = survey_file("http://127.0.0.1:8")
    document = json.loads(file.read_bytes())
    for damaged in (b"", b"{}", file.read_bytes() + b" ", json.dumps(document).encode()):
        file.write_bytes(damaged)
        for command in (("survey", "show"), ("survey", "open"), ("survey", "close")):
            assert "survey" in ends(DamagedError, *command, file)
    good = survey_file("http://127.0.0.1:8")
    Path("invitations.csv").write_text("invitation,link\nnobody,x\n")
    assert "jrr survey invite wrote" in ends(
        DamagedError, "survey", "invite", good, "--from", "invitations.csv"
    )
    Path("settings.toml").write_text("= nothing")
    Path("settings.toml").chmod(0o600)
    assert "TOML" in ends(DamagedError, "serve", "collector", "--config", "settings.toml")


def test_a_server_says_no(ends: Ends) -> None:
    body = json.dumps(problem_document("wrong-token", 401, "an admin token is needed")).encode()
    with pretender(lambda *_: http_reply(401, body)) as url:
        file = survey_file(url)
        for command in (("show",), ("open",), ("close",), ("export", "-o", "out.parquet")):
            assert "refused (401): an admin token" in ends(
                ProtocolError, "survey", command[0], file, *command[1:]
            )
        assert "401" in ends(ProtocolError, "survey", "invite", file, "--count", 1)


def test_a_server_replies_with_what_is_no_message(ends: Ends) -> None:
    with pretender(lambda *_: http_reply(200, b"<html>")) as url:
        assert "must reply with JSON" in ends(DamagedError, "survey", "show", survey_file(url))


def test_a_server_cannot_be_reached(ends: Ends, tmp_path: Path) -> None:
    dead = f"http://127.0.0.1:{free_port()}"
    file = survey_file(dead)
    for command in (("show",), ("open",), ("close",), ("export", "-o", "out.parquet")):
        assert "cannot be reached" in ends(
            UnreachableError, "survey", command[0], file, *command[1:]
        )
    assert "cannot be reached" in ends(UnreachableError, "survey", "invite", file, "--count", 1)
    assert not Path("invitations.csv").exists()
    link = f"{dead}/v1/surveys/{'0' * 64}"
    more = ("--limit", 1, "--invitation", "a" * 32, "--patience", 0.1, "--state", tmp_path / "s")
    assert "did not answer" in ends(UnreachableError, "survey", "answer", link, *more)


@pytest.mark.parametrize(
    ("status", "kind", "error"),
    [
        (409, ABORTED_DEAL, IntegrityError),
        (409, MISSING_PARTY, UnreachableError),
        (409, "wrong-state", ProtocolError),
        (422, "refused", ProtocolError),
        (503, "no-key", UnreachableError),
        (500, "internal", UnreachableError),
        (429, "", UnreachableError),
    ],
)
def test_what_an_operator_is_told_has_the_class_of_what_happened(
    status: int, kind: str, error: type[JrrError]
) -> None:
    body = json.dumps(problem_document(kind, status, "because")).encode()
    with (
        pretender(lambda *_: http_reply(status, body)) as url,
        pytest.raises(error, match=rf"refused \({status}\): because") as raised,
    ):
        Admin(url, "token").post("/v1/admin/surveys/x/deal")
    assert type(raised.value) is error


def test_an_extra_is_missing(ends: Ends, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jrr.servers.run", None)
    monkeypatch.delattr(jrr.servers, "run", raising=False)
    assert "pip install '.[serve]'" in ends(MissingExtraError, "serve", "collector")


def test_somebody_asks_to_stop(ends: Ends, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("jrr.client.http.Http.request", stop)
    file = survey_file("http://127.0.0.1:8")
    assert "the same command goes on" in ends(InterruptedRunError, "survey", "open", file)
