"""A bar for long work: on standard error, and only where somebody watches."""

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from jrr.cli.output import console, wants_json

_PATIENCE = 0.5  # seconds that nobody minds to wait without a sign
_TITLE = TextColumn("{task.description}")


def _progress(*columns: ProgressColumn, quiet: bool = False) -> Progress:
    return Progress(
        *columns,
        console=console(to_error=True),
        transient=True,
        disable=quiet or not sys.stderr.isatty(),
    )


@contextmanager
def waiting(title: str) -> Iterator[None]:
    """A clock for work of which nobody knows how long it takes; shown if it takes a while.

    Nothing must be asked or printed meanwhile.
    """
    clock = _progress(SpinnerColumn(), _TITLE, TimeElapsedColumn())
    clock.add_task(title, total=None)
    begin = threading.Timer(_PATIENCE, clock.start)
    begin.daemon = True
    begin.start()
    try:
        yield
    finally:
        begin.cancel()
        begin.join()  # it may just have begun
        clock.stop()


@contextmanager
def bar(title: str) -> Iterator[Callable[[int, int | None], None]]:
    """A function that is told how much is done, and of how much where that is known."""
    with steps(title) as step:
        yield lambda done, total: step(title, done, total)


@contextmanager
def steps(title: str = "") -> Iterator[Callable[[str, int, int | None], None]]:
    """The same for work of several steps: a function that is also told what is being done."""
    columns = (_TITLE, BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with _progress(*columns, quiet=wants_json()) as progress:
        task = progress.add_task(title, total=None)
        yield lambda step, done, total: progress.update(
            task, description=step, completed=done, total=total
        )
