"""How often intervals of subsets and blocks hold, computed over every sum that may be reported.

What reports of one answer add up to is two binomial numbers and what masks leave. Where only some
of the people are asked an item, how many holders are among them is a hypergeometric number.
Intervals of windows: tests/mechanisms/test_numbers.py.
"""

import bisect
import itertools
from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy import stats

import jrr
from jrr.estimation.estimates import Estimate, Stratum
from jrr.mechanisms.coins.interface import Coin
from jrr.mechanisms.request import Request

LEAST = 0.945  # of nominal 95%
FAR = 1e-9  # chances that are left out; they count as missed
SHARES = (0.0, 0.02, 0.1, 0.3, 0.5, 0.9, 1.0)


class Law(NamedTuple):
    """Chances of whole numbers from `first` on."""

    first: int
    chances: np.ndarray

    def plus(self, other: "Law") -> "Law":
        return Law(self.first + other.first, np.convolve(self.chances, other.chances))


def binomial(n: int, p: float) -> Law:
    low, high = (int(stats.binom.ppf(part, n, p)) for part in (FAR / 9, 1 - FAR / 9))
    low = max(low, 0)
    return Law(low, stats.binom.pmf(np.arange(low, high + 1), n, p))


def coverage(m: jrr.MRR, asked: int, holders: int, people: int, *, narrower: float = 1.0) -> float:
    """The chance that the interval of a share among `people` holds it, some being asked."""
    moments = m.moments.some(slice(1, 2))
    p, q = float(moments.p[0]), float(moments.q[0])
    masks = m.masks.law(asked, 1)
    left = Law(masks.first, masks.chances)
    sizes = np.arange(max(0, asked + holders - people), min(asked, holders) + 1)
    chances = stats.hypergeom.pmf(sizes, people, holders, asked)
    held = 0.0
    sampled: Any = {"population": "sample", "population_size": people} if asked < people else {}

    def end(total: int, upper: int) -> float:
        counts = moments.estimate(np.array([float(total)]), asked)
        one = Estimate([Stratum(moments=moments, n=asked, counts=counts, decks=1)])
        ends = one.interval(0.95, **sampled)
        middle = float(counts[0]) / asked
        return middle + narrower * (float(ends[upper][0]) - middle)

    whole = binomial(asked, max(p, q, 1 - p)).plus(left)  # ends of what is looked at
    low, high = -len(left.chances), asked + len(left.chances) + len(whole.chances)
    sums = range(low, high)
    truth = holders / people
    # Ends rise with the sum, so the sums whose intervals hold the truth are a row.
    first = low + bisect.bisect_left(sums, True, key=lambda s: end(s, 1) >= truth - 1e-9)
    last = low + bisect.bisect_left(sums, True, key=lambda s: end(s, 0) > truth + 1e-9)
    for size, chance in zip(sizes[chances > FAR], chances[chances > FAR], strict=True):
        law = binomial(int(size), p).plus(binomial(asked - int(size), q)).plus(left)
        places = law.first + np.arange(len(law.chances))
        held += chance * float(law.chances[(places >= first) & (places < last)].sum())
    return held


COINS: list[Coin] = [jrr.Choice(4), jrr.Subset(6, 2), jrr.Subset(12, 3), jrr.Subset(30, 4)]
COINS += [jrr.Block(sizes) for sizes in ((2, 2), (2, 2, 3), (2, 2, 2, 2), (2, 5))]


def items(coin: Coin, n: int, epsilon: float, *, announced: bool) -> list[jrr.MRR]:
    """The best mechanism with this coin; of a block one for each size of an item."""
    cap = epsilon + 2
    request = Request(n, epsilon, k=coin.k, dealer_epsilon=cap, announced=announced)
    m = jrr.MRR.with_coin(request, coin)
    if not isinstance(coin, jrr.Block):
        return [m]
    return [m.item(coin.sizes.index(size)) for size in sorted(set(coin.sizes))]


@pytest.mark.slow_variants(
    "*-0.*",
    "*-2.*",
    "*-4.*",
    "*-*0-*False",
    "*-30-*",
    "*000-*",
    "Choice",
    "*k=6*",
    "Block(sizes=(2, 2, 3))-100-",
    "Block(sizes=(2, 5))-10-",
    "Subset(k=30, size=4)-10-",
)
@pytest.mark.parametrize("announced", [True, False])
@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0, 2.0, 4.0])
@pytest.mark.parametrize("n", [10, 30, 100, 1_000])
@pytest.mark.parametrize("coin", COINS, ids=str)
def test_everybody_is_asked(coin: Coin, n: int, epsilon: float, announced: bool) -> None:
    for m, share in itertools.product(items(coin, n, epsilon, announced=announced), SHARES):
        held = coverage(m, n, round(share * n), n)
        assert held >= LEAST, (m.brief(), share, held)


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
@pytest.mark.parametrize("people", [40, 300])
@pytest.mark.parametrize("part", [0.25, 0.6])
@pytest.mark.parametrize("coin", [c for c in COINS if isinstance(c, jrr.Block)], ids=str)
def test_some_are_asked(coin: Coin, part: float, people: int, epsilon: float) -> None:
    asked = round(part * people)
    for m, share in itertools.product(items(coin, asked, epsilon, announced=True), SHARES):
        held = coverage(m, asked, round(share * people), people)
        assert held >= LEAST, (m.brief(), share, held)


@pytest.mark.slow_variants("200]")
@pytest.mark.parametrize("people", [40, 200])
def test_shorter_intervals_would_be_noticed(people: int) -> None:
    for coin in (jrr.Subset(12, 3), jrr.Block((2, 2, 3))):
        m = items(coin, 40, 1.0, announced=True)[0]
        assert coverage(m, 40, people // 3, people) >= LEAST
        assert coverage(m, 40, people // 3, people, narrower=0.7) < LEAST
