"""`jrr file shuffle`, `convert` and `keys`: reports as they are, in another order or form."""

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


@click.command()
@click.argument("reports", type=FILE)
@out_option
@force_option
@json_option
def convert(reports: Path, out: Path, force: bool) -> None:
    """Write a file of reports in another format.

    The same reports in the same order, with all their columns. In CSV, and from it, columns
    other than the report become texts.

    \b
    jrr file convert reports.parquet -o reports.csv
    jrr file convert reports.jsonl -o reports.parquet
    """  # noqa: D301 - click reads the \b
    from jrr import Mechanism, tables

    asked = tables.convert(reports, out, force=force).asked
    name = asked.brief() if isinstance(asked, Mechanism) else type(asked).__name__
    show({"out": str(out), "mechanism": asked.to_dict()}, f"{out}: {name}")


@click.command()
@click.argument("name", type=click.Path(path_type=Path))
@force_option
@json_option
def keys(name: Path, force: bool) -> None:
    """Make the collector's keys: NAME.key (secret) and NAME.pub, for sealed reports."""
    from jrr.tables import seal

    private, public = seal.make_keys(name, force)
    show(
        {"private": str(private), "public": str(public)},
        f"{public}: give it to contributors. {private}: keep it secret.",
    )
