"""`jrr plan number`: a question about a number, of which the mean is estimated."""

from typing import Any

import click
from rich.table import Table

from jrr._base.wording import show_epsilon
from jrr.cli.costs import print_costs
from jrr.cli.options import (
    card_options,
    console,
    delta_option,
    guarantee_options,
    interval_options,
    json_option,
    make_number_plan,
    number_options,
    print_json,
    view_option,
)
from jrr.estimation.estimates import Population
from jrr.planning.numbers import NUMBER_WORDS, NumberPlan
from jrr.privacy.views import PlanView
from jrr.privacy.cost_table import CostTable, cost_row, same_in_every_wave


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
@interval_options
@delta_option
@view_option
@json_option
def number(
    ends: tuple[float, float],
    population: Population,
    population_size: int | None,
    delta: float,
    view: PlanView,
    as_json: bool,
    **survey: Any,
) -> None:
    """Choose a mechanism for the mean of a number."""
    plan = make_number_plan(ends, view=view, delta=delta, **survey)
    whom = {"population": population, "population_size": population_size}
    _show(plan, whom, as_json=as_json)


def _show(plan: NumberPlan, whom: dict[str, Any], *, as_json: bool) -> None:
    """Print a plan for the mean of a number, beside the other ways to ask."""
    rows = sorted(plan.compare(), key=lambda row: -row.stderr)
    error = plan.stderr(**whom)
    if as_json:
        compared = [
            {
                "name": row.name,
                "mechanism": row.question.mechanism.to_dict(),
                "stderr": row.stderr,
                "epsilon": _losses(plan, row.question.mechanism),
            }
            for row in rows
        ]
        learnt = {"learnt": _learnt(plan).to_dict()}
        print_json(plan.to_dict() | learnt | {"stderr": error, "compare": compared} | whom)
        return
    request, question, screen = plan.request, plan.question, console()
    screen.print(
        f"Mean of a number in {question.low:g}..{question.high:g}, {request.n:,} people, "
        f"ε = {request.epsilon:g} in the view {'cards' if plan.delta is None else 'everything'}, "
        f"{request.colluders} colluders\n"
    )
    table = Table(title="Standard error of the mean of those who answer", title_justify="left")
    headings = ("", "told", "error", "ε: report", "cards", "everything", "dealer")
    for heading in headings:
        table.add_column(heading, justify="left" if heading in ("", "told") else "right")
    for row in rows:
        m = row.question.mechanism
        chosen = m == plan.mechanism
        told = "yes or no" if m.steps == 1 else f"in {m.steps} steps"
        losses = _losses(plan, m)
        table.add_row(
            f"{row.name} (chosen)" if chosen else row.name,
            told,
            f"{row.stderr:.4g}",
            *(show_epsilon(losses[view]) for view in ("report", "cards", "everything", "dealer")),
            style="bold" if chosen else None,
        )
    screen.print(table)
    screen.print(
        "everything: a collector that has all reports and knows everybody else's number; "
        + ("without a δ." if not plan.delta else f"δ = {plan.delta:g}.")
    )
    screen.print(f"\nChosen: {plan.mechanism.brief()}")
    print_costs(screen, _learnt(plan))
    screen.print(f"Expected standard error{_of_whom(whom)}: {error:.4g}.")


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


def _of_whom(whom: dict[str, Any]) -> str:
    if whom["population"] == "respondents":
        return ", for the people who answer"
    size = whom["population_size"]
    return f", for a population{'' if size is None else f' of {size:,}'} drawn from at random"
