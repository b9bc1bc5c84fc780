"""A bar for long work: on standard error, and only where somebody watches."""

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

_PATIENCE = 0.5  # seconds that nobody minds to wait without a sign


@contextmanager
def waiting(title: str) -> Iterator[None]:
    """A clock for work of which nobody knows how long it takes; shown if it takes a while.

    Nothing must be asked or printed meanwhile.
    """
    screen = Console(stderr=True, highlight=False, markup=False)
    clock = Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        TimeElapsedColumn(),
        console=screen,
        transient=True,
        disable=not sys.stderr.isatty(),
    )
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
def bar(title: str, quiet: bool = False) -> Iterator[Callable[[int, int | None], None]]:
    """A function that is told how much is done, and of how much where that is known."""
    with steps(quiet, title) as step:
        yield lambda done, total: step(title, done, total)


@contextmanager
def steps(quiet: bool = False, title: str = "") -> Iterator[Callable[[str, int, int | None], None]]:
    """The same for work of several steps: a function that is also told what is being done."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    screen = Console(stderr=True, highlight=False, markup=False)
    with Progress(
        *columns, console=screen, transient=True, disable=quiet or not sys.stderr.isatty()
    ) as progress:
        task = progress.add_task(title, total=None)
        yield lambda step, done, total: progress.update(
            task, description=step, completed=done, total=total
        )
