"""`jrr survey ethics`, `export` and `report`: what is written of a survey."""

from pathlib import Path
from typing import Any

import click

from jrr._base import checks
from jrr._base.files import write_whole
from jrr.cli.options import interval_options
from jrr.cli.output import json_option, show, unwrapped, wants_json
from jrr.cli.progress import waiting
from jrr.cli.survey.shared import operator_of, operator_options, read_survey_file
from jrr.cli.values import FILE
from jrr.errors import ArgumentError


@click.command()
@click.argument("file", type=FILE)
@click.option("-o", "--out", type=FILE, required=True, help="A page (.html) or Markdown (.md).")
@click.option("--language", help="As en or de.  [default: the first one of the survey]")
@click.option("--force", is_flag=True, help="Overwrite an existing file.")
@json_option
def ethics(file: Path, out: Path, language: str | None, force: bool) -> None:
    """Write the document for an ethics board or a data protection officer.

    Purpose, what is asked, what is stored where and how long, what each party can learn, withdrawal
    and deletion, and the words that people agree to. It follows from the survey's document: no
    server is asked, so that it can be handed in before anything is open.

    \b
    jrr survey ethics survey.json -o ethics.html
    jrr survey ethics survey.json -o ethik.md --language de
    """  # noqa: D301 - click reads the \b
    from jrr.survey.ethics import ethics_document

    if out.suffix not in (".html", ".md"):
        raise checks.refusal("out", str(out), "a name that ends in .html or .md")
    if out.exists() and not force:
        raise checks.refusal("out", str(out), "a file that does not exist yet (or give --force)")
    document = ethics_document(read_survey_file(file), language)
    write_whole(out, document.markdown() if out.suffix == ".md" else document.page())
    sections = [section.title for section in document.sections]
    show({"file": str(out), "sections": sections}, unwrapped(f"Ethics and data protection: {out}"))


@click.command()
@operator_options
@click.option("-o", "--out", type=FILE, required=True, help="A .parquet or .csv file.")
@click.option("--language", help="Of the codebook.  [default: the first one of the survey]")
@click.option("--force", is_flag=True, help="Overwrite existing files.")
@json_option
def export(out: Path, language: str | None, force: bool, **options: Any) -> None:
    """Write all answers as a table, with a codebook and an R script.

    A row per person, for `jrr file estimate` (.parquet) and other programs; beside it a codebook
    (OUT.codebook.csv and .json) and an R script that estimates from it (OUT.R).
    """
    from jrr.client.export import check_export_files, export_survey

    check_export_files(out, force)  # before anybody is asked for a token
    operator = operator_of(**options)
    survey = operator.survey
    with waiting("fetching the answers"):
        files = export_survey(operator, out, language=language, force=force)
        settled = not survey.announces or operator.at_collector().get(operator.path)["settled"]
    lines = [
        unwrapped(f"Answers: {files['answers']}"),
        unwrapped(f"What the columns are: {files['codebook']} and {files['codebook_json']}"),
        unwrapped(f"Estimates in R: {files['r']}"),
    ]
    if not settled:
        lines.append(
            "Cards are still in these reports and hide everything: export again after jrr survey "
            "close, when dealers have announced their sums."
        )
    show({"survey": survey.hash, "file": files["answers"]} | files, *lines)


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
