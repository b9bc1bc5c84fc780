"""What all servers have in common: problems, limits, tokens, health, and their first routes."""

import asyncio
import logging
import sqlite3
import time
from collections.abc import Callable
from contextlib import asynccontextmanager
from typing import Annotated, Any

from fastapi import Depends, FastAPI, Path, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from sqlalchemy import Connection, Engine
from sqlalchemy.exc import OperationalError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from jrr import __version__
from jrr.errors import DamagedError, JrrError
from jrr.protocol.documents import hash_of, read_body
from jrr.servers.common.api import PROBLEM, describe
from jrr.servers.common.audit import ON_BEHALF, OPERATOR, RIGHT, Audited, AuditLog, act_of
from jrr.servers.common.batch import Writer
from jrr.servers.common.database import scrub, write_nothing
from jrr.servers.common.jobs import Extension, SurveyJobs, SurveyMemory
from jrr.servers.common.middleware import (
    CrossOrigin,
    Measured,
    Upload,
    Uploads,
    Visitors,
    read_origins,
    read_whole,
)
from jrr.servers.common.problems import Problem, too_large, unavailable, unknown_survey
from jrr.servers.common.settings import Settings
from jrr.servers.common.tokens import Right, TokenGuard
from jrr.survey.messages import read_invitations
from jrr.survey.survey import read_survey

log = logging.getLogger("jrr.servers")
LONG_BODY = 1 << 30  # bytes of an operator's list of serials, read only after the token
ITSELF = "the server"  # in the audit log: who deletes what is due
HOUR = 3600.0  # seconds between two looks at what is due
READY = 1.0  # seconds that an answer about health holds
SMALL_BODY = 4096  # bytes of a contributor's request that is no report
LONG_PATHS = ("/check", "/close", "/discard", "/sums")
LONG_FORMS = ("/invite", "/close")  # of the console: files of a name for each person
HEX = {"type": "string", "pattern": "^[0-9a-f]{64}$"}  # of OpenAPI: 32 bytes in hexadecimal
Name = Annotated[str, Path(pattern="^[0-9a-f]{64}$", description="The survey's hash.")]


_ANSWERED: tuple[type[Exception], ...] = (
    *(Problem, JrrError, HTTPException, RequestValidationError, ClientDisconnect),
    *(OperationalError, sqlite3.OperationalError, Exception),
)


def body_schema(
    optional: dict[str, dict[str, Any]] | None = None, **fields: dict[str, Any]
) -> dict[str, Any]:
    """An OpenAPI entry for a body of exactly these fields, and perhaps the optional ones."""
    schema = {
        "type": "object",
        "required": sorted(fields),
        "properties": fields | (optional or {}),
        "additionalProperties": False,
    }
    content = {"application/json": {"schema": schema}}
    return {"requestBody": {"required": True, "content": content}}


def make_app(
    title: str,
    settings: Settings,
    engine: Engine,
    writer: Writer,
    check_ready: Callable[[Connection], None],
) -> FastAPI:
    """An application with problems, limits and health; roles add their routes."""
    readiness = Readiness(writer, check_ready)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> Any:
        keeping = asyncio.create_task(_keep_no_longer(app))
        yield
        keeping.cancel()
        writer.close()
        engine.dispose()

    app = FastAPI(
        title=title,
        version=__version__,
        lifespan=lifespan,
        docs_url=None,  # its page would load scripts from elsewhere
        redoc_url=None,
    )
    describe(app)
    app.state.metrics = _metrics(settings, writer)
    app.state.tokens = TokenGuard(settings.admin_token_sha256)
    app.state.writer = writer
    uploads: list[Upload] = []  # roles add theirs
    app.state.uploads = uploads
    app.add_middleware(Uploads, kinds=uploads)
    app.add_middleware(BodyLimit, limit=settings.body_limit, long_limit=LONG_BODY)
    app.add_middleware(Visitors)
    app.state.audit = AuditLog(settings)
    app.add_middleware(Audited, audit=app.state.audit)
    app.add_middleware(CrossOrigin, origins=read_origins(settings.origins))
    if app.state.metrics is not None:
        app.add_middleware(Measured, metrics=app.state.metrics)
    for kind in _ANSWERED:
        app.add_exception_handler(kind, _answer)

    @app.get("/healthz")
    async def healthz() -> dict[str, str]:
        """The process is alive."""
        return {"status": "ok"}

    @app.get("/readyz")
    async def readyz() -> dict[str, str]:
        """The database can be written to, and nothing else is missing."""
        await readiness.check()
        return {"status": "ready"}

    return app


async def _keep_no_longer(app: FastAPI) -> None:
    """Look for what is to be deleted, now and every hour."""
    while True:
        try:
            await app.state.delete_due()
        except Exception as error:  # such as a database that is away: at the next hour
            log.error("what is due could not be deleted: %s", type(error).__name__)
        await asyncio.sleep(HOUR)


def _metrics(settings: Settings, writer: Writer) -> Any:
    """What is counted, where the settings ask for it."""
    if not settings.metrics_port:
        return None
    from jrr.servers.common.metrics import Metrics

    shown = (settings.tls_certificate, settings.link_certificate)
    return Metrics(writer, [path for path in shown if path])


class Readiness:
    """Whether a server can do its work; asked of the database once a second at most."""

    def __init__(self, writer: Writer, check: Callable[[Connection], None]) -> None:
        self._writer, self._check = writer, check
        self._until = 0.0
        self._problem: Problem | None = None

    async def check(self) -> None:
        """Refuse unless it can."""
        now = time.monotonic()
        if now >= self._until:
            self._until = now + READY
            try:
                await self._writer.run(self._try)
                self._problem = None
            except Problem as problem:
                self._problem = problem
        if self._problem is not None:
            raise Problem(
                self._problem.status,
                self._problem.kind,
                self._problem.detail,
                self._problem.headers,
            )

    def _try(self, connection: Connection) -> None:
        write_nothing(connection)
        self._check(connection)


async def read_at_most(request: Request, limit: int) -> bytes:
    """A body of at most so many bytes; a Problem before more than that is read."""
    return await read_whole(request.scope, request.receive, limit)


async def admin_only(request: Request) -> None:
    """A dependency that lets only those pass who may do what they ask; notes what begins."""
    guard: TokenGuard = request.app.state.tokens
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    holder = guard.who(token.strip()) if scheme.lower() == "bearer" else None
    if holder is not None:
        who, right = holder.shown_name, holder.right
        if holder.is_own:  # the console says for whom it asks
            who = request.headers.get(ON_BEHALF, "")
            right = Right(request.headers.get(RIGHT, Right.ALL))
        request.scope[OPERATOR] = who  # what is refused is noted, too
        act = act_of(request.scope)
        # Looking at results, groups below the smallest are not shown: this tells all their sizes.
        is_preview = request.url.path.endswith("/closing")
        if not right.allows("close" if is_preview else act and act[0]):
            raise Problem(403, "no-right", f"this operator may only {right}")
        await request.app.state.audit.begin(request.scope)
        return
    guard.note_wrong()
    raise Problem(401, "wrong-token", "an admin token is needed", {"WWW-Authenticate": "Bearer"})


ADMIN_ONLY = [Depends(admin_only)]  # of a route that only operators may use


class BodyLimit:
    """Refuse bodies that are too large, whatever their length claims to be."""

    def __init__(self, app: ASGIApp, limit: int, long_limit: int) -> None:
        self._app = app
        self._limits = limit, long_limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, counting its bytes."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        path = scope["path"]
        is_long = path.startswith("/v1/admin/") and path.endswith(LONG_PATHS)
        is_long |= path.startswith("/console/") and path.endswith(LONG_FORMS)
        limit, seen = self._limits[is_long], 0

        async def counted() -> Message:
            nonlocal seen
            message = await receive()
            seen += len(message.get("body", b""))
            if seen > limit:
                raise too_large(limit)
            return message

        for name, value in scope["headers"]:
            if name == b"content-length" and (not value.isdigit() or int(value) > limit):
                await _refusal(scope, too_large(limit))(scope, receive, send)
                return
        try:
            await self._app(scope, counted, send)
        except Problem as problem:  # raised while the body was read, outside any route
            await _refusal(scope, problem)(scope, receive, send)


def _refusal(scope: Scope, problem: Problem) -> JSONResponse:
    metrics = scope["app"].state.metrics
    if metrics is not None:
        metrics.count_refusal(problem.kind)
    return JSONResponse(
        problem.document(), problem.status, headers=problem.headers, media_type=PROBLEM
    )


async def _answer(request: Request, error: Exception) -> JSONResponse:
    return _refusal(request.scope, _problem_of(error, request.url.path))


def _problem_of(error: Exception, path: str) -> Problem:
    """How an error is answered. The path, which is logged, has no secrets; a body may have."""
    match error:
        case Problem():
            return error
        case JrrError():
            return Problem(422, "refused", str(error))
        case HTTPException():
            kind = {404: "not-found", 405: "method-not-allowed"}.get(error.status_code, "http")
            return Problem(error.status_code, kind, str(error.detail), error.headers)
        case RequestValidationError():
            where = sorted({str(entry["loc"][-1]) for entry in error.errors()})
            if "name" in where:
                return unknown_survey()
            return Problem(422, "refused", f"not acceptable: {', '.join(where)}")
        case ClientDisconnect():
            return Problem(400, "cut-off", "the request ended before its body did")
        case OperationalError() | sqlite3.OperationalError():
            # Whoever asks again is served as if for the first time, or told what was committed.
            log.error("the database does not answer: %s in %s", type(error).__name__, path)
            return unavailable()
    log.error("unexpected %s in %s", type(error).__name__, path)
    return Problem(500, "internal", "an unexpected error; it has been logged")


def role_app(
    settings: Settings,
    engine: Engine,
    writer: Writer,
    jobs: SurveyJobs[Any, Any],
    memory: SurveyMemory | None = None,
) -> FastAPI:
    """An application with what every server has; the role adds its own routes."""
    app = make_app(jobs.title, settings, engine, writer, jobs.check_ready)
    remembered = memory or SurveyMemory(writer, jobs)

    @app.get("/v1/surveys/{name}")
    async def document(name: Name) -> Response:
        """The survey's bytes."""
        held = await remembered.find(name)
        return Response(held.survey.to_bytes(), media_type="application/json")

    @app.get("/v1/surveys/{name}/status")
    async def status(name: Name) -> dict[str, Any]:
        """State, how many people were dealt cards, and until when answers are taken."""
        held = await remembered.find(name)
        told = {"state": jobs.told_state(held), "n": held.n, "closes": held.closes}
        return told | jobs.told_facts(held)

    @app.put("/v1/admin/surveys/{name}", dependencies=ADMIN_ONLY)
    async def install(name: Name, request: Request, response: Response) -> dict[str, Any]:
        """Hold a survey."""
        body = await request.body()
        if hash_of(body) != name:
            raise DamagedError("survey must have the hash that its address names")
        new = await writer.run(jobs.install, read_survey(body))
        response.status_code = 201 if new else 200
        return {"new": new}

    @app.post("/v1/admin/surveys/{name}/invitations", dependencies=ADMIN_ONLY)
    async def invite(name: Name, request: Request) -> dict[str, Any]:
        """Accept more pseudonyms."""
        hashes = read_invitations(await request.body())
        return {"invited": await writer.run(jobs.invite, name, hashes)}

    @app.post("/v1/admin/surveys/{name}/revoke", dependencies=ADMIN_ONLY)
    async def revoke(name: Name, request: Request) -> dict[str, Any]:
        """Accept some pseudonyms no longer, unless they have been used."""
        hashes = read_invitations(await request.body())
        return await writer.run(jobs.revoke, name, hashes)

    @app.post("/v1/admin/surveys/{name}/extend", dependencies=ADMIN_ONLY)
    async def extend(name: Name, request: Request) -> dict[str, Any]:
        """Take answers until a later time than the document says."""
        closes = read_body(await request.body(), Extension).closes
        return {"closes": await writer.run(jobs.extend, name, closes)}

    async def delete_for_good(name: str) -> str:
        when: str = await writer.run(jobs.delete, name)
        await writer.run_alone(lambda: jobs.forget(name))
        await writer.run_alone(lambda: scrub(engine, jobs.store.metadata))
        return when

    @app.delete("/v1/admin/surveys/{name}", dependencies=ADMIN_ONLY)
    async def delete(name: Name) -> dict[str, Any]:
        """Delete a survey's data for good."""
        return {"deleted": await delete_for_good(name)}

    async def delete_due() -> None:
        """Delete what has been kept as long as its document says; noted as the server's own act."""
        for name in await writer.run(jobs.due):
            if await app.state.audit.note(ITSELF, "delete", name):
                await delete_for_good(name)

    app.state.delete_due = delete_due

    return app
