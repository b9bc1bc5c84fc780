"""`jrr file estimate`, `pool`, `database`: shares with error bars from files or a database."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from jrr.cli.file.shared import (
    announced_option,
    by_option,
    decks_option,
    engine_options,
    estimate_each,
    estimate_questions,
    force_results_option,
    is_survey,
    key_option,
    min_cell_option,
    results_options,
    top_option,
    weight_option,
)
from jrr.cli.file.shown import Showing, show_several, written
from jrr.cli.options import interval_options, is_given
from jrr.cli.output import json_option, show
from jrr.cli.progress import bar
from jrr.cli.values import FILE
from jrr.errors import ArgumentError
from jrr.estimation.pooling import pooled
from jrr.estimation.postprocess import STEPS

if TYPE_CHECKING:
    from jrr.tables import Result


@click.command()
@click.argument("reports", nargs=-1, required=True)
@by_option
@weight_option
@interval_options
@min_cell_option
@decks_option
@announced_option
@key_option
@click.option(
    "--postprocess", type=click.Choice(tuple(STEPS)), help="Also: shares made possible (biased)."
)
@results_options
@force_results_option
@click.option("--plot", type=FILE, help="Draw the estimates.")
@click.option("--apart", is_flag=True, help="One estimate for each file, of one question or many.")
@engine_options
@json_option
def estimate(
    *,
    reports: tuple[str, ...],
    level: float,
    simultaneous: bool,
    postprocess: str | None,
    top: int,
    out: Path | None,
    force: bool,
    plot: Path | None,
    apart: bool,
    **options: Any,
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
    from jrr import tables
    from jrr.tables.result import check_results_file

    if out is not None:
        check_results_file(out, force)  # before anything is counted
    if not is_given("min_cell"):
        del options["min_cell"]  # a survey says it itself
    showing = Showing(level=level, top=top, simultaneous=simultaneous)
    of_survey = is_survey(reports, options["table"])
    if apart or of_survey:
        _refuse_of_several(plot=plot, postprocess=postprocess)
        with bar("counting") as progress:
            estimate_all = estimate_questions if of_survey else estimate_each
            found = estimate_all(reports, options, progress)
        show_several(found, showing, out, is_survey=of_survey)
        return
    with bar("counting") as progress:
        result = tables.estimate(*reports, **options, progress=progress)
    if result.items:
        _refuse_of_several(plot=plot, postprocess=postprocess)
        show_several(result.items, showing, out)
        return
    if plot is not None:
        _draw(result, plot, showing)
    if out is not None:
        result.write_csv(out, level, force=force)
    document = showing.document(result, postprocess)
    show(document, showing.lines(result, document), *written(Results=out, Picture=plot))


def _refuse_of_several(**options: object) -> None:
    for name in [name for name, value in options.items() if value is not None]:
        raise ArgumentError(f"{name} must be left out where there are several estimates")


def _draw(result: "Result", plot: Path, showing: Showing) -> None:
    """A picture of the shares of everybody and of groups, or of their means."""
    from jrr.reporting.plots import draw_estimate, draw_means

    means, question = result.means(), result.header.question or ""
    if means:
        draw_means(means, plot, showing.level, question)
        return
    groups = {group.name: group.estimate for group in result.groups}
    draw_estimate(
        result.header.names,
        {"everybody": result.estimate} | groups,
        plot,
        showing.level,
        showing.top,
        question,
        simultaneous=showing.simultaneous,
    )


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


@click.command()
@click.argument("addresses", nargs=-1, required=True)
@click.option(
    "--survey",
    "surveys",
    multiple=True,
    help="Hash of a survey, or its beginning.  [default: all that are closed]",
)
@by_option
@interval_options
@min_cell_option
@decks_option
@results_options
@force_results_option
@json_option
def database(
    *,
    addresses: tuple[str, ...],
    surveys: tuple[str, ...],
    level: float,
    simultaneous: bool,
    top: int,
    out: Path | None,
    force: bool,
    **options: Any,
) -> None:
    """Estimate the closed surveys in a collector's PostgreSQL database.

    The database counts the reports; nothing but counts leaves it.

    \b
    jrr file database postgresql://reader@host/collector --json
    """  # noqa: D301 - click reads the \b
    from jrr.servers.collector.stored_reports import open_stored
    from jrr.tables.engines.postgres import PostgreSQL
    from jrr.tables.estimating import estimate_opened
    from jrr.tables.result import check_results_file

    if out is not None:
        check_results_file(out, force)  # before anything is counted
    engine = PostgreSQL()
    found: dict[str, Result] = {}
    with bar("counting") as progress:
        for address in addresses:
            for one in open_stored(address, engine, surveys):
                name = (
                    one.survey[:12] if one.questions == 1 else f"{one.survey[:12]}: {one.question}"
                )
                found[name] = estimate_opened(
                    one.files, **options, engine=engine, progress=progress
                )
    if not found:
        raise ArgumentError("database must hold a closed survey, got one without any")
    show_several(found, Showing(level=level, top=top, simultaneous=simultaneous), out)
