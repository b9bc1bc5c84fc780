"""Files of reports opened and counted: their header, and their rows as mechanisms take them."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from jrr._base import checks
from jrr.errors import ArgumentError, DamagedError
from jrr.estimation.groups import AnyTally, add_tallies
from jrr.estimation.tally import Tally
from jrr.estimation.told_sums import CROSSED_BY
from jrr.tables import seal
from jrr.tables.columns import carded_from_arrow, report_fields, reports_from_arrow
from jrr.tables.folders import open_table
from jrr.tables.formats import Table, WholeTable, damage_of, sidecar
from jrr.tables.grouping import ReportRows
from jrr.tables.header import Header
from jrr.tables.names import CARDED, SEALED

_BETWEEN = "\x1f"  # answers in a column of combinations: no text of a survey has it


@dataclass(frozen=True, kw_only=True)
class ReportFiles:
    """Files of the same kind of reports, opened.

    Attributes:
        header: what holds of all of them together.
        tables: each file with its own header.
    """

    header: Header
    tables: tuple[tuple[Table, Header], ...]

    @property
    def rows(self) -> int | None:
        """Rows in all, where every file says so."""
        rows = [table.rows for table, _ in self.tables]
        return None if None in rows else sum(row for row in rows if row is not None)


def open_reports(
    path: str | Path,
    *holds: str,
    header: Header | None = None,
    reader: Callable[[str | Path], Table] = open_table,
) -> tuple[Table, Header]:
    """A file of cards or reports, and what it says about itself.

    Args:
        path: the file, or a folder of Parquet files.
        holds: what it may hold, such as "reports".
        header: what it holds, where it does not say so itself.
        reader: opens it.

    Raises:
        ArgumentError: where there is no such file, or it holds something else.
        DamagedError: where it cannot be read, or has no header or one that cannot be used.
    """
    table = reader(path)
    text = table.header_text
    if text is None and header is not None:
        return table, header
    if text is None and table.holds_survey:
        raise checks.refusal(
            f"{path}", "a survey's answers", "reports of one question: see tables.estimate_survey"
        )
    if text is None and table.format == "csv" and _is_survey_export(table.columns):
        raise checks.refusal(
            f"{path}",
            "a survey's answers as CSV",
            "a survey's answers as Parquet: export them again with jrr survey export -o "
            f"{table.path.with_suffix('.parquet').name}",
        )
    if table.carried:
        raise checks.refusal(f"{path}", list(table.carried), "read by jrr.estimate_frame, a frame")
    if text is None:
        missing = f"{sidecar(table.path)}, which is missing" if table.format == "csv" else "none"
        raise DamagedError(
            f"{table.path} must be a file that jrr wrote: its header is looked for in its schema, "
            f"or for CSV in a JSON file beside it; got {missing}"
        )
    header = Header.from_json(text, str(path))
    if header.holds not in holds:
        raise checks.refusal(f"{path}", header.holds, f"a file of {' or '.join(holds)}")
    if table.rows is None:
        table.rows = header.rows
    return table, header


def _is_survey_export(columns: Sequence[str]) -> bool:
    """Whether a table has, beside some question, whether it was answered with a card."""
    return any(f"{name}_{CARDED}" in columns for name in columns)


def open_together(
    paths: Sequence[str | Path],
    header: str | Path | Header | None = None,
    reader: Callable[[str | Path], Table] | None = None,
) -> ReportFiles:
    """Several files of the same kind of reports, each named once.

    Args:
        paths: their names.
        header: what they hold, where they do not say so themselves: a Header or a JSON file.
        reader: opens them, where they are no files.

    Raises:
        ArgumentError: where there is none, one is named twice, or they do not belong together.
        DamagedError: where one cannot be read.
    """
    if not paths:
        raise ArgumentError("reports must name at least one file, got none")
    if isinstance(header, str | Path):
        header = read_header_file(header)
    opened: list[tuple[Table, Header]] = []
    for path in paths:
        kinds = ("reports", "sealed reports")
        table, own = open_reports(path, *kinds, header=header, reader=reader or open_table)
        if any(table.same_as(other) for other, _ in opened):
            raise checks.refusal("reports", str(table.path), "files that are all different")
        opened.append((table, own))
    together = opened[0][1]
    for table, own in opened[1:]:
        together = together.merged(own, str(table.path))
    return ReportFiles(header=together, tables=tuple(opened))


def read_header_file(path: str | Path) -> Header:
    """A header that stands in a JSON file of its own.

    Raises:
        ArgumentError: where there is no such file, or it is not about reports.
        DamagedError: where it cannot be used.
    """
    if not Path(path).is_file():
        raise checks.refusal("header", str(path), "a file that exists")
    header = Header.from_json(Path(path).read_text("utf-8", "replace"), str(path))
    if header.holds != "reports":
        raise checks.refusal("header", header.holds, "one of reports")
    return replace(header, rows=None)  # it tells of the rows of another file


def read_header(path: str | Path) -> Header:
    """What a file of cards or reports says about itself.

    Args:
        path: a file that `deal`, `perturb`, `shuffle` or a collector wrote.

    Returns:
        Its header: the mechanism, the labels, the decks.

    Raises:
        ArgumentError: where there is no such file.
        DamagedError: where it cannot be read, or has no header or one that cannot be used.

    Example:
        >>> import jrr, tempfile
        >>> from jrr import tables
        >>> folder = tempfile.TemporaryDirectory()
        >>> cards = f"{folder.name}/cards.csv"
        >>> _ = tables.deal(jrr.DRR(100, truth=0.3), cards)
        >>> tables.read_header(cards).holds
        'cards'
        >>> folder.cleanup()
    """
    return open_reports(path, "cards", "reports", "sealed reports")[1]


def rows_of(
    table: Table,
    header: Header,
    extra: Sequence[str] = (),
    *,
    key: str | Path | None = None,
    starts: set[bytes] | None = None,
) -> Iterator[ReportRows]:
    """All rows in batches, opened with the collector's private key where they are sealed.

    Args:
        table: the file.
        header: what it says about itself.
        extra: other columns to read along.
        key: the collector's private key, a file.
        starts: first bytes of sealed reports of the files before, so that no copy of them is
            counted.

    Raises:
        ArgumentError: where the key is missing or none.
        DamagedError: where a column is missing or of another type, or rows are missing.
    """
    sealed = header.holds == "sealed reports"
    opener = None
    if sealed:
        before = set() if starts is None else starts
        opener = seal.opener(key, header.mechanism, header.binding(), before)
    names = [field.name for field in report_fields(header.mechanism, text=False)]
    ours = [SEALED] if sealed else [*names, CARDED]
    with damage_of(table.path):
        for name in ours:
            table.require("column", name)
    rows = 0
    carded: bool | NDArray[np.bool_]
    for batch in table.batches([*ours, *(name for name in extra if name not in ours)]):
        with damage_of(table.path):
            if opener is not None:
                reports, carded = opener(batch.column(SEALED), rows)
            else:
                reports = reports_from_arrow(header.mechanism, batch)
                carded = carded_from_arrow(batch.column(CARDED))
        rows += batch.num_rows
        if batch.num_rows:
            yield ReportRows(reports, carded, batch)
    if table.rows is not None and rows != table.rows:
        raise DamagedError(
            f"{table.path} must have the {table.rows} rows it was written with, got {rows}"
        )


class CountedBy(NamedTuple):
    """How the reports of a file are counted for groups by some columns."""

    table: Table
    column: str | None  # of the table: None: all together
    answers: tuple[str, ...]  # columns whose values stand in it
    wanted: tuple[str, ...]  # columns of the groups


def counted_by(table: Table, header: Header, by: str | None) -> CountedBy:
    """How to count for groups by a column, or several with " × " between.

    Where dealers told sums of cells, these are the cells' combinations of answers, in a column of
    their own.
    """
    wanted = columns_of(table, by)
    asked = wanted if header.sums is None else header.sums.questions(wanted)
    if len(asked) < 2:
        return CountedBy(table, by, asked, wanted)
    if not isinstance(table, WholeTable):
        raise checks.refusal("by", by, "one column, of a file that is read in parts")
    for name in asked:
        table.require("by", name)
    return CountedBy(table.with_crossing(asked, _BETWEEN), _BETWEEN.join(asked), asked, wanted)


def columns_of(table: Table, by: str | None) -> tuple[str, ...]:
    """The columns that groups are asked for by."""
    if by is None:
        return ()
    return (by,) if by in table.columns else tuple(by.split(CROSSED_BY))


def without_masks(
    header: Header, tallies: dict[str, AnyTally], counted: CountedBy
) -> tuple[AnyTally, dict[str, AnyTally]]:
    """All reports of a file and those of each group, as far as its header tells of their masks.

    Args:
        header: of the file.
        tallies: value of the column -> its reports; of no name where there are no groups.
        counted: how they were counted.

    Raises:
        ArgumentError: where there are sums, and they are of other groups or other reports.
    """
    plain = {name: tally for name, tally in tallies.items() if isinstance(tally, Tally)}
    several = len(counted.answers) > 1
    # Sums are of unweighted cards: nothing can be taken off weighted ones.
    if header.sums is None or len(plain) < len(tallies):
        named = {name.replace(_BETWEEN, CROSSED_BY): one for name, one in tallies.items()}
        return add_tallies(list(tallies.values())), named if several else tallies
    answers = {
        (tuple(name.split(_BETWEEN)) if several else (name,) * len(counted.answers)): tally
        for name, tally in plain.items()
    }
    whole, settled = header.sums.settled(header.mechanism, answers, counted.wanted)
    return whole, dict(settled)
