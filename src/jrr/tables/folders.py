"""Folders of Parquet files, as Spark and other platforms write one table."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from jrr._base import checks
from jrr.errors import DamagedError
from jrr.tables.formats import BATCH, META, OTHER_OPENERS, Batches, Table, readable, sound

HEADER = "_jrr.json"  # beside the parts; names that begin so are no data to such platforms


class ParquetFolder(Table):
    """All Parquet files of a folder, one table.

    Our header is a file beside them, or the same header stands in every one of them.

    Args:
        path: the folder.
    """

    def __init__(self, path: str | Path) -> None:
        self.path, self.format = Path(path), "parquet"
        self.parts = sorted(self.path.glob("[!_.]*.parquet"))
        if not self.parts:
            raise checks.refusal("path", str(path), "a folder of Parquet files")
        with readable(self.path):
            schema = pq.read_schema(self.parts[0])
            self.columns, self.types = schema.names, {one.name: one.type for one in schema}
            self._header = self._header_beside() or _own_header(schema)
            self.rows = 0
            for part in self.parts:
                self._check_part(part, pq.read_schema(part))
                self.rows += pq.read_metadata(part).num_rows

    def _check_part(self, part: Path, schema: Any) -> None:
        """Refuse a part with other columns, or with a header of its own that says otherwise."""
        if {one.name: one.type for one in schema} != self.types:
            raise DamagedError(f"{part} must have the columns of the other parts, {self.columns}")
        own = _own_header(schema)
        if own is None and self._header_beside() is not None:
            return
        if own != self._header:
            whose = f"its folder, in {HEADER}" if self._header_beside() else "the first part"
            raise DamagedError(f"{part} must have the same header as {whose}")

    @property
    def header_text(self) -> str | None:
        """Our header as JSON, where there is one."""
        return self._header

    def _header_beside(self) -> str | None:
        """Our header as JSON, where a file beside the parts has it."""
        beside = self.path / HEADER
        return beside.read_text("utf-8", "replace") if beside.is_file() else None

    def batches(self, columns: Sequence[str], rows: int = BATCH) -> Batches:
        """The columns asked for, some rows at a time."""
        for part in self.parts:
            with readable(part), pq.ParquetFile(part) as file:
                for batch in file.iter_batches(batch_size=rows, columns=list(columns)):
                    yield sound(batch)


def _own_header(schema: Any) -> str | None:
    """The header that a part carries itself."""
    own = (schema.metadata or {}).get(META)
    return None if own is None else own.decode("utf-8", "replace")


def open_table(path: str | Path) -> Table:
    """A file, or a folder of Parquet files, opened for reading; of JSON lines one of reports."""
    kind = Path(path).suffix.lower()
    if kind in OTHER_OPENERS:
        return OTHER_OPENERS[kind](path)
    return ParquetFolder(path) if Path(path).is_dir() else Table(path)
