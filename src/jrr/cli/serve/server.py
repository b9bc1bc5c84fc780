"""`jrr serve dealer`, `collector` and `party`: the three servers."""

import sys
from pathlib import Path

import click

from jrr.cli.options import console, print_json
from jrr.errors import MissingExtraError
from jrr.servers.common.settings import PORTS

FILE = click.Path(dir_okay=False, path_type=Path)


def _options(command: click.Command, port: int) -> click.Command:
    for option in (
        click.Option(["--config"], type=FILE, help="TOML file with settings."),
        click.Option(["--database"], help="sqlite:///file.db or postgresql://…"),
        click.Option(["--host"], help="Address to listen on.  [default: 127.0.0.1]"),
        click.Option(["--port"], type=int, help=f"Port; 0 takes a free one.  [default: {port}]"),
        click.Option(
            ["--metrics-port"], type=int, help="Figures for Prometheus, on this machine only."
        ),
        click.Option(["--log-format"], type=click.Choice(("text", "json"))),
        click.Option(["--console", "pages"], is_flag=True, help="Operator's pages, at /console."),
        click.Option(["--json", "as_json"], is_flag=True, help="Print one line of JSON."),
    ):
        command.params.append(option)
    return command


def _run(
    role: str,
    *,
    config: Path | None,
    database: str | None,
    host: str | None,
    port: int | None,
    metrics_port: int | None,
    log_format: str | None,
    pages: bool,
    as_json: bool,
) -> None:
    try:
        from jrr.servers import run as server
        from jrr.servers.common import settings
    except ModuleNotFoundError as error:
        raise MissingExtraError(f"servers need {error.name}: pip install 'jrr[serve]'") from None

    def load() -> settings.Settings:
        return settings.load(
            role,
            config,
            database=database,
            host=host,
            port=port,
            metrics_port=metrics_port,
            log_format=log_format,
            console="on" if pages else None,
        )

    loaded = load()

    def ready(url: str) -> None:
        if as_json:
            print_json({"role": role, "url": url})
        else:
            console().print(f"The {role} listens on {url}; Ctrl-C stops it.")
        sys.stdout.flush()

    try:
        server.serve(loaded, ready, load)
    except KeyboardInterrupt:
        return  # it stopped cleanly before it said so


@click.command()
def dealer(**options: object) -> None:
    """Deal cards; never sees an answer."""
    _run("dealer", **options)  # type: ignore[arg-type]


@click.command()
def collector(**options: object) -> None:
    """Collect perturbed reports and estimate; never sees a card."""
    _run("collector", **options)  # type: ignore[arg-type]


@click.command()
def party(**options: object) -> None:
    """Deal cards together with other parties; never sees a card or an answer.

    Needs link_certificate and link_key (`jrr serve certificate` makes them).
    """
    _run("party", **options)  # type: ignore[arg-type]


for server_command in (dealer, collector, party):
    _options(server_command, PORTS[str(server_command.name)])
