"""The audit log: who did what to which survey, and when; a file that is only appended to.

One JSON object per line: `time` (UTC), `role`, `who` (the name of the admin token; empty where it
has none), `what`, `survey` (its hash, or empty), `status` (of the reply; null: it begins). It names
operators, never people who answer. The line of a beginning is on the disk before anything is done,
so that nothing is done unnoted, whenever the server is killed.
"""

import asyncio
import json
import logging
import os
from datetime import UTC, datetime

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from jrr._base.files import synced
from jrr.servers.common.problems import unavailable
from jrr.servers.common.settings import Settings

log = logging.getLogger("jrr.servers")
ADMIN = "/v1/admin/surveys/"
OPERATOR = "jrr.operator"  # in a request's scope: the name of the token that it came with
ON_BEHALF = "x-jrr-operator"  # header of the console's own requests: who is signed in
RIGHT = "x-jrr-right"  # likewise: what they may do
READ = ("export", "closing/request")  # what is fetched and not only looked at
CREATE = "create"
_FILE = "sqlite:///"  # how the address of a database in a file begins


class AuditLog:
    """Lines of one server."""

    def __init__(self, settings: Settings) -> None:
        self._role = settings.role
        self._path = audit_path(settings)

    async def begin(self, scope: Scope) -> None:
        """Note that the operator of a request begins what it asks for.

        Raises:
            Problem: It cannot be noted, so it must not be done.
        """
        act = act_of(scope)
        if act is not None and not await self.note(scope[OPERATOR], *act, status=None):
            raise unavailable()

    async def note(self, who: str, what: str, survey: str = "", status: int | None = 200) -> bool:
        """Add a line; it is on the disk when this returns, or False."""
        if not self._path:
            return True  # an application without a server, which would not start so
        line = {
            "time": datetime.now(UTC).isoformat(timespec="seconds"),
            "role": self._role,
            "who": who,
            "what": what,
            "survey": survey,
            "status": status,
        }
        try:  # in a thread: nobody else waits for the disk
            await asyncio.to_thread(self._append, f"{json.dumps(line)}\n".encode())
        except OSError as error:
            log.error("the audit log cannot be written: %s", error.strerror)
            return False
        return True

    def _append(self, line: bytes) -> None:
        with synced(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT) as file:
            os.write(file, line)


def audit_path(settings: Settings) -> str:
    """Where the lines go: as the settings say, or beside a database file; "": nowhere."""
    if settings.audit_log or not settings.database.startswith(_FILE):
        return settings.audit_log
    return f"{settings.database.removeprefix(_FILE)}.audit"


class Audited:
    """Notes what operators do: every change, and every file that they fetch."""

    def __init__(self, app: ASGIApp, audit: AuditLog) -> None:
        self._app, self._audit = app, audit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on; noted before the reply, or when an error ends it."""
        act = act_of(scope)
        if act is None:
            await self._app(scope, receive, send)
            return
        what, survey = act
        is_noted = False

        async def note(status: int) -> None:
            nonlocal is_noted
            if OPERATOR in scope and not is_noted:
                is_noted = True
                await self._audit.note(scope[OPERATOR], what, survey, status)

        async def noted(message: Message) -> None:
            if message["type"] == "http.response.start":
                await note(message["status"])
            await send(message)

        try:
            await self._app(scope, receive, noted)
        except Exception:
            await note(500)  # it is answered further out; something may have been done nevertheless
            raise


def act_of(scope: Scope) -> tuple[str, str] | None:
    """What a request does and to which survey; None where it is nothing to note."""
    if scope["type"] != "http" or not scope["path"].startswith(ADMIN):
        return None
    survey, _, what = scope["path"].removeprefix(ADMIN).partition("/")
    if scope["method"] == "GET" and what not in READ:
        return None
    return what or {"PUT": CREATE}.get(scope["method"], scope["method"].lower()), survey
