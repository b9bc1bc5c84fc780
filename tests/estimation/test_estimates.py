"""Estimates: unbiased, with error bars and intervals that hold their level.

Surveys are simulated in distribution. For the count of one value v it only matters how many of
its holders got a marked card (JRR: plus, DRR: v), which is hypergeometric, and then how many
report v, which is a sum of binomials.
"""

import itertools
import math
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import optimize

import jrr
from jrr.estimation.estimates import Estimate, Stratum
from jrr.estimation.intervals import kept
from jrr.estimation.postprocess import clip, project_simplex
from jrr.mechanisms.shifts import truth_probability
from tests.statistics_rules import OFF, P_VALUE, SURVEYS, accepts_only, mean_test, spread_test

Mechanism = jrr.RR | jrr.JRR | jrr.DRR
Ints = NDArray[np.int64]
Build = Callable[[int, float, int], Mechanism]  # n, ε of the report, k

LEVEL = 0.95
HOLDS = 0.94  # the least coverage of an interval that holds its level
SEED = 20_261_115


# Mechanisms at an ε of the report alone -------------------------------------------------------


def rr(n: int, epsilon: float, k: int) -> jrr.RR:
    return jrr.RR(k=k, epsilon=epsilon)


def leaning_half(n: int, epsilon: float, k: int) -> jrr.JRR:
    p = truth_probability(epsilon, k)
    return jrr.JRR(n=n, p=p, s=min(p, 1 - p) / 2, k=k)


def leaning_fully(n: int, epsilon: float, k: int) -> jrr.JRR:
    p = truth_probability(epsilon, k)
    return jrr.JRR(n=n, p=p, s=min(p, 1 - p), k=k)


def dealt(n: int, epsilon: float, k: int) -> jrr.DRR:
    return jrr.DRR(n=n, truth=decoy_truth(epsilon, k), k=k)


def dealt_and_own(n: int, epsilon: float, k: int) -> jrr.DRR:
    truth = decoy_truth(epsilon, k)
    return jrr.DRR(n=n, truth=truth, own=(1 - truth) / 3, k=k)


def decoy_truth(epsilon: float, k: int) -> float:
    return math.expm1(epsilon) / (math.expm1(epsilon) + k)


EVERY: list[Build] = [rr, leaning_half, leaning_fully, dealt, dealt_and_own]


# Surveys in distribution ----------------------------------------------------------------------


@dataclass(frozen=True)
class Chances:
    """How likely a report of v is, and how many cards of a deck are marked for it."""

    deck: int  # cards in a deck; 1 where none are dealt
    marked: int
    holder_marked: float
    holder_other: float
    stranger_marked: float
    stranger_other: float


def chances(m: Mechanism, v: int = 1) -> Chances:
    """The law of one report of v, written down apart from the library's moments."""
    if isinstance(m, jrr.DRR):
        coin = m.own / m.k
        card = max(0.0, 1 - m.truth - m.own)
        return Chances(m.n, m.deck[v], m.truth + card + coin, m.truth + coin, card + coin, coin)
    if isinstance(m, jrr.JRR):
        assert m.n % 2 == 0, "a blank card would be a third kind"
        plus, minus = m.p + m.s, m.p - m.s
        lies = m.k - 1
        return Chances(m.n, m.n // 2, plus, minus, (1 - plus) / lies, (1 - minus) / lies)
    return Chances(1, 0, m.p, m.p, m.q, m.q)


def binomial(rng: np.random.Generator, n: Ints, p: float) -> Ints:
    return rng.binomial(n, min(1.0, max(0.0, p)))


def simulate_groups(
    m: Mechanism,
    groups: Sequence[tuple[int, int]],
    rng: np.random.Generator,
    v: int = 1,
    decks: int = 1,
    runs: int = SURVEYS,
) -> list[Ints]:
    """Reports of v in groups (holders of v, others) that share decks; the rest drops out.

    People are assigned to decks, and decks dealt, at random.
    """
    law = chances(m, v)
    if isinstance(m, jrr.RR):
        return [
            binomial(rng, np.full(runs, a), m.p) + binomial(rng, np.full(runs, b), m.q)
            for a, b in groups
        ]
    kinds = [size for group in groups for size in group]
    waiting = np.tile([*kinds, law.deck * decks - sum(kinds)], (runs, 1))
    reports: list[Ints] = [np.zeros(runs, np.int64) for _ in groups]
    for _ in range(decks):
        here = multivariate_hypergeometric(rng, waiting, law.deck)
        waiting = waiting - here
        marked = multivariate_hypergeometric(rng, here, law.marked)
        for at in range(len(groups)):
            for kind, with_mark, without in (
                (2 * at, law.holder_marked, law.holder_other),
                (2 * at + 1, law.stranger_marked, law.stranger_other),
            ):
                reports[at] += binomial(rng, marked[:, kind], with_mark)
                reports[at] += binomial(rng, here[:, kind] - marked[:, kind], without)
    return reports


def multivariate_hypergeometric(rng: np.random.Generator, urn: Ints, draws: int) -> Ints:
    """Balls of each colour among `draws`, one urn per row."""
    drawn = np.zeros_like(urn)
    left = np.full(len(urn), draws)
    rest = urn.sum(axis=1)
    for colour in range(urn.shape[1]):
        rest = rest - urn[:, colour]
        drawn[:, colour] = rng.hypergeometric(urn[:, colour], rest, left)
        left = left - drawn[:, colour]
    return drawn


def simulate(m: Mechanism, counts: tuple[int, int], rng: np.random.Generator, **more: Any) -> Ints:
    return simulate_groups(m, [counts], rng, **more)[0]


def tally_of(m: Mechanism, reports: int, n: int, v: int = 1, cardless: bool = False) -> jrr.Tally:
    """A tally with this many reports of v; what the others say does not matter."""
    counts = [0] * m.k
    counts[v], counts[v - 1] = reports, n - reports
    nothing = (0,) * m.k
    if cardless or isinstance(m, jrr.RR):
        return jrr.Tally(
            m.to_dict(), carded=nothing, cardless=tuple(counts), n_carded=0, n_cardless=n
        )
    return jrr.Tally(m.to_dict(), carded=tuple(counts), cardless=nothing, n_carded=n, n_cardless=0)


def estimate_of_counts(m: Mechanism, reports: Ints, n: int, v: int = 1) -> Estimate:
    """One estimate that holds those of many surveys, as if each were a value."""
    moments = m.moments.some(slice(v, v + 1))
    counts = moments.estimate(reports.astype(np.float64), n)
    return Estimate([Stratum(moments=moments, n=n, counts=counts, decks=1)])


def coverage(
    m: Mechanism,
    reports: Ints,
    n: int,
    truth: float,
    levels: Sequence[float] = (LEVEL,),
    decks: int | None = None,
) -> list[float]:
    """Share of surveys whose interval contains the true frequency, at each level."""
    distinct = np.unique(reports).tolist()

    def ends(count: int, level: float) -> tuple[float, float]:
        low, high = m.estimate(tally_of(m, count, n), decks).interval(level)
        return float(low[1]), float(high[1])

    shares = []
    for level in levels:
        # Both ends rise with the count (tested below), so the counts that cover are neighbours.
        first = bisect_left(distinct, True, key=lambda count: ends(count, level)[1] >= truth)
        after = bisect_left(distinct, True, key=lambda count: ends(count, level)[0] > truth)
        covered = distinct[first:after]
        shares.append(float(np.isin(reports, covered).mean()))
    return shares


# The interval that a standard error understated by 30% would give.
UNDERSTATED = 2 * NormalDist().cdf((1 - OFF) * NormalDist().inv_cdf(0.5 + LEVEL / 2)) - 1


# Unbiased -------------------------------------------------------------------------------------


class TestUnbiased:
    @pytest.mark.parametrize(
        "m", [jrr.JRR(n=9000, p=0.75, s=0.25), jrr.DRR(n=9000, truth=0.5)], ids=str
    )
    def test_counts_of_carded_and_cardless_add(self, m: Mechanism) -> None:
        """9,000 at 10% and 1,000 latecomers at 30% are 12%; these are the expected reports."""
        carded = (900 * 0.75 + 8100 * 0.25, 300 * 0.75 + 700 * 0.25)
        tally = jrr.Tally(
            m.to_dict(),
            carded=(6300, 2700),
            cardless=(600, 400),
            n_carded=9000,
            n_cardless=1000,
        )
        assert carded == (tally.carded[1], tally.cardless[1])
        estimate = m.estimate(tally)
        assert estimate.n == 10_000
        assert estimate.counts == pytest.approx([8800, 1200])
        assert estimate.frequencies == pytest.approx([0.88, 0.12])
        separate = (
            m.estimate(tally_of(m, 2700, 9000)),
            m.estimate(tally_of(m, 400, 1000, 1, True)),
        )
        assert estimate.count_stderr**2 == pytest.approx(sum(e.count_stderr**2 for e in separate))

    @pytest.mark.statistical
    @pytest.mark.parametrize("build", EVERY)
    @pytest.mark.parametrize("k", [2, 4])
    def test_mixtures_of_carded_and_cardless(self, build: Build, k: int) -> None:
        m = build(1000, 0.5, k)
        rng = np.random.default_rng(SEED)
        carded = simulate(m, (100, 900), rng)
        law = chances(m)
        share = law.marked / law.deck
        p = share * law.holder_marked + (1 - share) * law.holder_other
        q = share * law.stranger_marked + (1 - share) * law.stranger_other
        late = binomial(rng, np.full(SURVEYS, 60), p) + binomial(rng, np.full(SURVEYS, 140), q)
        slope, base = linear(m, 1000, False), linear(m, 200, True)
        estimates = slope[0] * carded + slope[1] + base[0] * late + base[1]
        sd = float(np.std(estimates))

        accepts_only(lambda truth: mean_test(estimates, truth, sd), 160.0, 160.0 * (1 + OFF))

    @pytest.mark.statistical
    @pytest.mark.parametrize("build", EVERY)
    def test_real_surveys(self, build: Build) -> None:
        """Everything through the public verbs: deal, respond, tally, estimate."""
        n, surveys = 2000, 400
        m = build(n, 1.0, 2)
        rng = jrr.SeededRandom(SEED)
        values = np.arange(n) % 10 == 0
        made = [m.estimate(m.respond(values, m.deal(rng), rng)) for _ in range(surveys)]
        counts = [estimate.counts[1] for estimate in made]
        sd = math.sqrt(m.variance([n - 200, 200])[1])
        accepts_only(lambda sd: spread_test(counts, sd), sd, sd * (1 + OFF))
        assert mean_test(counts, 200.0, sd) > P_VALUE
        assert np.mean([e.count_stderr[1] for e in made]) == pytest.approx(sd, rel=0.05)
        assert np.mean([e.stderr[1] for e in made]) == pytest.approx(sd / n, rel=0.05)


def linear(m: Mechanism, n: int, cardless: bool) -> tuple[float, float]:
    """The estimated count is slope * reports + start."""
    start, one = (
        float(m.estimate(tally_of(m, reports, n, 1, cardless), m.fewest_decks(n)).counts[1])
        for reports in (0, 1)
    )
    return one - start, start


class TestEstimate:
    def test_reports_and_tallies_are_the_same(self) -> None:
        m = jrr.JRR(n=6, p=0.6, s=0.2)
        reports = [0, 1, 1, 0, 1, 1]
        direct, tallied = m.estimate(reports, carded=True), m.estimate(m.tally(reports, True))
        assert np.array_equal(direct.counts, tallied.counts)
        assert direct.n == 6

    @pytest.mark.parametrize("build", EVERY)
    def test_counts_add_up_to_n_and_may_leave_the_range(self, build: Build) -> None:
        m = build(100, 0.1, 4)
        estimate = m.estimate(tally_of(m, 90, 100))
        assert estimate.counts.sum() == pytest.approx(100)
        assert estimate.counts.max() > 100
        assert estimate.counts.min() < 0
        assert estimate.frequencies == pytest.approx(estimate.counts / 100)

    def test_uneven_deck(self) -> None:
        """n̂_v = (I_v - dealt·n·deck_v/N - own·n/k)/truth."""
        m = jrr.DRR(n=10, truth=0.25, own=0.15, k=3, deck=[7, 3, 0])
        tally = jrr.Tally(
            m.to_dict(), carded=(4, 3, 1), cardless=(0, 0, 0), n_carded=8, n_cardless=0
        )
        expected = [
            (reports - 0.6 * 8 * cards / 10 - 0.15 * 8 / 3) / 0.25
            for reports, cards in zip((4, 3, 1), (7, 3, 0), strict=True)
        ]
        assert m.estimate(tally).counts == pytest.approx(expected)

    @pytest.mark.parametrize("build", EVERY)
    def test_stderr_is_the_variance_at_the_estimate(self, build: Build) -> None:
        m = build(1000, 1.0, 2)
        for reports in (300, 500, 700):
            estimate = m.estimate(tally_of(m, reports, 800))
            counts = np.clip(estimate.counts, 0, 800)
            assert estimate.count_stderr**2 == pytest.approx(m.variance(counts))
            assert estimate.stderr == pytest.approx(estimate.count_stderr / 800)

    def test_several_decks_must_be_said(self) -> None:
        m = jrr.JRR(n=100, p=0.55, s=0.45)
        tally = tally_of(m, 110, 250)
        with pytest.raises(jrr.JrrError, match="at most 100 for one deck, got 250"):
            m.estimate(tally)
        found = m.estimate(tally, decks=3)
        counts = np.clip(found.counts, 0, 250)
        assert found.count_stderr**2 == pytest.approx(m.variance(counts, decks=3))
        assert m.estimate(tally, decks=9).count_stderr ** 2 == pytest.approx(m.variance(counts, 9))

    def test_intervals_grow_with_the_level_and_contain_the_estimate(self) -> None:
        for build, k in itertools.product(EVERY, (2, 4)):
            m = build(100, 1.0, k)
            estimate = estimate_of_counts(m, np.arange(101), 100)
            ends = [estimate.interval(level) for level in (0.5, 0.9, 0.95, 0.999)]
            lows, highs = ([e[side] for e in ends] for side in (0, 1))
            assert all((a > b).all() for a, b in itertools.pairwise(lows))
            assert all((a < b).all() for a, b in itertools.pairwise(highs))
            assert (lows[0] <= estimate.frequencies).all()
            assert (estimate.frequencies <= highs[0]).all()

    def test_intervals_rise_with_the_count(self) -> None:
        for build, k, epsilon in itertools.product(EVERY, (2, 4), (0.1, 1.0)):
            m = build(200, epsilon, k)
            for end in estimate_of_counts(m, np.arange(201), 200).interval():
                assert (np.diff(end) >= 0).all()

    def test_binary_intervals_mirror_each_other(self) -> None:
        m = jrr.JRR(n=100, p=0.6, s=0.4)
        low, high = m.estimate(tally_of(m, 45, 100)).interval()
        assert low[0] == pytest.approx(1 - high[1])
        assert high[0] == pytest.approx(1 - low[1])

    def test_plain_numbers(self) -> None:
        m = jrr.RR(p=0.75)
        estimate = m.estimate([0, 1, 1, 0])
        document = estimate.to_dict(0.9)
        low, high = estimate.interval(0.9)
        assert document == {
            "n": 4,
            "effective_n": 4.0,
            "weight": 4.0,
            "counts": [2.0, 2.0],
            "count_stderr": estimate.count_stderr.tolist(),
            "frequencies": [0.5, 0.5],
            "stderr": estimate.stderr.tolist(),
            "level": 0.9,
            "simultaneous": False,
            "population": "respondents",
            "population_size": None,
            "interval": [[low[0], high[0]], [low[1], high[1]]],
        }
        assert repr(estimate).startswith("Estimate(n=4, 95%: 0: 0.5000 [")

    def test_truthful_reports_have_no_error(self) -> None:
        for m in (jrr.RR(p=1.0), jrr.JRR(n=4, p=1.0, s=0.0), jrr.DRR(n=4, truth=1.0)):
            estimate = m.estimate([0, 1, 1, 1], carded=m.deals)
            assert estimate.counts.tolist() == [1, 3]
            assert estimate.stderr.tolist() == [0, 0]


# Error bars -----------------------------------------------------------------------------------

SETTINGS = [(build, epsilon, 2) for build in EVERY for epsilon in (0.1, 1.0)]
SETTINGS += [(leaning_fully, 1.0, 4), (dealt, 0.1, 4), (dealt_and_own, 1.0, 4), (rr, 1.0, 4)]
FREQUENCIES = (0.0, 0.01, 0.5, 1.0)


@pytest.mark.slow_variants(
    "*-1000]", "leaning_half-0.1", "leaning_fully-0.1", "dealt_and_own-0.1", "rr-0.1"
)
@pytest.mark.statistical
@pytest.mark.parametrize("n", [100, 1000, 100_000])
@pytest.mark.parametrize(
    ("build", "epsilon", "k"), SETTINGS, ids=lambda x: getattr(x, "__name__", str(x))
)
def test_intervals_hold_their_level(build: Build, epsilon: float, k: int, n: int) -> None:
    rng = np.random.default_rng(SEED)
    m = build(n, epsilon, k)
    for frequency in FREQUENCIES:
        holders = round(frequency * n)
        reports = simulate(m, (holders, n - holders), rng)
        held, understated = coverage(m, reports, n, frequency, (LEVEL, UNDERSTATED))
        assert held >= HOLDS, frequency
        if np.std(reports) > 10:  # else the half report added at both ends makes up for it
            assert understated < HOLDS, frequency


@pytest.mark.slow_variants("1-0.9-", "4-1.0-", "20-1.0-leaning", "20-1.0-dealt]")
@pytest.mark.statistical
@pytest.mark.parametrize("build", EVERY)
@pytest.mark.parametrize(("decks", "kept"), [(1, 0.5), (1, 0.9), (4, 1.0), (4, 0.6), (20, 1.0)])
def test_dropouts_and_several_decks(build: Build, decks: int, kept: float) -> None:
    """Unbiased, with the right spread, and with intervals that hold their level."""
    rng = np.random.default_rng(SEED)
    size = 1000 // decks
    m = build(size, 0.5, 2)
    n = round(kept * size * decks)
    holders = n // 5
    reports = simulate(m, (holders, n - holders), rng, decks=decks)
    slope, start = linear(m, n, False)
    counts = slope * reports + start
    sd = math.sqrt(m.variance([n - holders, holders], decks)[1])
    accepts_only(lambda sd: spread_test(counts, sd), sd, sd * (1 + OFF))
    accepts_only(lambda mean: mean_test(counts, mean, sd), holders, holders * (1 + OFF))
    held, understated = coverage(m, reports, n, holders / n, (LEVEL, UNDERSTATED), decks)
    assert held >= HOLDS > understated


@pytest.mark.statistical
@pytest.mark.parametrize("build", EVERY)
@pytest.mark.parametrize("frequency", [0.0, 0.1, 0.5])
def test_standard_errors_are_those_of_the_surveys(build: Build, frequency: float) -> None:
    rng = np.random.default_rng(SEED)
    n = 10_000
    m = build(n, 1.0, 2)
    holders = round(frequency * n)
    reports = simulate(m, (holders, n - holders), rng)
    slope, start = linear(m, n, False)
    counts = slope * reports + start
    sd = math.sqrt(m.variance([n - holders, holders])[1])
    accepts_only(lambda sd: spread_test(counts, sd), sd, sd * (1 + OFF))
    stated = [m.estimate(tally_of(m, int(count), n)).count_stderr[1] for count in reports[:200]]
    assert np.mean(stated) == pytest.approx(sd, rel=0.05)


@pytest.mark.slow_variants("leaning_half]", "dealt]")
@pytest.mark.statistical
@pytest.mark.parametrize("build", EVERY[1:])
def test_intervals_of_carded_and_cardless_together(build: Build) -> None:
    """Latecomers differ: 10% and 30%, which is 12% of all."""
    rng = np.random.default_rng(SEED)
    m = build(900, 1.0, 2)
    plain = jrr.RR(p=float(m.moments.p[0]))
    carded = simulate(m, (90, 810), rng)
    late = simulate(plain, (30, 70), rng)
    parts = estimate_of_counts(m, carded, 900).parts, estimate_of_counts(plain, late, 100).parts
    pools = [[replace(part, factor=1 / 1000)] for some in parts for part in some]
    held, understated = (
        kept(pools, np.full(SURVEYS, 0.12), level).mean() for level in (LEVEL, UNDERSTATED)
    )
    assert held >= HOLDS > understated


# Differences ----------------------------------------------------------------------------------


def difference_of(
    m: Mechanism, one: int, size: int, two: int, other: int, same_deck: bool
) -> jrr.Difference:
    first, second = m.estimate(tally_of(m, one, size)), m.estimate(tally_of(m, two, other))
    return jrr.difference(first, second, same_deck=same_deck)


def difference_coverage(
    m: Mechanism, groups: Sequence[tuple[int, int]], reports: Sequence[Ints], same_deck: bool
) -> list[float]:
    """Coverage at the nominal and at the understated level, in some of the surveys."""
    reports = [group[:5_000] for group in reports]
    sizes = [sum(group) for group in groups]
    truth = groups[0][0] / sizes[0] - groups[1][0] / sizes[1]
    first, second = (
        estimate_of_counts(m, group, size) for group, size in zip(reports, sizes, strict=True)
    )
    made = jrr.difference(first, second, same_deck=same_deck)
    return [
        float(kept(made.pools, np.full(len(reports[0]), truth), level).mean())
        for level in (LEVEL, UNDERSTATED)
    ]


class TestDifference:
    def test_frequencies_and_sign(self) -> None:
        m = jrr.RR(p=0.75)
        made = difference_of(m, 40, 100, 90, 200, same_deck=False)
        first, second = (m.estimate(tally_of(m, *group)) for group in ((40, 100), (90, 200)))
        assert made.frequencies == pytest.approx(first.frequencies - second.frequencies)
        assert made.stderr**2 == pytest.approx(first.stderr**2 + second.stderr**2)
        low, high = made.interval()
        assert (low < made.frequencies).all()
        assert (made.frequencies < high).all()
        back = difference_of(m, 90, 200, 40, 100, same_deck=False)
        assert back.interval()[0] == pytest.approx(-high)
        assert (back.interval(0.99)[0] < -high).all()

    @pytest.mark.slow_variants("shares0-", "shares2-")
    @pytest.mark.statistical
    @pytest.mark.parametrize("build", EVERY)
    @pytest.mark.parametrize("shares", [(0.1, 0.3), (0.0, 0.02), (0.9, 0.2)])
    def test_two_groups_of_one_deck(self, build: Build, shares: tuple[float, float]) -> None:
        """400 and 500 of 1,000, the rest dropped out."""
        m = build(1000, 1.0, 2)
        groups = [
            (round(f * size), size - round(f * size))
            for f, size in zip(shares, (400, 500), strict=True)
        ]
        reports = simulate_groups(m, groups, np.random.default_rng(SEED))
        gaps = [
            slope * one / size + start / size
            for one, size in zip(reports, (400, 500), strict=True)
            for slope, start in [linear(m, size, False)]
        ]
        true_sd = float(np.std(gaps[0] - gaps[1]))
        stated = [
            difference_of(m, int(one), 400, int(two), 500, same_deck=True).stderr[1]
            for one, two in zip(reports[0][:200], reports[1][:200], strict=True)
        ]
        assert np.mean(stated) == pytest.approx(true_sd, rel=0.05)
        held, understated = difference_coverage(m, groups, reports, same_deck=True)
        assert held >= HOLDS > understated

    @pytest.mark.statistical
    @pytest.mark.parametrize("build", [leaning_fully, dealt])
    def test_ignoring_the_shared_deck_understates(self, build: Build) -> None:
        """Two halves of a deck at 5%: what cancels in the sum does not in the difference."""
        m = build(1000, 0.1, 2)
        groups = [(25, 475), (25, 475)]
        one, two = simulate_groups(m, groups, np.random.default_rng(SEED))
        slope, _ = linear(m, 500, False)
        spread = slope * (one - two) / 500
        expected = (slope * np.mean(one), slope * np.mean(two))
        assert expected[0] == pytest.approx(expected[1], rel=0.01)
        tied, separate = (
            difference_of(m, round(np.mean(one)), 500, round(np.mean(two)), 500, same).stderr[1]
            for same in (True, False)
        )
        accepts_only(lambda sd: spread_test(spread, sd), float(tied), float(separate))
        assert separate < tied / 1.2

    @pytest.mark.statistical
    @pytest.mark.parametrize("build", EVERY)
    def test_two_waves(self, build: Build) -> None:
        rng = np.random.default_rng(SEED)
        m = build(1000, 0.5, 2)
        waves = [(100, 900), (200, 800)]
        reports = [simulate(m, wave, rng) for wave in waves]
        held, understated = difference_coverage(m, waves, reports, same_deck=False)
        assert held >= HOLDS > understated

    @pytest.mark.parametrize(
        ("values", "said"),
        [((1, 1, 1, 1), (1, 1, 1, 1)), ((1, 1, 0, 0), (1, 1, 0, 0)), ((1, 1, 1, 0), (1, 1, 1, 0))],
    )
    def test_against_enumeration(self, values: tuple[int, ...], said: tuple[int, ...]) -> None:
        """Four people, one deck, two groups of two: all six deals, all sixteen truths.

        What they `said` is estimated, after clipping, as what they hold. Groups that lean the
        same way make the difference less certain, groups that lean apart more certain.
        """
        p, s = 0.6, 0.35
        m = jrr.JRR(n=4, p=p, s=s)
        law: dict[float, float] = {}
        for deal in set(itertools.permutations((1, 1, -1, -1))):
            for truths in itertools.product((0, 1), repeat=4):
                chance = 1 / 6
                for card, true in zip(deal, truths, strict=True):
                    chance *= p + s * card if true else 1 - p - s * card
                y = [x if true else 1 - x for x, true in zip(values, truths, strict=True)]
                gap = (y[0] + y[1] - y[2] - y[3]) / 2 / (2 * p - 1)
                law[gap] = law.get(gap, 0.0) + chance
        mean = sum(gap * chance for gap, chance in law.items())
        variance = sum((gap - mean) ** 2 * chance for gap, chance in law.items())
        assert mean == pytest.approx((values[0] + values[1] - values[2] - values[3]) / 2)
        first, second = (m.estimate(part, carded=True) for part in (said[:2], said[2:]))
        made = jrr.difference(first, second, same_deck=True)
        assert made.stderr**2 == pytest.approx([variance] * 2)

    @pytest.mark.statistical
    def test_the_number_of_decks_is_that_of_the_estimates(self) -> None:
        """Ten decks with many drop-outs tie two people less than the fewest decks would."""
        m = jrr.JRR(n=100, p=0.55, s=0.45)
        reports = simulate_groups(m, [(0, 50), (0, 50)], np.random.default_rng(SEED), decks=10)
        first, second = (
            m.estimate(tally_of(m, round(np.mean(group)), 50), decks=10) for group in reports
        )
        sd = float(jrr.difference(first, second, same_deck=True).stderr[1])
        gain = 2 * m.p - 1
        assert spread_test((reports[0] - reports[1]) / 50 / gain, sd) > P_VALUE

    def test_different_numbers_of_values_are_refused(self) -> None:
        first = jrr.RR(k=3, p=0.5).estimate([0, 1, 2])
        second = jrr.RR(k=2, p=0.75).estimate([0, 1])
        with pytest.raises(jrr.JrrError, match="same number of values, got 3 and 2"):
            jrr.difference(first, second, same_deck=False)

    def test_one_deck_has_one_mechanism(self) -> None:
        first = jrr.JRR(n=10, p=0.6, s=0.1).estimate([0, 1], carded=True)
        for other in (jrr.JRR(n=12, p=0.6, s=0.1), jrr.JRR(n=10, p=0.7, s=0.1)):
            second = other.estimate([0, 1], carded=True)
            with pytest.raises(jrr.JrrError, match="one mechanism"):
                jrr.difference(first, second, same_deck=True)
            jrr.difference(first, second, same_deck=False)


# Postprocessing -------------------------------------------------------------------------------


class TestPostprocess:
    def test_clip(self) -> None:
        assert clip([-0.2, 0.0, 0.3, 1.0, 1.7]).tolist() == [0, 0, 0.3, 1, 1]

    @pytest.mark.parametrize(
        ("frequencies", "expected"),
        [
            ([1.0], [1.0]),
            ([0.3, 0.7], [0.3, 0.7]),
            ([1.2, -0.2], [1.0, 0.0]),
            ([0.5, 0.5, 0.5], [1 / 3] * 3),
            ([0.0, 0.0], [0.5, 0.5]),
            ([-5.0, -5.0, -4.0], [0.0, 0.0, 1.0]),
            ([0.8, 0.4, -0.2], [0.7, 0.3, 0.0]),
            ([3.0, 2.5, 0.0], [0.75, 0.25, 0.0]),
        ],
    )
    def test_known_projections(self, frequencies: list[float], expected: list[float]) -> None:
        assert project_simplex(frequencies) == pytest.approx(expected)

    def test_projection_against_a_fine_grid(self) -> None:
        rng = np.random.default_rng(SEED)
        steps = 100
        grid = np.array(
            [(a, b, steps - a - b) for a in range(steps + 1) for b in range(steps + 1 - a)]
        )
        for _ in range(50):
            target = rng.normal(1 / 3, 0.7, 3)
            distances = ((grid / steps - target) ** 2).sum(axis=1)
            projected = project_simplex(target)
            assert ((projected - target) ** 2).sum() <= distances.min() + 1e-12
            assert np.abs(grid[distances.argmin()] / steps - projected).max() <= 1.01 / steps

    @pytest.mark.parametrize("k", [2, 5, 12])
    def test_projection_against_an_optimiser(self, k: int) -> None:
        rng = np.random.default_rng(SEED)

        def distance(x: NDArray[np.float64], target: NDArray[np.float64]) -> float:
            return float(((x - target) ** 2).sum())

        for _ in range(10):
            target = rng.normal(1 / k, 0.5, k)
            found = optimize.minimize(
                distance,
                np.full(k, 1 / k),
                args=(target,),
                bounds=[(0, 1)] * k,
                constraints=optimize.LinearConstraint(np.ones((1, k)), 1, 1),
                method="SLSQP",
                options={"ftol": 1e-14, "maxiter": 500},
            )
            assert project_simplex(target) == pytest.approx(found.x, abs=1e-5)

    def test_projections_are_on_the_simplex_and_stay(self) -> None:
        rng = np.random.default_rng(SEED)
        for k in (1, 2, 10, 1000):
            projected = project_simplex(rng.normal(0, 3, k))
            assert projected.sum() == pytest.approx(1)
            assert (projected >= 0).all()
            assert project_simplex(projected) == pytest.approx(projected)

    def test_very_wild_estimates(self) -> None:
        assert project_simplex([1e17, 0.0]) == pytest.approx([1.0, 0.0])

    def test_inputs_are_not_modified(self) -> None:
        frequencies = np.array([1.5, -0.5])
        clip(frequencies)
        project_simplex(frequencies)
        assert frequencies.tolist() == [1.5, -0.5]
