"""`jrr serve page`: the page on which people answer."""

import sys
from contextlib import suppress

import click

from jrr.cli.output import json_option, show, unwrapped
from jrr.errors import needed

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
