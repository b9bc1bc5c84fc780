"""`jrr file convert`: the same reports in another format."""

from pathlib import Path

import click

from jrr.cli.file.shared import FILE, force_option
from jrr.cli.options import console, json_option, print_json


@click.command()
@click.argument("reports", type=FILE)
@click.option("-o", "--out", type=FILE, required=True, help="Parquet, Arrow or CSV file.")
@force_option
@json_option
def convert(reports: Path, out: Path, force: bool, as_json: bool) -> None:
    """Write a file of reports in another format.

    The same reports in the same order, with all their columns. In CSV, and from it, columns
    other than the report become texts.

    \b
    jrr file convert reports.parquet -o reports.csv
    """  # noqa: D301 - click reads the \b
    from jrr import tables

    header = tables.convert(reports, out, force=force)
    if as_json:
        print_json({"out": str(out), "mechanism": header.mechanism.to_dict()})
        return
    console().print(f"{out}: {header.mechanism.brief()}")
