"""From what an engine counts to tallies."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from jrr._base import checks
from jrr.errors import DamagedError
from jrr.estimation.tally import Tally
from jrr.mechanisms.base import Mechanism
from jrr.tables.columns import carded_from_arrow, report_fields, reports_from_arrow
from jrr.tables.engines.base import Engine
from jrr.tables.formats import Table, damage_of
from jrr.tables.grouping import ReportRows, add_rows, check_groups, rows_of_codes
from jrr.tables.names import CARDED, GROUP, ROWS
from jrr.tables.progress import Progress

if TYPE_CHECKING:
    from jrr.estimation.groups import AnyTally
    from jrr.estimation.moments import Floats
    from jrr.tables.header import Header

_EXACT = 1 << 53  # whole numbers below it are exact in floating point


def count_with(
    engine: Engine, table: Table, header: "Header", by: str | None, progress: Progress
) -> "dict[str, AnyTally]":
    """Group -> tally of its reports; one of no name where there are no groups.

    Args:
        engine: counts them.
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
    names = [field.name for field in report_fields(header.mechanism, text=False)]
    columns = [*names, CARDED]
    with damage_of(table.path):
        for name in columns:
            table.require("column", name)
    found: dict[str, AnyTally] = {}
    if counts_few_kinds(header.mechanism):
        from jrr.tables.engines.expression import counting_query  # needs an extra

        query = counting_query(table, engine.open(table), columns, by, engine.dialect)
        counted = engine.run(query, progress, table.rows)
        with damage_of(table.path):
            found |= tallies_of_counts(header, counted, by)
    else:
        wanted = columns if by is None else [*columns, by]
        for batch in engine.map(table, wanted, tally_share(header, by), "part", "tally"):
            for part, text in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                tally = Tally.from_json(text)
                found[part] = found[part] + tally if part in found else tally
            progress(sum(tally.n for tally in found.values()), table.rows)
    check_groups(found, by)
    rows = sum(tally.n for tally in found.values())
    if table.rows is not None and rows != table.rows:
        raise DamagedError(
            f"{table.path} must have the {table.rows} rows it was written with, got {rows}"
        )
    return found


def tally_share(header: "Header", by: str | None) -> Callable[[Iterable[Any]], Iterator[Any]]:
    """A function from Arrow batches of reports to one batch: group and tally of all of them.

    For reports of too many kinds to be counted by kind: seeds and bits.

    Args:
        header: what the rows are.
        by: the column of the groups.
    """

    def tally_batches(batches: Iterable[Any]) -> Iterator[Any]:
        found: dict[str, AnyTally] = {}
        for batch in batches:
            if batch.num_rows:
                reports = reports_from_arrow(header.mechanism, batch)
                rows = ReportRows(reports, carded_from_arrow(batch.column(CARDED)), batch)
                add_rows(found, header, rows, by, path=Path("reports"))
        texts = [list(found), [tally.to_json() for tally in found.values()]]
        yield pa.record_batch([pa.array(text, pa.string()) for text in texts], ["part", "tally"])

    return tally_batches


def counts_few_kinds(mechanism: Mechanism) -> bool:
    """Whether reports are single whole numbers, so that few different ones occur."""
    columns = mechanism.report_format.columns
    return len(columns) == 1 and columns[0].width is None


def tallies_of_counts(header: "Header", counted: Any, by: str | None) -> dict[str, Tally]:
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
    header: "Header",
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


def _whole(sums: "Floats") -> tuple[int, ...]:
    return tuple(int(one) for one in sums)
