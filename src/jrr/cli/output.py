"""How results are printed: as one line of JSON, or as sentences and tables."""

import json
import math
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from typing import Any

import click
from rich.console import Console, RenderableType
from rich.table import Table

_JSON = "jrr.json"  # in the context of a command: whether JSON is asked for

Line = RenderableType | Callable[[Console], None]
Lines = Line | Iterator[Line]  # the latter are made only if they are printed


def _remember(context: click.Context, _: click.Parameter, wanted: bool) -> None:
    context.meta[_JSON] = wanted


json_option = click.option(
    "--json",
    is_flag=True,
    expose_value=False,
    is_eager=True,  # what else is read may already ask
    callback=_remember,
    help="Print one line of JSON.",
)


def wants_json() -> bool:
    """Whether the command that runs was given --json."""
    context = click.get_current_context(silent=True)
    return context is not None and bool(context.meta.get(_JSON))


def show(document: Any, *lines: Lines) -> None:
    """Print a result: the document with --json, and the lines without."""
    if wants_json():
        print_json(document)
        return
    screen = console()
    for some in lines:
        for line in some if isinstance(some, Iterator) else (some,):
            if callable(line):
                line(screen)
            else:
                screen.print(line)


def unwrapped(words: str) -> Line:
    """A line that is not broken, however long it is: an address, or what is to be typed."""
    return lambda screen: screen.print(words, soft_wrap=True)


def make_table(
    headings: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    title: str | None = None,
    left: int = 1,
    bold: Container[int] = (),
    caption: str | None = None,
) -> Table:
    """A table for the screen.

    Args:
        headings: of the columns.
        rows: their cells.
        title: above it.
        left: how many columns hold words; the others hold numbers.
        bold: rows that stand out, by their numbers from 0.
        caption: below it.
    """
    table = Table(title=title, title_justify="left", title_style="", caption=caption)
    for at, heading in enumerate(headings):
        table.add_column(heading, justify="left" if at < left else "right")
    for at, row in enumerate(rows):
        table.add_row(*row, style="bold" if at in bold else None)
    return table


def print_json(document: Any) -> None:
    """One line; an unbounded ε is the word "unbounded", since JSON has no infinity."""
    print(json.dumps(plain(document), ensure_ascii=False, allow_nan=False))


def plain(document: Any) -> Any:
    """The document with numbers that JSON can say."""
    if isinstance(document, dict):
        return {str(key): plain(value) for key, value in document.items()}
    if isinstance(document, list | tuple):
        return [plain(value) for value in document]
    if isinstance(document, float) and math.isinf(document):
        return "unbounded"
    if isinstance(document, float) and math.isnan(document):
        return None
    return document


def console(to_error: bool = False) -> Console:
    """Where tables and sentences go."""
    return Console(highlight=False, markup=False, emoji=False, stderr=to_error)
