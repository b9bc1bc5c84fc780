"""`jrr plan effect`: how likely a difference, or a coefficient, is found."""

from typing import Any

import click

from jrr.cli.options import make_plan, survey_options
from jrr.cli.output import json_option, show
from jrr.cli.progress import waiting
from jrr.planning.effects import Scale, power_of_effect, required_n_for_effect

_SCALES: tuple[Scale, ...] = ("difference", "log odds")


@click.command()
@click.argument("first", type=float)
@click.argument("second", type=float)
@click.option(
    "--share",
    type=float,
    default=0.5,
    show_default=True,
    help="Of the people, in the second group.",
)
@click.option("--power", type=float, default=0.8, show_default=True, help="How often it is found.")
@click.option(
    "--explained",
    type=float,
    default=0.0,
    show_default=True,
    help="Of being in the second group, what other covariates of a regression explain (R²).",
)
@survey_options
@json_option
def effect(
    first: float, second: float, share: float, power: float, explained: float, **survey: Any
) -> None:
    """Say how likely an effect is found, and how many people it takes.

    FIRST and SECOND are the shares of yes in two groups, such as 0.2 and 0.26: their difference,
    and the coefficient of a logistic regression on who is in the second group. Masked answers are
    compared through a sum for each group.

    \b
    jrr plan effect 0.2 0.26 -n 2000 -e 1
    """  # noqa: D301 - click reads the \b
    r = make_plan(**survey).request
    wish: dict[str, Any] = {"share": share, "explained": explained, "k": r.k, "lost": r.lost}
    wish |= {"colluders": r.colluders, "dealer_epsilon": r.dealer_epsilon}
    wish |= {"mechanism": survey["mechanism"], "announced": r.announced}
    facts: dict[str, Any] = {"n": r.n, "epsilon": r.epsilon, "first": first, "second": second}
    lines = []
    with waiting("looking for how many people"):
        for scale in _SCALES:
            found = power_of_effect(r.n, r.epsilon, first, second, scale=scale, **wish)
            needed = required_n_for_effect(
                r.epsilon, first, second, power=power, scale=scale, **wish
            )
            facts[scale] = {"power": found, "required_n": needed}
            lines.append(
                f"{scale}: found with {r.n:,} people in {100 * found:.0f}% of surveys; "
                f"{100 * power:g}% takes {needed:,} people"
            )
    show(facts, *lines)
