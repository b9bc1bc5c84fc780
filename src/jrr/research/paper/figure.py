"""Figure: one figure or table of the paper, as rows of numbers and a way to draw them."""

import csv
import hashlib
import io
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import jrr
from jrr._base.documents import csv_text
from jrr._base.files import write_whole
from jrr.reporting.plots import save
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


@dataclass(frozen=True, kw_only=True)
class FigureFiles:
    """A directory of figures that were made with the same parameters."""

    out: Path
    runs: int
    seed: int
    data_sets: Sequence[DataSet]

    def make(self, figure: Figure, step: Callable[[int], None]) -> list[Row]:
        """Compute, draw and write a figure; `step` is told of progress."""
        words = [self.seed, *figure.key.encode()]
        rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence(words)))
        context = Context(runs=self.runs, rng=rng, data_sets=self.data_sets, step=step)
        rows = list(figure.rows(context))
        self._stamp_file(figure).unlink(missing_ok=True)
        text = csv_text(list(rows[0]) if rows else [], rows)
        write_whole(self.out / f"{figure.key}.csv", text)
        if figure.drawing is not None:
            for kind in ("png", "svg"):
                save(figure.drawing(rows), self.out / f"{figure.key}.{kind}")
        # Written last: its presence says that all the others are whole.
        stamp = self._stamp(figure) | {"csv": digest(text.encode())}
        write_whole(self._stamp_file(figure), json.dumps(stamp))
        return rows

    def finished(self, figure: Figure) -> list[Row] | None:
        """The rows of a figure that is whole here; None where it is not."""
        if not all((self.out / f"{figure.key}.{kind}").exists() for kind in figure.kinds):
            return None
        try:
            text = (self.out / f"{figure.key}.csv").read_bytes()
            stamp = json.loads(self._stamp_file(figure).read_text(encoding="utf-8"))
            if stamp != self._stamp(figure) | {"csv": digest(text)}:
                return None
            rows = csv.DictReader(io.StringIO(text.decode()))
            return [{key: _value(cell) for key, cell in row.items()} for row in rows]
        except (OSError, ValueError):
            return None

    def _stamp(self, figure: Figure) -> dict[str, object]:
        """What a figure's numbers depend on, the code included."""
        return {
            "code": _code(),
            "figure": figure.key,
            "source": figure.source,
            "runs": self.runs,
            "seed": self.seed,
            "data": [[data.name, data.n, data.ones] for data in self.data_sets],
        }

    def _stamp_file(self, figure: Figure) -> Path:
        return self.out / f"{figure.key}.json"


@cache
def _code() -> str:
    fingerprint = hashlib.sha256()
    for path in sorted(Path(jrr.__file__).parent.rglob("*.py")):
        fingerprint.update(path.read_bytes())
    return fingerprint.hexdigest()


def _value(text: str) -> object:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
