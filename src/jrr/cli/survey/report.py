"""`jrr survey report`: the results of a survey as one page for people."""

from pathlib import Path
from typing import Any

import click

from jrr._base import checks
from jrr._base.files import write_whole
from jrr.cli.options import interval_options
from jrr.cli.output import json_option, show, unwrapped, wants_json
from jrr.cli.progress import waiting
from jrr.cli.survey.shared import operator_of, operator_options
from jrr.cli.values import FILE
from jrr.errors import ArgumentError


@click.command()
@operator_options
@click.option("-o", "--out", type=FILE, help="The page: an .html file.")
@click.option(
    "--language",
    help="Of headings and questions, as en or de.  [default: the first one of the survey]",
)
@interval_options
@click.option("--force", is_flag=True, help="Overwrite an existing file.")
@json_option
def report(out: Path | None, force: bool, **options: Any) -> None:
    """Write the results as one page for people: pictures, groups, method, guarantee, limits.

    The page is a single file that needs no network and prints well. With the dealer's token it
    also says how many cards were lost. --json prints the facts that it is made of.

    \b
    jrr survey report survey.json -o report.html
    jrr survey report survey.json -o bericht.html --language de --level 0.9
    """  # noqa: D301 - click reads the \b
    if out is None and not wants_json():
        raise ArgumentError("out must be given: -o report.html (or --json for the facts alone)")
    if out is not None and out.suffix not in (".html", ".htm"):
        raise checks.refusal("out", str(out), "a name that ends in .html")
    if out is not None and out.exists() and not force:
        raise checks.refusal("out", str(out), "a file that does not exist yet (or give --force)")
    from jrr.client.report import ReportWish, survey_report

    names = ("file", "dealer_token", "collector_token", "party_token", "ca")
    servers = {name: options.pop(name) for name in names}
    wish = ReportWish(**options)
    with waiting("asking the servers"):
        facts = survey_report(operator_of(**servers), wish)
    if out is not None:
        from jrr.reporting.report_page import report_page

        write_whole(out, report_page(facts))
    show(facts.to_dict(), unwrapped(f"Report: {out}"))
