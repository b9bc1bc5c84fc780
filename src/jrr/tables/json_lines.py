"""Reports as JSON lines, as tables: what devices send, with public columns where there are any.

The first line is the header (jrr.telemetry.report_lines). Where it names `columns`, each further
line is an object of these, of `report` and perhaps of `carded`.
"""

import json
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from jrr._base import checks
from jrr.errors import ArgumentError
from jrr.mechanisms.base import Mechanism
from jrr.tables.columns import carded_from_arrow, report_batch, report_schema, reports_from_arrow
from jrr.tables.formats import BATCH, OTHER_OPENERS, OTHER_WRITERS, Batches, Table
from jrr.tables.header import Header
from jrr.tables.names import CARDED, RESERVED
from jrr.telemetry.report_lines import ENDINGS, damage_in, open_lines, split_line


class JsonLines(Table):
    """A file of JSON lines, opened for reading; public columns are texts.

    Args:
        path: the file.
    """

    def __init__(self, path: str | Path) -> None:
        self.path, self.format = Path(path), "jsonl"
        document, _ = open_lines(self.path)
        self._extra = tuple(document.pop("columns", ()))
        self._text = json.dumps(document)
        self._header = Header.from_json(self._text, str(path))
        mechanism = self._header.mechanism
        self._schema = report_schema(
            mechanism, False, *(pa.field(name, pa.string()) for name in self._extra)
        )
        self.columns = self._schema.names
        self.types = {field.name: field.type for field in self._schema}
        self.rows, self._metadata = None, {}

    @property
    def header_text(self) -> str | None:
        """The first line, without the names of columns."""
        return self._text

    def batches(self, columns: Sequence[str], rows: int = BATCH) -> Batches:
        """The columns asked for, some rows at a time."""
        _, documents = open_lines(self.path)
        while some := list(islice(documents, min(rows, 1 << 16))):
            with damage_in([self.path], self._header.mechanism):
                yield self._batch(some).select(list(columns))

    def _batch(self, lines: Sequence[Any]) -> Any:
        mechanism: Mechanism = self._header.mechanism
        found = [split_line(line, self._extra) for line in lines]
        reports = mechanism.reports_from_json([document for document, _ in found])
        carded = mechanism.carded_flags(reports, len(lines), None)
        extra = [
            pa.array([_text(values[at]) for _, values in found], pa.string())
            for at in range(len(self._extra))
        ]
        array = np.asarray(mechanism.report_format.from_list(reports))
        return report_batch(self._schema, mechanism, array, carded, *extra, text=False)


class LinesWriter:
    """Writes batches of reports as JSON lines.

    Args:
        path: the file, which does not exist.
        schema: of the batches.
        header: what they are.
    """

    def __init__(self, path: Path, schema: Any, header: Any) -> None:
        if not isinstance(header, Header) or header.holds != "reports":
            raise ArgumentError("out must be a Parquet, Arrow or CSV file for what is no reports")
        self._mechanism = header.mechanism
        self._extra = [name for name in schema.names if name not in RESERVED]
        # Lines may be added later, so that it does not say how many there are.
        document = (
            header.to_dict() | {"rows": None} | ({"columns": self._extra} if self._extra else {})
        )
        self._file = path.open("w", encoding="utf-8")
        self._file.write(json.dumps(document, sort_keys=True, ensure_ascii=False) + "\n")

    def __enter__(self) -> "LinesWriter":
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def write_batch(self, batch: Any) -> None:
        """Add the rows of a batch."""
        for document in self._documents(batch):
            self._file.write(json.dumps(document, ensure_ascii=False) + "\n")

    def _documents(self, batch: Any) -> Iterator[Any]:
        reports = reports_from_arrow(self._mechanism, batch)
        flags = carded_from_arrow(batch.column(CARDED))
        told = self._mechanism.reports_to_json(np.asarray(reports), flags)
        if not self._extra:
            yield from told
            return
        columns = [batch.column(name).to_pylist() for name in self._extra]
        for document, *values in zip(told, *columns, strict=True):
            bare = document if self._mechanism.deals else {"report": document}
            yield bare | dict(zip(self._extra, values, strict=True))


def _text(value: Any) -> str | None:
    """A public value as CSV has it."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return f"{value}"
    raise checks.refusal("column", value, "a text, a number, true, false or null")


OTHER_WRITERS["jsonl"] = LinesWriter
OTHER_OPENERS.update(dict.fromkeys(ENDINGS, JsonLines))
