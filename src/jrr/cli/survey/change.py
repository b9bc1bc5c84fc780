"""`jrr survey change`: what has changed since the wave before."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from jrr._base import checks
from jrr.cli.options import console, json_option, print_json, simultaneous_option
from jrr.cli.progress import waiting
from jrr.cli.survey.shared import FILE, operator_of, operator_options, read_survey_file
from jrr.estimation.estimates import POPULATIONS, Population

if TYPE_CHECKING:
    from rich.console import Console


@click.command()
@operator_options
@click.option("--since", type=FILE, required=True, help="The survey of the wave before.")
@click.option("--paired", is_flag=True, help="Only among those who answered both waves.")
@click.option("--level", type=float, default=0.95, show_default=True, help="Of the interval.")
@simultaneous_option
@click.option(
    "--population",
    type=click.Choice(POPULATIONS),
    default="respondents",
    show_default=True,
    help="Whom intervals speak of: the respondents, or those they are a random sample of.",
)
@json_option
def change(
    since: Path,
    paired: bool,
    level: float,
    simultaneous: bool,
    population: Population,
    as_json: bool,
    **options: Any,
) -> None:
    """How every question has changed since the wave before."""
    from jrr.client.operator import EstimateWish

    before = read_survey_file(since)
    wish = EstimateWish(level=checks.level(level), simultaneous=simultaneous, population=population)
    operator = operator_of(**options)
    with waiting("asking the collector"):
        found = operator.change(before, paired=paired, wish=wish)
    if as_json:
        print_json(found)
        return
    screen = console()
    whom = "among those who answered both" if paired else "among those who answered each"
    screen.print(f"Change from wave {before.wave} to wave {operator.survey.wave}, {whom}")
    for name, facts in found["changes"].items():
        _print_change(screen, name, facts, level)


def _print_change(screen: "Console", name: str, facts: dict[str, Any], level: float) -> None:
    if "refused" in facts:
        screen.print(f"{name}: not shown: {facts['refused']}")
        return
    if "mean" in facts:
        low, high = facts["mean"]["interval"]
        moved = facts["mean"]["change"]
        screen.print(f"{name}: {moved:+.4g} ({low:+.4g} to {high:+.4g}, {100 * level:g}%)")
        return
    rows = zip(facts["labels"], facts["difference"], facts["interval"], strict=True)
    for label, moved, (low, high) in rows:
        screen.print(
            f"{name}, {label}: {100 * moved:+.2f} points ({100 * low:+.2f} to "
            f"{100 * high:+.2f}, {100 * level:g}%)"
        )
