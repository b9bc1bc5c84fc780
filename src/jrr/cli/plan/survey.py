"""`jrr plan survey`: how exact every item of a questionnaire would be."""

from pathlib import Path

import click

from jrr.cli.counts import COUNT
from jrr.cli.options import closed_deck_option, json_option, lost_option
from jrr.cli.questionnaire import show_questionnaire_plan


@click.command()
@click.argument("questionnaire", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--people", type=COUNT, required=True, help="How many are invited.")
@click.option(
    "--response", type=float, default=1.0, show_default=True, help="Share of them who answer."
)
@click.option(
    "-e", "--epsilon", type=float, help="ε of all answers of a person.  [default: in the file]"
)
@click.option(
    "--dealer-epsilon",
    type=float,
    help="The same against dealer and collector together.  [default: epsilon + 2]",
)
@lost_option
@closed_deck_option
@json_option
def survey(
    questionnaire: Path,
    people: int,
    response: float,
    epsilon: float | None,
    dealer_epsilon: float | None,
    lost: float,
    closed_deck: bool,
    as_json: bool,
) -> None:
    """Say how exact every item of a questionnaire would be.

    QUESTIONNAIRE is a TOML file (docs/questionnaires.md).

    \b
    jrr plan survey survey.toml --people 2000 --response 0.6 -e 2
    """  # noqa: D301 - click reads the \b
    show_questionnaire_plan(
        questionnaire,
        people,
        as_json,
        response=response,
        epsilon=epsilon,
        dealer_epsilon=dealer_epsilon,
        lost=lost,
        announced=not closed_deck,
    )
