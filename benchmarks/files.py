"""A file of a hundred million reports: counted in bounded memory, about as fast as it is read."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import jrr
from benchmarks.child import ROOT
from benchmarks.timing import alternate, ratio
from jrr import tables
from jrr.tables.columns import report_fields
from jrr.tables.formats import BATCH, write
from jrr.tables.names import CARDED

ROWS = 100_000_000
MOST_BYTES = 1_000_000_000
_CHILD = """
import sys, json
from benchmarks import memory
from jrr import tables
found = tables.estimate(sys.argv[1])
print(json.dumps({"n": found.estimate.n, "peak_bytes": memory.peak()}))
"""


def counting() -> list[dict[str, object]]:
    """`estimate` beside a bare scan and count of the same columns, and its peak memory."""
    path = _reports(ROOT / "build" / "reports-100m.parquet")
    counted = _scan(path)
    tally = tables.tally(path)[1]
    assert (tally.carded[1] + tally.cardless[1], tally.n_carded) == counted
    best = alternate(
        {"estimate": lambda: tables.estimate(path), "scan and count": lambda: _scan(path)},
        rounds=15,
    )
    return [ratio("estimate", "scan and count", best, at_most=2.0), _memory(path)]


def _reports(path: Path) -> Path:
    """Random binary reports with cards; made once, because it takes a while."""
    if path.exists() and pq.ParquetFile(path).metadata.num_rows == ROWS:
        return path
    path.parent.mkdir(exist_ok=True)
    m = jrr.DRR(n=ROWS, truth=0.4, own=0.05)
    header = tables.Header(
        "reports",
        m,
        decks=("benchmark",),
        colluders=5,
        question="answer",
        labels=("no", "yes"),
    )
    schema = pa.schema([*report_fields(m, text=False), pa.field(CARDED, pa.bool_(), False)])
    generator = np.random.default_rng(1)

    def batches() -> Iterator[Any]:
        for start in range(0, ROWS, BATCH):
            rows = min(BATCH, ROWS - start)
            reports = np.unpackbits(np.frombuffer(generator.bytes(-(-rows // 8)), np.uint8))[:rows]
            carded = np.ones(rows, np.bool_)
            carded[:: 1 << 10] = False
            yield pa.record_batch([pa.array(reports), pa.array(carded)], schema=schema)

    write(path, schema, header, batches())
    return path


def _scan(path: Path) -> tuple[int, int]:
    """Reports of 1, and reports with a card, by pyarrow and numpy alone."""
    ones = carded = 0
    with pq.ParquetFile(path) as file:
        for batch in file.iter_batches(batch_size=BATCH, columns=["report", CARDED]):
            ones += int(np.count_nonzero(batch.column(0).to_numpy()))
            carded += batch.column(1).true_count
    return ones, carded


def _memory(path: Path) -> dict[str, object]:
    """Peak of a fresh process that estimates."""
    done = subprocess.run(
        [sys.executable, "-c", _CHILD, str(path)],
        cwd=ROOT,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    found = json.loads(done.stdout)
    assert found["n"] == ROWS
    peak = found["peak_bytes"]
    return {
        "what": "peak bytes of estimate of 100 million reports",
        "bytes": peak,
        "at_most": MOST_BYTES,
        "kept": peak <= MOST_BYTES,
    }
