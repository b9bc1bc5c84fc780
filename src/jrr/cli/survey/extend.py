"""`jrr survey extend`: answers are taken longer than the document says."""

from typing import Any

import click

from jrr.cli.output import json_option, show
from jrr.cli.survey.shared import operator_of, operator_options


@click.command()
@operator_options
@click.argument("closes")
@json_option
def extend(closes: str, **options: Any) -> None:
    """Take answers until a later time, CLOSES, in UTC as 2026-01-31T12:00:00Z.

    At every server whose token is given; each keeps its own time, so the dealer has to be told,
    too: after its time nobody gets a card. People are shown both times.
    """
    operator = operator_of(**options)
    found = operator.extend(closes)
    show(
        {"survey": operator.survey.hash, "closes": found},
        *(f"{server}: answers are taken until {when}" for server, when in found.items()),
    )
