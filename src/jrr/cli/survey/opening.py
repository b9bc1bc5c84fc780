"""`jrr survey open`: the servers take a survey."""

from typing import Any

import click

from jrr.cli.output import json_option
from jrr.cli.survey.shared import operator_of, operator_options, show_servers
from jrr.cli.values import COUNT


@click.command("open")
@operator_options
@click.option("-n", "n", type=COUNT, help="People dealt to: for a collector after enrolment.")
@json_option
def open_survey(n: int | None, **options: Any) -> None:
    """Give the document to the servers and open it.

    Where people enrol first, enrolment is opened.
    """
    operator = operator_of(**options)
    operator.install()
    show_servers(operator.survey, operator.open(n))
