"""`jrr survey deal`: enrolment ends, cards are dealt."""

from typing import Any

import click

from jrr.cli.output import json_option, show
from jrr.cli.progress import waiting
from jrr.cli.survey.shared import operator_of, operator_options


@click.command()
@operator_options
@click.option(
    "--patience",
    type=float,
    default=60.0,
    show_default=True,
    help="Seconds that a step of a committee may take.",
)
@click.option(
    "--join",
    type=float,
    default=60.0,
    show_default=True,
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
