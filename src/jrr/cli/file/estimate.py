"""`jrr file estimate`: shares with error bars from files of reports."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from jrr._base import checks
from jrr.cli.file.counting import Counting, engine_options
from jrr.cli.file.shared import (
    FILE,
    by_option,
    decks_option,
    force_results_option,
    key_option,
    level_option,
    min_cell_option,
    results_option,
    top_option,
    weight_option,
)
from jrr.cli.file.shown import ResultTables, show_several
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
from jrr.estimation.postprocess import STEPS
from jrr.planning.plans import DELTA

if TYPE_CHECKING:
    from jrr.tables import Result


@click.command()
@click.argument("reports", nargs=-1, required=True)
@by_option
@weight_option
@level_option
@simultaneous_option
@interval_options
@min_cell_option
@decks_option
@key_option
@click.option(
    "--postprocess", type=click.Choice(tuple(STEPS)), help="Also: shares made possible (biased)."
)
@top_option
@results_option
@force_results_option
@click.option("--plot", type=FILE, help="Draw the estimates.")
@click.option("--apart", is_flag=True, help="One estimate for each file, of one question or many.")
@engine_options
@json_option
def estimate(
    *,
    reports: tuple[str, ...],
    by: str | None,
    weight: str | None,
    level: float,
    simultaneous: bool,
    population: Population,
    population_size: int | None,
    min_cell: int,
    decks: int | None,
    key: Path | None,
    postprocess: str | None,
    top: int,
    out: Path | None,
    force: bool,
    plot: Path | None,
    apart: bool,
    engine: str | None,
    table: str | None,
    header: Path | None,
    as_json: bool,
) -> None:
    """Estimate how many hold each answer, or the mean of a number, from files of reports.

    The mechanism and the labels are in the files. Shares are of the people who reported, and
    intervals count the noise of perturbation; with --population sample also that of choosing
    whom to ask. Each interval holds with the chance --level, with --simultaneous all of them at
    once. Of a survey's exported answers (Parquet) every question is estimated.

    Counting is left to --engine where there are very many reports, or where they lie in a
    database: duckdb (files, folders of Parquet files, a table of a DuckDB file), spark (Parquet
    and CSV) or postgres (one table). What a collector has stored: `jrr file database`.

    \b
    jrr file estimate reports.parquet
    jrr file estimate reports.parquet --population sample --population-size 20000
    jrr file estimate north.parquet south.csv --by region --plot shares.png
    jrr file estimate year.parquet --engine duckdb --by region --json
    """  # noqa: D301 - click reads the \b
    level = checks.level(level)
    top = checks.integer("top", top, 1)
    from jrr import tables
    from jrr.tables.estimating import check_results_file

    if out is not None:
        check_results_file(out, force)  # before anything is counted
    counting = Counting(
        sources=reports,
        engine=engine,
        table=table,
        header=header,
        estimate=tables.estimate,
        options={
            "by": by,
            "weight": weight,
            "key": key,
            "decks": decks,
            "population": population,
            "population_size": population_size,
        }
        | ({"min_cell": min_cell} if _is_given("min_cell") else {}),
    )
    if apart or counting.is_survey:
        if plot is not None or postprocess is not None:
            given = "plot" if plot is not None else "postprocess"
            raise ArgumentError(f"{given} must be left out where there are several estimates")
        with bar("counting", as_json) as progress:
            found = counting.apart(progress)
        show_several(
            found,
            level,
            simultaneous=simultaneous,
            top=top,
            out=out,
            is_survey=counting.is_survey,
            as_json=as_json,
        )
        return
    with bar("counting", as_json) as progress:
        result = counting.together(progress)
    if plot is not None:
        _draw(result, plot, level, top, simultaneous=simultaneous)
    if out is not None:
        result.write_csv(out, level, force=force)
    document = result.to_dict(level, step=postprocess, delta=DELTA, simultaneous=simultaneous)
    if as_json:
        print_json(document)
        return
    screen = console()
    report = ResultTables(
        screen=screen, result=result, level=level, top=top, simultaneous=simultaneous
    )
    report.print(document)
    if out is not None:
        screen.print(f"Results: {out}")
    if plot is not None:
        screen.print(f"Picture: {plot}")


def _draw(result: "Result", plot: Path, level: float, top: int, *, simultaneous: bool) -> None:
    """A picture of the shares of everybody and of groups, or of their means."""
    from jrr.reporting.plots import draw_estimate, draw_means

    means = result.means()
    if means:
        draw_means(means, plot, level, result.header.question)
        return
    everybody = {"everybody": result.estimate}
    groups = {group.name: group.estimate for group in result.groups}
    question = result.header.question or ""
    draw_estimate(
        result.header.names,
        everybody | groups,
        plot,
        level,
        top,
        question,
        simultaneous=simultaneous,
    )


def _is_given(option: str) -> bool:
    """Whether an option of the command was typed."""
    source = click.get_current_context().get_parameter_source(option)
    return source is not click.core.ParameterSource.DEFAULT
