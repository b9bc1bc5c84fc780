"""estimate: shares with error bars from files of reports, overall, by group, weighted."""

import csv
import io
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from jrr._base import checks
from jrr._base.files import write_whole
from jrr.errors import ArgumentError
from jrr.estimation import postprocess
from jrr.estimation.answered import AnsweredShare, among_answered
from jrr.estimation.estimates import POPULATIONS, Estimate, Population
from jrr.estimation.groups import (
    MIN_CELL,
    AnyTally,
    GroupEstimates,
    add_tallies,
    estimate_groups,
)
from jrr.estimation.means import MeanDifference, MeanEstimate
from jrr.estimation.weights import check_weights
from jrr.mechanisms import RR
from jrr.privacy.shuffled import MOST_SCANNED, amplified_epsilon, shuffled_epsilon
from jrr.tables.engine_counts import count_with
from jrr.tables.engines import open_engine
from jrr.tables.engines.base import Engine
from jrr.tables.grouping import add_rows, check_groups
from jrr.tables.header import Header
from jrr.tables.mean_documents import mean_differences, mean_document, mean_rows
from jrr.tables.names import RESERVED
from jrr.tables.progress import Progress, silent
from jrr.tables.public_columns import numbers
from jrr.tables.reports import ReportFiles, open_together, rows_of, without_masks


@dataclass(frozen=True, eq=False, kw_only=True)
class Result:
    """What files of reports say.

    Attributes:
        header: what holds of all files together.
        files: how many there are.
        estimate: of everybody.
        n_carded: how many reports were made with a card.
        by: the column of the groups, where groups were asked for.
        groups: the groups, a sequence with `hidden` and `differences()`.
    """

    header: Header
    files: int
    estimate: Estimate
    n_carded: int
    by: str | None = None
    groups: GroupEstimates = field(default_factory=GroupEstimates)

    @property
    def mean(self) -> MeanEstimate | None:
        """Mean and sum of everybody's number; None where answers are no numbers."""
        return self._mean(self.estimate)

    def _mean(self, estimate: Estimate) -> MeanEstimate | None:
        question = self.header.numbers
        return None if question is None else question.estimate_from(estimate)

    def means(self) -> dict[str, MeanEstimate]:
        """Group -> mean and sum of its number; everybody has no name. Empty without numbers."""
        estimates = {"": self.estimate} | {group.name: group.estimate for group in self.groups}
        found = {name: self._mean(estimate) for name, estimate in estimates.items()}
        return {name: mean for name, mean in found.items() if mean is not None}

    def mean_differences(self) -> list[tuple[str, str, MeanDifference]]:
        """Every pair of groups and the first mean minus the second, where answers are numbers."""
        return mean_differences(self.means(), self.groups)

    def answered(self, level: float = 0.95) -> dict[str, AnsweredShare] | None:
        """Label -> share among those who did not decline; None where nobody could.

        Args:
            level: of the intervals.
        """
        if self.header.declined is None:
            return None
        names = self.header.names
        shares = among_answered(self.estimate, names.index(self.header.declined), level)
        return {names[value]: share for value, share in shares.items()}

    def epsilon_behind_shuffler(self, delta: float) -> float | None:
        """ε at δ of plain RR to whoever sees nothing but these reports, in their random order.

        Returns:
            By the law of the counts or, for very many reports, by the closed form, which is
            larger. None where the reports are not shuffled, where they are in several files,
            each of which hides its own reports only, or where no law is used here.
        """
        m, n = self.header.mechanism, self.estimate.n
        if not (self.header.shuffled and self.files == 1 and isinstance(m, RR)):
            return None
        if n <= MOST_SCANNED:
            return shuffled_epsilon(m, delta, n)
        return amplified_epsilon(m.epsilon(), n, delta)

    def to_rows(self, level: float = 0.95) -> list[dict[str, Any]]:
        """One row for each answer, of everybody and then of each group, for tables and CSV files.

        Args:
            level: of the intervals.

        Returns:
            Rows with group (empty: everybody), answer, share, stderr, low, high, level, count,
            count_stderr and reports. Of a number: one row for everybody and each group, with
            group, mean, stderr, low, high, level, sum, sum_stderr and reports.

        Raises:
            ArgumentError: where level is not in (0, 1).
        """
        if self.header.number is not None:
            return mean_rows(self.means(), level)
        rows = []
        estimates = [("", self.estimate), *((group.name, group.estimate) for group in self.groups)]
        for name, estimate in estimates:
            low, high = estimate.interval(level)
            columns = zip(
                self.header.names,
                estimate.frequencies.tolist(),
                estimate.stderr.tolist(),
                np.asarray(low).tolist(),
                np.asarray(high).tolist(),
                estimate.counts.tolist(),
                estimate.count_stderr.tolist(),
                strict=True,
            )
            for answer, share, error, least, most, count, count_error in columns:
                rows.append(
                    {
                        "group": name,
                        "answer": answer,
                        "share": share,
                        "stderr": error,
                        "low": least,
                        "high": most,
                        "level": level,
                        "count": count,
                        "count_stderr": count_error,
                        "reports": estimate.n,
                    }
                )
        return rows

    def write_csv(self, path: str | Path, level: float = 0.95, *, force: bool = False) -> None:
        """Write the rows of `to_rows` into a CSV file, whole or not at all.

        Args:
            path: a name that ends in .csv.
            level: of the intervals.
            force: overwrite an existing file.

        Raises:
            ArgumentError: where the file exists, or the name ends otherwise.
        """
        out = check_results_file(path, force)
        text = io.StringIO()
        rows = self.to_rows(level)
        writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        write_whole(out, text.getvalue())

    def to_dict(
        self,
        level: float = 0.95,
        *,
        step: str | None = None,
        delta: float | None = None,
        simultaneous: bool = False,
    ) -> dict[str, Any]:
        """A result document: plain values, as `jrr file estimate --json` prints them.

        Args:
            level: of all intervals.
            step: a step of jrr.postprocess.STEPS that is applied to the shares of everybody.
            delta: where ε behind a shuffler is wanted too (`epsilon_behind_shuffler`), its δ.
            simultaneous: whether the intervals of all answers hold at once with the chance
                `level`; by default each one does.

        Raises:
            ArgumentError: where there is no such step, or level is not in (0, 1).
        """
        header = self.header
        if header.number is not None:
            if step is not None:
                raise checks.refusal("postprocess", step, "None: a mean is no share")
            return self._about_reports() | mean_document(
                self.means(), level, self.groups if self.by is not None else None
            )
        document: dict[str, Any] = {
            **self._about_reports(),
            "labels": list(header.names),
            "estimate": self.estimate.to_dict(level, simultaneous=simultaneous),
        }
        answered = self.answered(level)
        if answered is not None:
            document["answered"] = {
                name: {"share": share, "interval": [low, high]}
                for name, (share, low, high) in answered.items()
            }
        if step is not None:
            checks.one_of("postprocess", step, tuple(postprocess.STEPS))
            shares = postprocess.STEPS[step](self.estimate.frequencies)
            document["postprocessed"] = {step: shares.tolist()}
        if self.by is not None:
            document |= self.groups.to_dict(level, simultaneous=simultaneous)
        epsilon = None if delta is None else self.epsilon_behind_shuffler(delta)
        if epsilon is not None:
            document["behind_shuffler"] = {"epsilon": epsilon, "delta": delta}
        return document

    def _about_reports(self) -> dict[str, Any]:
        header = self.header
        return {
            "question": header.question,
            "mechanism": header.mechanism.to_dict(),
            "shuffled": header.shuffled,
            "guarantees": header.guarantees,
            "colluders": header.colluders,
            "reports": self.estimate.n,
            "carded": self.n_carded,
        }


def estimate(
    *paths: str | Path,
    by: str | None = None,
    weight: str | None = None,
    min_cell: int = MIN_CELL,
    key: str | Path | None = None,
    decks: int | None = None,
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
        population=population,
        population_size=population_size,
        engine=ready,
        progress=progress,
    )


def estimate_opened(
    files: ReportFiles,
    *,
    by: str | None = None,
    weight: str | None = None,
    min_cell: int = MIN_CELL,
    key: str | Path | None = None,
    decks: int | None = None,
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
    mechanism = files.header.mechanism
    result = Result(
        header=files.header,
        files=len(files.tables),
        estimate=mechanism.estimate(
            everybody, decks, population=population, population_size=population_size
        ),
        n_carded=everybody.n_carded,
    )
    if by is None:
        return result
    groups = estimate_groups(
        mechanism,
        tallies,
        min_cell=min_cell,
        decks=decks,
        population=population,
        population_size=population_size,
    )
    return replace(result, by=by, groups=groups)


def check_results_file(path: str | Path, force: bool) -> Path:
    """Where results are written: a .csv file that does not exist yet, unless `force`."""
    out = Path(path)
    if out.suffix.lower() != ".csv":
        raise checks.refusal("out", str(path), "a name that ends in .csv")
    if out.exists() and not force:
        raise checks.refusal("out", str(path), "a file that does not exist yet (or give --force)")
    return out


def _check_columns(files: ReportFiles, by: str | None, weight: str | None) -> None:
    arguments = {"by": by, "weight": weight}
    columns = {argument: name for argument, name in arguments.items() if name is not None}
    for table, header in files.tables:
        if columns and header.holds == "sealed reports":
            raise ArgumentError(
                "by and weight must not be given for sealed reports, which hide both"
            )
        for argument, name in columns.items():
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
        if engine is not None:
            of_file |= count_with(engine, table, header, by, further)
        else:
            extra = [name for name in (by, weight) if name is not None]
            for rows in rows_of(table, header, extra, key=key, starts=starts):
                weights = None
                if weight is not None:
                    weights = check_weights(numbers(rows.batch, weight), len(rows.reports))
                add_rows(of_file, header, rows, by, path=table.path, weights=weights)
                further(sum(tally.n for tally in of_file.values()), None)
        done += sum(tally.n for tally in of_file.values())
        progress(done, files.rows)
        if of_file:
            whole, of_file = without_masks(header, of_file, by)
            everybody.append(whole)
            for name, tally in of_file.items():
                tallies[name] = tallies[name] + tally if name in tallies else tally
            check_groups(tallies, by)
    return add_tallies(everybody), tallies
