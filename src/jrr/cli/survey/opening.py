"""`jrr survey open`: the servers take a survey."""

from typing import Any

import click

from jrr.cli.counts import COUNT
from jrr.cli.options import json_option
from jrr.cli.survey.shared import operator_of, operator_options, say_servers


@click.command("open")
@operator_options
@click.option("-n", "n", type=COUNT, help="People dealt to: for a collector after enrolment.")
@json_option
def open_survey(n: int | None, as_json: bool, **options: Any) -> None:
    """Give the document to the servers and open it.

    Where people enrol first, enrolment is opened.
    """
    operator = operator_of(**options)
    operator.install()
    say_servers(as_json, operator.survey, operator.open(n))
