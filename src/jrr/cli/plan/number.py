"""`jrr plan number`: a question about a number, of which the mean is estimated."""

import math
from collections.abc import Callable
from typing import Any

import click

from jrr._base.wording import percentage_points, show_epsilon
from jrr.cli.costs import costs_table
from jrr.cli.options import (
    card_options,
    delta_option,
    guarantee_options,
    make_number_plan,
    make_plan,
    number_options,
    population_options,
    survey_options,
    view_option,
)
from jrr.cli.output import json_option, make_table, show
from jrr.cli.progress import waiting
from jrr.errors import JrrError
from jrr.estimation.estimates import Population, sampling_of
from jrr.planning.effects import Scale, power_of_effect, required_n_for_effect
from jrr.planning.numbers import NUMBER_WORDS, NumberPlan
from jrr.planning.plans import Plan
from jrr.planning.required import check_margin, required_epsilon, required_n
from jrr.privacy.cost_table import CostTable, cost_row, same_in_every_wave


@click.command()
@click.argument("margin", type=float)
@survey_options
@population_options
@json_option
def margin(
    margin: float, population: Population, population_size: int | None, **survey: Any
) -> None:
    """Say how many people, or which ε, give a wanted margin.

    MARGIN is half a 95% interval of a share, such as 0.02 for ±2 percentage points. People are
    sought at the ε that is given, and an ε with as many people as are given.

    \b
    jrr plan margin 0.02 -n 2000 -e 1
    jrr plan margin 0.02 -n 2000 -e 1 --population sample --population-size 20000
    """  # noqa: D301 - click reads the \b
    wanted = check_margin(margin)
    chosen_plan = make_plan(**survey)
    request = chosen_plan.request
    sampling_of(population, request.n, population_size)  # refused before the search
    whom = {"population": population, "population_size": population_size}
    with waiting("looking for how many people, and which ε"):
        reach = _reach(chosen_plan, wanted, survey["mechanism"], whom)
    needed, epsilon = reach["required_n"], reach["required_epsilon"]
    points = percentage_points(f"{100 * wanted:g}")
    asked = {"n": request.n, "epsilon": request.epsilon, "k": request.k}
    show(
        asked | {"mechanism": chosen_plan.mechanism.to_dict()} | reach,
        f"For ±{points} (95%{of_whom(population, population_size)}): "
        f"{f'{needed:,} people' if needed else 'no number of people'} at ε = {request.epsilon:g}, "
        f"or {f'ε = {show_epsilon(epsilon)}' if epsilon else 'no ε'} with {request.n:,} people.",
    )


def _reach(
    chosen_plan: Plan, margin: float, mechanism: str, whom: dict[str, Any]
) -> dict[str, Any]:
    """How many people at this ε, or which ε with this many people; None where none is enough."""
    r, wish = chosen_plan.request, _wish(chosen_plan, mechanism)
    wish |= {**whom, "frequency": r.frequency}
    people = _or_none(required_n, margin, r.epsilon, **wish)
    cap = wish.pop("dealer_epsilon")  # where ε is sought the cap moves along
    moving = {"dealer_epsilon": cap} if cap == math.inf else {"dealer_above": cap - r.epsilon}
    epsilon = _or_none(required_epsilon, margin, r.n, **moving, **wish)
    return {"margin": margin, "required_n": people, "required_epsilon": epsilon} | whom


def _wish(chosen_plan: Plan, mechanism: str) -> dict[str, Any]:
    """What was asked of the plan but n and ε, as searches take it."""
    r = chosen_plan.request
    cap = math.inf if r.dealer_epsilon is None else r.dealer_epsilon
    wish = {"k": r.k, "mechanism": mechanism, "colluders": r.colluders, "dealer_epsilon": cap}
    return wish | {"lost": r.lost, "announced": r.announced}


def of_whom(population: str, size: int | None) -> str:
    """Of whom a margin speaks, where that is not those who answer."""
    if population == "respondents":
        return ""
    return f", for a population{'' if size is None else f' of {size:,}'} drawn from at random"


def _or_none(search: Callable[..., float], *wanted: float, **wish: Any) -> float | None:
    try:
        return search(*wanted, **wish)
    except JrrError:
        return None


_SCALES: tuple[Scale, ...] = ("difference", "log odds")


@click.command()
@click.argument("first", type=float)
@click.argument("second", type=float)
@click.option("--share", type=float, default=0.5, help="Of the people, in the second group.")
@click.option("--power", type=float, default=0.8, help="How often it is found.")
@click.option(
    "--explained",
    type=float,
    default=0.0,
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
    chosen_plan = make_plan(**survey)
    r, wish = chosen_plan.request, _wish(chosen_plan, survey["mechanism"])
    wish |= {"share": share, "explained": explained}
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


VIEWS = ("report", "cards", "everything", "dealer")


@click.command(
    help=f"""Choose a mechanism for the mean of a number.

    --mechanism also takes {" and ".join(NUMBER_WORDS)} here.

    \b
    jrr plan number --range 0:100 --mean 45 --sd 15 -n 10000 -e 1
    """
)
@number_options
@guarantee_options
@card_options
@population_options
@delta_option
@view_option
@json_option
def number(population: Population, population_size: int | None, **survey: Any) -> None:
    """Choose a mechanism for the mean of a number."""
    plan = make_number_plan(**survey)
    whom: dict[str, Any] = {"population": population, "population_size": population_size}
    rows = [
        (row, row.question.mechanism, _losses(plan, row.question.mechanism))
        for row in sorted(plan.compare(), key=lambda row: -row.stderr)
    ]
    error, learnt = plan.stderr(**whom), _learnt(plan)
    request, question = plan.request, plan.question
    chosen = [at for at, (_, m, _) in enumerate(rows) if m == plan.mechanism]
    cells = [
        (
            f"{row.name} (chosen)" if at in chosen else row.name,
            "yes or no" if m.steps == 1 else f"in {m.steps} steps",
            f"{row.stderr:.4g}",
            *(show_epsilon(losses[view]) for view in VIEWS),
        )
        for at, (row, m, losses) in enumerate(rows)
    ]
    show(
        {
            **plan.to_dict(),
            "learnt": learnt.to_dict(),
            "stderr": error,
            "compare": [
                {
                    "name": row.name,
                    "mechanism": m.to_dict(),
                    "stderr": row.stderr,
                    "epsilon": losses,
                }
                for row, m, losses in rows
            ],
            **whom,
        },
        f"Mean of a number in {question.low:g}..{question.high:g}, {request.n:,} people, "
        f"ε = {request.epsilon:g} in the view {'cards' if plan.delta is None else 'everything'}, "
        f"{request.colluders} colluders\n",
        make_table(
            ("", "told", "error", "ε: report", *VIEWS[1:]),
            cells,
            title="Standard error of the mean of those who answer",
            left=2,
            bold=chosen,
        ),
        "everything: a collector that has all reports and knows everybody else's number; "
        + ("without a δ." if not plan.delta else f"δ = {plan.delta:g}."),
        f"\nChosen: {plan.mechanism.brief()}",
        costs_table(learnt),
        "Expected standard error"
        f"{of_whom(population, population_size) or ', for the people who answer'}: {error:.4g}.",
    )


def _learnt(plan: NumberPlan) -> CostTable:
    """What one answer can tell, and whom."""
    mechanism, losses = plan.mechanism, _losses(plan, plan.mechanism)
    if mechanism.deals:
        delta = 0.0 if mechanism.pure else plan.delta or 0.0
        row = cost_row(losses["everything"], delta, "everything", losses["dealer"])
    else:
        row = cost_row(losses["report"], 0.0, "report", None)
    return same_in_every_wave(row, row, questions=1)


def _losses(plan: NumberPlan, mechanism: Any) -> dict[str, float]:
    colluders = plan.request.colluders if mechanism.deals else 0
    losses: dict[str, float] = mechanism.guarantees(colluders)
    everything = mechanism.epsilon("everything", colluders, delta=plan.delta or 0.0)
    return losses | {"everything": everything}
