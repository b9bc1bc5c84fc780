"""`jrr survey change`: what has changed since the wave before."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from jrr.cli.options import level_option, population_option, simultaneous_option
from jrr.cli.output import json_option, show
from jrr.cli.progress import waiting
from jrr.cli.survey.shared import operator_of, operator_options, read_survey_file
from jrr.cli.values import FILE


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
        *(
            f"{name}{line}"
            for name, facts in found["changes"].items()
            for line in _changes(facts, f"{100 * level:g}%")
        ),
    )


def _changes(facts: dict[str, Any], level: str) -> Iterator[str]:
    """What has changed in one question."""
    if "refused" in facts:
        yield f": not shown: {facts['refused']}"
    elif "mean" in facts:
        low, high = facts["mean"]["interval"]
        yield f": {facts['mean']['change']:+.4g} ({low:+.4g} to {high:+.4g}, {level})"
    else:
        rows = zip(facts["labels"], facts["difference"], facts["interval"], strict=True)
        for label, moved, (low, high) in rows:
            ends = f"{100 * low:+.2f} to {100 * high:+.2f}"
            yield f", {label}: {100 * moved:+.2f} points ({ends}, {level})"
