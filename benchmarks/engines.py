"""A query with a thousand groups over very many reports, beside a bare GROUP BY."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
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

SIZES = (1_000_000, 10_000_000, 100_000_000)
GROUPS = 1_000
MOST_BYTES = 2_000_000_000
_CHILD = """
import sys, json
from benchmarks import memory
from jrr import tables
found = tables.estimate(sys.argv[1], by="region", engine="duckdb")
print(json.dumps({"n": found.estimate.n, "peak_bytes": memory.peak()}))
"""


def counting(sizes: tuple[int, ...] = SIZES) -> list[dict[str, object]]:
    """Seconds of `estimate --engine duckdb --by` at each size, and the ratio at the largest."""
    results: list[dict[str, object]] = []
    seconds: dict[int, float] = {}
    for rows in sizes:
        path = reports_file(rows)
        best = alternate(
            {
                "estimate": lambda path=path: tables.estimate(path, by="region", engine="duckdb"),
                "GROUP BY": lambda path=path: _bare(path),
            },
            rounds=3,
        )
        seconds[rows] = best["estimate"]
        results.append({"rows": rows} | ratio("estimate", "GROUP BY", best, at_most=2.0))
    grown = seconds[sizes[-1]] / seconds[sizes[0]]
    most = sizes[-1] / sizes[0]
    results.append(
        {
            "what": f"seconds for {sizes[-1]:,} rows / for {sizes[0]:,}",
            "ratio": grown,
            "at_most": most,
            "kept": grown <= most,
        }
    )
    return [*results, _memory(reports_file(sizes[-1]))]


def _bare(path: Path) -> Any:
    query = f"SELECT region, report, count(*) FROM '{path}' GROUP BY ALL"
    return duckdb.sql(query).fetchall()


def reports_file(rows: int) -> Path:
    """Random binary reports with cards in a thousand regions; made once."""
    path = ROOT / "build" / f"reports-{rows}-by-region.parquet"
    if path.exists() and pq.ParquetFile(path).metadata.num_rows == rows:
        return path
    path.parent.mkdir(exist_ok=True)
    m = jrr.DRR(n=rows, truth=0.4, own=0.05)
    header = tables.Header(
        "reports", m, decks=("benchmark",), question="answer", labels=("no", "yes")
    )
    schema = pa.schema(
        [
            *report_fields(m, text=False),
            pa.field(CARDED, pa.bool_(), False),
            ("region", pa.string()),
        ]
    )
    rng, names = np.random.default_rng(1), np.array([f"region {at}" for at in range(GROUPS)])

    def batches() -> Iterator[Any]:
        for start in range(0, rows, BATCH):
            size = min(BATCH, rows - start)
            region = pa.DictionaryArray.from_arrays(
                rng.integers(0, GROUPS, size).astype(np.int32), pa.array(names)
            ).cast(pa.string())
            reports = pa.array(rng.integers(0, 2, size).astype(np.uint8))
            carded = pa.array(np.ones(size, np.bool_))
            yield pa.record_batch([reports, carded, region], schema=schema)

    write(path, schema, header, batches())
    return path


def _memory(path: Path) -> dict[str, object]:
    command = [sys.executable, "-c", _CHILD, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    peak = json.loads(done.stdout)["peak_bytes"]
    return {
        "what": "peak memory of estimate by DuckDB, in bytes",
        "ratio": peak,
        "at_most": MOST_BYTES,
        "kept": peak <= MOST_BYTES,
    }
