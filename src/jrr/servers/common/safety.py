"""What a server refuses to start with, unless its operator accepts it by name (`accept`)."""

import ctypes
import errno
import fcntl
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from ipaddress import ip_address
from pathlib import Path

from sqlalchemy import Connection, Engine, text
from sqlalchemy.engine import make_url

from jrr.errors import ArgumentError
from jrr.protocol.states import Role
from jrr.servers.common.audit import audit_path
from jrr.servers.common.settings import Settings

NO_TLS = "no-tls"  # TLS ends at a proxy
OPEN_KEYS = "open-keys"
KEYS_BESIDE = "keys-beside-database"
OPEN_METRICS = "open-metrics"
OPEN_USERS = "open-users"
_PR_SET_DUMPABLE = 4  # of prctl
_ADVISORY = 0x6A7272  # a number for PostgreSQL: "jrr"
CLAIMS, PAUSE = 20, 0.1  # how often, and how many seconds apart


def check_safety(settings: Settings) -> None:
    """Refuse settings that give away what they should keep.

    Args:
        settings: Of the server that is about to start.

    Raises:
        ArgumentError: It would listen for strangers without TLS, strangers could read its figures,
            anybody could sign in, its keys could be read by others, keys and database would be
            copied together, or nothing says where the audit log goes.
    """
    accepted = settings.accept.split()
    if not (_is_local(settings.host) or settings.tls_certificate or NO_TLS in accepted):
        raise ArgumentError(
            f"host must be of this machine where there is no TLS, got {settings.host!r}: give "
            f"tls_certificate and tls_key, or accept = {NO_TLS!r} behind a proxy that has them"
        )
    if settings.metrics_port and not (_is_local(settings.metrics_host) or OPEN_METRICS in accepted):
        raise ArgumentError(
            f"metrics_host must be of this machine, got {settings.metrics_host!r}: figures tell "
            f"when people answer; or accept = {OPEN_METRICS!r} in a network of your own"
        )
    if settings.user_header and not (_is_local(settings.host) or OPEN_USERS in accepted):
        raise ArgumentError(
            f"host must be of this machine where user_header is given, got {settings.host!r}: "
            f"whoever passes the proxy by could sign in as anybody; or accept = {OPEN_USERS!r} "
            "where only the proxy can reach the server"
        )
    if not audit_path(settings):
        raise ArgumentError("audit_log must name a file where the database is PostgreSQL, got none")
    if settings.role != Role.DEALER:
        return
    keys = Path(settings.keys)
    if keys.exists() and keys.stat().st_mode & 0o077 and OPEN_KEYS not in accepted:
        raise ArgumentError(
            f"keys must be a directory for its owner alone (chmod 700), got {settings.keys!r}; or "
            f"accept = {OPEN_KEYS!r}"
        )
    file = make_url(settings.database).database or ""
    if settings.database.startswith("sqlite") and KEYS_BESIDE not in accepted:
        folder = Path(file).resolve().parent
        if folder in (keys.resolve(), *keys.resolve().parents):
            raise ArgumentError(
                f"keys must not lie in the directory of the database, got {settings.keys!r}: a "
                f"backup of both would keep burned cards; or accept = {KEYS_BESIDE!r}"
            )


def keep_memory_private() -> None:
    """No core file, and no other process of the same user, may read keys or reports in memory."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)


@contextmanager
def alone(settings: Settings, engine: Engine) -> Iterator[Connection | None]:
    """Hold a dealer's database and keys for one process; two would deal the same cards.

    Args:
        settings: Of the server.
        engine: Its database.

    Yields:
        On PostgreSQL, the connection whose lock holds the database. It is lost with the
        connection: all that is written goes through it, or through one that has taken the lock
        again (`claim`).

    Raises:
        ArgumentError: Another process has them.
    """
    if settings.role != Role.DEALER:
        yield None
        return
    keys = Path(settings.keys)
    keys.mkdir(mode=0o700, parents=True, exist_ok=True)
    held = [_locked(keys / ".lock", "keys")]
    try:
        if engine.dialect.name == "sqlite":
            held.append(_locked(Path(f"{engine.url.database}.lock"), "database"))
            yield None
            return
        with engine.connect() as connection:  # holds the lock until it is closed
            try:
                claim(connection)
            except BlockingIOError:
                raise _taken("database") from None
            try:
                yield connection
            finally:
                if not connection.closed:
                    connection.invalidate()  # not back into the pool: the lock ends with it
    finally:
        for descriptor in held:
            os.close(descriptor)


def claim(connection: Connection) -> None:
    """Take the lock of a dealer's database on PostgreSQL, at first or after a connection was lost.

    Raises:
        BlockingIOError: Another process has it.
    """
    for _ in range(CLAIMS):
        query = text("SELECT pg_try_advisory_lock(:number)")
        is_claimed = connection.execute(query, {"number": _ADVISORY}).scalar_one()
        connection.commit()
        if is_claimed:
            return
        time.sleep(PAUSE)  # the server may not have noticed yet that our last connection ended
    raise BlockingIOError(errno.EWOULDBLOCK, "another dealer has taken the database")


def _locked(path: Path, what: str) -> int:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise _taken(what) from None
    return descriptor


def _taken(what: str) -> ArgumentError:
    return ArgumentError(f"{what} must be for one dealer alone, but another process has them")


def _is_local(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
