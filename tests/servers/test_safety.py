"""Dangerous settings are refused unless they are accepted by name; one dealer at a time."""

from pathlib import Path
from typing import Any

import pytest

from jrr.errors import ArgumentError
from jrr.servers.common.database import connect
from jrr.servers.common.safety import alone, check_safety
from jrr.servers.common.settings import Settings


def settings(folder: Path, role: str = "dealer", **more: Any) -> Settings:
    known: dict[str, Any] = {
        "role": role,
        "database": f"sqlite:///{folder}/data/dealer.db",
        "admin_token_sha256": "0" * 64,
        "keys": str(folder / "keys"),
    }
    return Settings(**(known | more))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "data").mkdir()
    (tmp_path / "keys").mkdir(mode=0o700)
    return tmp_path


def test_ordinary_settings_pass(folder: Path) -> None:
    for host in ("127.0.0.1", "::1", "localhost"):
        check_safety(settings(folder, host=host))


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "203.0.113.1", "survey.example"])
@pytest.mark.parametrize("role", ["dealer", "collector"])
def test_strangers_are_listened_to_only_with_tls(folder: Path, host: str, role: str) -> None:
    with pytest.raises(ArgumentError, match=r"no TLS.*accept = 'no-tls'"):
        check_safety(settings(folder, role, host=host))
    check_safety(settings(folder, role, host=host, accept="no-tls"))
    check_safety(settings(folder, role, host=host, tls_certificate="a.pem", tls_key="a.key"))


def test_keys_are_for_their_owner_and_away_from_the_database(folder: Path) -> None:
    (folder / "keys").chmod(0o750)
    with pytest.raises(ArgumentError, match="chmod 700"):
        check_safety(settings(folder))
    check_safety(settings(folder, accept="open-keys"))
    for keys in (folder / "data" / "keys", folder / "data"):
        with pytest.raises(ArgumentError, match="directory of the database"):
            check_safety(settings(folder, keys=str(keys), accept="open-keys"))
    check_safety(
        settings(folder, keys=str(folder / "data" / "x"), accept="keys-beside-database open-keys")
    )
    with pytest.raises(ArgumentError, match="accept must be some of"):
        settings(folder, accept="everything")


@pytest.mark.parametrize("shared", ["keys", "database"])
def test_two_dealers_share_neither_keys_nor_database(folder: Path, shared: str) -> None:
    first = settings(folder)
    other = {"database": f"sqlite:///{folder}/data/other.db", "keys": str(folder / "other")}
    del other[shared]
    second = settings(folder, **other)
    with (
        alone(first, connect(first.database)),
        pytest.raises(ArgumentError, match=f"{shared} must be for one dealer alone"),
        alone(second, connect(second.database)),
    ):
        pass
    with alone(second, connect(second.database)):
        pass
