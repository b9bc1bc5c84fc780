"""`jrr plan explain`: what to tell contributors, an ethics board, and oneself."""

from typing import Any

import click
from rich.text import Text

from jrr.cli.costs import costs_table
from jrr.cli.options import delta_option, make_plan, survey_options, view_option
from jrr.cli.output import json_option, show
from jrr.cli.progress import waiting
from jrr.reporting.explain import adversaries, consent, contributor_text, costs_of_plan


@click.command()
@survey_options
@click.option(
    "--question",
    default="the question",
    show_default=False,
    help="The question, for the consent text.",
)
@view_option
@delta_option
@json_option
def explain(question: str, delta: float, **survey: Any) -> None:
    """Say in plain words what a survey does to its contributors.

    What a contributor should be told, what each adversary can learn, and a paragraph for an
    ethics board. Takes the options of `jrr plan`.

    \b
    jrr plan explain -n 10000 -e 1 --question "whether they have taken bribes"
    """  # noqa: D301 - click reads the \b
    plan = make_plan(**survey, delta=delta)
    with waiting("reckoning what can be learnt"):
        rows = adversaries(plan, delta)
    told, costs = contributor_text(plan, delta), costs_of_plan(plan, delta)
    paragraph = consent(plan, question, delta)
    show(
        {
            "mechanism": plan.mechanism.to_dict(),
            "dealer_capped": plan.request.dealer_epsilon is not None,
            "contributor": told,
            "learnt": costs.to_dict(),
            "adversaries": [vars(row) for row in rows],
            "consent": paragraph,
        },
        Text("What a contributor should be told", style="bold"),
        told,
        Text("\nWhat each adversary can learn", style="bold"),
        *(f"• {row.view}: {row.sentence}" for row in rows),
        costs_table(costs),
        Text("\nFor an ethics board", style="bold"),
        paragraph,
    )
