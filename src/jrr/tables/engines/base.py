"""What an engine does, and how its counts become tallies."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jrr._base import checks
from jrr.errors import DamagedError
from jrr.estimation.groups import AnyTally
from jrr.estimation.moments import Floats
from jrr.estimation.tally import Tally
from jrr.mechanisms.base import Mechanism
from jrr.tables.columns import carded_from_arrow, report_fields, reports_from_arrow
from jrr.tables.engines.expression import GROUP, ROWS, counting_query
from jrr.tables.folders import open_table
from jrr.tables.formats import Table, damage_of
from jrr.tables.grouping import add_rows, check_groups, rows_of_codes
from jrr.tables.header import Header
from jrr.tables.names import CARDED
from jrr.tables.progress import Progress, silent
from jrr.tables.reports import rows_of

_EXACT = 1 << 53  # whole numbers below it are exact in floating point


class Engine(ABC):
    """Counts the reports of a table.

    Attributes:
        name: as `--engine` takes it.
        dialect: Ibis's name for its SQL.
    """

    name: str
    dialect: str

    @abstractmethod
    def open(self, table: Table) -> str:
        """Make the table known to the engine; its name there.

        Raises:
            ArgumentError: where the engine cannot read this kind of table.
        """

    @abstractmethod
    def run(self, query: str, progress: Progress, rows: int | None) -> Any:
        """Run a query; an Arrow table.

        Args:
            query: in the engine's own SQL.
            progress: is told how many rows are done, where the engine says so.
            rows: how many there are, where that is known.
        """

    def reader(self, name: str | None) -> Callable[[str | Path], Table]:
        """What opens the sources that are given to `jrr.tables.estimate`.

        Args:
            name: of the table in a database; None: sources are files.
        """
        if name is not None:
            raise checks.refusal("table", name, f"None with the engine {self.name}")
        return open_table

    def tally_rows(
        self, table: Table, header: Header, by: str | None, progress: Progress
    ) -> dict[str, AnyTally]:
        """Group -> tally of reports of too many kinds to be counted by kind: seeds and bits.

        Here they are read by this process, batch by batch.
        """
        found: dict[str, AnyTally] = {}
        for rows in rows_of(table, header, [] if by is None else [by]):
            add_rows(found, header, rows, by, path=table.path)
            progress(sum(tally.n for tally in found.values()), table.rows)
        return found

    def tallies(
        self, table: Table, header: Header, by: str | None, progress: Progress = silent
    ) -> dict[str, AnyTally]:
        """Group -> tally of its reports; one of no name where there are no groups.

        Args:
            table: one row for each report.
            header: what it holds.
            by: the column of the groups.
            progress: is told how many rows are done.

        Raises:
            ArgumentError: where the column of the groups holds no names, or too many.
            DamagedError: where rows cannot be what the mechanism made, or some are missing.
        """
        if header.holds != "reports":
            raise checks.refusal("reports", header.holds, "reports that are not sealed")
        found: dict[str, AnyTally] = {}
        if counts_few_kinds(header.mechanism):
            names = [field.name for field in report_fields(header.mechanism, text=False)]
            with damage_of(table.path):
                for name in (*names, CARDED):
                    table.require("column", name)
            query = counting_query(table, self.open(table), [*names, CARDED], by, self.dialect)
            counted = self.run(query, progress, table.rows)
            with damage_of(table.path):
                found |= tallies_of_counts(header, counted, by)
        else:
            found = self.tally_rows(table, header, by, progress)
        check_groups(found, by)
        rows = sum(tally.n for tally in found.values())
        if table.rows is not None and rows != table.rows:
            raise DamagedError(
                f"{table.path} must have the {table.rows} rows it was written with, got {rows}"
            )
        return found


def counts_few_kinds(mechanism: Mechanism) -> bool:
    """Whether reports are single whole numbers, so that few different ones occur."""
    columns = mechanism.report_format.columns
    return len(columns) == 1 and columns[0].width is None


def tallies_of_counts(header: Header, counted: Any, by: str | None) -> dict[str, Tally]:
    """Group -> tally, from rows that say how often each report occurs.

    Args:
        header: what the reports are.
        counted: an Arrow table as `count_reports` describes it.
        by: the column of the groups.
    """
    whole = counted.combine_chunks()
    if not whole.num_rows:
        return {}
    batch = whole.to_batches()[0]
    reports = reports_from_arrow(header.mechanism, batch)
    carded = np.broadcast_to(carded_from_arrow(batch.column(CARDED)), len(reports))
    times = batch.column(ROWS).to_numpy(zero_copy_only=False).astype(np.int64)
    if by is None:
        return {"": tally_of_repeated(header, reports, carded, times)}
    coded = batch.column(GROUP).dictionary_encode()
    codes = coded.indices.to_numpy(zero_copy_only=False)
    names: Sequence[str] = coded.dictionary.to_pylist()
    return {
        name: tally_of_repeated(header, reports[rows], carded[rows], times[rows])
        for name, rows in zip(names, rows_of_codes(codes, len(names)), strict=True)
    }


def tally_of_repeated(
    header: Header,
    reports: NDArray[Any],
    carded: NDArray[np.bool_],
    times: NDArray[np.int64],
) -> Tally:
    """The tally of reports that each occur several times.

    Counts are weights that are whole numbers: their sums are exact as long as they are below
    2**53, which is checked.

    Args:
        header: what the reports are.
        reports: different ones.
        carded: whether each was made with a card.
        times: how often each occurs.
    """
    mechanism = header.mechanism
    largest = max(1, int(np.abs(reports.astype(np.int64)).max()), mechanism.most_support)
    if int(times.sum()) * largest >= _EXACT:
        raise checks.refusal("reports", int(times.sum()), f"fewer than {_EXACT // largest} at once")
    weighed = mechanism.tally(reports, carded, weights=times)
    tally = Tally(
        mechanism.to_dict(),
        carded=_whole(weighed.carded.support),
        cardless=_whole(weighed.cardless.support),
        n_carded=int(weighed.carded.weight),
        n_cardless=int(weighed.cardless.weight),
        masked=mechanism.moments.masks is not None,
    )
    return replace(tally, decks=header.decks)


def _whole(sums: Floats) -> tuple[int, ...]:
    return tuple(int(one) for one in sums)
