"""A table of a database."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from jrr.tables.formats import BATCH, Batches, Table


class DatabaseTable(Table):
    """Rows of a database, opened for reading.

    Args:
        name: of the table.
        schema: its columns, as Arrow has them.
        stream: runs a query and yields its rows in batches of at most that many.
        definition: a query, where the rows are its result and no table of their own.
    """

    def __init__(
        self,
        name: str,
        schema: Any,
        stream: Callable[[str, int], Batches],
        definition: str | None = None,
    ) -> None:
        self.name, self._stream, self.definition = name, stream, definition
        self.path, self.format, self.rows = Path(f"table {name}"), "database", None
        self.columns, self.types = schema.names, {field.name: field.type for field in schema}

    @property
    def header_text(self) -> str | None:
        """There is none: whoever asks says what the reports are."""
        return None

    def same_as(self, other: Table) -> bool:
        """Whether both are the same table."""
        return isinstance(other, DatabaseTable) and self.name == other.name

    def batches(self, columns: Sequence[str], rows: int = BATCH) -> Batches:
        """The columns asked for, some rows at a time."""
        chosen = ", ".join(map(quoted, columns))
        source = quoted(self.name)
        if self.definition is not None:
            source = f"({self.definition}) AS {source}"
        return self._stream(f"SELECT {chosen} FROM {source}", rows)


def quoted(name: str) -> str:
    """A name as SQL writes it."""
    return '"' + name.replace('"', '""') + '"'
