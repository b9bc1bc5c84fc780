"""`jrr survey show`: counts, and results so far."""

from typing import TYPE_CHECKING, Any

import click

from jrr._base import checks
from jrr._base.wording import counted
from jrr.cli.estimates import print_estimate
from jrr.cli.options import (
    console,
    interval_options,
    json_option,
    print_json,
    simultaneous_option,
)
from jrr.cli.progress import waiting
from jrr.cli.survey.shared import UNPROTECTED, operator_of, operator_options, say_servers
from jrr.estimation.estimates import Population

if TYPE_CHECKING:
    from rich.console import Console


@click.command()
@operator_options
@click.option("--level", type=float, default=0.95, show_default=True, help="Of the interval.")
@simultaneous_option
@interval_options
@click.option("--by", help="An open question: one estimate for each of its answers.")
@json_option
def show(
    level: float,
    simultaneous: bool,
    population: Population,
    population_size: int | None,
    by: str | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Counts at the servers, and the results so far."""
    from jrr.client.operator import EstimateWish

    wish = EstimateWish(
        level=checks.level(level),
        by=by,
        simultaneous=simultaneous,
        population=population,
        population_size=population_size,
    )
    operator = operator_of(**options)
    survey = operator.survey
    with waiting("asking the servers"):
        servers = operator.show()
        found = {} if operator.collector is None else operator.estimates(wish)
    if as_json:
        print_json({"survey": survey.hash} | servers | {"estimates": found})
        return
    say_servers(False, survey, servers)
    screen = console()
    if not survey.invitations:
        screen.print(UNPROTECTED, style="bold")
    for question in survey.sensitive:
        if question.name in found:
            screen.print(f"\n{question.name}: {question.text}")
            _print_result(screen, found[question.name], level)


def _print_result(screen: "Console", facts: dict[str, Any], level: float) -> None:
    reason = next((facts[kind] for kind in ("waits", "too_few", "refused") if kind in facts), None)
    if reason is None:
        print_estimate(screen, facts, level)
    else:
        screen.print(f"{counted(facts['reports'], 'report', 'reports')}, no result: {reason}")
