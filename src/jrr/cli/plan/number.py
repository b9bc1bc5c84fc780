"""`jrr plan number`: a question about a number, of which the mean is estimated."""

from typing import Any

import click

from jrr._base.wording import show_epsilon
from jrr.cli.costs import costs_table
from jrr.cli.options import (
    card_options,
    delta_option,
    guarantee_options,
    make_number_plan,
    number_options,
    population_options,
    view_option,
)
from jrr.cli.output import json_option, make_table, show
from jrr.cli.plan.margin import of_whom
from jrr.estimation.estimates import Population
from jrr.planning.numbers import NUMBER_WORDS, NumberPlan
from jrr.privacy.cost_table import CostTable, cost_row, same_in_every_wave

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
