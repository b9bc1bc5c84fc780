"""`jrr file shuffle`: reports in random order."""

from pathlib import Path

import click

from jrr.cli.file.shared import force_option, out_option, seed_option
from jrr.cli.options import seeded
from jrr.cli.output import json_option, show
from jrr.cli.progress import bar
from jrr.cli.values import FILE


@click.command()
@click.argument("reports", type=FILE, nargs=-1, required=True)
@out_option
@seed_option
@force_option
@json_option
def shuffle(reports: tuple[Path, ...], out: Path, seed: int | None, force: bool) -> None:
    """Put reports of one or several files into one file in uniformly random order.

    Every column but the report itself, and whether a card was held, is dropped. Sealed reports
    stay sealed: the shuffler cannot read them.

    \b
    jrr file shuffle monday.parquet tuesday.parquet -o shuffled.parquet
    """  # noqa: D301 - click reads the \b
    from jrr import tables

    with bar("shuffling") as progress:
        header, rows = tables.shuffle(
            list(reports), out, rng=seeded(seed), force=force, progress=progress
        )
    show(
        {"out": str(out), "reports": rows, "mechanism": header.mechanism.to_dict()},
        f"{rows:,} reports in random order in {out}",
    )
