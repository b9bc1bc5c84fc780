"""shuffle: files of reports into one, without identifiers and in uniformly random order.

Each row goes to one of several buckets at random, and each bucket is put in random order in
memory: together an exactly uniform permutation, for files larger than memory too.
"""

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from jrr._base.randomness import RandomSource, shuffled, source
from jrr.errors import ArgumentError, DamagedError
from jrr.mechanisms.base import Rng
from jrr.tables.columns import report_batch, report_schema
from jrr.tables.formats import BATCH, Table, check_output, damage_of, format_of, write
from jrr.tables.grouping import texts
from jrr.tables.header import Header
from jrr.tables.levels import LevelHeader, convert_levels
from jrr.tables.names import RESERVED, SEALED
from jrr.tables.progress import Progress, silent, watched
from jrr.tables.reports import ReportFiles, open_reports, open_together, rows_of
from jrr.tables.seal import check_fresh, sealed_field

BUCKET = 1 << 23  # rows that are put in order in memory


def shuffle(
    paths: Sequence[str | Path],
    out: str | Path,
    *,
    rng: Rng = None,
    force: bool = False,
    bucket: int = BUCKET,
    progress: Progress = silent,
) -> tuple[Header, int]:
    r"""Write all reports of all files in one uniformly random order.

    Every column but the report and whether it was made with a card is dropped. Sealed reports
    stay sealed.

    Args:
        paths: files of the same kind of reports.
        out: a Parquet, Arrow or CSV file, by the ending of its name.
        rng: where randomness comes from; secure by default.
        force: overwrite an existing file.
        bucket: rows that are put in order in memory at a time.
        progress: is told how many rows are done.

    Returns:
        The header of the new file, and its number of rows.

    Raises:
        ArgumentError: where a file does not exist or belong to the others, or the output exists.
        DamagedError: where a file cannot be read as what it claims to be.

    Example:
        >>> import jrr, pathlib, tempfile
        >>> from jrr import tables
        >>> folder = tempfile.TemporaryDirectory()
        >>> data, reports = f"{folder.name}/data.csv", f"{folder.name}/reports.csv"
        >>> _ = pathlib.Path(data).write_text("smokes\n" + "no\nyes\n" * 50)
        >>> _ = tables.perturb(data, "smokes", reports, epsilon=1.0, labels=["no", "yes"])
        >>> header, rows = tables.shuffle([reports], f"{folder.name}/shuffled.csv")
        >>> header.shuffled, rows
        (True, 100)
        >>> folder.cleanup()
    """
    path = check_output(out, force, *paths)
    files = open_together(paths)
    header = replace(files.header, shuffled=True, rows=None)
    text = format_of(path) == "csv"
    sealed = header.holds == "sealed reports"
    if sealed and text:
        raise ArgumentError(
            f"out must be a Parquet or Arrow file for sealed reports, got out={out!r}"
        )
    if not path.parent.is_dir():
        raise ArgumentError(f"out must be in a directory that exists, got out={str(out)!r}")
    if sealed:
        schema = pa.schema([sealed_field(header.mechanism)])
        batches = _sealed_batches(files, schema)
    else:
        schema = report_schema(header.mechanism, text)
        batches = _open_batches(files, schema, text)
    # Beside the output: the reports must not be copied to a place that others may read.
    folder = Path(tempfile.mkdtemp(prefix=".shuffle-", dir=path.parent))
    try:
        buckets = _Buckets(folder=folder, schema=schema, words=source(rng))
        count = _bucket_count(files.rows, bucket)
        mixed = buckets.mixed(watched(batches, files.rows, progress), count)
        rows = write(path, schema, header, mixed)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return header, rows


def _sealed_batches(files: ReportFiles, schema: Any) -> Iterator[Any]:
    starts: set[bytes] = set()
    for table, _ in files.tables:
        with damage_of(table.path):
            table.require("column", SEALED)
        for batch in table.batches([SEALED]):
            yield _sealed_batch(table, batch.column(0), schema, starts)


def _sealed_batch(table: Table, column: Any, schema: Any, starts: set[bytes]) -> Any:
    if column.null_count or column.type != schema.field(0).type:
        raise DamagedError(f"{table.path}: column {SEALED} must hold reports of one length")
    with damage_of(table.path):
        for sealed in column.to_pylist():
            check_fresh(sealed, starts)
    return pa.record_batch([column], schema=schema)


def _open_batches(files: ReportFiles, schema: Any, text: bool) -> Iterator[Any]:
    mechanism = files.header.mechanism
    for table, header in files.tables:
        for rows in rows_of(table, header):
            with damage_of(table.path):
                mechanism.tally(rows.reports, rows.carded)  # refuses what is out of the domain
            yield report_batch(schema, mechanism, rows.reports, rows.carded, text=text)


def _bucket_count(rows: int | None, bucket: int) -> int:
    """A power of two, so that a word's lowest bits choose a bucket without bias."""
    return 64 if rows is None else 1 << max(0, -(-rows // bucket) - 1).bit_length()


@dataclass(frozen=True, kw_only=True)
class _Buckets:
    """Files among which rows are spread at random, each small enough to be mixed in memory."""

    folder: Path
    schema: Any
    words: RandomSource

    def mixed(self, batches: Iterator[Any], count: int) -> Iterator[Any]:
        """All rows in uniformly random order."""
        paths = [self.folder / f"{number}.arrow" for number in range(count)]
        writers = [pa.ipc.new_stream(str(path), self.schema) for path in paths]
        try:
            for batch in batches:
                bucket_numbers = self.words.words(batch.num_rows) & np.uint64(count - 1)
                for number, writer in enumerate(writers):
                    rows = np.flatnonzero(bucket_numbers == number)
                    if rows.size:
                        writer.write_batch(batch.take(pa.array(rows)))
        finally:
            for writer in writers:
                writer.close()
        for path in paths:
            with pa.ipc.open_stream(str(path)) as reader:
                table = reader.read_all()
            path.unlink()
            order = shuffled(np.arange(table.num_rows), self.words)
            mixed = table.take(pa.array(order)).combine_chunks()
            yield from mixed.to_batches(max_chunksize=BATCH)


def convert(reports: str | Path, out: str | Path, *, force: bool = False) -> Header | LevelHeader:
    """Write the same reports in the same order, with all their columns.

    Reports of strings and of numbers by ranges are sorted by level instead, some thousands at a
    time.

    Args:
        reports: a file of reports.
        out: a Parquet, Arrow, CSV or JSON lines file, by the ending of its name; in CSV, and from
            it, the other columns become texts.
        force: overwrite an existing file.

    Returns:
        The header of both files.

    Raises:
        ArgumentError: where the file does not exist or holds no reports, or the output exists.
        DamagedError: where it cannot be read as what it claims to be.
    """
    path = check_output(out, force, reports)
    by_level = convert_levels(reports, path)
    if by_level is not None:
        return by_level
    table, header = open_reports(reports, "reports")
    to_csv = format_of(path) == "csv"
    text = to_csv or table.format == "csv"
    extra = [name for name in table.columns if name not in RESERVED]
    fields = [pa.field(name, pa.string() if text else table.types[name]) for name in extra]
    schema = report_schema(header.mechanism, to_csv, *fields)

    def batches() -> Iterator[Any]:
        for rows in rows_of(table, header, extra):
            more = [rows.batch.column(name) for name in extra]
            if text:
                more = [texts(column) for column in more]
            reports, carded = rows.reports, rows.carded
            yield report_batch(schema, header.mechanism, reports, carded, *more, text=to_csv)

    write(path, schema, header, batches())
    return header
