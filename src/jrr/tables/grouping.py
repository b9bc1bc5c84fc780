"""Rows of reports, counted group by group, and the public columns that say which group."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from jrr._base import checks
from jrr.errors import ArgumentError
from jrr.tables.formats import damage_of
from jrr.tables.names import MISSING, MOST_GROUPS

if TYPE_CHECKING:
    from jrr.estimation.groups import AnyTally
    from jrr.estimation.moments import Floats
    from jrr.tables.header import Header


def texts(array: Any) -> Any:
    """A column as texts, gaps kept.

    Raises:
        ArgumentError: where the column holds something that has no text, such as lists.
    """
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if pa.types.is_floating(array.type):  # a column with gaps may say them as "not a number"
        array = pc.cast(array, pa.float64())
        array = pc.if_else(pc.is_nan(array), pa.scalar(None, pa.float64()), array)
    try:
        return pc.cast(array, pa.string())
    except pa.ArrowException as error:
        raise ArgumentError(f"a column of labels must hold texts or numbers: {error}") from None


def numbers(batch: Any, name: str) -> NDArray[np.float64]:
    """A column as numbers.

    Raises:
        ArgumentError: where a cell is empty or no number.
    """
    array = batch.column(name)
    if array.null_count:
        raise ArgumentError(
            f"column {name} must have no gaps, got {array.null_count} missing values"
        )
    try:
        cast = pc.cast(array, pa.float64())
    except pa.ArrowException as error:
        raise ArgumentError(f"column {name} must hold numbers: {error}") from None
    values: NDArray[np.float64] = cast.to_numpy(zero_copy_only=False)
    return values


class ReportRows(NamedTuple):
    """Some rows of a file of reports."""

    reports: NDArray[Any]
    carded: bool | NDArray[np.bool_]
    batch: Any  # with the other columns that were asked for


def add_rows(
    tallies: "dict[str, AnyTally]",
    header: "Header",
    rows: ReportRows,
    by: str | None,
    *,
    path: Path,
    weights: "Floats | None" = None,
) -> None:
    """Count some rows into the tallies of their groups.

    Args:
        tallies: group -> what was counted before; without groups, all are one of no name.
        header: what the rows are.
        rows: some reports.
        by: the column of the groups.
        path: the file that they came from.
        weights: survey weights, one per row.

    Raises:
        ArgumentError: where there are too many groups.
        DamagedError: where there are reports that cannot be.
    """
    for name, members in _rows_by_group(rows, by):
        with damage_of(path):
            tally = _tally(header, rows, members, weights)
        tallies[name] = tallies[name] + tally if name in tallies else tally
    check_groups(tallies, by)


def check_groups(tallies: "dict[str, AnyTally]", by: str | None) -> None:
    """Refuse a column with more groups than anybody reads."""
    if len(tallies) > MOST_GROUPS:
        raise checks.refusal("by", by, f"a column with at most {MOST_GROUPS} groups")


def _rows_by_group(rows: ReportRows, by: str | None) -> list[tuple[str, Any]]:
    """Names of the groups in these rows, and which rows they are."""
    if by is None:
        return [("", slice(None))]
    coded = pc.dictionary_encode(pc.fill_null(texts(rows.batch.column(by)), MISSING))
    codes = coded.indices.to_numpy(zero_copy_only=False)
    names = [name or MISSING for name in coded.dictionary.to_pylist()]
    if len(names) > MOST_GROUPS:
        raise checks.refusal("by", by, f"a column with at most {MOST_GROUPS} groups")
    return list(zip(names, rows_of_codes(codes, len(names)), strict=True))


def rows_of_codes(codes: Any, groups: int) -> list[Any]:
    """For every code 0..groups-1 the places where it stands."""
    codes = np.asarray(codes).astype(np.uint16 if groups <= 1 << 16 else np.int64)
    order = np.argsort(codes, kind="stable")  # of 16 bits without comparing
    return np.split(order, np.searchsorted(codes[order], np.arange(1, groups)))


def _tally(
    header: "Header", rows: ReportRows, members: Any, weights: "Floats | None"
) -> "AnyTally":
    carded = rows.carded if isinstance(rows.carded, bool) else rows.carded[members]
    reports = rows.reports[members]
    tally: AnyTally
    if weights is None:
        tally = header.mechanism.tally(reports, carded)
    else:
        tally = header.mechanism.tally(reports, carded, weights=weights[members])
    return replace(tally, decks=header.decks)
