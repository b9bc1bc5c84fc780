"""HTTP by the standard library: no redirects, no proxies, and an end in time."""

import contextlib
import http.client
import json
import socket
import ssl
import threading
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit

from jrr._base import checks
from jrr.errors import DamagedError, IntegrityError, JrrError, ProtocolError, UnreachableError
from jrr.protocol.steps import (
    ABORTED_DEAL,
    MISSING_PARTY,
    RESULTS_WAIT,
    Call,
    Reply,
    read_problem,
    seconds_of,
)

MOST_READ = 4 << 20  # bytes of a reply that are read
OPERATOR_TIMEOUT = 600.0  # seconds: installing many invitations, exporting many reports


class ResultsWaitError(ProtocolError):
    """The collector shows no new result yet; the message says when it will."""


@cache
def _default_trust() -> ssl.SSLContext:
    """Reading all certificates that this machine trusts takes 0.03 s: once is enough."""
    return ssl.create_default_context()


class Http:
    """Requests that follow no redirect, go through no proxy and end in time."""

    def __init__(
        self,
        ca: str | Path | None = None,
        headers: Mapping[str, str] | None = None,
        timeout: float = 10.0,
    ) -> None:
        try:
            self._trust = (
                _default_trust() if ca is None else ssl.create_default_context(cafile=str(ca))
            )
        except OSError:  # not there, or not what it should be
            raise checks.refusal("ca", str(ca), "a file of certificates in PEM") from None
        self._headers = {"Content-Type": "application/json", **(headers or {})}
        self._timeout = timeout

    def call(self, call: Call) -> Reply:
        """Make a protocol's call."""
        method = "GET" if call.body is None else "POST"
        return self.request(method, call.address, call.body, most=MOST_READ)

    def request(
        self,
        method: str,
        address: str,
        body: bytes | None = None,
        *,
        most: int | None = None,
        longer: float = 0.0,
    ) -> Reply:
        """One request.

        Args:
            method: GET, POST or PUT.
            address: Where to, in full.
            body: What to send.
            most: Bytes of the reply that are read; None: all of them.
            longer: Seconds that it may take longer than usual.

        Returns:
            The reply; its status is 0 where nothing came back in time, or not a whole reply.

        Raises:
            ArgumentError: The address is none of http or https.
        """
        parts = urlsplit(address)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise checks.refusal("address", address, "an http or https address")
        host, port, timeout = parts.hostname, parts.port, self._timeout + longer
        connection: http.client.HTTPConnection
        if parts.scheme == "https":
            connection = http.client.HTTPSConnection(
                host, port, timeout=timeout, context=self._trust
            )
        else:
            connection = http.client.HTTPConnection(host, port, timeout=timeout)
        # A server that sends a byte now and then would never time out by itself.
        watchdog = threading.Timer(timeout, _hang_up, (connection,))
        watchdog.daemon = True
        watchdog.start()
        path = parts.path + (f"?{parts.query}" if parts.query else "")
        try:
            connection.request(method, path or "/", body, self._headers)
            with connection.getresponse() as response:
                told = seconds_of(response.headers.get("Retry-After"))
                return Reply(response.status, response.read(most), told)
        except (OSError, ValueError, AttributeError, http.client.HTTPException):
            return Reply(0)  # no connection, no time, no HTTP; AttributeError: hung up meanwhile
        finally:
            watchdog.cancel()
            connection.close()


class Sender(Protocol):
    """Whatever takes an operator's requests to a server."""

    def request(
        self, method: str, address: str, body: bytes | None = None, *, longer: float = 0.0
    ) -> Reply:
        """One request; the reply's status is 0 where nothing came back."""


class Admin:
    """The operator's side of one server."""

    def __init__(
        self,
        address: str,
        token: str | None,  # None: only what everybody may ask
        ca: str | Path | None = None,
        *,
        variable: str | None = None,  # where the token is expected, for a refusal
        sender: Sender | None = None,  # None: over HTTP
    ) -> None:
        self.address, self._variable = address, variable
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        self._http = sender or Http(ca, headers, timeout=OPERATOR_TIMEOUT)

    def get(self, path: str) -> Any:
        """A JSON reply."""
        return self._json(self.get_bytes(path))

    def get_bytes(self, path: str) -> bytes:
        """A reply as it is."""
        return self._checked("GET", path, None)

    def put(self, path: str, body: bytes) -> Any:
        """Store something."""
        return self._json(self._checked("PUT", path, body))

    def post(self, path: str, document: Any = None, longer: float = 0.0) -> Any:
        """Do something, which may take so many seconds longer than usual."""
        return self._json(self._checked("POST", path, json.dumps(document).encode(), longer))

    def delete(self, path: str) -> Any:
        """Delete something."""
        return self._json(self._checked("DELETE", path, None))

    def _json(self, body: bytes) -> Any:
        try:
            return json.loads(body)
        except (ValueError, RecursionError):
            raise DamagedError(f"{self.address} must reply with JSON") from None

    def _checked(self, method: str, path: str, body: bytes | None, longer: float = 0.0) -> bytes:
        reply = self._http.request(method, self.address + path, body, longer=longer)
        if reply.status == 0:
            raise UnreachableError(f"{self.address} must answer, but cannot be reached")
        if reply.status >= 400:
            raise self._refusal(reply)
        return reply.body

    def _refusal(self, reply: Reply) -> JrrError:
        kind, detail = read_problem(reply.body)
        words = f"{self.address} refused ({reply.status}): {detail or 'no reason given'}"
        if reply.status in (401, 403) and self._variable is not None:
            return ProtocolError(
                f"{words}; is {self._variable} the token that `jrr serve token` printed for this "
                "server?"
            )
        if kind == RESULTS_WAIT:
            return ResultsWaitError(detail)
        if reply.gave_up or kind == MISSING_PARTY:
            return UnreachableError(words)
        broken = kind == ABORTED_DEAL
        return IntegrityError(words) if broken else ProtocolError(words)


def _hang_up(connection: http.client.HTTPConnection) -> None:
    with contextlib.suppress(OSError, AttributeError):
        connection.sock.shutdown(socket.SHUT_RDWR)
