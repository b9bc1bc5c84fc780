"""Reports of a campaign as a report file, in the order of hashes, without them."""

import json
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

from jrr.estimation.told_sums import CardSums
from jrr.servers.collector.report_header import header_of
from jrr.servers.collector.store import CollectorCampaign, ReportBlock
from jrr.tables.columns import report_fields, reports_to_arrow
from jrr.tables.formats import format_of, write
from jrr.tables.names import CARDED

_PREFIX = "jrr-export-"


@contextmanager
def export_folder() -> Iterator[Path]:
    """An empty directory that is gone afterwards; what a killed process left goes now.

    Its name holds the number of the process.
    """
    for left in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        owner = left.name.removeprefix(_PREFIX).partition("-")[0]
        mine = left.stat().st_uid == os.getuid()
        if mine and owner.isdecimal() and not Path(f"/proc/{owner}").exists():
            shutil.rmtree(left, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix=f"{_PREFIX}{os.getpid()}-") as folder:
        yield Path(folder)


def write_reports(
    path: Path,
    held: CollectorCampaign,
    blocks: Iterable[ReportBlock],
    told: CardSums | None = None,
) -> int:
    """Write blocks of reports, flags and covariates, and what dealers told; the number of rows."""
    campaign, mechanism = held.campaign, held.mechanism
    header = header_of(held, told)
    text = format_of(path) == "csv"
    covariates = sorted(campaign.covariates)
    schema = pa.schema(
        [
            *report_fields(mechanism, text),
            pa.field(CARDED, pa.bool_(), False),
            *(pa.field(name, pa.string(), False) for name in covariates),
        ]
    )

    def batches() -> Iterator[Any]:
        for block in blocks:
            entries = [json.loads(entry) for entry in block.covariates]
            columns = [pa.array([entry[name] for entry in entries]) for name in covariates]
            stored = reports_to_arrow(mechanism, block.reports, text)
            yield pa.record_batch(
                [
                    column.cast(field.type)
                    for column, field in zip(
                        [*stored, pa.array(block.carded), *columns], schema, strict=True
                    )
                ],
                schema=schema,
            )

    return write(path, schema, header, batches())
