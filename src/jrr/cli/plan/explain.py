"""`jrr plan explain`: what to tell contributors, an ethics board, and oneself."""

from typing import Any

import click

from jrr.cli.costs import print_costs
from jrr.cli.options import (
    console,
    delta_option,
    json_option,
    make_plan,
    print_json,
    survey_options,
    view_option,
)
from jrr.cli.progress import waiting
from jrr.privacy.views import PlanView
from jrr.reporting.explain import adversaries, consent, contributor_text, costs_of_plan


@click.command()
@survey_options
@click.option("--question", default="the question", help="The question, for the consent text.")
@view_option
@delta_option
@json_option
def explain(question: str, view: PlanView, delta: float, as_json: bool, **survey: Any) -> None:
    """Say in plain words what a survey does to its contributors.

    What a contributor should be told, what each adversary can learn, and a paragraph for an
    ethics board. Takes the options of `jrr plan`.

    \b
    jrr plan explain -n 10000 -e 1 --question "whether they have taken bribes"
    """  # noqa: D301 - click reads the \b
    plan = make_plan(**survey, view=view, delta=delta)
    with waiting("reckoning what can be learnt"):
        rows = adversaries(plan, delta)
    if as_json:
        print_json(
            {
                "mechanism": plan.mechanism.to_dict(),
                "dealer_capped": plan.request.dealer_epsilon is not None,
                "contributor": contributor_text(plan, delta),
                "learnt": costs_of_plan(plan, delta).to_dict(),
                "adversaries": [vars(row) for row in rows],
                "consent": consent(plan, question, delta),
            }
        )
        return
    screen = console()
    screen.print("What a contributor should be told", style="bold")
    screen.print(contributor_text(plan, delta))
    screen.print("\nWhat each adversary can learn", style="bold")
    for row in rows:
        screen.print(f"• {row.view}: {row.sentence}")
    print_costs(screen, costs_of_plan(plan, delta))
    screen.print("\nFor an ethics board", style="bold")
    screen.print(consent(plan, question, delta))
