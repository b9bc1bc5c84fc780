"""Settings of servers, and the databases that they accept."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import inspect

from jrr.cli.app import run
from jrr.errors import JrrError
from jrr.servers.collector.store import CollectorStore
from jrr.servers.common.certificates import check_pair, make_certificate
from jrr.servers.common.database import SCHEMA, connect, prepare
from jrr.servers.common.settings import PORTS, Settings, load
from jrr.servers.common.store import SurveyStore
from jrr.servers.common.tokens import read_tokens
from jrr.servers.dealer.store import DealerStore
from jrr.servers.party.store import PartyStore

HASH = "0" * 64


@pytest.fixture(autouse=True)
def private_files() -> Iterator[None]:
    """Files that tests write are for their owner alone, as files of settings must be."""
    before = os.umask(0o077)
    yield
    os.umask(before)


ROLES = ("dealer", "collector")


def given(role: str = "collector", **more: str) -> dict[str, str]:
    prefix = f"JRR_{role.upper()}_"
    found = {"DATABASE": "sqlite:///x.db", "ADMIN_TOKEN_SHA256": HASH}
    if role == "dealer":
        found["KEYS"] = "keys"
    return {prefix + name: value for name, value in (found | more).items()}


def test_file_then_environment_then_options(tmp_path: Path) -> None:
    config = tmp_path / "server.toml"
    config.write_text(
        f'database = "sqlite:///file.db"\nadmin_token_sha256 = "{HASH}"\nport = 1\nhost = "::1"\n'
    )
    found = load("collector", config, {})
    assert (found.database, found.port, found.host) == ("sqlite:///file.db", 1, "::1")
    found = load("collector", config, {"JRR_COLLECTOR_PORT": "2"})
    assert (found.database, found.port) == ("sqlite:///file.db", 2)
    found = load("collector", config, {"JRR_COLLECTOR_PORT": "2"}, port=3, host=None)
    assert (found.port, found.host) == (3, "::1")


def test_every_role_has_a_port_of_its_own(tmp_path: Path) -> None:
    certificate = {"JRR_PARTY_LINK_CERTIFICATE": "c.pem", "JRR_PARTY_LINK_KEY": "c.key"}
    ports = {role: load(role, None, given(role) | certificate).port for role in PORTS}
    assert ports == PORTS == {"dealer": 8000, "collector": 8001, "party": 8002}
    config = tmp_path / "collector.toml"
    config.write_text("port = 9000\n")
    assert load("collector", config, given()).port == 9000


def test_what_others_are_told_is_not_for_us() -> None:
    environment = given() | {"JRR_DEALER_NONSENSE": "x", "JRR_COLLECTORS": "x", "PATH": "x"}
    assert load("collector", None, environment).database == "sqlite:///x.db"


@pytest.mark.parametrize("role", ROLES)
def test_an_operators_token_in_the_same_shell_does_not_stop_a_server(role: str) -> None:
    """`jrr survey` reads JRR_DEALER_TOKEN and JRR_COLLECTOR_TOKEN from the environment."""
    environment = given(role) | {"JRR_DEALER_TOKEN": "t", "JRR_COLLECTOR_TOKEN": "t"}
    assert load(role, None, environment).role == role


@pytest.mark.parametrize(
    ("environment", "words"),
    [
        (given(PORTS="1"), "got ports"),
        (given(ROLE="dealer"), "got role"),
        (given(PORT="x"), "port must be a number"),
        (given(PORT=""), "port must be a number"),
        (given(PORT="65536"), "port must be"),
        (given(PORT="-1"), "port must be"),
        (given(PORT="1.0"), "port must be a number"),
        (given(BODY_LIMIT="1"), "body_limit must be"),
        (given(DATABASE=""), "database must"),
        (given(DATABASE="mysql://x"), "database must begin"),
        (given(DATABASE="x.db"), "database must begin"),
        (given(ADMIN_TOKEN_SHA256="x"), "64 hexadecimal digits"),
        (given(ADMIN_TOKEN_SHA256=HASH.upper().replace("0", "A")), "64 hexadecimal digits"),
        (given(TLS_KEY="k"), "given together"),
        (given(TLS_CERTIFICATE="c"), "given together"),
        ({"JRR_COLLECTOR_ADMIN_TOKEN_SHA256": HASH}, "must name database"),
        ({"JRR_COLLECTOR_DATABASE": "sqlite:///x"}, "must name admin_token_sha256"),
        ({}, "must name database, admin_token_sha256"),
    ],
    ids=str,
)
def test_environments_that_are_refused(environment: dict[str, str], words: str) -> None:
    with pytest.raises(JrrError, match=words):
        load("collector", None, environment)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "colour = 1",
            "origins, port, public_address, tls_certificate, tls_key, user_header, got colour",
        ),
        ("[server]\nport = 1", "got server"),
        ("port = '1'", "port must be a number"),
        ("port = true", "port must be"),
        ("port = 1.0", "port must be a number"),
        ("host = 1", "host must be a quoted text"),
        ("host = ['a']", "host must be a quoted text"),
        ("tls_key = 1979-05-27", "tls_key must be a quoted text"),
        ("port =", "TOML"),
        ("\0", "TOML"),
        ("port = 1\nport = 2", "TOML"),
    ],
)
def test_files_that_are_refused(text: str, words: str, tmp_path: Path) -> None:
    config = tmp_path / "server.toml"
    config.write_text(text)
    with pytest.raises(JrrError, match=words):
        load("collector", config, given())


def test_a_file_that_is_no_text(tmp_path: Path) -> None:
    config = tmp_path / "server.toml"
    config.write_bytes(b"\xff\xfe\0")
    with pytest.raises(JrrError, match="UTF-8"):
        load("collector", config, given())


def test_a_dealer_needs_a_place_for_its_keys() -> None:
    environment = given("dealer")
    del environment["JRR_DEALER_KEYS"]
    with pytest.raises(JrrError, match="keys must be a directory"):
        load("dealer", None, environment)
    with pytest.raises(JrrError, match="role"):
        Settings(role="broker", database="sqlite:///x", admin_token_sha256=HASH)


def test_a_password_in_an_address_is_not_repeated() -> None:
    for address in ("postgres://user:pa55word@host/db", "mysql://user:pa55word@host/db"):
        with pytest.raises(JrrError) as error:
            load("collector", None, given(DATABASE=address))
        assert "pa55word" not in str(error.value)


# -- databases -----------------------------------------------------------------------------


def opened(path: Path, role: str) -> None:
    engine = connect(f"sqlite:///{path}")
    try:
        prepare(engine, role)
    finally:
        engine.dispose()


def tables(path: Path) -> set[str]:
    with closing(sqlite3.connect(path)) as reader:
        return {name for (name,) in reader.execute("SELECT name FROM sqlite_master")}


@pytest.mark.parametrize("role", ROLES)
def test_an_empty_database_is_made_ready_and_stays_as_it_is(role: str, tmp_path: Path) -> None:
    path = tmp_path / "one.db"
    opened(path, role)
    assert path.stat().st_mode & 0o777 == 0o600
    made = tables(path)
    assert {"surveys", "invited", "jrr_schema"} <= made
    opened(path, role)
    assert tables(path) == made


@pytest.mark.parametrize("store", [DealerStore, CollectorStore, PartyStore])
def test_the_tables_are_those_of_the_store(store: type[SurveyStore[Any]], tmp_path: Path) -> None:
    role, metadata = store.role, store.metadata
    path = tmp_path / "one.db"
    opened(path, role)
    engine = connect(f"sqlite:///{path}")
    try:
        found = inspect(engine)
        assert set(found.get_table_names()) == {*metadata.tables, "jrr_schema"}
        for name, table in metadata.tables.items():
            columns = {column["name"]: column["nullable"] for column in found.get_columns(name)}
            assert columns == {column.name: column.nullable for column in table.columns}
            keys = found.get_pk_constraint(name)["constrained_columns"]
            assert keys == [column.name for column in table.primary_key]
    finally:
        engine.dispose()


def test_the_database_of_another_role(tmp_path: Path) -> None:
    for role, other in (ROLES, ROLES[::-1]):
        path = tmp_path / f"{role}.db"
        opened(path, role)
        with pytest.raises(JrrError, match=f"must be a {other}'s, got a {role}'s"):
            opened(path, other)


def test_a_database_that_is_somebody_elses(tmp_path: Path) -> None:
    path = tmp_path / "photos.db"
    with closing(sqlite3.connect(path)) as writer:
        writer.execute("CREATE TABLE photos (id INTEGER)")
        writer.commit()
    with pytest.raises(JrrError, match=r"empty or a collector's, got tables .'photos'."):
        opened(path, "collector")
    assert tables(path) == {"photos"}


@pytest.mark.parametrize("number", [SCHEMA - 1, SCHEMA + 1])
def test_a_database_of_another_schema_is_refused_and_left_alone(
    number: int, tmp_path: Path
) -> None:
    path = tmp_path / "one.db"
    opened(path, "collector")
    with closing(sqlite3.connect(path)) as writer:
        writer.execute("UPDATE jrr_schema SET number = ?", [number])
        writer.commit()
    with pytest.raises(JrrError, match=f"of schema {SCHEMA}, got {number}: another version of jrr"):
        opened(path, "collector")
    with closing(sqlite3.connect(path)) as reader:
        assert reader.execute("SELECT * FROM jrr_schema").fetchall() == [("collector", number)]


# -- starting ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "words", "expected"),
    [
        (["--database", "sqlite:///{0}/no/such/folder/x.db"], "directory that exists", 2),
        (["--database", "sqlite:///{0}/notes.txt"], "database", 3),
        (["--database", "sqlite:///{0}"], "", 1),
        (["--database", "sqlite:///"], "database", 2),
        (["--database", "sqlite:///:memory:"], "database", 2),
        (["--database", "postgresql://nobody@127.0.0.1:9/none"], "database", 5),
        (["--database", "sqlite:///{0}/a.db", "--host", "203.0.113.1"], "where there is no TLS", 2),
        (["--database", "sqlite:///{0}/b.db", "--host", "no such host"], "host", 2),
        (["--database", "sqlite:///{0}/c.db", "--port", "99999"], "port must be", 2),
        (["--config", "{0}/missing.toml"], "config must be readable", 2),
        (["--config", "{0}"], "", 2),
        (["--config", "{0}/notes.txt"], "TOML", 3),
    ],
    ids=str,
)
def test_a_server_that_cannot_start_says_so_in_one_line(
    options: list[str],
    words: str,
    expected: int,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def never(*_: Any, **__: Any) -> None:
        raise JrrError("it started")

    monkeypatch.setattr("uvicorn.Server.run", never)
    for name in os.environ:
        if name.startswith("JRR_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("JRR_COLLECTOR_ADMIN_TOKEN_SHA256", HASH)
    if "postgresql" in str(options):
        monkeypatch.setenv("JRR_COLLECTOR_AUDIT_LOG", "collector.audit")
    monkeypatch.chdir(tmp_path)
    notes = tmp_path / "notes.txt"
    notes.write_text("This is not a database, and it should stay as it is.\n" * 100)
    before = notes.read_bytes()
    asked = [option.format(tmp_path) for option in options]
    code = run(["serve", "collector", "--port", "0", *asked])
    captured = capsys.readouterr()
    assert code == expected
    assert "it started" not in captured.err
    assert captured.err.startswith("jrr: error: ")
    assert captured.err.count("\n") == 1
    assert words in captured.err
    assert notes.read_bytes() == before


@pytest.mark.parametrize("role", ["collector", "party"])
def test_a_certificate_and_the_key_of_another(
    role: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    names = ("tls", "link")[role == "party"]
    mine, _ = make_certificate(tmp_path / "mine")
    _, other = make_certificate(tmp_path / "other")
    environment = given(role, DATABASE=f"sqlite:///{tmp_path}/x.db", PORT="0")
    prefix = f"JRR_{role.upper()}_{names.upper()}"
    for key in (other, tmp_path / "missing.key", mine):
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setenv(f"{prefix}_CERTIFICATE", str(mine))
        monkeypatch.setenv(f"{prefix}_KEY", str(key))
        assert run(["serve", role]) == 2
        captured = capsys.readouterr()
        assert captured.out == ""  # nobody was told an address
        assert captured.err.startswith(f"jrr: error: {names}_certificate and {names}_key must be")
        assert key.name in captured.err
        assert captured.err.count("\n") == 1


def test_a_certificate_and_its_own_key(tmp_path: Path) -> None:
    public, secret = make_certificate(tmp_path / "mine")
    check_pair("both", public, secret)
    (tmp_path / "text.pem").write_text("no certificate")
    with pytest.raises(JrrError, match="both must be a certificate in PEM and its own key"):
        check_pair("both", tmp_path / "text.pem", secret)
    for directory in (".", "", tmp_path):
        with pytest.raises(JrrError, match="no directory"):
            make_certificate(directory)


def test_a_config_that_others_can_read_is_refused(tmp_path: Path) -> None:
    config = tmp_path / "collector.toml"
    config.write_text('database = "postgresql://u:password@db/x"\n')
    config.chmod(0o644)
    with pytest.raises(JrrError, match=r"config must not be open to others \(chmod o= "):
        load("collector", config, given())
    config.chmod(0o640)  # root's, for the group of the server
    assert load("collector", config, {"JRR_COLLECTOR_ADMIN_TOKEN_SHA256": HASH}).port == 8001


def test_tokens_from_a_file(tmp_path: Path) -> None:
    """Read again on SIGHUP, in containers too, where variables cannot change."""
    tokens = tmp_path / "tokens"
    tokens.write_text(f"alice={HASH}\nbob={HASH[:-1]}1@2027-01-31\n")
    environment = {
        "JRR_COLLECTOR_DATABASE": "sqlite:///x.db",
        "JRR_COLLECTOR_ADMIN_TOKEN_FILE": str(tokens),
    }
    found = read_tokens(load("collector", None, environment).admin_token_sha256)
    assert [one.name for one in found] == ["alice", "bob"]
    with pytest.raises(JrrError, match="must not both be given"):
        load("collector", None, environment | given())
    unset = {"JRR_COLLECTOR_ADMIN_TOKEN_FILE": ""}
    assert load("collector", None, given() | unset).admin_token_sha256 == HASH
    tokens.unlink()
    with pytest.raises(JrrError, match="admin_token_file must be readable"):
        load("collector", None, environment)


@pytest.mark.parametrize(
    "address",
    ["collector.example", "https://", "https://a/b", "ftp://a", "https://A", "https://a:443"],
)
def test_a_public_address_is_scheme_and_host(address: str) -> None:
    with pytest.raises(JrrError, match="public_address must be scheme and host alone"):
        load("collector", None, given(PUBLIC_ADDRESS=address))
    assert load("collector", None, given(PUBLIC_ADDRESS="https://a:8443")).role == "collector"
