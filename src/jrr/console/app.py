"""The console as one application below /console of a server, and signing in to it."""

import secrets
from importlib import import_module
from typing import Any

from sqlalchemy import Engine
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

from jrr.console.drafts import make_table
from jrr.console.pages import (
    START,
    Console,
    cookie_name,
    of_port,
    read_form,
    refusal,
    render,
    routes_in,
    same_origin,
    with_headers,
)
from jrr.protocol.states import Role
from jrr.servers.common.settings import Settings
from jrr.servers.common.tokens import AdminToken, token_digest

STATIC = Mount("/static", StaticFiles(packages=[("jrr.console", "static")]))
PAGES = (  # modules of this room, in the order in which their addresses are looked at
    "planning_page",
    "build_page",
    "creating",
    "preview",
    "live",
    "watch",
    "analysing",
    "ending",
    "inviting",
    "dealers_page",
    "downloads",
)


def add_console(app: Any, settings: Settings, engine: Engine) -> None:
    """Serve pages for the operator of a server: of the collector all, of others its status.

    Args:
        app: The server's application.
        settings: Of the server.
        engine: Its database.
    """
    console = Console.of(app, settings, engine)
    inner = Starlette(
        routes=[*signing_routes(console), STATIC, *_routes(console)],
        exception_handlers={404: _missing, 405: _missing},
    )

    async def pages(scope: Any, receive: Any, send: Any) -> None:
        console.sender.note_loop()
        await inner(as_seen_outside(scope, settings.public_address), receive, send)

    app.mount(START, with_headers(pages))


def as_seen_outside(scope: Any, address: str) -> Any:
    """A request with the address that the browser asked for, where a proxy stands between."""
    if not address:
        return scope
    scheme, _, host = address.partition("://")
    headers = [header for header in scope["headers"] if header[0] != b"host"]
    return {**scope, "scheme": scheme, "headers": [*headers, (b"host", host.encode())]}


def _routes(console: Console) -> list[BaseRoute]:
    """Those of the pages of its role; pages are named, and loaded where they are served."""
    is_collector = console.settings.role == Role.COLLECTOR
    if is_collector:
        make_table(console.engine)
    names = PAGES if is_collector else ("dealing",)
    found: list[BaseRoute] = []
    for name in names:
        module = import_module(f"jrr.console.{name}")
        found += routes_in(console, module.__name__)
        if hasattr(module, "routes"):  # those that are no pages
            found += module.routes(console)
    return found


async def _missing(_: Request, __: Exception) -> Response:
    return refusal("There is no such page", 404)


FORM_COOKIE = "jrr-console-form"  # ties the form for signing in to the browser that asked for it


def signing_routes(console: Console) -> list[Route]:
    """Their addresses."""

    async def form(request: Request) -> Response:
        if console.session_of(request) is not None:
            return RedirectResponse(f"{START}/", 303)
        user = console.user_of(request)
        return _form(console, request) if user is None else await _begin(console, request, user)

    async def sign_in(request: Request) -> Response:
        fields = await read_form(request)
        nonce = request.cookies.get(of_port(FORM_COOKIE, request), "")
        is_ours = secrets.compare_digest(fields.raw("csrf").encode(), console.seal(nonce).encode())
        if not (nonce and is_ours and same_origin(request)):
            return _form(console, request, "Please try again: the form had expired.", 403)
        token = fields.get("token")
        holder = console.guard.holder(token_digest(token))
        if holder is None:
            console.guard.note_wrong()
            return _form(console, request, "This is not the admin token of this server.", 403)
        return await _begin(console, request, holder)

    async def sign_out(request: Request) -> Response:
        name = request.cookies.get(cookie_name(request))
        session = console.session_of(request)
        fields = await read_form(request)
        if session is not None:
            if not (same_origin(request) and session.accepts(fields.raw("csrf"))):
                return refusal("This form is not from a page of yours", 403)
            console.sessions.end(name)
            await console.app.state.audit.note(session.operator, "sign-out")
        reply = RedirectResponse(f"{START}/sign-in", 303)
        is_https = request.url.scheme == "https"
        reply.delete_cookie(cookie_name(request), path="/" if is_https else START, secure=is_https)
        return reply

    return [
        Route("/sign-in", form, methods=["GET"]),
        Route("/sign-in", sign_in, methods=["POST"]),
        Route("/sign-out", sign_out, methods=["POST"]),
    ]


async def _begin(console: Console, request: Request, holder: AdminToken) -> Response:
    """A new session; the one that the browser had before ends."""
    console.sessions.end(request.cookies.get(cookie_name(request)))
    name, _ = console.sessions.begin(holder)
    await console.app.state.audit.note(holder.shown_name, "sign-in")
    reply = RedirectResponse(f"{START}/", 303)
    is_https = request.url.scheme == "https"
    reply.set_cookie(
        cookie_name(request),
        name,
        httponly=True,
        samesite="strict",
        secure=is_https,
        path="/" if is_https else START,
    )
    reply.delete_cookie(of_port(FORM_COOKIE, request), path=START)
    return reply


def _form(console: Console, request: Request, words: str = "", status: int = 200) -> Response:
    nonce = secrets.token_urlsafe(32)
    reply = render(
        "sign_in.html",
        status,
        csrf=console.seal(nonce),
        words=words,
        role=console.settings.role,
    )
    reply.set_cookie(
        of_port(FORM_COOKIE, request),
        nonce,
        httponly=True,
        samesite="strict",
        secure=request.url.scheme == "https",
        path=START,
        max_age=60 * 60,
    )
    return reply
