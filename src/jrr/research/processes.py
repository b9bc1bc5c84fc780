"""Servers as processes of their own, on free local ports, for demonstrations and tests."""

import hashlib
import json
import os
import secrets
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jrr.client.contributor import Admin
from jrr.errors import ArgumentError
from jrr.servers.common.certificates import make_certificate


def free_port(neighbours: int = 0) -> int:
    """A port that nobody listens on just now, and so many after it.

    Not one of those that the system gives to whoever asks for any: it would soon be taken.
    """
    for _ in range(100):
        first = 10_000 + secrets.randbelow(20_000)
        with suppress(OSError), ExitStack() as stack:
            for port in range(first, first + neighbours + 1):
                stack.enter_context(socket.create_server(("127.0.0.1", port)))
            return first
    raise ArgumentError("ports between 10000 and 30000 must be free, but none was found")


def committee_of(parties: Sequence["Running"], threshold: int) -> dict[str, Any]:
    """The parties as a campaign's document names them."""
    return {
        "kind": "committee",
        "threshold": threshold,
        "parties": [
            {
                "url": party.url,
                "link": f"127.0.0.1:{free_port()}",
                "certificate": (party.folder / "party.pem").read_text(),
            }
            for party in parties
        ],
    }


PATIENCE = 15.0  # seconds that a server has to stop


@dataclass(frozen=True)
class Running:
    """A server that listens."""

    role: str
    url: str
    token: str
    process: "subprocess.Popen[str]"
    folder: Path

    @property
    def admin(self) -> Admin:
        """Its operator's client."""
        return Admin(self.url, self.token)


@contextmanager
def running(
    role: str, folder: Path, database: str | None = None, *more: str, port: int = 0
) -> Iterator[Running]:
    """Start a server, and stop it cleanly, whatever happens."""
    folder.mkdir(parents=True, exist_ok=True)
    token = secrets.token_urlsafe(32)
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("JRR_")},
        f"JRR_{role.upper()}_ADMIN_TOKEN_SHA256": hashlib.sha256(token.encode()).hexdigest(),
        f"JRR_{role.upper()}_DATABASE": database or f"sqlite:///{folder / (role + '.db')}",
    }
    if role == "dealer":
        environment["JRR_DEALER_KEYS"] = str(folder / "keys")
    if role == "party":
        if not (folder / "party.pem").exists():
            make_certificate(folder / "party")
        environment["JRR_PARTY_LINK_CERTIFICATE"] = str(folder / "party.pem")
        environment["JRR_PARTY_LINK_KEY"] = str(folder / "party.key")
    with (folder / f"{role}.log").open("a") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "jrr.cli", "serve", role, "--json", "--port", str(port), *more],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            start_new_session=True,  # Ctrl-C is for us: we stop servers in order
        )
    try:
        yield Running(role, _address(process, folder / f"{role}.log"), token, process, folder)
    finally:
        stop(process)


def _address(process: "subprocess.Popen[str]", log: Path) -> str:
    assert process.stdout is not None  # asked for above
    line = process.stdout.readline()
    try:
        return str(json.loads(line)["url"])
    except (ValueError, KeyError, TypeError):
        stop(process)
        said = log.read_text(errors="replace").strip()[-500:]
        raise ArgumentError(f"a server must start, but it said: {said or 'nothing'}") from None


def stop(process: "subprocess.Popen[str]") -> int:
    """Ask a server to stop; its exit code."""
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    if process.stdout is not None:
        process.stdout.close()
    return process.returncode
