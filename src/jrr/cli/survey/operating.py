"""`jrr survey open`, `deal`, `extend` and `delete`: what operators tell servers to do."""

from typing import Any

import click

from jrr.cli.output import json_option, show
from jrr.cli.progress import waiting
from jrr.cli.survey.shared import operator_of, operator_options, show_servers, title_of
from jrr.cli.values import COUNT
from jrr.errors import ArgumentError


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


@click.command()
@operator_options
@click.option(
    "--patience", type=float, default=60.0, help="Seconds that a step of a committee may take."
)
@click.option(
    "--join",
    type=float,
    default=60.0,
    help="Seconds that parties of a committee wait for one another.",
)
@click.option("--again", is_flag=True, help="Discard a deal that not all parties have.")
@json_option
def deal(patience: float, join: float, again: bool, **options: Any) -> None:
    """End enrolment and deal to exactly those who enrolled.

    A committee deals together: this acts on the parties whose tokens are given, and the operators
    of the others run the same command within --join seconds.
    """
    operator = operator_of(**options)
    with waiting("dealing"):
        n = operator.deal(patience, join, again)
    show({"survey": operator.survey.hash, "n": n}, f"Dealt to {n:,} people.")


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
