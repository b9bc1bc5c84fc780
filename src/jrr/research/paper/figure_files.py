"""FigureFiles: figures written as CSV, PNG and SVG, whole or not at all, and found again.

Every figure has random numbers of its own, from the seed and its name, so that the order in
which figures are made, or which of them, changes nothing.
"""

import csv
import hashlib
import io
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

import jrr
from jrr._base.files import write_whole
from jrr.reporting.plots import save
from jrr.research.paper.catalogue import DataSet
from jrr.research.paper.figure import Context, Figure, Row, digest


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
        text = _as_csv(rows)
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


def _as_csv(rows: Sequence[Row]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]) if rows else [], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def _value(text: str) -> object:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
