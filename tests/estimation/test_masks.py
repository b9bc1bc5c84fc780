"""What masks leave in sums: variances and laws against enumeration, intervals by their coverage."""

import itertools
import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

import jrr
from jrr.estimation.estimates import Estimate, Stratum
from jrr.estimation.masked_intervals import _two_binomials
from jrr.estimation.masks import AnnouncedMasks, ClosedMasks, Known, WholeLaw, _wide_law
from jrr.mechanisms.request import Request

LEAST = 0.945  # of nominal 95%


@pytest.mark.parametrize(("a", "b"), [(0.9, 0.2), (0.4, 1.0), (1.5, 1.5)])
@pytest.mark.parametrize("n", [2, 3, 4])
def test_variances_and_laws_are_those_of_enumerated_decks(n: int, a: float, b: float) -> None:
    reach = {2: 80, 3: 45, 4: 22}[n]
    grid: Any = np.meshgrid(*[np.arange(-reach, reach + 1)] * n, indexing="ij", sparse=True)
    weight = np.exp(-a * sum(np.abs(z) for z in grid) - b * np.abs(sum(grid)))
    weight /= weight.sum()
    masks = ClosedMasks(n, a, b)
    close = 1e-9 if reach * a > 30 else 20 * reach**2 * math.exp(-a * reach)
    for used in range(1, n + 1):
        total = np.broadcast_to(sum(grid[:used]), weight.shape)
        variance = float((weight * total**2).sum())
        assert masks.variance_of(used) == pytest.approx(variance, rel=close)
        law = masks.law(used, 1)
        assert law.variance == pytest.approx(variance, rel=close)
        for s in (0, 1, -2, 5):
            chance = float(weight[total == s].sum())
            assert law.chances[s - law.first] == pytest.approx(chance, rel=close, abs=1e-12)
        if used < n:  # and the rest of the deck undealt, with its sum known
            known = Known(undealt=n - used)
            assert masks.variance_of(used, 1, known) == pytest.approx(masks.total, rel=1e-12)


@pytest.mark.parametrize("n", [50, 1_000, 30_000])
@pytest.mark.parametrize(("a", "b"), [(0.9, 0.2), (0.1, 0.03)])
def test_laws_have_the_variances_of_the_closed_form(n: int, a: float, b: float) -> None:
    masks = ClosedMasks(n, a, b)
    for used in (n // 3, n - 1, n):
        assert masks.law(used, 1).variance == pytest.approx(masks.variance_of(used), rel=1e-8)
        wide = _wide_law(n, used, a, b)
        if used < n and n == 30_000 and a < 0.5:  # where it is used sums are wide
            assert wide.variance == pytest.approx(masks.variance_of(used), rel=1e-3)


def test_several_decks_and_announcements() -> None:
    masks = ClosedMasks(10, 0.5, 0.7)
    # 14 people from two decks of 10, at random: by total variance over how many are of which.

    left = 0.0
    for first in range(4, 11):
        chance = float(stats.hypergeom.pmf(first, 20, 10, 14))
        left += chance * (masks.variance_of(first) + masks.variance_of(14 - first))
    assert masks.variance_of(14, 2) == pytest.approx(left, rel=1e-12)
    assert masks.law(14, 2).variance >= masks.variance_of(14, 2)  # even parts: not less
    announced = AnnouncedMasks(0.1, 0.8)
    one = announced.variance_of(100)
    assert one == pytest.approx(2 * math.exp(-0.8) / (1 - math.exp(-0.8)) ** 2)
    assert announced.law(100, 1).variance == pytest.approx(one, rel=1e-9)
    assert announced.law(7, 1, Known(announcements=3)).variance == pytest.approx(3 * one, rel=1e-9)


def _coverage(m: jrr.MRR, holders: int, reports: int, level: float = 0.95) -> float:
    """The exact chance that the interval holds the truth: over every sum of reports."""
    moments = m.moments.some(slice(1, 2))
    law = _sum_law(m, holders, reports)
    likely = np.flatnonzero(law.chances > 1e-7)
    held = 0.0
    for place in likely:
        total = law.first + int(place)
        counts = moments.estimate(np.array([float(total)]), reports)
        stratum = Stratum(moments=moments, n=reports, counts=counts, decks=1)
        low, high = Estimate([stratum]).interval(level)
        inside = low[0] - 1e-9 <= holders / reports <= high[0] + 1e-9
        held += float(law.chances[place]) * inside
    return held + float(law.chances.sum() - law.chances[likely].sum())


def _sum_law(m: jrr.MRR, holders: int, reports: int) -> WholeLaw:
    moments = m.moments
    answers = _two_binomials(holders, float(moments.p[0]), reports - holders, float(moments.q[0]))
    masks = m.masks.law(reports, 1)
    return WholeLaw(answers.first + masks.first, np.convolve(answers.chances, masks.chances))


GRID = list(itertools.product((5, 20, 100), (0.0, 0.3), (0.02, 1.0, 4.0), (False, True)))


@pytest.mark.slow_variants("20-")
@pytest.mark.parametrize(("n", "lost", "epsilon", "announced"), GRID)
def test_intervals_hold_their_level(n: int, lost: float, epsilon: float, announced: bool) -> None:
    made = jrr.MRR.best(
        Request(n, epsilon, dealer_epsilon=epsilon + 2, lost=lost, announced=announced)
    )
    if not isinstance(made, jrr.MRR):
        pytest.skip("plain RR is better here")
    reports = round(n * (1 - lost))
    shares = (0.0, 0.1, 0.5, 1.0) if epsilon > 0.1 else (0.0, 0.4)
    worst = min(_monotone_coverage(made, round(f * reports), reports) for f in shares)
    assert worst >= LEAST


def _monotone_coverage(m: jrr.MRR, holders: int, reports: int, level: float = 0.95) -> float:
    """As `_coverage`, found by bisection: ends rise with the sum, so sums that hold are a row."""
    moments = m.moments.some(slice(1, 2))
    law = _sum_law(m, holders, reports)

    def ends(place: int) -> tuple[float, float]:
        counts = moments.estimate(np.array([float(law.first + place)]), reports)
        stratum = Stratum(moments=moments, n=reports, counts=counts, decks=1)
        low, high = Estimate([stratum]).interval(level)
        return float(low[0]) * reports, float(high[0]) * reports

    def first(reached: int) -> int:
        """The first sum whose lower (0) or upper (1) end passes the truth."""
        low, high = 0, len(law.chances)
        while low < high:
            middle = (low + high) // 2
            end = ends(middle)[reached]
            passed = end >= holders - 1e-6 if reached else end > holders + 1e-6
            low, high = (low, middle) if passed else (middle + 1, high)
        return low

    return float(law.chances[first(1) : first(0)].sum())


def test_both_ways_to_compute_coverage_agree() -> None:
    m = jrr.MRR.for_epsilon(1.0, n=30, announced=False)
    assert _monotone_coverage(m, 9, 28) == pytest.approx(_coverage(m, 9, 28), abs=1e-6)


@pytest.mark.parametrize("level", [0.8, 0.9, 0.99, 0.999])
def test_every_level_holds(level: float) -> None:
    for announced in (False, True):
        m = jrr.MRR.for_epsilon(1.0, n=60, announced=announced)
        for holders in (0, 20, 57):
            covered = _monotone_coverage(m, holders, 57, level)
            assert covered >= level - 0.1 * (1 - level)


def test_a_narrower_interval_would_be_noticed() -> None:
    """Negative control: masks taken for 30% less noisy (in variance) than they are."""
    m = jrr.MRR.for_epsilon(0.1, n=100, announced=True)
    narrow = jrr.MRR(
        100, p=m.p, card_rate=m.card_rate, announced_rate=1.2 * m.announced_rate, alone=m.alone
    )
    moments = narrow.moments.some(slice(1, 2))
    law = _sum_law(m, 40, 95)
    held = 0.0
    for place in np.flatnonzero(law.chances > 1e-6):
        counts = moments.estimate(np.array([float(law.first + place)]), 95)
        low, high = Estimate([Stratum(moments=moments, n=95, counts=counts, decks=1)]).interval()
        held += float(law.chances[place]) * bool(low[0] <= 40 / 95 <= high[0])
    assert held < LEAST


@pytest.mark.slow
@pytest.mark.parametrize("n", [5, 10, 20, 50, 100, 1_000, 10_000])
@pytest.mark.parametrize("announced", [False, True])
def test_intervals_hold_their_level_over_the_large_grid(n: int, announced: bool) -> None:
    for lost, epsilon in itertools.product((0.0, 0.01, 0.1, 0.3), (0.02, 0.1, 0.5, 1.0, 2.0, 4.0)):
        request = Request(n, epsilon, dealer_epsilon=epsilon + 2, lost=lost, announced=announced)
        made = jrr.MRR.best(request)
        if not isinstance(made, jrr.MRR):
            continue
        reports = round(n * (1 - lost))
        for share in (0.0, 0.01, 0.1, 0.3, 0.5, 0.8, 1.0):
            covered = _monotone_coverage(made, round(share * reports), reports)
            assert covered >= LEAST, (lost, epsilon, share, covered)


@pytest.mark.slow
def test_mixtures_hold_their_level() -> None:
    """People with and without cards, waves, a sample: simulated, since laws mix.

    One estimate holds those of many surveys, as if each were a value.
    """
    rng = np.random.default_rng(5)
    runs = 1_200
    m = jrr.MRR.for_epsilon(1.0, n=400, announced=False)
    carded = jrr.simulate(m, [280, 100], runs, rng)[:, 1]
    late = jrr.simulate(m, [0, 0], runs, rng, cardless=[40, 20])[:, 1]
    people = Stratum(moments=m.moments, n=380, counts=carded, decks=1)
    others = Stratum(moments=m.moments.without_cards(), n=60, counts=late, decks=1)
    low, high = Estimate([people, others]).interval()
    assert np.mean((low <= 120 / 440) & (high >= 120 / 440)) >= 0.935
    again = Stratum(moments=m.moments, n=380, counts=np.roll(carded, 1), decks=1)
    first, second = Estimate([people]), Estimate([again])
    low, high = jrr.difference(first, second, same_deck=False).interval()
    assert np.mean((low <= 0) & (high >= 0)) >= 0.935
    drawn = rng.binomial(380, 0.3, runs)
    noise = carded - 100
    sample = Stratum(moments=m.moments, n=380, counts=drawn + noise, decks=1)
    low, high = Estimate([sample]).for_population("sample").interval()
    assert np.mean((low <= 0.3) & (high >= 0.3)) >= 0.935
    low, high = first.interval()  # as if they were all there are
    assert np.mean((low <= 100 / 380) & (high >= 100 / 380)) >= LEAST


def _part(moments: Any, counts: Any, n: int) -> Stratum:
    return Stratum(moments=moments.some(slice(1, 2)), n=n, counts=counts, decks=1)


def _held(one: Any, truth: float, level: float) -> float:
    low, high = one.interval(level)
    return float(np.mean((low <= truth + 1e-12) & (high >= truth - 1e-12)))


@pytest.mark.parametrize(
    ("n", "epsilon", "own"), [(10, 4.0, 6.0), (100, 4.0, 8.0), (100, 2.0, 8.0), (1_000, 4.0, 6.0)]
)
def test_differences_hold_every_level(n: int, epsilon: float, own: float) -> None:
    """Coins that hardly lie leave few, coarse steps: where a normal law fails."""
    m = jrr.MRR.for_epsilon(epsilon, n=n, dealer_epsilon=own, announced=True)
    rng = np.random.default_rng(4)
    first = jrr.simulate(m, [n - n // 5, n // 5], 1_500, rng)[:, 1]
    second = jrr.simulate(m, [n - n // 2, n // 2], 1_500, rng)[:, 1]
    one, other = (Estimate([_part(m.moments, counts, n)]) for counts in (first, second))
    gap = jrr.difference(one, other, same_deck=False)
    for level in (0.8, 0.95, 0.99):
        assert _held(gap, n // 5 / n - n // 2 / n, level) >= 1 - 1.3 * (1 - level)


@pytest.mark.parametrize(
    ("n", "late", "epsilon", "own"),
    [(15, 5, 4.0, 6.0), (95, 5, 4.0, 8.0), (15, 5, 2.0, 4.0), (3, 20, 4.0, 8.0)],
)
def test_people_without_a_card_beside_masks(n: int, late: int, epsilon: float, own: float) -> None:
    m = jrr.MRR.for_epsilon(epsilon, n=n, dealer_epsilon=own, announced=True)
    rng = np.random.default_rng(4)
    carded = jrr.simulate(m, [n - n // 3, n // 3], 1_500, rng)[:, 1]
    others = jrr.simulate(m, [0, 0], 1_500, rng, cardless=[late - late // 2, late // 2])[:, 1]
    alone = m.moments.without_cards()
    both = Estimate([_part(m.moments, carded, n), _part(alone, others, late)])
    for level in (0.8, 0.95, 0.99):
        assert _held(both, (n // 3 + late // 2) / (n + late), level) >= 1 - 1.3 * (1 - level)


@pytest.mark.parametrize(("n", "epsilon", "own"), [(10, 4.0, 8.0), (50, 4.0, 6.0), (50, 2.0, 4.0)])
@pytest.mark.parametrize("share", [0.02, 0.05, 0.3])
def test_samples_hold_their_level(n: int, epsilon: float, own: float, share: float) -> None:
    """Few people, of whom perhaps nobody holds the value: drawing them is most of the noise."""
    m = jrr.MRR.for_epsilon(epsilon, n=n, dealer_epsilon=own, announced=True)
    rng = np.random.default_rng(6)
    drawn = rng.binomial(n, share, 1_500)
    law = m.moments
    told = rng.binomial(drawn, float(law.p[0])) + rng.binomial(n - drawn, float(law.q[0]))
    masks = m.masks.law(n, 1)
    left = masks.first + rng.choice(len(masks.chances), 1_500, p=masks.chances)
    counts = law.estimate((told + left).astype(np.float64), n)
    sample = Estimate([_part(law, counts, n)]).for_population("sample")
    assert _held(sample, share, 0.95) >= 0.935
