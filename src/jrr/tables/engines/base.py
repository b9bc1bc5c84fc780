"""What an engine does."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jrr.tables.formats import Table
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
    def reader(self, name: str | None) -> "Callable[[str | Path], Table]":
        """What opens the sources that are given to `jrr.tables.estimate`.

        Args:
            name: of the table in a database; None: sources are files.
        """

    @abstractmethod
    def open(self, table: "Table") -> str:
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
        self, table: "Table", columns: Sequence[str], function: BatchFunction, *texts: str
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
