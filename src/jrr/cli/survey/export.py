"""`jrr survey export`: all answers as files for other programs."""

from pathlib import Path
from typing import Any

import click

from jrr.cli.output import json_option, show, unwrapped
from jrr.cli.progress import waiting
from jrr.cli.survey.shared import operator_of, operator_options
from jrr.cli.values import FILE


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
