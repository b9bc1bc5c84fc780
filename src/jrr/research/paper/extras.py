"""Figures that the paper lacks, as rows of numbers."""

import math
from collections.abc import Iterator

import numpy as np

from jrr._base import randomness
from jrr.errors import JrrError
from jrr.mechanisms.joint import JRR
from jrr.mechanisms.simulation import simulate
from jrr.planning.algorithm1 import algorithm1
from jrr.planning.plans import uncapped_plan as plan
from jrr.research.paper.figure import Context, Row
from jrr.research.paper.settings import COLLUDERS, EPSILON, FREQUENCY, Case, N, theory


def by_frequency(context: Context) -> Iterator[Row]:
    """Error against frequency at the same guarantee; the dealer free, and capped at ε + 2."""
    for epsilon in (0.1, 1.0):
        for cap in (None, epsilon + 2):
            for share in np.linspace(0, 1, 41):
                f = float(share)
                for name, kind, known in (
                    ("RR", "rr", None),
                    ("JRR, tuned to the frequency", "jrr", f),
                    ("JRR, frequency unknown", "jrr", None),
                    ("DRR", "drr", None),
                ):
                    best_plan = plan(N, epsilon, COLLUDERS, 2, cap, mechanism=kind, frequency=known)
                    yield {
                        "epsilon": epsilon,
                        "dealer_epsilon": "" if cap is None else cap,
                        "frequency": f,
                        "mechanism": name,
                        "stderr": best_plan.stderr(f),
                    }
        context.step(1)


def by_trust(context: Context) -> Iterator[Row]:
    """The trust frontier: error against what a colluding dealer may learn."""
    for epsilon in (0.1, 1.0):
        for above in (*np.linspace(0, 6, 25), math.inf):
            cap = None if math.isinf(above) else epsilon + float(above)
            for kind in ("rr", "jrr", "drr"):
                best_plan = plan(N, epsilon, COLLUDERS, 2, cap, mechanism=kind, frequency=FREQUENCY)
                yield {
                    "epsilon": epsilon,
                    "dealer_epsilon": "inf" if cap is None else cap,
                    "mechanism": kind.upper(),
                    "stderr": best_plan.stderr(FREQUENCY),
                }
        context.step(1)


def by_dropout(context: Context) -> Iterator[Row]:
    """Error against the share of contributors who never report: theory and simulation."""
    for kind in ("rr", "jrr", "drr"):
        mechanism = plan(N, EPSILON, COLLUDERS, mechanism=kind, frequency=FREQUENCY).mechanism
        for dropped in np.linspace(0, 0.9, 10):
            left = round(N * (1 - float(dropped)))
            ones = round(FREQUENCY * left)
            counts = (left - ones, ones)
            off = simulate(mechanism, counts, context.runs, context.rng)[:, 1] - ones
            context.step(1)
            yield {
                "mechanism": kind.upper(),
                "dropped": float(dropped),
                "n": left,
                "stderr_theory": math.sqrt(float(mechanism.variance(counts)[1])) / left,
                "stderr_simulated": math.sqrt(float(np.mean(off**2))) / left,
            }


def by_domain(context: Context) -> Iterator[Row]:
    """Error against the size of the domain, averaged over the values of a uniform population."""
    kinds = ("rr", "jrr", "drr", "sue", "oue", "olh", "sue-dealt", "oue-dealt", "olh-joint")
    for epsilon in (0.1, 1.0):
        for k in (2, 4, 8, 16, 32, 64, 128, 256, 512, 1024):
            for kind in kinds:
                best_plan = plan(20_000, epsilon, COLLUDERS, k, mechanism=kind, frequency=1 / k)
                yield {
                    "epsilon": epsilon,
                    "k": k,
                    "mechanism": kind,
                    "stderr": best_plan.stderr(1 / k),
                }
            context.step(1)


def by_step(context: Context) -> Iterator[Row]:
    """What Δp does to Algorithm 1: it is a parameter of the mechanism, not a tolerance."""
    for share in (0.01, 0.1, 1.0):
        for step in np.geomspace(1e-6, 2e-2, 41):
            case = Case(N, round(share * N), EPSILON)
            try:
                mechanism = algorithm1(N, EPSILON, COLLUDERS, float(step), min(float(step), 1e-4))
            except JrrError:
                continue
            rr = plan(N, EPSILON, COLLUDERS, mechanism="rr").mechanism
            best = plan(N, EPSILON, COLLUDERS, mechanism="jrr", frequency=share).mechanism
            yield {
                "frequency": share,
                "step": float(step),
                "mse_over_rr": theory(mechanism, case) / theory(rr, case),
                "optimum_over_rr": theory(best, case) / theory(rr, case),
                "epsilon_cards": mechanism.epsilon("cards", COLLUDERS),
            }
        context.step(1)


def by_group_size(context: Context) -> Iterator[Row]:
    """Balanced signs in secret groups of any even size have the law of one deck."""
    n, ones = 240, 24
    best = plan(n, 1.0, 1, mechanism="jrr", frequency=0.1).mechanism
    assert isinstance(best, JRR)
    for size in (2, 4, 8, 12, 24, 60, 120, 240):
        off = np.array(
            [_grouped_survey(best, n, ones, size, context.rng) for _ in range(context.runs)]
        )
        squared = (off - ones) ** 2
        context.step(1)
        yield {
            "group": size,
            "n": n,
            "ones": ones,
            "mse_theory": float(best.variance((n - ones, ones))[1]),
            "mse_simulated": float(squared.mean()),
            "mse_stderr": float(squared.std(ddof=1) / math.sqrt(len(squared))),
        }


def _grouped_survey(
    mechanism: JRR, n: int, ones: int, size: int, rng: np.random.Generator
) -> float:
    """One survey, person by person, with balanced signs inside random groups."""
    signs = np.concatenate(
        [rng.permutation(np.repeat([1, -1], size // 2)) for _ in range(n // size)]
    )
    cards = np.empty(n, np.int8)
    cards[rng.permutation(n)] = signs
    values = (np.arange(n) < ones).astype(np.uint8)
    reports = mechanism.respond(values, cards, randomness.source(rng))
    return float(mechanism.estimate(reports).counts[1])
