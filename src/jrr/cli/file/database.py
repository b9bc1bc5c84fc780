"""`jrr file database`: estimates of what lies in a collector's database."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from jrr.cli.file.shared import (
    by_option,
    decks_option,
    force_results_option,
    min_cell_option,
    results_options,
)
from jrr.cli.file.shown import Showing, show_several
from jrr.cli.options import interval_options
from jrr.cli.output import json_option
from jrr.cli.progress import bar
from jrr.errors import ArgumentError

if TYPE_CHECKING:
    from jrr.tables import Result


@click.command()
@click.argument("addresses", nargs=-1, required=True)
@click.option(
    "--survey",
    "surveys",
    multiple=True,
    help="Hash of a survey, or its beginning.  [default: all that are closed]",
)
@by_option
@interval_options
@min_cell_option
@decks_option
@results_options
@force_results_option
@json_option
def database(
    *,
    addresses: tuple[str, ...],
    surveys: tuple[str, ...],
    level: float,
    simultaneous: bool,
    top: int,
    out: Path | None,
    force: bool,
    **options: Any,
) -> None:
    """Estimate the closed surveys in a collector's PostgreSQL database.

    The database counts the reports; nothing but counts leaves it.

    \b
    jrr file database postgresql://reader@host/collector --json
    """  # noqa: D301 - click reads the \b
    from jrr.servers.collector.stored_reports import open_stored
    from jrr.tables.engines.postgres import PostgreSQL
    from jrr.tables.estimating import estimate_opened
    from jrr.tables.result import check_results_file

    if out is not None:
        check_results_file(out, force)  # before anything is counted
    engine = PostgreSQL()
    found: dict[str, Result] = {}
    with bar("counting") as progress:
        for address in addresses:
            for one in open_stored(address, engine, surveys):
                name = (
                    one.survey[:12] if one.questions == 1 else f"{one.survey[:12]}: {one.question}"
                )
                found[name] = estimate_opened(
                    one.files, **options, engine=engine, progress=progress
                )
    if not found:
        raise ArgumentError("database must hold a closed survey, got one without any")
    show_several(found, Showing(level=level, top=top, simultaneous=simultaneous), out)
