"""Every figure and table of the paper as rows of numbers; drawing is another matter.

Columns are the same wherever they mean the same: n, ones, epsilon, mechanism, theory (exact
variance), simulated (over `runs` surveys) and stderr of the simulated number.
"""

import math
from collections.abc import Iterable, Iterator

import numpy as np

from jrr.mechanisms.base import Mechanism
from jrr.mechanisms.rr import RR
from jrr.planning.plans import uncapped_plan as plan
from jrr.research.paper.figure import Context, Row
from jrr.research.paper.metrics import relative_increase, underperforming_range
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
    paper_jrr,
    theory,
)

SIZES = (10_000, 40_000, 80_000)
EPSILONS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
SHARES = (0.01, 0.1, 1.0)


def figure1(context: Context) -> Iterator[Row]:
    """MSE on the four real data sets."""
    for epsilon in (0.001, 0.01, 0.1, 1.0):
        for data in context.data_sets:
            case = Case(data.n, data.ones, epsilon)
            for row in _simulated(case, context):
                yield {"data": data.name, **row}


def figure2(context: Context) -> Iterator[Row]:
    """Percentiles of the relative error on the four real data sets."""
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


def figure3(context: Context) -> Iterator[Row]:
    """MSE and ARE against ε, with the steps the paper's stored results really used."""
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


def figure4(context: Context) -> Iterator[Row]:
    """MSE and ARE against n. At n = 20 a share of 1% is nobody."""
    for epsilon in (0.01, 0.1, 1.0):
        for share in SHARES:
            for n in (20, 200, 2_000, 20_000, 200_000, 2_000_000):
                case = Case(n, round(share * n), epsilon)
                for row in _simulated(case, context):
                    yield {"share": share, **row}


def figure5(context: Context) -> Iterator[Row]:
    """MSE against the number of colluders: theory, with simulated points."""
    for n in SIZES:
        for colluders in _colluders(n):
            case = Case(n, round(FREQUENCY * n), EPSILON, colluders)
            yield from _simulated(case, context)


def figure6(context: Context) -> Iterator[Row]:
    """MSE against the frequency: theory, with simulated points.

    The paper's text says ε = 1, its stored results have ε = 0.1: both are here.
    """
    for epsilon in (0.1, 1.0):
        for n in SIZES:
            for share in np.linspace(0, 1, 41):
                yield from _simulated(Case(n, round(float(share) * n), epsilon), context)


def figure7(context: Context) -> Iterator[Row]:
    """RI and R against ε, as the paper drew them and at equal ε."""
    for n in SIZES:
        for epsilon in np.geomspace(0.001, 1, 31):
            yield from _underperformance(n, float(epsilon))
            context.step(1)


def figure8(context: Context) -> Iterator[Row]:
    """RI and R against n, as the paper drew them and at equal ε."""
    for epsilon in (0.01, 0.1, 1.0):
        for n in range(1_000, 40_001, 1_000):
            yield from _underperformance(n, epsilon)
            context.step(1)


def table_data_sets(context: Context) -> Iterator[Row]:
    """The paper's table of data sets."""
    for data in context.data_sets:
        yield {"data": data.name, "n": data.n, "ones": data.ones, "share": data.ones / data.n}


def table_defaults(context: Context) -> Iterator[Row]:
    """The paper's table of default settings."""
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
    best = plan(n, epsilon, COLLUDERS, mechanism="jrr").mechanism
    dealt = plan(n, epsilon, COLLUDERS, mechanism="drr").mechanism
    versions: tuple[tuple[str, Mechanism | None], ...] = (
        ("as drawn", paper_jrr(n, epsilon, COLLUDERS, None)),
        ("equal epsilon", paper_jrr(n, epsilon, COLLUDERS, STEP)),
        ("exact optimum", best),
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
            "are_theory": expected_relative(mechanism, case),
            "are_simulated": float(relative.mean()),
            "epsilon_cards": mechanism.epsilon("cards", case.colluders),
        }
