"""Means of numbers on the screen: plans and results."""

import math
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table

from jrr._base.wording import show_epsilon
from jrr.cli.costs import print_costs
from jrr.cli.options import console, print_json
from jrr.estimation.groups import HIDDEN_GROUP_REMARK
from jrr.planning.numbers import NumberPlan
from jrr.privacy.cost_table import CostTable, cost_row, same_in_every_wave
from jrr.reporting.intervals import intervals_in_words, weights_in_words

if TYPE_CHECKING:
    from jrr.tables import Result

PAIRS = 45  # differences shown on a screen: those of ten groups


def show_number_plan(plan: NumberPlan, whom: dict[str, Any], *, as_json: bool) -> None:
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


def show_means(screen: Console, result: "Result", level: float) -> None:
    """Print the means of everybody and of groups, with differences."""
    means, groups = result.means(), result.groups
    table = Table()
    for heading in ("", "mean", "standard error", f"{100 * level:g}% interval", "sum", "reports"):
        table.add_column(heading, justify="left" if heading == "" else "right")
    for name, mean in means.items():
        low, high = mean.interval(level)
        total = "" if math.isnan(mean.sum) else _with_error(mean.sum, mean.sum_stderr)
        table.add_row(
            name or "everybody",
            f"{mean.mean:.5g}",
            f"±{mean.stderr:.3g}",
            f"{low:.5g} to {high:.5g}",
            total,
            f"{mean.n:,}",
        )
    screen.print(table)
    everybody = means[""]
    screen.print(intervals_in_words(everybody.share, level, simultaneous=False))
    screen.print(
        f"The number lies in {everybody.low:g}..{everybody.high:g}; what rounding and differences "
        "between people can add at most is counted, so that errors may be smaller than shown."
    )
    if everybody.share.effective_n < (1 - 1e-9) * everybody.n:
        screen.print(weights_in_words(everybody.share))
    if groups.hidden:
        words = "1 group has" if groups.hidden == 1 else f"{groups.hidden} groups have"
        screen.print(
            f"{words} fewer than {groups.min_cell} reports: not shown (--min-cell). "
            f"{HIDDEN_GROUP_REMARK}"
        )
    _show_differences(screen, result, level)


def _with_error(number: float, error: float) -> str:
    """Both to the digits that the error leaves."""
    digits = max(0, 1 - math.floor(math.log10(error))) if error > 0 else 2
    return f"{number:,.{digits}f} ±{error:,.{digits}f}"


def _show_differences(screen: Console, result: "Result", level: float) -> None:
    groups = result.groups
    if len(groups) < 2:
        return
    if len(groups) * (len(groups) - 1) // 2 > PAIRS:
        screen.print("Differences between groups: too many for a screen, see --json.")
        return
    table = Table(title="Differences between groups", title_justify="left")
    for heading in ("groups", "difference", f"{100 * level:g}% interval"):
        table.add_column(heading, justify="left" if heading == "groups" else "right")
    for first, second, gap in result.mean_differences():
        low, high = gap.interval(level)
        table.add_row(f"{first} - {second}", f"{gap.difference:+.4g}", f"{low:+.4g} to {high:+.4g}")
    screen.print(table)
