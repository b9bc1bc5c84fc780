"""`jrr file pool`: one estimate of surveys that asked different people the same question."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from jrr._base import checks
from jrr.cli.file.counting import Counting, engine_options
from jrr.cli.file.shared import (
    decks_option,
    key_option,
    level_option,
    top_option,
    weight_option,
)
from jrr.cli.file.shown import ResultTables
from jrr.cli.options import (
    console,
    interval_options,
    json_option,
    print_json,
    simultaneous_option,
)
from jrr.cli.progress import bar
from jrr.errors import ArgumentError
from jrr.estimation.estimates import Population
from jrr.estimation.pooling import pooled
from jrr.planning.plans import DELTA
from jrr.reporting.intervals import intervals_in_words

if TYPE_CHECKING:
    from jrr.tables import Result


@click.command()
@click.argument("reports", nargs=-1, required=True)
@weight_option
@level_option
@simultaneous_option
@interval_options
@decks_option
@key_option
@top_option
@engine_options
@json_option
def pool(
    *,
    reports: tuple[str, ...],
    weight: str | None,
    level: float,
    simultaneous: bool,
    population: Population,
    population_size: int | None,
    decks: int | None,
    key: Path | None,
    top: int,
    engine: str | None,
    table: str | None,
    header: Path | None,
    as_json: bool,
) -> None:
    """Make one estimate of files of different mechanisms.

    Of surveys that asked different people the same question, such as two phases (`jrr plan
    two-phase`). Otherwise as `jrr file estimate`.

    \b
    jrr file pool first.csv second.csv
    """  # noqa: D301 - click reads the \b
    from jrr import tables

    level = checks.level(level)
    top = checks.integer("top", top, 1)
    counting = Counting(
        sources=reports,
        engine=engine,
        table=table,
        header=header,
        estimate=tables.estimate,
        options={
            "weight": weight,
            "key": key,
            "decks": decks,
            "population": population,
            "population_size": population_size,
        },
    )
    if counting.is_survey:
        raise ArgumentError(
            "reports must be answers to one question, got a survey's answers to many"
        )
    with bar("counting", as_json) as progress:
        surveys = counting.apart(progress)
    _show_pooled(surveys, level, simultaneous=simultaneous, top=top, as_json=as_json)


def _show_pooled(
    surveys: dict[str, "Result"], level: float, *, simultaneous: bool, top: int, as_json: bool
) -> None:
    """One estimate of the people of all files, which may be of different mechanisms."""
    results = list(surveys.values())
    answers = results[0].header.names
    for name, result in surveys.items():
        if result.header.number is not None:
            raise ArgumentError(f"{name} must be of shares, got the mean of a number")
        if result.header.names != answers:
            raise ArgumentError(
                f"{name} must have the answers of the first file, {list(answers)}, "
                f"got {list(result.header.names)}"
            )
    together = pooled(*(result.estimate for result in results))
    if as_json:
        parts = {
            name: result.to_dict(level, delta=DELTA, simultaneous=simultaneous)
            for name, result in surveys.items()
        }
        shares = together.to_dict(level, simultaneous=simultaneous)
        print_json({"labels": list(answers), "estimate": shares, "surveys": parts})
        return
    screen = console()
    for name, result in surveys.items():
        screen.print(f"{name}: {result.estimate.n:,} reports, {result.header.mechanism.brief()}")
    screen.print(f"All: {together.n:,} reports\n")
    report = ResultTables(
        screen=screen, result=results[0], level=level, top=top, simultaneous=simultaneous
    )
    screen.print(report.shares(together))
    screen.print(intervals_in_words(together, level, simultaneous))
