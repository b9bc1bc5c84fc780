"""Settings of a server: a TOML file, then the environment; unknown keys are refused."""

import os
import stat
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from jrr._base import checks
from jrr.errors import ArgumentError, DamagedError
from jrr.protocol.states import Role
from jrr.servers.common.logs import FORMATS as LOG_FORMATS
from jrr.servers.common.middleware import read_origins
from jrr.servers.common.tokens import Right, read_tokens, read_users

ROLES = tuple(str(role) for role in Role)
PORTS = dict(zip(ROLES, (8000, 8001, 8002), strict=True))  # all three fit on one machine
_NUMBERS = {
    "port": (0, 65535),
    "link_port": (0, 65535),
    "metrics_port": (0, 65535),
    "body_limit": (1024, 1 << 30),
}
DANGERS = ("no-tls", "open-keys", "keys-beside-database", "open-metrics", "open-users")


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What a server needs to know; the rest is in the surveys it holds."""

    role: str
    database: str  # sqlite:///file.db or postgresql://...
    admin_token_sha256: str  # of the token that `jrr serve token` prints; or several (tokens.py)
    admin_token_file: str = ""  # a file that holds the same instead, read again on SIGHUP
    keys: str = ""  # dealer: directory for key files, outside the database and its backups
    host: str = "127.0.0.1"
    port: int = 0  # 0: a free one; `load` gives every role its own
    tls_certificate: str = ""
    tls_key: str = ""
    body_limit: int = 2 << 20  # bytes of a request
    origins: str = "*"  # of answer pages that may ask; "": none, else some with blanks between
    metrics_port: int = 0  # figures for Prometheus; 0: none
    metrics_host: str = "127.0.0.1"
    log_format: str = "text"  # or json
    console: str = ""  # "on": pages for the operator below /console (extra `console`)
    user_header: str = ""  # console: where a proxy says whom it has signed in
    console_users: str = ""  # whom it may sign in, with blanks between (tokens.py)
    audit_log: str = ""  # file that says who did what; "": beside the database (audit.py)
    public_address: str = ""  # how browsers reach it through a proxy: https://collector.example
    answer_page: str = ""  # collector: where people answer, for the console's invitations
    accept: str = ""  # dangers that the operator knows of (safety.py)
    link_certificate: str = ""  # party: shown to the other parties
    link_key: str = ""
    link_host: str = "127.0.0.1"  # party: where it listens for the others
    link_port: int = 0  # 0: as the survey says

    def __post_init__(self) -> None:
        checks.one_of("role", self.role, ROLES)
        users = read_users(self.console_users)
        operators = (*read_tokens(self.admin_token_sha256), *users.values())
        if self.role == Role.COLLECTOR and any(one.right is Right.DEAL for one in operators):
            raise ArgumentError("operators of a collector must not have :deal: it deals no cards")
        checks.one_of("log_format", self.log_format, LOG_FORMATS)
        if set(self.accept.split()) - set(DANGERS):
            raise checks.refusal("accept", self.accept, f"some of {', '.join(DANGERS)}")
        checks.one_of("console", self.console, ("", "on"))
        if not self.database.startswith(("sqlite:///", "postgresql://")):
            # Not repeated: it may hold a password.
            raise ArgumentError("database must begin with sqlite:/// or postgresql://")
        for name, (low, high) in _NUMBERS.items():
            checks.integer(name, getattr(self, name), low, high)
        read_origins(self.origins)
        if bool(users) != bool(self.user_header):
            raise ArgumentError("user_header and console_users must be given together")
        _check_address("public_address", self.public_address)
        if bool(self.tls_certificate) != bool(self.tls_key):
            raise ArgumentError("tls_certificate and tls_key must be given together")
        if self.role == Role.PARTY and not (self.link_certificate and self.link_key):
            raise ArgumentError("link_certificate and link_key must be given for a party")
        if self.role == Role.DEALER and not self.keys:
            raise ArgumentError("keys must be a directory for the dealer's key files, got none")


def load(
    role: str, path: Path | None, environment: Mapping[str, str] = os.environ, **given: Any
) -> Settings:
    """Settings from a file, overridden by JRR_DEALER_… and so on, then by arguments.

    Args:
        role: dealer, collector or party.
        path: A TOML file; None: none.
        environment: Where JRR_DEALER_DATABASE and others are looked for.
        **given: Settings by name; None where the others decide.

    Returns:
        The settings.

    Raises:
        ArgumentError: A setting is missing, unknown or refused.
        DamagedError: The file is not TOML.
    """
    names = {field.name for field in fields(Settings) if field.name != "role"}
    values: dict[str, Any] = {"port": PORTS[checks.one_of("role", role, ROLES)]}
    if path is not None:
        values |= _read_toml(path)
    prefix = f"JRR_{role.upper()}_"
    for variable, text in environment.items():
        if variable.startswith(prefix) and variable != f"{prefix}TOKEN":  # the operator's own
            name = variable.removeprefix(prefix).lower()
            values[name] = int(text) if name in _NUMBERS and text.isdecimal() else text
    values |= {name: value for name, value in given.items() if value is not None}
    token_file = values.get("admin_token_file")
    if token_file and isinstance(token_file, str):
        if "admin_token_sha256" in values:
            raise ArgumentError("admin_token_sha256 and admin_token_file must not both be given")
        values["admin_token_sha256"] = _read_file("admin_token_file", token_file)
    unknown = sorted(set(values) - names)
    if unknown:
        allowed = ", ".join(sorted(names))
        raise ArgumentError(f"settings must be of {allowed}, got {', '.join(unknown)}")
    for name, value in values.items():
        if not isinstance(value, int if name in _NUMBERS else str):
            raise checks.refusal(name, value, "a number" if name in _NUMBERS else "a quoted text")
    missing = [name for name in ("database", "admin_token_sha256") if name not in values]
    if missing:
        listed = ", ".join(missing)
        raise ArgumentError(f"settings must name {listed} (config, environment or option)")
    return Settings(role=role, **values)


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        _check_private("config", path)  # the address of a database may hold a password
        return tomllib.loads(_read_file("config", str(path)))
    except tomllib.TOMLDecodeError as error:
        raise DamagedError(f"config must be a TOML file, {path} is not: {error}") from None


def _check_private(name: str, path: Path) -> None:
    try:
        mode = path.stat().st_mode
    except OSError:
        return  # whoever reads it says why not
    if os.name == "posix" and mode & stat.S_IRWXO:
        raise ArgumentError(f"{name} must not be open to others (chmod o= {path})")


def _read_file(name: str, path: str) -> str:
    try:
        return Path(path).read_text("utf-8")
    except UnicodeDecodeError:
        raise DamagedError(f"{name} must be a text in UTF-8, {path} is not") from None
    except OSError as error:
        raise checks.refusal(name, path, f"readable ({error.strerror})") from None


def _check_address(name: str, address: str) -> None:
    """Refuse what is not an origin as browsers write it: forms are compared with that."""
    parts = urlsplit(address)
    usual_port = {"http": ":80", "https": ":443"}.get(parts.scheme)
    is_origin = (
        usual_port and parts.hostname and address == f"{parts.scheme}://{parts.netloc}".lower()
    )
    if address and (not is_origin or "@" in address or address.endswith(str(usual_port))):
        raise checks.refusal(
            name, address, "scheme and host alone, in small letters, as https://collector.example"
        )
