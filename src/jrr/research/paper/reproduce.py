"""The figures and tables of a reproduction, and all of them in one report."""

import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from jrr._base import checks
from jrr.errors import ArgumentError
from jrr.research.paper import artifact, draw, extras, figures, two_phase
from jrr.research.paper.catalogue import DATA_SETS, DataSet, from_directory
from jrr.research.paper.claims import Claim, claims
from jrr.research.paper.figure import Figure, Row
from jrr.research.paper.figure_files import FigureFiles
from jrr.research.paper.report import write_report

Step = Callable[[Figure, int], None]  # told of the figure that is made, and how much is done

FIGURES: tuple[Figure, ...] = (
    Figure(
        key="figure1",
        title="Figure 1: MSE on four real data sets",
        sentence=(
            "JRR is below RR where nearly everybody agrees; with the paper's fixed step it is "
            "above RR at ε = 0.001, which the paper leaves out. DRR does not care."
        ),
        rows=figures.figure1,
        drawing=draw.figure1,
        steps=64,
    ),
    Figure(
        key="figure2",
        title="Figure 2: percentiles of ARE on four real data sets",
        sentence="The whole distribution of errors moves, not only its mean.",
        rows=figures.figure2,
        drawing=draw.figure2,
        steps=48,
    ),
    Figure(
        key="figure3",
        title="Figure 3: MSE and ARE against ε",
        sentence=(
            "The paper's lines need the steps its stored results used (0.0003 at n = 10,000; none "
            "at n = 40,000, 1%, which breaks its own constraint). Of the MSE lines are theory and "
            "dots simulated; the ARE is simulated (the CSV has a normal approximation too). A "
            "value that nobody holds has no relative error and is left out of ARE."
        ),
        rows=figures.figure3,
        drawing=draw.figure3,
        steps=252,
    ),
    Figure(
        key="figure4",
        title="Figure 4: MSE and ARE against n",
        sentence=(
            "With few people and a fixed step Algorithm 1 is worse than RR; optimal pairs never "
            "are. At n = 20 a share of 1% is nobody (hollow): the relative error is then that of "
            "the other value alone."
        ),
        rows=figures.figure4,
        drawing=draw.figure4,
        steps=216,
    ),
    Figure(
        key="figure5",
        title="Figure 5: MSE against the number of colluders",
        sentence=(
            "Lines are theory, dots simulated. Algorithm 1 crosses RR at M = 152 (n = 10,000)."
        ),
        rows=figures.figure5,
        drawing=draw.figure5,
        steps=340,
    ),
    Figure(
        key="figure6",
        title="Figure 6: MSE against the frequency",
        sentence=(
            "Lines are theory, dots simulated. The paper's text says ε = 1, its stored results "
            "have ε = 0.1."
        ),
        rows=figures.figure6,
        drawing=draw.figure6,
        steps=984,
    ),
    Figure(
        key="figure7",
        title="Figure 7: where JRR loses, against ε",
        sentence=(
            "Dotted as the paper drew it (p = P(ε), ρ = 1 - 1/p, infeasible for M >= 1); solid "
            "Algorithm 1 at the same ε; 0 where the best pairs are RR itself. Pairs are optimal on "
            "average over all frequencies, not at 1/2."
        ),
        rows=figures.figure7,
        drawing=draw.figure7,
        steps=93,
    ),
    Figure(
        key="figure8",
        title="Figure 8: where JRR loses, against n",
        sentence=(
            "As Figure 7: at equal ε the losing range is far wider than drawn. The paper's line "
            "labelled ε = 0.01 exponentiates twice and is that of ε = 1.01."
        ),
        rows=figures.figure8,
        drawing=draw.figure8,
        steps=120,
    ),
    Figure(
        key="table-data-sets",
        title="Table: data sets",
        sentence="Counts of the paper's four data sets.",
        rows=figures.table_data_sets,
        drawing=None,
        steps=0,
    ),
    Figure(
        key="table-defaults",
        title="Table: default setting",
        sentence="The paper's default simulation setting.",
        rows=figures.table_defaults,
        drawing=None,
        steps=0,
    ),
    Figure(
        key="frequency",
        title="Error against frequency at equal guarantee",
        sentence=(
            "JRR helps at the ends, DRR everywhere, MRR, the default, most; any share of plus "
            "cards does better than pairs, by far at ε = 1. A cap on the dealer costs JRR more "
            "than DRR."
        ),
        rows=extras.by_frequency,
        drawing=draw.by_frequency,
        steps=2,
    ),
    Figure(
        key="trust",
        title="The trust frontier: error against what a corrupt dealer may learn",
        sentence=(
            "MRR turns a little trust into most of the gain and goes on gaining. Without it DRR "
            "does so at ε = 0.1; at ε = 1 and 10% yes an uneven deck of JRR gains more than DRR. "
            "Diamonds: a dealer without a cap."
        ),
        rows=extras.by_trust,
        drawing=draw.by_trust,
        steps=2,
    ),
    Figure(
        key="dropout",
        title="Error against drop-out",
        sentence=(
            "Missing people shrink the gain of decks smoothly; nothing is biased. MRR whose sums "
            "are announced keeps it: only the people are missing. Lines are theory, dots simulated."
        ),
        rows=extras.by_dropout,
        drawing=draw.by_dropout,
        steps=40,
    ),
    Figure(
        key="domain",
        title="Error against the size of the domain",
        sentence=(
            "Standard error at frequency 1/k, M = 5, no cap on the dealer; above without cards, "
            "below with cards, and RR for comparison. MRR with announced sums leads at every k; of "
            "the others DRR does while every answer has some hundred cards, then dealt unary "
            "encodings. SUE, OUE and OLH nearly coincide, and JRR is RR for more than two values."
        ),
        rows=extras.by_domain,
        drawing=draw.by_domain,
        steps=20,
    ),
    Figure(
        key="step",
        title="What Δp does to Algorithm 1",
        sentence=(
            "The step is the knob: the best one is about M q/(n-1), and the optimum needs none."
        ),
        rows=extras.by_step,
        drawing=draw.by_step,
        steps=3,
    ),
    Figure(
        key="two-phase",
        title="Two-phase estimation",
        sentence=(
            "With few colluders one phase of JRR is better. With 1% of a million people colluding "
            "the best JRR for an unknown frequency is RR, and a first phase of 2% of the people "
            "makes rare answers far more accurate. DRR needs no first phase at all. Splitting the "
            "budget is worse than RR near 1/2 and biases a little."
        ),
        rows=two_phase.two_phases,
        drawing=draw.two_phases,
        steps=16,
    ),
    Figure(
        key="groups",
        title="Larger groups: balanced signs buy nothing, one liar in each a lot",
        sentence=(
            "Balanced signs in secret groups of any even size have the law of one even deck "
            "(docs/theory.md, Corollary 1.1). Groups with exactly one liar are an uneven deck, "
            "with a third to a half of the error of the best pairs at the same ε in the view cards "
            "(Corollary 1.4)."
        ),
        rows=extras.by_group_size,
        drawing=draw.by_group_size,
        steps=8,
    ),
)


def no_step(figure: Figure, done: int) -> None:
    """Show no progress."""


@dataclass(frozen=True, kw_only=True)
class ReproductionRequest:
    """What to reproduce, and where to.

    Attributes:
        names: figures by key or number; none means all.
        out: the directory for CSV, PNG, SVG and report.html.
        runs: simulated surveys per point.
        seed: the same seed gives the same numbers.
        data: a directory with raw data sets, instead of the built-in counts.
        force: make finished figures again.
    """

    names: Sequence[str] = ()
    out: Path
    runs: int = 1000
    seed: int = 1
    data: Path | None = None
    force: bool = False

    def figures(self) -> tuple[Figure, ...]:
        """Those that are asked for; all includes the authors' stored results, if they are there.

        Raises:
            ArgumentError: for a name that no figure has.
        """
        chosen = pick(self.names)
        if self.data is not None and not self.names and (self.data / artifact.FILE).exists():
            chosen = (*chosen, artifact.figure(self.data / artifact.FILE))
        return chosen


@dataclass(frozen=True, kw_only=True)
class Reproduction:
    """What was reproduced, with figures of earlier runs that are still whole.

    Attributes:
        figures: each with its rows, in their usual order.
        claims: the paper's claims, and the verdicts that follow from the numbers.
        report: one page with all of it.
        files: the CSV files of this run.
    """

    figures: tuple[tuple[Figure, list[Row]], ...]
    claims: tuple[Claim, ...]
    report: Path
    files: tuple[Path, ...]


def reproduce_paper(request: ReproductionRequest, step: Step = no_step) -> Reproduction:
    """Make the figures that are asked for, judge the paper's claims, and write the report.

    Args:
        request: what to reproduce, and where to.
        step: is told of progress; a figure of s steps is s + 1 of them, the last its files.

    Returns:
        All figures in the directory, the claims and the report.

    Raises:
        ArgumentError: for an unknown figure, too few runs, or where nothing can be written to
            the directory.
    """
    data_sets = DATA_SETS if request.data is None else from_directory(request.data)
    new: dict[str, tuple[Figure, list[Row]]] = {}
    for figure, rows in reproduce(
        request.figures(),
        request.out,
        runs=request.runs,
        seed=request.seed,
        data_sets=data_sets,
        step=step,
        force=request.force,
    ):
        new[figure.key] = (figure, rows)
        step(figure, 1)
    files = FigureFiles(out=request.out, runs=request.runs, seed=request.seed, data_sets=data_sets)
    # Figures of earlier runs belong into the report too, in their usual order.
    together = dict(new)
    for figure in FIGURES:
        earlier = None if figure.key in new else files.finished(figure)
        if earlier is not None:
            together[figure.key] = (figure, earlier)
    places = {figure.key: place for place, figure in enumerate(FIGURES)}
    ordered = sorted(together.values(), key=lambda pair: places.get(pair[0].key, len(places)))
    verdicts = tuple(claims({figure.key: rows for figure, rows in ordered}, data_sets))
    about = {"runs": request.runs, "seed": request.seed}
    return Reproduction(
        figures=tuple(ordered),
        claims=verdicts,
        report=write_report(request.out / "report.html", ordered, verdicts, about),
        files=tuple(request.out / f"{f.key}.csv" for f, _ in ordered if f.key in new),
    )


def pick(names: Sequence[str]) -> tuple[Figure, ...]:
    """Figures by key or number; none given means all.

    Raises:
        ArgumentError: for a name that no figure has.
    """
    by_name = {figure.key: figure for figure in FIGURES}
    by_name |= {key.removeprefix("figure"): figure for key, figure in by_name.items()}
    for name in names:
        checks.one_of("figure", name, tuple(by_name))
    return tuple(dict.fromkeys(by_name[name] for name in names)) if names else FIGURES


def reproduce(
    chosen: Sequence[Figure],
    out: Path,
    *,
    runs: int = 1000,
    seed: int = 1,
    data_sets: Sequence[DataSet] = DATA_SETS,
    step: Step = no_step,
    force: bool = False,
) -> Iterator[tuple[Figure, list[Row]]]:
    """Make figures one after the other; finished ones with the same parameters are kept.

    Raises:
        ArgumentError: where there are fewer than 2 runs, or nothing can be written to out.
    """
    runs = checks.integer("runs", runs, 2)
    seed = checks.integer("seed", seed, 0)
    _check_directory(out)
    files = FigureFiles(out=out, runs=runs, seed=seed, data_sets=data_sets)
    for figure in chosen:
        rows = None if force else files.finished(figure)
        if rows is None:
            rows = files.make(figure, lambda done, figure=figure: step(figure, done))  # type: ignore[misc]
        else:
            step(figure, figure.steps)
        yield figure, rows


def _check_directory(out: Path) -> None:
    """Make the directory, and refuse before hours of work one that nothing can be written to."""
    if out.exists() and not out.is_dir():
        raise ArgumentError(f"out must be a directory, got out={str(out)!r}")
    try:
        out.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=out):
            pass
    except OSError as error:
        allowed = f"a directory that can be written to ({error.strerror})"
        raise checks.refusal("out", str(out), allowed) from None
