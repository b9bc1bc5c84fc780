"""Run figures, write each as CSV, PNG and SVG, whole or not at all, and continue where left.

Every figure has random numbers of its own, from the seed and its name, so that the order in
which figures are made, or which of them, changes nothing.
"""

import csv
import hashlib
import io
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

import jrr
from jrr._base import checks
from jrr._base.files import write_whole
from jrr.errors import ArgumentError
from jrr.reporting.plots import save
from jrr.research.paper import draw, extras, figures
from jrr.research.paper.catalogue import DATA_SETS, Question
from jrr.research.paper.figures import Context, Row


@dataclass(frozen=True)
class Figure:
    """One figure or table: its rows and how they are drawn."""

    key: str  # also the file name
    title: str
    sentence: str  # what to look at
    rows: Callable[[Context], Iterable[Row]]
    drawing: draw.Drawing | None  # None for a table
    steps: int  # how often the context is told of progress, for a bar
    source: str = ""  # what else its numbers depend on, such as a file's digest

    @property
    def kinds(self) -> tuple[str, ...]:
        """Endings of the files that a finished figure has."""
        return ("csv",) if self.drawing is None else ("csv", "png", "svg")


FIGURES: tuple[Figure, ...] = (
    Figure(
        "figure1",
        "Figure 1: MSE on four real data sets",
        "JRR is below RR where nearly everybody agrees; with the paper's fixed step it is above "
        "RR at ε = 0.001, which the paper leaves out. DRR does not care.",
        figures.figure1,
        draw.figure1,
        64,
    ),
    Figure(
        "figure2",
        "Figure 2: percentiles of ARE on four real data sets",
        "The whole distribution of errors moves, not only its mean.",
        figures.figure2,
        draw.figure2,
        48,
    ),
    Figure(
        "figure3",
        "Figure 3: MSE and ARE against ε",
        "The paper's lines need the steps its stored results used (0.0003 at n = 10,000; none "
        "at n = 40,000, 1%, which breaks its own constraint). A value that nobody holds has no "
        "relative error and is left out of ARE.",
        figures.figure3,
        draw.figure3,
        252,
    ),
    Figure(
        "figure4",
        "Figure 4: MSE and ARE against n",
        "With few people and a fixed step Algorithm 1 is worse than RR; the exact optimum never "
        "is. At n = 20 a share of 1% is nobody.",
        figures.figure4,
        draw.figure4,
        216,
    ),
    Figure(
        "figure5",
        "Figure 5: MSE against the number of colluders",
        "Lines are theory, dots simulated. Algorithm 1 crosses RR at M = 152 (n = 10,000).",
        figures.figure5,
        draw.figure5,
        340,
    ),
    Figure(
        "figure6",
        "Figure 6: MSE against the frequency",
        "Lines are theory, dots simulated. The paper's text says ε = 1, its stored results "
        "have ε = 0.1.",
        figures.figure6,
        draw.figure6,
        984,
    ),
    Figure(
        "figure7",
        "Figure 7: where JRR loses, against ε",
        "Dotted as the paper drew it (p = P(ε), ρ = 1 - 1/p, infeasible for M >= 1); solid "
        "Algorithm 1 at the same ε.",
        figures.figure7,
        draw.figure7,
        93,
    ),
    Figure(
        "figure8",
        "Figure 8: where JRR loses, against n",
        "As Figure 7: at equal ε the losing range is far wider than drawn. The paper's line "
        "labelled ε = 0.01 exponentiates twice and is that of ε = 1.01.",
        figures.figure8,
        draw.figure8,
        120,
    ),
    Figure(
        "table-data-sets",
        "Table: data sets",
        "Counts of the paper's four data sets.",
        figures.table_data_sets,
        None,
        0,
    ),
    Figure(
        "table-defaults",
        "Table: default setting",
        "The paper's default simulation setting.",
        figures.table_defaults,
        None,
        0,
    ),
    Figure(
        "frequency",
        "Error against frequency at equal guarantee",
        "JRR helps at the ends, DRR everywhere; a cap on the dealer costs JRR far more than DRR.",
        extras.by_frequency,
        draw.by_frequency,
        2,
    ),
    Figure(
        "trust",
        "The trust frontier: error against what a corrupt dealer may learn",
        "DRR turns a little trust into most of the gain.",
        extras.by_trust,
        draw.by_trust,
        2,
    ),
    Figure(
        "dropout",
        "Error against drop-out",
        "Missing people shrink the gain smoothly; nothing is biased.",
        extras.by_dropout,
        draw.by_dropout,
        30,
    ),
    Figure(
        "domain",
        "Error against the size of the domain",
        "Variance at frequency 1/k, M = 5, no cap on the dealer. DRR leads while every answer has "
        "some hundred cards; beyond, dealt unary encodings do.",
        extras.by_domain,
        draw.by_domain,
        20,
    ),
    Figure(
        "step",
        "What Δp does to Algorithm 1",
        "The step is the knob: the best one is about M q/(n-1), and the optimum needs none.",
        extras.by_step,
        draw.by_step,
        3,
    ),
    Figure(
        "two-phase",
        "Two-phase estimation",
        "A first phase decides between RR and one JRR. It protects JRR near 1/2, costs error "
        "elsewhere, and never reaches DRR. Splitting the budget also biases a little.",
        extras.two_phases,
        draw.two_phases,
        20,
    ),
    Figure(
        "groups",
        "Larger groups buy nothing",
        "Balanced signs in secret groups of any even size have the law of one deck "
        "(docs/theory.md, Corollary 1.1).",
        extras.by_group_size,
        draw.by_group_size,
        8,
    ),
)


def pick(wanted: Sequence[str]) -> tuple[Figure, ...]:
    """Figures by key or number; none given means all."""
    known = {figure.key: figure for figure in FIGURES}
    known |= {key.removeprefix("figure"): figure for key, figure in known.items()}
    for name in wanted:
        checks.one_of("figure", name, tuple(known))
    return tuple(dict.fromkeys(known[name] for name in wanted)) if wanted else FIGURES


def reproduce(
    chosen: Sequence[Figure],
    out: Path,
    runs: int = 1000,
    seed: int = 1,
    data_sets: Sequence[Question] = DATA_SETS,
    step: Callable[[Figure, int], None] = lambda figure, done: None,
    force: bool = False,
) -> Iterator[tuple[Figure, list[Row]]]:
    """Make figures one after the other; finished ones with the same parameters are kept."""
    runs = checks.integer("runs", runs, 2)
    seed = checks.integer("seed", seed, 0)
    if out.exists() and not out.is_dir():
        raise ArgumentError(f"out must be a directory, got out={str(out)!r}")
    out.mkdir(parents=True, exist_ok=True)
    for figure in chosen:
        stamp = _stamp(figure, runs, seed, data_sets)
        done = None if force else _finished(figure, out, stamp)
        if done is None:
            done = _make(figure, out, stamp, runs, seed, data_sets, step)
        else:
            step(figure, figure.steps)
        yield figure, done


def finished(
    out: Path, runs: int, seed: int, data_sets: Sequence[Question] = DATA_SETS
) -> Iterator[tuple[Figure, list[Row]]]:
    """Every figure that is whole in this directory with these parameters."""
    for figure in FIGURES:
        rows = _finished(figure, out, _stamp(figure, runs, seed, data_sets))
        if rows is not None:
            yield figure, rows


def _stamp(
    figure: Figure, runs: int, seed: int, data_sets: Sequence[Question]
) -> dict[str, object]:
    """What a figure's numbers depend on, the code included."""
    return {
        "code": _code(),
        "figure": figure.key,
        "source": figure.source,
        "runs": runs,
        "seed": seed,
        "data": [[data.name, data.n, data.ones] for data in data_sets],
    }


@cache
def _code() -> str:
    digest = hashlib.sha256()
    for path in sorted(Path(jrr.__file__).parent.rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _make(
    figure: Figure,
    out: Path,
    stamp: dict[str, object],
    runs: int,
    seed: int,
    data_sets: Sequence[Question],
    step: Callable[[Figure, int], None],
) -> list[Row]:
    words = [seed, *figure.key.encode()]
    rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence(words)))
    context = Context(runs, rng, data_sets, lambda done: step(figure, done))
    rows = list(figure.rows(context))
    (out / f"{figure.key}.json").unlink(missing_ok=True)
    text = _as_csv(rows)
    write_whole(out / f"{figure.key}.csv", text)
    if figure.drawing is not None:
        for kind in ("png", "svg"):
            save(figure.drawing(rows), out / f"{figure.key}.{kind}")
    # Written last: its presence says that all the others are whole.
    write_whole(out / f"{figure.key}.json", json.dumps(stamp | {"csv": digest(text.encode())}))
    return rows


def _finished(figure: Figure, out: Path, stamp: dict[str, object]) -> list[Row] | None:
    if not all((out / f"{figure.key}.{kind}").exists() for kind in figure.kinds):
        return None
    try:
        text = (out / f"{figure.key}.csv").read_bytes()
        known = json.loads((out / f"{figure.key}.json").read_text(encoding="utf-8"))
        if known != stamp | {"csv": digest(text)}:
            return None
        rows = csv.DictReader(io.StringIO(text.decode()))
        return [{key: _value(cell) for key, cell in row.items()} for row in rows]
    except (OSError, ValueError):
        return None


def digest(content: bytes) -> str:
    """A fingerprint of a file."""
    return hashlib.sha256(content).hexdigest()


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
