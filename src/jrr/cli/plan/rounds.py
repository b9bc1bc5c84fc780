"""`jrr plan rounds`: what it costs if the same people report every time, and how accurate it is."""

from typing import Any

import click
import numpy as np

from jrr._base.wording import show_epsilon
from jrr.cli.options import make_plan, survey_options
from jrr.cli.output import json_option, make_table, show
from jrr.cli.values import COUNT
from jrr.mechanisms.rr import RR
from jrr.telemetry.longitudinal import VIEWS, Longitudinal

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
