"""`jrr survey change`: what has changed since the wave before."""

from pathlib import Path
from typing import Any

import click

from jrr.cli.options import level_option, population_option, simultaneous_option
from jrr.cli.output import json_option, show
from jrr.cli.progress import waiting
from jrr.cli.survey.shared import operator_of, operator_options, read_survey_file
from jrr.cli.values import FILE
from jrr.reporting.numerals import ChangeRow, change_rows


@click.command()
@operator_options
@click.option("--since", type=FILE, required=True, help="The survey of the wave before.")
@click.option("--paired", is_flag=True, help="Only among those who answered both waves.")
@level_option
@simultaneous_option
@population_option
@json_option
def change(
    since: Path, paired: bool, level: float, simultaneous: bool, population: str, **options: Any
) -> None:
    """How every question has changed since the wave before."""
    from jrr.client.operator import EstimateWish

    before = read_survey_file(since)
    wish = EstimateWish(level=level, simultaneous=simultaneous, population=population)
    operator = operator_of(**options)
    with waiting("asking the collector"):
        found = operator.change(before, paired=paired, wish=wish)
    whom = "among those who answered both" if paired else "among those who answered each"
    show(
        found,
        f"Change from wave {before.wave} to wave {operator.survey.wave}, {whom}",
        *(_line(row, f"{100 * level:g}%") for row in change_rows(found["changes"])),
        *(_gain(name, one) for name, one in found["changes"].items() if "unpaired_stderr" in one),
    )


def _gain(name: str, one: dict[str, Any]) -> str:
    """The standard error of pairs beside that of everybody's answers."""
    paired, apart = max(one["stderr"]), max(one["unpaired_stderr"])
    return (
        f"{name}: standard error {100 * paired:.3g} points among the {one['n_both']:,} who "
        f"answered both, {100 * apart:.3g} for a population of which others answered each wave"
    )


def _line(row: ChangeRow, level: str) -> str:
    if not row.change:
        return f"{row.question}: not shown: {row.interval}"
    about = f"{row.question}, {row.answer}" if row.answer else row.question
    return f"{about}: {row.change} ({row.interval}, {level})"
