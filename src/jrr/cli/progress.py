"""A bar for long work: on standard error, and only where somebody watches."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn


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
