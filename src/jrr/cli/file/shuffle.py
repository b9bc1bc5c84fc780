"""`jrr file shuffle`: reports in random order."""

from pathlib import Path

import click

from jrr.cli.file.shared import FILE, force_option, seed_option, seeded
from jrr.cli.options import console, json_option, print_json
from jrr.cli.progress import bar


@click.command()
@click.argument("reports", type=FILE, nargs=-1, required=True)
@click.option("-o", "--out", type=FILE, required=True, help="Parquet, Arrow or CSV file.")
@seed_option
@force_option
@json_option
def shuffle(
    *, reports: tuple[Path, ...], out: Path, seed: int | None, force: bool, as_json: bool
) -> None:
    """Put reports of one or several files into one file in uniformly random order.

    Every column but the report itself, and whether a card was held, is dropped. Sealed reports
    stay sealed: the shuffler cannot read them.

    \b
    jrr file shuffle monday.parquet tuesday.parquet -o shuffled.parquet
    """  # noqa: D301 - click reads the \b
    from jrr import tables

    with bar("shuffling", as_json) as progress:
        header, rows = tables.shuffle(
            list(reports), out, rng=seeded(seed), force=force, progress=progress
        )
    if as_json:
        print_json({"out": str(out), "reports": rows, "mechanism": header.mechanism.to_dict()})
        return
    console().print(f"{rows:,} reports in random order in {out}")
