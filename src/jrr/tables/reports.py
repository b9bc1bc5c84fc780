"""Reading files of reports: their header, and their rows as the core takes them."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from jrr._base import checks
from jrr.errors import JrrError
from jrr.estimation.tally import Tally
from jrr.tables import seal
from jrr.tables.columns import CARDED, SEALED, carded_from_arrow, report_fields, reports_from_arrow
from jrr.tables.formats import Table, sidecar
from jrr.tables.header import Header

Progress = Callable[[int, int | None], None]  # rows done, rows in all where known


def silent(done: int, total: int | None) -> None:
    """Show no progress."""


class Rows(NamedTuple):
    """Some rows of a file of reports."""

    reports: NDArray[Any]
    carded: bool | NDArray[np.bool_]
    batch: Any  # with the other columns that were asked for


def open_reports(path: str | Path, *holds: str) -> tuple[Table, Header]:
    """A file of cards or reports, and what it says about itself."""
    table = Table(path)
    text = table.header_text
    if text is None:
        missing = f"{sidecar(table.path)}, which is missing" if table.format == "csv" else "none"
        raise JrrError(
            f"{path} must be a file that jrr wrote: its header is looked for in its schema, or "
            f"for CSV in a JSON file beside it; got {missing}"
        )
    header = Header.from_json(text, str(path))
    if header.holds not in holds:
        raise checks.refusal(f"{path}", header.holds, f"a file of {' or '.join(holds)}")
    if table.rows is None:
        table.rows = header.rows
    return table, header


def read_header(path: str | Path) -> Header:
    """What a file of cards or reports says about itself."""
    return open_reports(path, "cards", "reports", "sealed reports")[1]


def rows_of(
    table: Table,
    header: Header,
    extra: Sequence[str] = (),
    key: str | Path | None = None,
    seen: set[bytes] | None = None,
) -> Iterator[Rows]:
    """All rows in batches, opened with the collector's private key where they are sealed.

    seen: starts of sealed reports of the files before, so that no copy of them is counted.
    """
    sealed = header.holds == "sealed reports"
    opener = seal.opener(key, header, set() if seen is None else seen) if sealed else None
    names = [field.name for field in report_fields(header.mechanism, text=False)]
    ours = [SEALED] if sealed else [*names, CARDED]
    for name in ours:
        table.require("column", name)
    done = 0
    carded: bool | NDArray[np.bool_]
    for batch in table.batches([*ours, *(name for name in extra if name not in ours)]):
        if opener is not None:
            reports, carded = opener(batch.column(SEALED), done)
        else:
            reports = reports_from_arrow(header.mechanism, batch)
            carded = carded_from_arrow(batch.column(CARDED))
        done += batch.num_rows
        if batch.num_rows:
            yield Rows(reports, carded, batch)
    if table.rows is not None and done != table.rows:
        raise JrrError(
            f"{table.path} must have the {table.rows} rows it was written with, got {done}"
        )


def tally(
    *paths: str | Path, key: str | Path | None = None, progress: Progress = silent
) -> tuple[Header, Tally]:
    """Count the reports of one or several files, in bounded memory."""
    header, opened = open_together(paths)
    total = known_total(opened)
    done, sums = 0, []
    seen: set[bytes] = set()
    for table, own in opened:
        for rows in rows_of(table, own, key=key, seen=seen):
            sums.append(count(own, rows))
            done += len(rows.reports)
            progress(done, total)
            if len(sums) > 64:
                sums = [sum_of(sums)]
    return header, sum_of(sums)


def count(header: Header, rows: Rows) -> Tally:
    """The tally of some rows."""
    counted = header.mechanism.tally(rows.reports, rows.carded)
    return named(counted, header)


def named(counted: Tally, header: Header) -> Tally:
    """The tally with the names of the decks that the file's cards came from."""
    return replace(counted, decks=header.decks)


def sum_of(tallies: Sequence[Tally]) -> Tally:
    """All of them together."""
    if not tallies:
        raise JrrError("reports must hold at least one report, got none")
    total = tallies[0]
    for more in tallies[1:]:
        total = total + more
    return total


def open_together(paths: Sequence[str | Path]) -> tuple[Header, list[tuple[Table, Header]]]:
    """Several files of the same kind of reports, each named once."""
    if not paths:
        raise JrrError("reports must name at least one file, got none")
    opened = []
    for path in paths:
        opened.append(open_reports(path, "reports", "sealed reports"))
        twice = [table.path for table, _ in opened[:-1] if table.path.samefile(path)]
        if twice:
            raise checks.refusal("reports", str(path), "files that are all different")
    header = opened[0][1]
    for table, own in opened[1:]:
        header = header.merged(own, str(table.path))
    return header, opened


def known_total(opened: Sequence[tuple[Table, Header]]) -> int | None:
    """Rows in all, where every file says so."""
    rows = [table.rows for table, _ in opened]
    return None if None in rows else sum(row for row in rows if row is not None)
