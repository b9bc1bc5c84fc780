"""Running a server: a socket, TLS if asked for, a clean stop on SIGTERM."""

import logging
import socket
from collections.abc import Callable

import uvicorn

from jrr.errors import JrrError
from jrr.servers.common.database import connect, prepare
from jrr.servers.common.settings import Settings


def serve(settings: Settings, migrate: bool = False, ready: Callable[[str], None] = print) -> None:
    """Serve until told to stop; `ready` is told the address once it listens."""
    engine = connect(settings.database)
    prepare(engine, settings.role, migrate)
    # Each role's application is imported only where it runs.
    if settings.role == "dealer":
        from jrr.servers.dealer.routes import dealer_app

        app = dealer_app(settings, engine)
    elif settings.role == "party":
        from jrr.servers.party.routes import party_app

        app = party_app(settings, engine)
    else:
        from jrr.servers.collector.routes import collector_app

        app = collector_app(settings, engine)
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s %(message)s")
    secure = bool(settings.tls_certificate)
    config = uvicorn.Config(
        app,
        access_log=False,  # who came when, and from where, is nobody's business
        log_config=None,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=10,
        ssl_certfile=settings.tls_certificate or None,
        ssl_keyfile=settings.tls_key or None,
    )
    try:
        config.load()  # reads certificate and key, now: whoever is told an address may use it
    except OSError:
        raise JrrError(
            "tls_certificate and tls_key must be a certificate in PEM and its own key, got "
            f"{settings.tls_certificate!r} and {settings.tls_key!r}"
        ) from None
    try:
        listening = socket.create_server(
            (settings.host, settings.port),
            family=socket.AF_INET6 if ":" in settings.host else socket.AF_INET,
            backlog=2048,
        )
    except OSError as error:
        raise JrrError(
            f"host and port must be free to listen on, got {settings.host}:{settings.port}: "
            f"{error.strerror}"
        ) from None
    host, port = listening.getsockname()[:2]
    shown = f"[{host}]" if ":" in host else host
    ready(f"{'https' if secure else 'http'}://{shown}:{port}")
    uvicorn.Server(config).run(sockets=[listening])
