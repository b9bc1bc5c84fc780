"""What an engine does, and a table of a database that it reads."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jrr.tables.formats import BATCH, Batches, Table

if TYPE_CHECKING:
    from jrr.tables.progress import Progress


BatchFunction = Callable[[Iterable[Any]], Iterator[Any]]  # from Arrow batches to Arrow batches


class Engine(ABC):
    """Runs queries over tables of reports.

    Attributes:
        name: as `--engine` takes it.
        dialect: Ibis's name for its SQL.
    """

    name: str
    dialect: str

    @abstractmethod
    def reader(self, name: str | None) -> Callable[[str | Path], Table]:
        """What opens the sources that are given to `jrr.tables.estimate`.

        Args:
            name: of the table in a database; None: sources are files.
        """

    @abstractmethod
    def open(self, table: Table) -> str:
        """Make the table known to the engine; its name there.

        Raises:
            ArgumentError: where the engine cannot read this kind of table.
        """

    @abstractmethod
    def run(self, query: str, progress: "Progress", rows: int | None) -> Any:
        """Run a query; an Arrow table.

        Args:
            query: in the engine's own SQL.
            progress: is told how many rows are done, where the engine says so.
            rows: how many there are, where that is known.
        """

    def map(
        self, table: Table, columns: Sequence[str], function: BatchFunction, *texts: str
    ) -> Iterator[Any]:
        """What a function makes of the rows, share by share: here batch by batch.

        Args:
            table: the rows.
            columns: which ones the function sees.
            function: of the batches of a share.
            texts: names of the columns of texts that it gives.
        """
        for batch in table.batches(columns):
            yield from function([batch])


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
