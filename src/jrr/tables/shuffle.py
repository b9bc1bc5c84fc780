"""The shuffler: many files of reports in, one out, without identifiers and without order.

Each row goes to one of several buckets at random, and each bucket is put in random order in
memory: together an exactly uniform permutation, for files larger than memory too.
"""

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from jrr._base.randomness import RandomSource, shuffled, source
from jrr.errors import JrrError
from jrr.mechanisms.base import Rng
from jrr.tables.columns import CARDED, SEALED, report_fields, reports_to_arrow
from jrr.tables.formats import BATCH, check_output, format_of, write
from jrr.tables.header import Header
from jrr.tables.reports import Progress, known_total, open_together, rows_of, silent
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
    """Write all reports of all files in one uniformly random order; the header and the rows.

    Every column but the report and whether it was made with a card is dropped.
    """
    path = check_output(out, force, *paths)
    header, opened = open_together(paths)
    header = replace(header, shuffled=True, rows=None)
    text = format_of(path) == "csv"
    sealed = header.holds == "sealed reports"
    if sealed and text:
        raise JrrError(f"out must be a Parquet or Arrow file for sealed reports, got out={out!r}")
    mechanism = header.mechanism
    fields = (
        [sealed_field(mechanism)]
        if sealed
        else [*report_fields(mechanism, text), pa.field(CARDED, pa.bool_(), False)]
    )
    schema = pa.schema(fields)
    total = known_total(opened)
    words = source(rng)

    seen: set[bytes] = set()

    def batches() -> Iterator[Any]:
        done = 0
        for table, own in opened:
            if sealed:
                table.require("column", SEALED)
                for batch in table.batches([SEALED]):
                    done += batch.num_rows
                    column = batch.column(0)
                    if column.null_count or column.type != schema.field(0).type:
                        raise JrrError(f"column {SEALED} must hold reports of one length")
                    for entry in column.to_pylist():
                        check_fresh(entry, seen)
                    yield pa.record_batch([column], schema=schema)
                    progress(done, total)
                continue
            for rows in rows_of(table, own):
                mechanism.tally(rows.reports, rows.carded)  # refuses what is out of the domain
                carded = np.broadcast_to(rows.carded, len(rows.reports))
                done += len(rows.reports)
                columns = [*reports_to_arrow(mechanism, rows.reports, text), pa.array(carded)]
                yield pa.record_batch(
                    [
                        column.cast(field.type)
                        for column, field in zip(columns, schema, strict=True)
                    ],
                    schema=schema,
                )
                progress(done, total)

    if not path.parent.is_dir():
        raise JrrError(f"out must be in a directory that exists, got out={str(out)!r}")
    # Beside the output: the reports must not be copied to a place that others may read.
    folder = Path(tempfile.mkdtemp(prefix=".shuffle-", dir=path.parent))
    try:
        mixed = _uniform(batches(), schema, words, folder, total, bucket)
        rows = write(path, schema, header, mixed)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return header, rows


def _uniform(
    batches: Iterator[Any],
    schema: Any,
    words: RandomSource,
    folder: Path,
    total: int | None,
    bucket: int,
) -> Iterator[Any]:
    # A power of two, so that a word's lowest bits choose a bucket without bias.
    count = 64 if total is None else 1 << max(0, -(-total // bucket) - 1).bit_length()
    paths = [folder / f"{number}.arrow" for number in range(count)]
    writers = [pa.ipc.new_stream(str(path), schema) for path in paths]
    try:
        for batch in batches:
            chosen = words.words(batch.num_rows) & np.uint64(count - 1)
            for number, writer in enumerate(writers):
                rows = np.flatnonzero(chosen == number)
                if rows.size:
                    writer.write_batch(batch.take(pa.array(rows)))
    finally:
        for writer in writers:
            writer.close()
    for path in paths:
        with pa.ipc.open_stream(str(path)) as reader:
            table = reader.read_all()
        path.unlink()
        order = shuffled(np.arange(table.num_rows), words)
        mixed = table.take(pa.array(order)).combine_chunks()
        yield from mixed.to_batches(max_chunksize=BATCH)
