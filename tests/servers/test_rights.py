"""What operators may do: tokens that only look, or only deal."""

from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine

from jrr.errors import ArgumentError
from jrr.servers.collector.routes import collector_app
from jrr.servers.common.audit import ON_BEHALF, RIGHT
from jrr.servers.common.database import connect, prepare
from jrr.servers.common.safety import check_safety
from jrr.servers.common.settings import Settings
from jrr.servers.common.tokens import Right, read_tokens, read_users, token_digest
from jrr.servers.dealer.routes import dealer_app
from tests.servers.asking import TOKEN, ask
from tests.servers.collecting import asking

DIGEST = token_digest(TOKEN)
COLLECTOR = [  # method, act, whether a token that only looks may
    ("GET", "", True),
    ("GET", "/estimates", True),
    ("GET", "/closing?by=region", False),  # sizes of the smallest groups
    ("PUT", "", False),
    ("POST", "/invitations", False),
    ("POST", "/open", False),
    ("POST", "/close", False),
    ("POST", "/discard", False),
    ("POST", "/sums", False),
    ("GET", "/export?format=csv", False),
    ("GET", "/closing/request?dealer=0", False),
]
DEALER = [  # method, act, whether one that only deals may
    ("GET", "", True),
    ("POST", "/open", True),
    ("POST", "/deal", True),
    ("POST", "/check", True),
    ("POST", "/commit", True),
    ("POST", "/close", True),
    ("PUT", "", False),
    ("POST", "/invitations", False),
]


def named(role: str, word: str, folder: Path, **more: Any) -> Settings:
    return Settings(
        role=role,
        database=f"sqlite:///{folder}/server.db",
        admin_token_sha256=f"bob{word}={DIGEST}",
        keys=str(folder / "keys"),
        **more,
    )


def engine_of(settings: Settings) -> Engine:
    engine = connect(settings.database)
    prepare(engine, settings.role)
    return engine


@pytest.mark.parametrize(("method", "act", "may"), COLLECTOR)
def test_who_only_looks_changes_nothing_and_takes_no_answers(
    tmp_path: Path, method: str, act: str, may: bool
) -> None:
    settings = named("collector", ":look", tmp_path)
    app = collector_app(settings, engine_of(settings))
    path = f"/v1/admin/surveys/{asking(1, 'rr').hash}{act}"
    status, reply = ask(app, method, path)
    assert (status != 403) is may
    if not may:
        assert (reply["title"], reply["detail"]) == ("no right", "this operator may only look")
    # Nobody but the console may say what somebody else may do.
    assert ask(app, method, path, b"", **{RIGHT: "all", ON_BEHALF: "alice"})[0] == status
    everything = named("collector", "", tmp_path)
    assert ask(collector_app(everything, connect(everything.database)), method, path)[0] != 403


@pytest.mark.parametrize(("method", "act", "may"), DEALER)
def test_who_only_deals_installs_no_survey_and_invites_nobody(
    tmp_path: Path, method: str, act: str, may: bool
) -> None:
    (tmp_path / "keys").mkdir(mode=0o700)
    settings = named("dealer", ":deal", tmp_path)
    app = dealer_app(settings, engine_of(settings))
    status, _ = ask(app, method, f"/v1/admin/surveys/{asking(1).hash}{act}")
    assert (status != 403) is may


def test_settings_of_rights(tmp_path: Path) -> None:
    tokens = read_tokens(f"a:look={DIGEST}@2030-01-31 b:deal={DIGEST} c={DIGEST} {DIGEST}")
    assert [one.right for one in tokens] == [Right.LOOK, Right.DEAL, Right.ALL, Right.ALL]
    assert str(tokens[0].last_day) == "2030-01-31"
    for wrong in (f"a:write={DIGEST}", f":look={DIGEST}", f"a:={DIGEST}"):
        with pytest.raises(ArgumentError, match="NAME:look"):
            read_tokens(wrong)
    with pytest.raises(ArgumentError, match="collector must not have :deal"):
        named("collector", ":deal", tmp_path)
    users = read_users("alice bob:look")
    assert [(one.name, one.right) for one in users.values()] == [
        ("alice", Right.ALL),
        ("bob", Right.LOOK),
    ]
    for wrong in ("alice alice:look", "al/ice", "alice:write"):
        with pytest.raises(ArgumentError, match="console_users must be names"):
            read_users(wrong)


def test_only_a_proxy_may_sign_people_in(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match="given together"):
        named("collector", "", tmp_path, user_header="X-Remote-User")
    asked = {"user_header": "X-Remote-User", "console_users": "alice"}
    open_to_all = {"host": "0.0.0.0", "accept": "no-tls"}
    check_safety(named("collector", "", tmp_path, **asked))
    with pytest.raises(ArgumentError, match="sign in as anybody"):
        check_safety(named("collector", "", tmp_path, **asked, **open_to_all))
    check_safety(
        named("collector", "", tmp_path, **asked, host="0.0.0.0", accept="no-tls open-users")
    )
