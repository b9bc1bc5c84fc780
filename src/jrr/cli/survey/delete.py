"""`jrr survey delete`: nothing is kept of a survey but its document."""

from typing import Any

import click

from jrr.cli.output import json_option, show
from jrr.cli.survey.shared import operator_of, operator_options, title_of
from jrr.errors import ArgumentError


@click.command()
@operator_options
@click.option("--yes", is_flag=True, help="Do not ask.")
@json_option
def delete(yes: bool, **options: Any) -> None:
    """Delete a survey's data at its servers, for good.

    Answers, results, invitations and seats go, at every server whose token is given. The document
    stays, with the time of deletion. A survey that takes answers has to be closed first.
    """
    operator = operator_of(**options)
    servers = " and ".join(operator.servers)
    if not servers:
        raise ArgumentError("a token must be given: JRR_COLLECTOR_TOKEN, JRR_DEALER_TOKEN")
    question = f"Delete all data of {title_of(operator.survey)!r} at {servers}, for good?"
    if not yes and not click.confirm(question, err=True):
        raise click.Abort
    found = operator.delete()
    show(
        {"survey": operator.survey.hash, "deleted": found},
        *(f"{server}: deleted at {when}" for server, when in found.items()),
    )
