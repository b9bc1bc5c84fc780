"""Signing in, with the admin token or by a proxy that has asked already, and out."""

import secrets

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from jrr.console.pages import (
    START,
    Console,
    cookie_name,
    of_port,
    read_form,
    refusal,
    render,
    same_origin,
)
from jrr.servers.common.tokens import AdminToken, token_digest

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
