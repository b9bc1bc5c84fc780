"""`jrr file database`: estimates of what lies in a collector's database."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from jrr._base import checks
from jrr.cli.file.shared import (
    by_option,
    decks_option,
    force_results_option,
    level_option,
    min_cell_option,
    results_option,
    top_option,
)
from jrr.cli.file.shown import show_several
from jrr.cli.options import interval_options, json_option, simultaneous_option
from jrr.cli.progress import bar
from jrr.errors import ArgumentError

if TYPE_CHECKING:
    from jrr.tables import Result
    from jrr.tables.progress import Progress


@click.command()
@click.argument("addresses", nargs=-1, required=True)
@click.option(
    "--campaign",
    "campaigns",
    multiple=True,
    help="Hash of a campaign, or its beginning.  [default: all that are closed]",
)
@by_option
@level_option
@simultaneous_option
@interval_options
@min_cell_option
@decks_option
@top_option
@results_option
@force_results_option
@json_option
def database(
    *,
    addresses: tuple[str, ...],
    campaigns: tuple[str, ...],
    level: float,
    simultaneous: bool,
    top: int,
    out: Path | None,
    force: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Estimate the closed campaigns in a collector's PostgreSQL database.

    The database counts the reports; nothing but counts leaves it.

    \b
    jrr file database postgresql://reader@host/collector --json
    """  # noqa: D301 - click reads the \b
    level = checks.level(level)
    top = checks.integer("top", top, 1)
    if out is not None:
        from jrr.tables.estimating import check_results_file

        check_results_file(out, force)  # before anything is counted
    with bar("counting", as_json) as progress:
        found = _estimates(addresses, campaigns, options, progress)
    show_several(
        found,
        level,
        simultaneous=simultaneous,
        top=top,
        out=out,
        is_survey=False,
        as_json=as_json,
    )


def _estimates(
    addresses: tuple[str, ...],
    campaigns: tuple[str, ...],
    options: dict[str, Any],
    progress: "Progress",
) -> "dict[str, Result]":
    """Campaign -> its estimate."""
    from jrr.servers.collector.stored_reports import open_stored
    from jrr.tables.engines.postgres import PostgreSQL
    from jrr.tables.estimating import estimate_opened

    found: dict[str, Result] = {}
    engine = PostgreSQL()
    for address in addresses:
        for one in open_stored(address, engine, campaigns):
            found[one.name[:12]] = estimate_opened(
                one.files, **options, engine=engine, progress=progress
            )
    if not found:
        raise ArgumentError("database must hold a closed campaign, got one without any")
    return found
