"""The chance that an interval holds what is true: a finite sum over all that may be reported."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from benchmarks.interval_coverage.laws import Floats, Ints, People, count_law, law_of_two
from jrr.estimation.contrasts import Component
from jrr.estimation.differences import difference
from jrr.estimation.estimates import Estimate, Stratum
from jrr.estimation.intervals import kept
from jrr.mechanisms.base import Mechanism
from jrr.mechanisms.rr import RR

LEVELS = (0.8, 0.9, 0.95, 0.99, 0.999)
_RARE = 1e-9  # pairs of counts with a smaller chance are left out: they count as covered
_AT_ONCE = 4096  # pairs of counts that are tested together

Pools = Sequence[Sequence[Component]]


def estimate_of(
    mechanism: Mechanism, reports: Ints, n: int, value: int = 1, *, decks: int = 1
) -> Estimate:
    """One estimate that holds those of many surveys, as if each were a value."""
    moments = mechanism.moments.some(slice(value, value + 1))
    counts = moments.estimate(reports.astype(np.float64), n)
    return Estimate([Stratum(moments=moments, n=n, counts=counts, decks=decks)])


def weighted_estimate_of(
    mechanism: Mechanism, weights: Floats, support: Floats, squares: Floats, value: int = 1
) -> Estimate:
    """The same for weighted surveys.

    Args:
        mechanism: that all of them used.
        weights: of the people, the same in each survey.
        support: for each survey the weights of the reports that support the value.
        squares: for each survey the squares of these weights.
        value: the value.
    """
    moments = mechanism.moments.some(slice(value, value + 1))
    total, total2, total3 = (float((weights**power).sum()) for power in (1, 2, 3))
    stratum = Stratum(
        moments=moments,
        n=len(weights),
        counts=moments.estimate(support, total),
        decks=1,
        weight=total,
        weight_squares=total2,
        weight_cubes=total3,
        heaviest=float(weights.max()),
        squares=moments.estimate(squares, total2),
    )
    return Estimate([stratum])


def coverage(
    mechanism: Mechanism, holders: int, n: int, levels: Sequence[float] = LEVELS, value: int = 1
) -> list[float]:
    """The chance that the interval of a share holds it, at each level.

    Example:
        >>> [round(share, 3) for share in coverage(RR(epsilon=1.0), 10, 100, (0.95, 0.99))]
        [0.958, 0.993]
    """
    counts, law = count_law(mechanism, holders, n, value)
    pools = alone(estimate_of(mechanism, counts, n, value))
    truth = np.full(len(counts), holders / n)
    return [float(law[kept(pools, truth, level)].sum()) for level in levels]


def coverage_of_waves(
    first: tuple[Mechanism, People],
    second: tuple[Mechanism, People],
    levels: Sequence[float] = LEVELS,
) -> list[float]:
    """The same for the difference of two surveys with decks of their own."""
    return _of_difference(_independent(first, second), first, second, levels, same_deck=False)


def coverage_of_groups(
    mechanism: Mechanism, first: People, second: People, levels: Sequence[float] = LEVELS
) -> list[float]:
    """The same for the difference of two groups that share a deck."""
    law, both = law_of_two(mechanism, first, second), ((mechanism, first), (mechanism, second))
    return _of_difference(law, *both, levels, same_deck=True)


def _of_difference(
    law: Floats,
    first: tuple[Mechanism, People],
    second: tuple[Mechanism, People],
    levels: Sequence[float],
    *,
    same_deck: bool,
) -> list[float]:
    (a, here), (b, there) = first, second

    def pools(one: Ints, two: Ints) -> Pools:
        estimates = estimate_of(a, one, here.n), estimate_of(b, two, there.n)
        return difference(*estimates, same_deck=same_deck).pools

    return _covered(law, pools, here.holders / here.n - there.holders / there.n, levels)


def coverage_of_latecomers(
    mechanism: Mechanism, carded: People, late: People, levels: Sequence[float] = LEVELS
) -> list[float]:
    """The same for the share among people with and without a card together."""
    without = RR(mechanism.k, p=float(mechanism.moments.p[0]))
    law = _independent((mechanism, carded), (without, late))
    n = carded.n + late.n

    def pools(one: Ints, two: Ints) -> Pools:
        estimates = estimate_of(mechanism, one, carded.n), estimate_of(without, two, late.n)
        return [[replace(part, factor=1 / n)] for estimate in estimates for part in estimate.parts]

    return _covered(law, pools, (carded.holders + late.holders) / n, levels)


def coverage_of_weights(
    mechanism: Mechanism,
    light: People,
    heavy: People,
    weight: float,
    levels: Sequence[float] = LEVELS,
) -> list[float]:
    """The same for the weighted share, where the light ones weigh 1 and the heavy ones `weight`."""
    law = law_of_two(mechanism, light, heavy)
    weights = np.repeat([1.0, weight], [light.n, heavy.n])

    def pools(one: Ints, two: Ints) -> Pools:
        support, squares = one + weight * two, one + weight**2 * two
        return alone(weighted_estimate_of(mechanism, weights, support, squares))

    truth = (light.holders + weight * heavy.holders) / weights.sum()
    return _covered(law, pools, float(truth), levels)


def alone(estimate: Estimate) -> Pools:
    """The parts of an estimate, each by itself."""
    return [[part] for part in estimate.parts]


def _independent(first: tuple[Mechanism, People], second: tuple[Mechanism, People]) -> Floats:
    """The joint law of counts of two surveys."""
    sides = []
    for mechanism, people in (first, second):
        counts, law = count_law(mechanism, people.holders, people.n)
        whole = np.zeros(people.n + 1)
        whole[counts] = law
        sides.append(whole)
    return np.outer(*sides)


def _covered(
    law: Floats, pools: Callable[[Ints, Ints], Pools], truth: float, levels: Sequence[float]
) -> list[float]:
    """One minus the chance of the pairs of counts that contradict the truth."""
    likely = np.argwhere(law > _RARE)
    missed = np.zeros(len(levels))
    for start in range(0, len(likely), _AT_ONCE):
        one, two = likely[start : start + _AT_ONCE].T
        parts, truths = pools(one, two), np.full(len(one), truth)
        for at, level in enumerate(levels):
            missed[at] += law[one, two][~kept(parts, truths, level)].sum()
    return [float(share) for share in 1 - missed]
