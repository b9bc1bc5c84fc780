"""Every figure and table of the paper as rows of numbers; drawing is another matter.

Columns are the same wherever they mean the same: n, ones, epsilon, mechanism, theory (exact
variance), simulated (over `runs` surveys), stderr of the simulated number, and normal (the ARE of
a normal error with the exact variance: an approximation).
"""

import math
from collections.abc import Iterable, Iterator

import numpy as np

from jrr.mechanisms.base import Mechanism
from jrr.mechanisms.dealt import DRR
from jrr.mechanisms.request import Request
from jrr.mechanisms.rr import RR
from jrr.research.paper.figure import Context, Row, figure
from jrr.research.paper.settings import (
    COLLUDERS,
    EPSILON,
    FREQUENCY,
    PAPER_LINE,
    STEP,
    Case,
    N,
    errors,
    expected_relative,
    optimal_pairs,
    paper_jrr,
    relative_increase,
    theory,
    underperforming_range,
)

SIZES = (10_000, 40_000, 80_000)
EPSILONS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
SHARES = (0.01, 0.1, 1.0)


@figure(steps=64)
def figure1(context: Context) -> Iterator[Row]:
    """Figure 1: MSE on four real data sets.

    JRR is below RR where nearly everybody agrees; with the paper's fixed step it is above RR at ε =
    0.001, which the paper leaves out. DRR does not care.
    """
    for epsilon in (0.001, 0.01, 0.1, 1.0):
        for data in context.data_sets:
            case = Case(data.n, data.ones, epsilon)
            for row in _simulated(case, context):
                yield {"data": data.name, **row}


@figure(steps=48)
def figure2(context: Context) -> Iterator[Row]:
    """Figure 2: percentiles of ARE on four real data sets.

    The whole distribution of errors moves, not only its mean.
    """
    levels = list(range(0, 101, 5))
    for epsilon in (0.01, 0.1, 1.0):
        for data in context.data_sets:
            case = Case(data.n, data.ones, epsilon)
            for name, mechanism in case.mechanisms():
                _, relative = errors(mechanism, case, context.runs, context.rng)
                context.step(1)
                for level, value in zip(levels, np.percentile(relative, levels), strict=True):
                    yield {
                        "data": data.name,
                        "n": data.n,
                        "ones": data.ones,
                        "epsilon": epsilon,
                        "mechanism": name,
                        "percentile": level,
                        "are": float(value),
                    }


@figure(steps=252)
def figure3(context: Context) -> Iterator[Row]:
    """Figure 3: MSE and ARE against ε.

    The paper's lines need the steps its stored results used (0.0003 at n = 10,000; none at n =
    40,000, 1%, which breaks its own constraint). Of the MSE lines are theory and dots simulated;
    the ARE is simulated (the CSV has a normal approximation too). A value that nobody holds has no
    relative error and is left out of ARE.
    """
    for n in SIZES:
        for share in SHARES:
            for epsilon in EPSILONS:
                case = Case(n, round(share * n), epsilon, step=figure3_step(n, share))
                yield from _simulated(case, context)


def figure3_step(n: int, share: float) -> float | None:
    """Δp behind each line of Figure 3; None: parameters that break the paper's constraint."""
    if n == 10_000:
        return 3e-4
    return None if (n, share) == (40_000, 0.01) else STEP


@figure(steps=216)
def figure4(context: Context) -> Iterator[Row]:
    """Figure 4: MSE and ARE against n.

    With few people and a fixed step Algorithm 1 is worse than RR; optimal pairs never are. At n =
    20 a share of 1% is nobody (hollow): the relative error is then that of the other value alone.
    """
    for epsilon in (0.01, 0.1, 1.0):
        for share in SHARES:
            for n in (20, 200, 2_000, 20_000, 200_000, 2_000_000):
                case = Case(n, round(share * n), epsilon)
                for row in _simulated(case, context):
                    yield {"share": share, **row}


@figure(steps=340)
def figure5(context: Context) -> Iterator[Row]:
    """Figure 5: MSE against the number of colluders.

    Lines are theory, dots simulated. Algorithm 1 crosses RR at M = 152 (n = 10,000).
    """
    for n in SIZES:
        for colluders in _colluders(n):
            case = Case(n, round(FREQUENCY * n), EPSILON, colluders)
            yield from _simulated(case, context)


@figure(steps=984)
def figure6(context: Context) -> Iterator[Row]:
    """Figure 6: MSE against the frequency.

    Lines are theory, dots simulated. The paper's text says ε = 1, its stored results have ε = 0.1.
    """
    for epsilon in (0.1, 1.0):
        for n in SIZES:
            for share in np.linspace(0, 1, 41):
                yield from _simulated(Case(n, round(float(share) * n), epsilon), context)


@figure(steps=93)
def figure7(context: Context) -> Iterator[Row]:
    """Figure 7: where JRR loses, against ε.

    Dotted as the paper drew it (p = P(ε), ρ = 1 - 1/p, infeasible for M >= 1); solid Algorithm 1 at
    the same ε; 0 where the best pairs are RR itself. Pairs are optimal on average over all
    frequencies, not at 1/2.
    """
    for n in SIZES:
        for epsilon in np.geomspace(0.001, 1, 31):
            yield from _underperformance(n, float(epsilon))
            context.step(1)


@figure(steps=120)
def figure8(context: Context) -> Iterator[Row]:
    """Figure 8: where JRR loses, against n.

    As Figure 7: at equal ε the losing range is far wider than drawn. The paper's line labelled ε =
    0.01 exponentiates twice and is that of ε = 1.01.
    """
    for epsilon in (0.01, 0.1, 1.0):
        for n in range(1_000, 40_001, 1_000):
            yield from _underperformance(n, epsilon)
            context.step(1)


@figure()
def table_data_sets(context: Context) -> Iterator[Row]:
    """Table: data sets.

    Counts of the paper's four data sets.
    """
    for data in context.data_sets:
        yield {"data": data.name, "n": data.n, "ones": data.ones, "share": data.ones / data.n}


@figure()
def table_defaults(context: Context) -> Iterator[Row]:
    """Table: default setting.

    The paper's default simulation setting.
    """
    for name, value in (
        ("n", N),
        ("n1/n", FREQUENCY),
        ("epsilon", EPSILON),
        ("M", COLLUDERS),
        ("step p", STEP),
        ("step rho", STEP),
    ):
        yield {"parameter": name, "value": value}


def _underperformance(n: int, epsilon: float) -> Iterator[Row]:
    rr = RR(epsilon=epsilon)
    best = optimal_pairs(n, epsilon, COLLUDERS)
    dealt = DRR.best(Request(n, epsilon, COLLUDERS))
    versions: tuple[tuple[str, Mechanism | None], ...] = (
        ("as drawn", paper_jrr(n, epsilon, COLLUDERS, None)),
        ("equal epsilon", paper_jrr(n, epsilon, COLLUDERS, STEP)),
        ("optimal pairs", best),
        ("DRR", dealt),
    )
    for version, mechanism in versions:
        yield {
            "n": n,
            "epsilon": epsilon,
            "version": version,
            "ri": math.nan if mechanism is None else relative_increase(n, mechanism, rr),
            "r": math.nan if mechanism is None else underperforming_range(n, mechanism, rr),
        }


def _colluders(n: int) -> list[int]:
    grid = {0, 1, 2, 5, n - 1, *(int(x) for x in np.geomspace(1, n - 1, 25))}
    return sorted(grid)


def _simulated(case: Case, context: Context) -> Iterable[Row]:
    """Theory and simulation of every mechanism in one setting."""
    for name, mechanism in case.mechanisms():
        squared, relative = errors(mechanism, case, context.runs, context.rng)
        context.step(1)
        root = math.sqrt(context.runs)
        yield {
            "n": case.n,
            "ones": case.ones,
            "epsilon": case.epsilon,
            "colluders": case.colluders,
            "step": "" if case.step is None or name != PAPER_LINE else case.step,
            "mechanism": name,
            "mse_theory": theory(mechanism, case),
            "mse_simulated": float(squared.mean()),
            "mse_stderr": float(squared.std(ddof=1) / root) if context.runs > 1 else math.nan,
            "are_normal": expected_relative(mechanism, case),
            "are_simulated": float(relative.mean()),
            "epsilon_cards": mechanism.epsilon("cards", case.colluders),
        }
