"""estimate: shares with error bars from files of reports, overall, by group, weighted."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from jrr._base import checks
from jrr.errors import ArgumentError
from jrr.estimation.estimates import POPULATIONS, Population
from jrr.estimation.groups import MIN_CELL, AnyTally, add_tallies, estimate_groups
from jrr.estimation.tally import Tally, check_weights
from jrr.tables.engine_counts import count_with
from jrr.tables.engines import open_engine
from jrr.tables.engines.base import Engine
from jrr.tables.grouping import add_rows, check_groups, numbers
from jrr.tables.header import Header
from jrr.tables.names import RESERVED
from jrr.tables.progress import Progress, silent
from jrr.tables.reports import (
    ReportFiles,
    columns_of,
    counted_by,
    open_together,
    rows_of,
    without_masks,
)
from jrr.tables.result import Result


def estimate(
    *paths: str | Path,
    by: str | None = None,
    weight: str | None = None,
    min_cell: int = MIN_CELL,
    key: str | Path | None = None,
    decks: int | None = None,
    announced: Any = None,
    population: Population | str = "respondents",
    population_size: float | None = None,
    engine: str | None = None,
    header: str | Path | Header | None = None,
    table: str | None = None,
    progress: Progress = silent,
) -> Result:
    r"""Estimate how many hold each answer, from one or several files, in bounded memory.

    Args:
        paths: files of the same kind of reports, or folders of Parquet files; with `table` the
            address of a database.
        by: a public column: one estimate per group. Groups with fewer than `min_cell` reports
            are not shown, and only their number is told (jrr.estimation.groups).
        weight: a column of survey weights.
        min_cell: reports in the smallest group that is shown.
        key: the collector's private key, a file, for sealed reports.
        decks: how many decks were dealt, where whole decks dropped out.
        announced: of masks (MRR) with announced sums: what `announce` returned, or a list of that
            for several decks; with `by` what `announce_cells` returned. Files that a survey's
            collector exported say it themselves.
        population: whom error bars speak of: "respondents", or with "sample" those whom the
            respondents are a random sample of (`Estimate.for_population`).
        population_size: people in that population; None: no end of them. Every group is taken to
            be the same share of it as of the respondents.
        engine: what counts the reports: "duckdb", "spark" or "postgres" (extras [engines] and
            [spark]); None: this process, batch by batch. All give the same counts.
        header: what the reports are, where they do not say so themselves, as those that somebody
            else's pipeline wrote: a Header, or a JSON file of one.
        table: the table of a database that holds the reports.
        progress: is told how many rows are done.

    Returns:
        The estimate of everybody and of each group.

    Raises:
        ArgumentError: where a file does not exist or belong to the others, a column does not
            exist or is no public one, or there is no report.
        DamagedError: where a file cannot be read as what it claims to be.

    Example:
        >>> import jrr, pathlib, tempfile
        >>> from jrr import tables
        >>> folder = tempfile.TemporaryDirectory()
        >>> data, reports = f"{folder.name}/data.csv", f"{folder.name}/reports.csv"
        >>> rows = "no,north\nyes,south\n" * 50 + "yes,sea\n"
        >>> _ = pathlib.Path(data).write_text("smokes,region\n" + rows)
        >>> options = {"labels": ["no", "yes"], "keep": ["region"], "rng": jrr.SeededRandom(7)}
        >>> _ = tables.perturb(data, "smokes", reports, epsilon=3.0, **options)
        >>> result = tables.estimate(reports, by="region")
        >>> [group.name for group in result.groups], result.groups.hidden
        (['north', 'south'], 1)
        >>> folder.cleanup()
    """
    if engine is None and table is not None:
        raise checks.refusal("table", table, "None without an engine")
    ready = None if engine is None else open_engine(engine)
    if ready is not None and (weight is not None or key is not None):
        given = "weight" if weight is not None else "key"
        raise ArgumentError(f"{given} must be left out with an engine, which counts whole reports")
    files = open_together(paths, header, None if ready is None else ready.reader(table))
    return estimate_opened(
        files,
        by=by,
        weight=weight,
        min_cell=min_cell,
        key=key,
        decks=decks,
        announced=announced,
        population=population,
        population_size=population_size,
        engine=ready,
        progress=progress,
    )


@checks.names_checked
def estimate_opened(
    files: ReportFiles,
    *,
    by: str | None = None,
    weight: str | None = None,
    min_cell: int = MIN_CELL,
    key: str | Path | None = None,
    decks: int | None = None,
    announced: Any = None,
    population: Population | str = "respondents",
    population_size: float | None = None,
    engine: Engine | None = None,
    progress: Progress = silent,
) -> Result:
    """What `estimate` does, of tables that are open."""
    min_cell = checks.integer("min_cell", min_cell, 1)
    checks.one_of("population", population, POPULATIONS)
    _check_columns(files, by, weight)
    everybody, tallies = _count(
        files, by=by, weight=weight, key=key, engine=engine, progress=progress
    )
    if announced is not None:
        everybody, tallies = _off(files.header, announced, everybody, tallies, by)
    mechanism = files.header.asked
    drawn: dict[str, Any] = {"decks": decks, "asked": files.header.share_asked}
    drawn |= {"population": population, "population_size": population_size}
    result = Result(
        header=files.header,
        files=len(files.tables),
        estimate=mechanism.estimate(everybody, **drawn),
        n_carded=everybody.n_carded,
    )
    if by is None:
        return result
    groups = estimate_groups(mechanism, tallies, min_cell=min_cell, **drawn)
    return replace(result, by=by, groups=groups)


def _off(
    header: Header,
    announced: Any,
    everybody: AnyTally,
    tallies: dict[str, AnyTally],
    by: str | None,
) -> tuple[AnyTally, dict[str, AnyTally]]:
    """Everybody and every group without the masks of which sums were announced."""
    mechanism = header.mechanism
    if not mechanism.announced:
        raise checks.refusal("announced", announced, "None: these reports hold no such masks")
    if not isinstance(everybody, Tally):
        raise ArgumentError("weight must be left out: announced sums are of cards without weights")
    if by is None:
        return mechanism.settle(everybody, announced=announced), tallies
    if not isinstance(announced, Mapping) or set(announced) != set(tallies):
        allowed = f"a sum for each group by {by}, {sorted(tallies)}"
        raise checks.refusal("announced", announced, allowed)
    off: dict[str, AnyTally] = {
        name: mechanism.settle(one, announced=announced[name]) if one.n_carded else one
        for name, one in tallies.items()
        if isinstance(one, Tally)
    }
    return add_tallies(list(off.values())), off


def tally(
    *paths: str | Path, key: str | Path | None = None, progress: Progress = silent
) -> tuple[Header, Tally]:
    r"""Count the reports of one or several files, in bounded memory.

    Args:
        paths: files of the same kind of reports.
        key: the collector's private key, a file, for sealed reports.
        progress: is told how many rows are done.

    Returns:
        The header of all files together, and the tally, from which masks are taken off as far as
        dealers told of them.

    Raises:
        ArgumentError: where a file does not exist, is named twice or does not belong to the
            others, or there is no report.
        DamagedError: where a file cannot be read as what it claims to be.

    Example:
        >>> import jrr, pathlib, tempfile
        >>> from jrr import tables
        >>> folder = tempfile.TemporaryDirectory()
        >>> data, reports = f"{folder.name}/data.csv", f"{folder.name}/reports.csv"
        >>> _ = pathlib.Path(data).write_text("smokes\n" + "no\nyes\n" * 50)
        >>> _ = tables.perturb(data, "smokes", reports, epsilon=1.0, labels=["no", "yes"])
        >>> header, tally = tables.tally(reports)
        >>> header.labels, tally.n
        (('no', 'yes'), 100)
        >>> folder.cleanup()
    """
    files = open_together(paths)
    total, _ = _count(files, by=None, weight=None, key=key, engine=None, progress=progress)
    assert isinstance(total, Tally)  # no weights were given
    return files.header, total


def _check_columns(files: ReportFiles, by: str | None, weight: str | None) -> None:
    arguments = {"by": by, "weight": weight}
    columns = {argument: name for argument, name in arguments.items() if name is not None}
    for table, header in files.tables:
        if columns and header.holds == "sealed reports":
            raise ArgumentError(
                "by and weight must not be given for sealed reports, which hide both"
            )
        for argument, given in columns.items():
            for name in columns_of(table, given) if argument == "by" else (given,):
                if name in RESERVED:
                    raise checks.refusal(argument, name, f"another column than {RESERVED}")
                table.require(argument, name)


def _count(
    files: ReportFiles,
    *,
    by: str | None,
    weight: str | None,
    key: str | Path | None,
    engine: Engine | None,
    progress: Progress,
) -> tuple[AnyTally, dict[str, AnyTally]]:
    """Everybody, and group -> tally; without groups, all are one of no name.

    Masks are off as far as the header of each file tells of them.
    """
    everybody: list[AnyTally] = []
    tallies: dict[str, AnyTally] = {}
    starts: set[bytes] = set()
    done = 0

    def further(rows: int, total: int | None) -> None:
        progress(done + rows, files.rows)

    for table, header in files.tables:
        of_file: dict[str, AnyTally] = {}
        counted = counted_by(table, header, by)
        table, column = counted.table, counted.column
        if engine is not None:
            of_file |= count_with(engine, table, header, column, further)
        else:
            extra = [name for name in (column, weight) if name is not None]
            for rows in rows_of(table, header, extra, key=key, starts=starts):
                weights = None
                if weight is not None:
                    weights = check_weights(numbers(rows.batch, weight), len(rows.reports))
                add_rows(of_file, header, rows, column, path=table.path, weights=weights)
                further(sum(tally.n for tally in of_file.values()), None)
        done += sum(tally.n for tally in of_file.values())
        progress(done, files.rows)
        if of_file:
            whole, of_file = without_masks(header, of_file, counted)
            everybody.append(whole)
            for name, tally in of_file.items():
                tallies[name] = tallies[name] + tally if name in tallies else tally
            check_groups(tallies, by)
    return add_tallies(everybody), tallies
