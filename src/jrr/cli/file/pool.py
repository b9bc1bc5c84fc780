"""`jrr file pool`: one estimate of surveys that asked different people the same question."""

from typing import Any

import click

from jrr.cli.file.shared import (
    decks_option,
    engine_options,
    estimate_each,
    is_survey,
    key_option,
    top_option,
    weight_option,
)
from jrr.cli.file.shown import Showing
from jrr.cli.options import interval_options
from jrr.cli.output import json_option, show
from jrr.cli.progress import bar
from jrr.errors import ArgumentError
from jrr.estimation.pooling import pooled


@click.command()
@click.argument("reports", nargs=-1, required=True)
@weight_option
@interval_options
@decks_option
@key_option
@top_option
@engine_options
@json_option
def pool(
    *, reports: tuple[str, ...], level: float, simultaneous: bool, top: int, **options: Any
) -> None:
    """Make one estimate of files of different mechanisms.

    Of surveys that asked different people the same question, such as two phases (`jrr plan
    two-phase`). Otherwise as `jrr file estimate`.

    \b
    jrr file pool first.csv second.csv
    """  # noqa: D301 - click reads the \b
    if is_survey(reports, options["table"]):
        raise ArgumentError(
            "reports must be answers to one question, got a survey's answers to many"
        )
    with bar("counting") as progress:
        surveys = estimate_each(reports, options, progress)
    names = next(iter(surveys.values())).header.names
    for name, result in surveys.items():
        if result.header.number is not None:
            raise ArgumentError(f"{name} must be of shares, got the mean of a number")
        if result.header.names != names:
            raise ArgumentError(
                f"{name} must have the answers of the first file, {list(names)}, "
                f"got {list(result.header.names)}"
            )
    together = pooled(*(result.estimate for result in surveys.values()))
    showing = Showing(level=level, top=top, simultaneous=simultaneous)
    show(
        {
            "labels": list(names),
            "estimate": together.to_dict(level, simultaneous=simultaneous),
            "surveys": {name: showing.document(result) for name, result in surveys.items()},
        },
        *(
            f"{name}: {result.estimate.n:,} reports, {result.header.mechanism.brief()}"
            for name, result in surveys.items()
        ),
        f"All: {together.n:,} reports\n",
        showing.shares(together, names),
        showing.meaning(together),
    )
