"""`jrr serve dealer`, `collector`, `party`, `page`; `certificate`, `token`: what they need."""

import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import click

from jrr.cli.options import F, all_of
from jrr.cli.output import json_option, show, unwrapped
from jrr.cli.values import FILE
from jrr.errors import needed
from jrr.servers.common.settings import PORTS


def _options(role: str) -> Callable[[F], F]:
    return all_of(
        click.option("--config", type=FILE, help="TOML file with settings."),
        click.option("--database", help="sqlite:///file.db or postgresql://…"),
        click.option("--host", help="Address to listen on.  [default: 127.0.0.1]"),
        click.option(
            "--port", type=int, help=f"Port; 0 takes a free one.  [default: {PORTS[role]}]"
        ),
        click.option(
            "--metrics-port", type=int, help="Figures for Prometheus, on this machine only."
        ),
        click.option("--log-format", type=click.Choice(("text", "json"))),
        click.option(
            "--audit-log",
            help="File that says what operators did.  [default: beside a SQLite database]",
        ),
        click.option("--console", "pages", is_flag=True, help="Operator's pages, at /console."),
        json_option,
    )


def _run(role: str, *, config: Path | None, pages: bool, **options: Any) -> None:
    with needed("servers need", "serve"):
        from jrr.servers import run as server
        from jrr.servers.common import settings

    def load() -> settings.Settings:
        return settings.load(role, config, console="on" if pages else None, **options)

    loaded = load()

    def ready(url: str) -> None:
        show({"role": role, "url": url}, f"The {role} listens on {url}; Ctrl-C stops it.")
        sys.stdout.flush()

    try:
        server.serve(loaded, ready, load)
    except KeyboardInterrupt:
        return  # it stopped cleanly before it said so


@click.command()
@_options("dealer")
def dealer(**options: Any) -> None:
    """Deal cards; never sees an answer."""
    _run("dealer", **options)


@click.command()
@_options("collector")
def collector(**options: Any) -> None:
    """Collect perturbed reports and estimate; never sees a card."""
    _run("collector", **options)


@click.command()
@_options("party")
def party(**options: Any) -> None:
    """Deal cards together with other parties; never sees a card or an answer.

    Needs link_certificate and link_key (`jrr serve certificate` makes them).
    """
    _run("party", **options)


@click.command()
@click.argument("name", type=click.Path(path_type=Path))
@json_option
def certificate(name: Path) -> None:
    """Make a party's certificate: NAME.pem, for the survey, and NAME.key (secret)."""
    from jrr.servers.common.certificates import make_certificate

    public, secret = make_certificate(name)
    show(
        {"certificate": str(public), "key": str(secret)},
        f"{public}: goes into the survey. {secret}: keep it secret.",
    )


@click.command()
@json_option
def token() -> None:
    """Make an admin token: the server is given its hash, the operator keeps it."""
    from jrr.servers.common.tokens import new_token, token_digest

    secret = new_token()
    digest = token_digest(secret)
    show(
        {"token": secret, "admin_token_sha256": digest},
        unwrapped(f"token (secret):     {secret}"),
        unwrapped(f"admin_token_sha256: {digest}"),
    )


PORT = 8003  # after those of the servers


@click.command()
@click.option("--host", default="127.0.0.1", help="Address to listen on.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=PORT, help="Port; 0 takes a free one."
)
@click.option(
    "--tls-certificate", default="", show_default=False, help="PEM; or leave TLS to a proxy."
)
@click.option("--tls-key", default="", show_default=False, help="Its key.")
@click.option(
    "--allow",
    multiple=True,
    metavar="ADDRESS",
    help="A dealer or collector that the page may talk to (repeat it).  [default: any, by https]",
)
@click.option(
    "--survey",
    metavar="LINK",
    help="Survey that is opened where an address does not say which, as typed ones.",
)
@click.option("--hash", "only_hash", is_flag=True, help="Print hashes of the files, serve nothing.")
@json_option
def page(
    host: str,
    port: int,
    tls_certificate: str,
    tls_key: str,
    allow: tuple[str, ...],
    survey: str | None,
    only_hash: bool,
) -> None:
    """Serve the page on which people answer in a browser.

    Static files, from memory, under a strict Content-Security-Policy; nothing is logged. People get
    the link PAGE/page/#survey=LINK&invitation=INVITATION: what follows the # never leaves their
    browser. Better not run by the collector, whose page could send anything.
    """
    with needed("servers need", "serve"):
        from jrr.servers.page.app import START, page_app
        from jrr.servers.page.files import page_files, page_hash
        from jrr.servers.run import run_app

    if only_hash:
        files = page_files()
        together = page_hash(files)
        show(
            {"sha256": together, "files": {file.path: file.digest for file in files}},
            *(unwrapped(f"{file.digest}  {file.path}") for file in files),
            unwrapped(f"{together}  all of the above"),
        )
        return

    def ready(url: str) -> None:
        words = f"The answer page is at {url}{START}; Ctrl-C stops it."
        show({"role": "page", "url": url + START}, words)
        sys.stdout.flush()

    with suppress(KeyboardInterrupt):
        app = page_app(allow, survey)
        run_app(app, host, port, certificate=tls_certificate, key=tls_key, ready=ready)
