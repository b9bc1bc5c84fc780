"""`jrr file convert`: the same reports in another format."""

from pathlib import Path

import click

from jrr.cli.file.shared import force_option, out_option
from jrr.cli.output import json_option, show
from jrr.cli.values import FILE


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
