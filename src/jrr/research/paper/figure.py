"""Figure: one figure or table of the paper, as rows of numbers and a way to draw them."""

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from jrr.research.paper.catalogue import DataSet

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

Row = dict[str, Any]
Drawing = Callable[[Sequence[Row]], "Picture"]


@dataclass(frozen=True, kw_only=True)
class Context:
    """What a figure needs besides its own constants."""

    runs: int
    rng: np.random.Generator
    data_sets: Sequence[DataSet]
    step: Callable[[int], None]  # told the number of surveys settled, for a progress bar


@dataclass(frozen=True, kw_only=True)
class Figure:
    """One figure or table: its rows and how they are drawn."""

    key: str  # also the file name
    title: str
    sentence: str  # what to look at
    rows: Callable[[Context], Iterable[Row]]
    drawing: Drawing | None = None  # None for a table
    steps: int = 0  # how often the context is told of progress, for a bar
    source: str = ""  # what else its numbers depend on, such as a file's digest

    @property
    def kinds(self) -> tuple[str, ...]:
        """Endings of the files that a finished figure has."""
        return ("csv",) if self.drawing is None else ("csv", "png", "svg")


def figure(*, steps: int = 0) -> Callable[[Callable[[Context], Iterable[Row]]], Figure]:
    """A function that makes rows as a figure: its name is the key, its docstring title and text."""

    def make(rows: Callable[[Context], Iterable[Row]]) -> Figure:
        title, _, sentence = (rows.__doc__ or "").partition("\n")
        return Figure(
            key=rows.__name__.replace("_", "-"),
            title=title.rstrip("."),
            sentence=" ".join(sentence.split()),
            rows=rows,
            steps=steps,
        )

    return make


def digest(content: bytes) -> str:
    """A fingerprint of a file."""
    return hashlib.sha256(content).hexdigest()
