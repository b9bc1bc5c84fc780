"""Settings of a server: a TOML file, then the environment; unknown keys are refused."""

import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from jrr._base import checks
from jrr.errors import JrrError

ROLES = ("dealer", "collector", "party")
PORTS = dict(zip(ROLES, (8000, 8001, 8002), strict=True))  # all three fit on one machine
_NUMBERS = {"port": (0, 65535), "link_port": (0, 65535), "body_limit": (1024, 1 << 30)}


@dataclass(frozen=True)
class Settings:
    """What a server needs to know; the rest is in the campaigns it holds."""

    role: str
    database: str  # sqlite:///file.db or postgresql://...
    admin_token_sha256: str  # of the token that `jrr serve token` prints
    keys: str = ""  # dealer: directory for key files, outside the database and its backups
    host: str = "127.0.0.1"
    port: int = 0  # 0: a free one; `load` gives every role its own
    tls_certificate: str = ""
    tls_key: str = ""
    body_limit: int = 2 << 20  # bytes of a request
    link_certificate: str = ""  # party: shown to the other parties
    link_key: str = ""
    link_host: str = "127.0.0.1"  # party: where it listens for the others
    link_port: int = 0  # 0: as the campaign says

    def __post_init__(self) -> None:
        checks.one_of("role", self.role, ROLES)
        if not re.fullmatch(r"[0-9a-f]{64}", self.admin_token_sha256):
            raise JrrError(
                "admin_token_sha256 must be 64 hexadecimal digits (jrr serve token makes them)"
            )
        if not self.database.startswith(("sqlite:///", "postgresql://")):
            # Not repeated: it may hold a password.
            raise JrrError("database must begin with sqlite:/// or postgresql://")
        for name, (low, high) in _NUMBERS.items():
            checks.integer(name, getattr(self, name), low, high)
        if bool(self.tls_certificate) != bool(self.tls_key):
            raise JrrError("tls_certificate and tls_key must be given together")
        if self.role == "party" and not (self.link_certificate and self.link_key):
            raise JrrError("link_certificate and link_key must be given for a party")
        if self.role == "dealer" and not self.keys:
            raise JrrError("keys must be a directory for the dealer's key files, got none")


def load(
    role: str, path: Path | None, environment: Mapping[str, str] = os.environ, **given: Any
) -> Settings:
    """Settings from a file, overridden by JRR_DEALER_… and so on, then by arguments."""
    known = {field.name: field.type for field in fields(Settings) if field.name != "role"}
    found: dict[str, Any] = {"port": PORTS[checks.one_of("role", role, ROLES)]}
    if path is not None:
        try:
            found |= tomllib.loads(path.read_text("utf-8"))
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise JrrError(f"config must be a TOML file, {path} is not: {error}") from None
        except OSError as error:
            raise checks.refusal("config", str(path), f"readable ({error.strerror})") from None
    prefix = f"JRR_{role.upper()}_"
    for name, value in environment.items():
        if name.startswith(prefix) and name != f"{prefix}TOKEN":  # that one is the operator's
            key = name.removeprefix(prefix).lower()
            found[key] = int(value) if key in _NUMBERS and value.isdecimal() else value
    found |= {name: value for name, value in given.items() if value is not None}
    strange = sorted(set(found) - set(known))
    if strange:
        raise JrrError(f"settings must be of {', '.join(sorted(known))}, got {', '.join(strange)}")
    for name, value in found.items():
        if not isinstance(value, int if name in _NUMBERS else str):
            raise checks.refusal(name, value, "a number" if name in _NUMBERS else "a text")
    missing = [name for name in ("database", "admin_token_sha256") if name not in found]
    if missing:
        raise JrrError(f"settings must name {', '.join(missing)} (config, environment or option)")
    return Settings(role, **found)
