"""How far a long step is: told by a callback after each batch of rows."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

Progress = Callable[[int, int | None], None]  # rows done, rows in all where that is known


def silent(done: int, total: int | None) -> None:
    """Show no progress."""


def watched(batches: Iterable[Any], total: int | None, progress: Progress) -> Iterator[Any]:
    """The same batches; after each, how many rows are done is told."""
    done = 0
    for batch in batches:
        done += batch.num_rows
        yield batch
        progress(done, total)
