"""The console as one application below /console of a server."""

from importlib import import_module
from typing import Any

from sqlalchemy import Engine
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Mount
from starlette.staticfiles import StaticFiles

from jrr.console.drafts import make_table
from jrr.console.pages import START, Console, refusal, routes_in, with_headers
from jrr.console.signing import signing_routes
from jrr.protocol.states import Role
from jrr.servers.common.settings import Settings

STATIC = Mount("/static", StaticFiles(packages=[("jrr.console", "static")]))
PAGES = (  # modules of this room, in the order in which their addresses are looked at
    "home",
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
