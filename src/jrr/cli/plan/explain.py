"""`jrr plan explain`: what to tell contributors, and oneself; `rounds`: what every round costs."""

from typing import Any

import click
import numpy as np
from rich.text import Text

from jrr._base.wording import show_epsilon
from jrr.cli.costs import costs_table
from jrr.cli.options import delta_option, make_plan, survey_options, view_option
from jrr.cli.output import json_option, make_table, show
from jrr.cli.progress import waiting
from jrr.cli.values import COUNT
from jrr.mechanisms.rr import RR
from jrr.reporting.explain import adversaries, consent, contributor_text, costs_of_plan
from jrr.telemetry.longitudinal import VIEWS, Longitudinal


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


IN_WORDS = {
    "value": "a value that never changes",
    "values": "two values, when it changed is known",
    "history": "everything, also when it changed",
    "round": "one round, all others known",
}


@click.command()
@survey_options
@click.option("--rounds", "-T", type=COUNT, default=365, help="How many rounds.")
@click.option(
    "--permanent",
    type=float,
    help="ε of a permanent response that devices remember; without it nothing is remembered.",
)
@click.option("--yes", type=float, default=0.1, help="Share that errors are at.")
@json_option
def rounds(rounds: int, permanent: float | None, yes: float, **survey: Any) -> None:
    """What all rounds together cost, if the same people report in every one of them.

    -e is the ε of a round: of the permanent response where devices remember one, otherwise of the
    answer. A dealer alone sees no reports and learns nothing.

    \b
    jrr plan rounds -n 20000 --rounds 365 -e 1 --permanent 2
    """  # noqa: D301 - click reads the \b
    plan = make_plan(**survey)
    remembered = None if permanent is None else RR(plan.mechanism.k, epsilon=permanent)
    daily = Longitudinal(plan.mechanism, remembered)
    colluders = plan.request.colluders
    found = daily.guarantees(rounds, colluders if plan.mechanism.deals else 0)
    n, k = plan.request.n, daily.k
    shares = np.full(k, (1 - yes) / (k - 1))
    shares[1] = yes
    error = float(np.sqrt(daily.moments.variance(shares * n, n, 1)[1])) / n
    told = "nothing is remembered" if permanent is None else f"remembered at ε = {permanent:g}"
    show(
        daily.to_dict() | {"rounds": rounds, "epsilon": found, "stderr": error, "share": yes},
        f"{plan.mechanism.brief()}, {rounds:,} rounds, {told}\n",
        make_table(
            ("what is secret", *VIEWS),
            (
                (IN_WORDS[secret], *(show_epsilon(by_view[view]) for view in VIEWS))
                for secret, by_view in found.items()
            ),
            title="ε of all rounds together",
        ),
        "report: one report a round; cards: and those of colluders; everything: all reports and "
        "everybody else's answer; dealer: dealer and collector together. No δ.",
        f"Standard error of one round at {100 * yes:g}%: {100 * error:.3g} points.",
    )
