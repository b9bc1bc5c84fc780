"""Running a server: a socket, TLS if asked for, a clean stop on SIGTERM."""

import asyncio
import gc
import logging
import signal
import socket
import threading
from collections.abc import Callable
from importlib import import_module
from typing import Any

import uvicorn
from sqlalchemy import Engine

from jrr.errors import ArgumentError, JrrError, needed
from jrr.protocol.states import Role
from jrr.servers.common.connections import BACKLOG, DEADLINE, Connection, Server
from jrr.servers.common.database import connect, prepare
from jrr.servers.common.logs import configure
from jrr.servers.common.safety import alone, check_safety, claim, keep_memory_private
from jrr.servers.common.settings import Settings

APPS = {  # named, not imported: a role's application is loaded only where it runs
    Role.DEALER: ("jrr.servers.dealer.routes", "dealer_app"),
    Role.COLLECTOR: ("jrr.servers.collector.routes", "collector_app"),
    Role.PARTY: ("jrr.servers.party.routes", "party_app"),
}

CONSOLE = "jrr.console.app"
log = logging.getLogger("jrr.servers")
MOST_CONNECTIONS = 4_000
SPARE_FILES = 100  # for databases, logs and keys


def serve(
    settings: Settings,
    ready: Callable[[str], None] = print,
    again: Callable[[], Settings] | None = None,
) -> None:
    """Serve until told to stop.

    On SIGHUP the certificate and its key, and the admin tokens, are read again; other settings
    need a restart.

    Args:
        settings: Which role, where to listen, which database.
        ready: Told the address once the server listens.
        again: Reads the settings anew.

    Raises:
        ArgumentError: A setting cannot be used: no certificate, a port that is taken, a database
            of another role.
    """
    check_safety(settings)
    keep_memory_private()
    engine = connect(settings.database)
    prepare(engine, settings.role)
    configure(settings.log_format)
    with alone(settings, engine) as held:
        module, attribute = APPS[Role(settings.role)]
        app = getattr(import_module(module), attribute)(settings, engine)
        if held is not None:
            app.state.writer.begin_with(held, claim)
        if settings.console:
            _add_console(app, settings, engine)

        if app.state.metrics is not None:
            app.state.metrics.serve(settings.metrics_host, settings.metrics_port)

        def read_again() -> None:
            if again is not None:
                app.state.tokens.replace(again().admin_token_sha256)

        run_app(
            app,
            settings.host,
            settings.port,
            certificate=settings.tls_certificate,
            key=settings.tls_key,
            ready=ready,
            on_hangup=read_again,
        )


def _add_console(app: Any, settings: Settings, engine: Engine) -> None:
    """Pages for the operator: a room above this one, named and not imported."""
    with needed("the console needs", "console"):
        console = import_module(CONSOLE)
    console.add_console(app, settings, engine)


def run_app(
    app: Any,
    host: str,
    port: int,
    *,
    certificate: str = "",
    key: str = "",
    ready: Callable[[str], None] = print,
    on_hangup: Callable[[], None] = lambda: None,
) -> None:
    """Serve an application until told to stop.

    Args:
        app: An ASGI application.
        host: Address to listen on.
        port: 0: a free one.
        certificate: Of TLS, in PEM; "": without TLS.
        key: Of the certificate.
        ready: Told the address once the server listens.
        on_hangup: Called on SIGHUP, after the certificate is read again.

    Raises:
        ArgumentError: No certificate and its key, or a port that is taken.
    """
    config = _configured(app, certificate, key)
    server = Server(config, _most_connections())
    metrics = getattr(getattr(app, "state", None), "metrics", None)
    if metrics is not None:
        metrics.watch(server)
    listening = _listening(host, port)
    host, port = listening.getsockname()[:2]
    shown = f"[{host}]" if ":" in host else host
    ready(f"{'https' if certificate else 'http'}://{shown}:{port}")
    _listen_for_hangup(config, certificate, key, on_hangup)
    settle()
    with asyncio.Runner(loop_factory=_loop) as runner:
        runner.run(server.serve(sockets=[listening]))


def _loop() -> asyncio.AbstractEventLoop:
    try:
        import uvloop
    except ModuleNotFoundError:  # Windows
        return asyncio.SelectorEventLoop()
    return uvloop.new_event_loop()


def _listen_for_hangup(
    config: uvicorn.Config, certificate: str, key: str, then: Callable[[], None]
) -> None:
    def read_again(*_: object) -> None:
        try:
            if config.ssl is not None:
                config.ssl.load_cert_chain(certificate, key)  # for connections from now on
            then()
        except (JrrError, OSError) as error:  # it goes on with what it has
            log.error("settings could not be read again: %s", error)

    if hasattr(signal, "SIGHUP") and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGHUP, read_again)


def _configured(app: Any, certificate: str, key: str) -> uvicorn.Config:
    # Whoever speaks no HTTP must not be able to fill the log.
    logging.getLogger("uvicorn.error").setLevel(logging.ERROR)
    config = uvicorn.Config(
        app,
        http=Connection,
        ws="none",
        access_log=False,  # who came when, and from where, is nobody's business
        log_config=None,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=int(DEADLINE),
        timeout_graceful_shutdown=10,
        ssl_certfile=certificate or None,
        ssl_keyfile=key or None,
    )
    try:
        config.load()  # reads certificate and key, now: whoever is told an address may use it
    except OSError:
        raise ArgumentError(
            "tls_certificate and tls_key must be a certificate in PEM and its own key, got "
            f"{certificate!r} and {key!r}"
        ) from None
    return config


def _most_connections() -> int:
    """As many as the system lets us open, less what databases and files need."""
    try:
        import resource
    except ModuleNotFoundError:  # Windows
        return 1_000
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST_CONNECTIONS + SPARE_FILES
    if soft != resource.RLIM_INFINITY and soft < wanted:
        soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return (
        MOST_CONNECTIONS
        if soft == resource.RLIM_INFINITY
        else min(MOST_CONNECTIONS, max(16, soft - SPARE_FILES))
    )


def _listening(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=BACKLOG)
    except OSError as error:
        raise ArgumentError(
            f"host and port must be free to listen on, got {host}:{port}: {error.strerror}"
        ) from None


NEW = 100_000  # objects, between two looks at the new ones: those of thousands of requests
YOUNG, OLD = 10, 10  # looks at the new ones before one at the young ones, and those before all


def settle() -> None:
    """The garbage collector passes over what is loaded now, and looks at the rest less often.

    Python looks for cycles of objects that nobody refers to after every few hundred new ones, and
    now and then at all objects there are. A server loads hundreds of thousands that stay, and under
    load thousands of requests are on their way: looking at all of them again and again took a
    quarter to half of the processor.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(NEW, YOUNG, OLD)
