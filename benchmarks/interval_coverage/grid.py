"""The settings in which intervals are tried: from very few people to many, from ε = 0.02 to 4."""

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.interval_coverage.coverage import (
    LEVELS,
    coverage,
    coverage_of_groups,
    coverage_of_latecomers,
    coverage_of_waves,
    coverage_of_weights,
)
from benchmarks.interval_coverage.laws import People
from jrr.estimation.estimates import FEWEST_EFFECTIVE
from jrr.mechanisms.base import Mechanism
from jrr.mechanisms.dealt import DRR
from jrr.mechanisms.joint import JRR
from jrr.mechanisms.rr import RR
from jrr.mechanisms.shifts import truth_probability
from jrr.planning.plans import plan

SIZES = (5, 6, 10, 20, 50, 100, 300, 1000)
EPSILONS = (0.02, 0.1, 0.5, 1.0, 4.0)
COLLUDERS = (0, 5)
SHARES = (0.0, 0.01, 0.1, 0.3, 0.5, 0.8, 1.0)
TWO_SIZES = ((6, 6), (10, 20), (20, 20), (50, 50))
PAIRS = ((0.0, 0.0), (0.5, 0.1), (0.5, 0.5), (0.9, 0.1), (1.0, 0.3))
WEIGHTS = ((99, 1, 20.0), (90, 10, 10.0), (40, 10, 5.0), (30, 30, 3.0))  # light, heavy, how heavy
LIMIT = 1.3  # the most that is missed, by what may be: 93.5% hold where 95% are meant


@dataclass(frozen=True)
class Point:
    """One setting and what was missed in it, by what may be missed, at each level."""

    mechanism: Mechanism
    people: tuple[int, ...]
    holders: tuple[int, ...]
    missed: dict[float, float]


def mechanisms(n: int, epsilons: Sequence[float] = EPSILONS) -> Iterator[Mechanism]:
    """Mechanisms for n people: cards that lean a little, half and fully; two and four values."""
    for epsilon, k in itertools.product(epsilons, (2, 4)):
        p = truth_probability(epsilon, k)
        yield RR(k, epsilon=epsilon)
        for lean in (1.0, 0.8, 0.3):
            yield JRR(n, p, s=lean * min(p, 1 - p), k=k)
        uneven = JRR(n, p, s=0.0, k=k, plus=max(1, 3 * n // 4))
        yield JRR(n, p, s=uneven.most_lean, k=k, plus=uneven.plus)
        truth = (p * k - 1) / (k - 1)
        for own in (0.0, 0.3):
            yield DRR(n, truth, own * (1 - truth), k=k)


def planned(n: int, epsilons: Sequence[float] = EPSILONS) -> Iterator[Mechanism]:
    """What a plan for JRR chooses with and without colluders."""
    for epsilon, colluders in itertools.product(epsilons, COLLUDERS):
        if colluders <= n - 2:
            yield plan(n, epsilon, colluders, dealer_epsilon=math.inf, mechanism="jrr").mechanism


def shares(
    sizes: Iterable[int] = SIZES,
    epsilons: Sequence[float] = EPSILONS,
    levels: Sequence[float] = LEVELS,
) -> Iterator[Point]:
    """Intervals of a share."""
    for n in sizes:
        for mechanism, share in itertools.product(_all(n, epsilons), SHARES):
            holders = round(share * n)
            covered = coverage(mechanism, holders, n, levels)
            yield _point(mechanism, [People(holders, n)], covered, levels)


def waves(
    sizes: Iterable[tuple[int, int]] = TWO_SIZES,
    epsilons: Sequence[float] = EPSILONS,
    levels: Sequence[float] = LEVELS,
) -> Iterator[Point]:
    """Intervals of the difference between two surveys with a deck each."""
    for n, m in sizes:
        both = itertools.chain(
            zip(mechanisms(n, epsilons), mechanisms(m, epsilons), strict=True),
            zip(planned(n, epsilons), planned(m, epsilons), strict=True),
        )
        for (one, two), people in itertools.product(both, _people(n, m)):
            covered = coverage_of_waves((one, people[0]), (two, people[1]), levels)
            yield _point(one, people, covered, levels)


def groups(
    sizes: Iterable[tuple[int, int]] = TWO_SIZES,
    epsilons: Sequence[float] = EPSILONS,
    levels: Sequence[float] = LEVELS,
) -> Iterator[Point]:
    """Intervals of the difference between two groups of one deck, all of it or half of it."""
    for n, m in sizes:
        for deck in (n + m, 2 * (n + m)):
            for mechanism, people in itertools.product(_all(deck, epsilons), _people(n, m)):
                covered = coverage_of_groups(mechanism, *people, levels)
                yield _point(mechanism, people, covered, levels)


def latecomers(
    sizes: Iterable[tuple[int, int]] = TWO_SIZES,
    epsilons: Sequence[float] = EPSILONS,
    levels: Sequence[float] = LEVELS,
) -> Iterator[Point]:
    """Intervals of a share among people with and without a card."""
    for n, m in sizes:
        carded = [one for one in _all(n, epsilons) if one.deals and not np.ptp(one.moments.p)]
        for mechanism, people in itertools.product(carded, _people(n, m)):
            covered = coverage_of_latecomers(mechanism, *people, levels)
            yield _point(mechanism, people, covered, levels)


def weighted(
    weights: Iterable[tuple[int, int, float]] = WEIGHTS,
    epsilons: Sequence[float] = EPSILONS,
    levels: Sequence[float] = LEVELS,
) -> Iterator[Point]:
    """Intervals of a weighted share; the heavy ones hold the value, or not, or some of them do."""
    for n, m, weight in weights:
        assert (n + m * weight) ** 2 / (n + m * weight**2) >= FEWEST_EFFECTIVE
        for mechanism, people in itertools.product(
            _all(n + m, epsilons), [*_people(n, m), (People(0, n), People(m, m))]
        ):
            covered = coverage_of_weights(mechanism, *people, weight, levels)
            yield _point(mechanism, people, covered, levels)


def _all(n: int, epsilons: Sequence[float]) -> Iterator[Mechanism]:
    return itertools.chain(mechanisms(n, epsilons), planned(n, epsilons))


def _people(n: int, m: int) -> list[tuple[People, People]]:
    return [(People(round(one * n), n), People(round(two * m), m)) for one, two in PAIRS]


def _point(
    mechanism: Mechanism,
    people: Iterable[People],
    covered: Sequence[float],
    levels: Sequence[float],
) -> Point:
    missed = {
        level: (1 - share) / (1 - level) for level, share in zip(levels, covered, strict=True)
    }
    some = list(people)
    return Point(mechanism, tuple(p.n for p in some), tuple(p.holders for p in some), missed)
