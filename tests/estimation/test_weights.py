"""Survey weights: exact moments by enumeration, the weighted interval, and what is refused."""

import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

import jrr
from benchmarks.interval_coverage.coverage import weighted_estimate_of
from jrr.estimation.tally import WeightedTally
from jrr.mechanisms import hashing
from jrr.mechanisms.base import Mechanism
from tests import oracle
from tests.oracle import Law
from tests.statistics_rules import OFF, P_VALUE, accepts_only, mean_test, spread_test

WEIGHTS = tuple(Fraction(a, b) for a, b in ((1, 2), (3, 1), (1, 1), (5, 4), (0, 1), (7, 3)))
LEVEL = 0.95
SEED = 20_261_116


# Exact moments --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """A mechanism, and who holds which cards and says what as the oracle enumerates it."""

    name: str
    mechanism: Mechanism
    cards: Law  # one card per contributor who reports
    channel: oracle.Channel
    decks: int = 1

    @property
    def people(self) -> int:
        return len(next(iter(self.cards)))


def plain(n: int, p: Fraction, k: int) -> Case:
    nobody = {(oracle.BLANK,) * n: Fraction(1)}
    channel = oracle.joint_channel(p, oracle.ZERO, k)
    return Case(f"RR n={n} k={k}", jrr.RR(k, p=float(p)), nobody, channel)


def joint(
    n: int, p: Fraction, s: Fraction, k: int, cards: Law | None = None, decks: int = 1
) -> Case:
    dealt = oracle.one_deck(oracle.sign_deck(n)) if cards is None else cards
    name = f"JRR n={n} k={k} p={p} s={s} decks={decks} people={len(next(iter(dealt)))}"
    mechanism = jrr.JRR(n, float(p), s=float(s), k=k)
    return Case(name, mechanism, dealt, oracle.joint_channel(p, s, k), decks)


def dealt(
    deck: Sequence[int], truth: Fraction, own: Fraction, cards: Law | None = None, decks: int = 1
) -> Case:
    k, n = len(deck), sum(deck)
    law = oracle.one_deck(oracle.decoy_deck(deck)) if cards is None else cards
    name = f"DRR deck={tuple(deck)} own={own} decks={decks} people={len(next(iter(law)))}"
    mechanism = jrr.DRR(n, float(truth), float(own), k=k, deck=list(deck))
    return Case(name, mechanism, law, oracle.dealt_channel(truth, own, k), decks)


P, S, TRUTH, OWN = Fraction(3, 5), Fraction(2, 5), Fraction(1, 4), Fraction(1, 5)
FOUR_OF_TWO_DECKS = oracle.several_decks([oracle.sign_deck(2)] * 2)
TWO_DECOY_DECKS = oracle.several_decks([oracle.decoy_deck((2, 1))] * 2)
CASES = [
    plain(4, P, 2),
    plain(3, P, 3),
    joint(2, P, S, 2),
    joint(4, Fraction(3, 4), Fraction(1, 7), 2),
    joint(5, P, S, 2),  # an odd deck has a blank card
    joint(6, P, S, 2),
    joint(4, P, S, 3),
    joint(3, Fraction(1, 2), Fraction(1, 2), 3),
    joint(6, P, S, 2, oracle.of_random_subset(oracle.one_deck(oracle.sign_deck(6)), 4)),
    joint(5, P, S, 2, oracle.of_random_subset(oracle.one_deck(oracle.sign_deck(5)), 3)),
    joint(2, P, S, 2, FOUR_OF_TWO_DECKS, decks=2),
    dealt((2, 2), TRUTH, Fraction(0)),
    dealt((3, 2), TRUTH, OWN),
    dealt((3, 3), TRUTH, OWN),
    dealt((2, 1, 1), TRUTH, OWN),
    dealt((3, 0), TRUTH, OWN),
    dealt((4, 2), TRUTH, OWN, oracle.of_random_subset(oracle.one_deck((0, 0, 0, 0, 1, 1)), 4)),
    dealt((2, 1), TRUTH, OWN, oracle.of_random_subset(TWO_DECOY_DECKS, 5), decks=2),
]


def exact_moments(
    law: Law, weights: Sequence[Fraction], v: int, p: Fraction, q: Fraction
) -> tuple[Fraction, Fraction]:
    """Mean and variance of Σ w_i (1[y_i = v] - q) / (p - q) over all reports y."""
    told: defaultdict[Fraction, Fraction] = defaultdict(Fraction)  # the weight of who reports v
    for reports, probability in law.items():
        weight = sum((w for w, y in zip(weights, reports, strict=True) if y == v), oracle.ZERO)
        told[weight] += probability
    mean = sum((chance * x for x, chance in told.items()), oracle.ZERO)
    variance = sum((chance * (x - mean) ** 2 for x, chance in told.items()), oracle.ZERO)
    return (mean - q * sum(weights)) / (p - q), variance / (p - q) ** 2


def support_chances(case: Case, v: int) -> tuple[Fraction, Fraction]:
    """Pr[report v] of a holder of v and of anybody else, from the enumeration."""
    k = case.mechanism.k
    other = (v + 1) % k
    hands = oracle.marginal(case.cards, 0)
    holder = sum((w * case.channel(card, v)[v] for card, w in hands.items()), oracle.ZERO)
    stranger = sum((w * case.channel(card, other)[v] for card, w in hands.items()), oracle.ZERO)
    return holder, stranger


@pytest.mark.heavy
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_unbiased_and_of_the_stated_variance_for_every_population(case: Case) -> None:
    k, n, moments = case.mechanism.k, case.people, case.mechanism.moments
    weights = WEIGHTS[:n]
    total, squares = sum(weights), sum(w * w for w in weights)
    spread = moments.spread(float(total), float(squares), case.decks)
    for values in product(range(k), repeat=n):
        law = oracle.reports_of_deals(case.cards, case.channel, values)
        for v in range(k):
            p, q = support_chances(case, v)
            mean, variance = exact_moments(law, weights, v, p, q)
            held = [w for w, x in zip(weights, values, strict=True) if x == v]
            weight, weight_squares = sum(held), sum(w * w for w in held)
            assert mean == weight
            at = spread.along(np.full(k, float(weight_squares)), np.zeros(1))
            stated = np.broadcast_to(at.at(np.full(k, float(weight))), k)[v]
            assert stated == pytest.approx(float(variance), rel=1e-9, abs=1e-12), (values, v)


@pytest.mark.parametrize(
    "case", [CASES[1], CASES[4], CASES[10], CASES[14], CASES[17]], ids=lambda case: case.name
)
def test_the_public_estimate_is_the_enumerated_one(case: Case) -> None:
    """tally(weights=), estimate: mean over all reports, and the counts of each single outcome."""
    m, k, n = case.mechanism, case.mechanism.k, case.people
    weights = np.array([float(w) for w in WEIGHTS[:n]])
    values = [(3 * i + 1) % k for i in range(n)]
    law = oracle.reports_of_deals(case.cards, case.channel, values)
    carded = m.moments.deck is not None
    mean, second = np.zeros(k), np.zeros(k)
    for reports, chance in law.items():
        counts = m.estimate(m.tally(reports, carded, weights=weights), case.decks).counts
        mean += float(chance) * counts
        second += float(chance) * counts**2
    truth, held = (
        np.array([w[np.equal(values, v)].sum() for v in range(k)]) for w in (weights, weights**2)
    )
    assert mean == pytest.approx(truth, abs=1e-9)
    spread = m.moments.spread(float(weights.sum()), float((weights**2).sum()), case.decks)
    assert second - mean**2 == pytest.approx(spread.along(held, np.zeros(1)).at(truth), abs=1e-9)


def test_a_variance_without_the_squares_would_be_found() -> None:
    """The negative control: weights that were averaged away state another variance."""
    case = CASES[5]
    weights = WEIGHTS[: case.people]
    law = oracle.reports_of_deals(case.cards, case.channel, (1, 1, 0, 0, 0, 0))
    _, variance = exact_moments(law, weights, 1, *support_chances(case, 1))
    n, total = case.people, float(sum(weights))
    unweighted = case.mechanism.variance([4, 2])[1] * (total / n) ** 2
    assert unweighted != pytest.approx(float(variance), rel=0.1)


def test_stderr_is_the_double_sum_over_people() -> None:
    """Second way: Σ w² p(1-p) - pair_weight Σ_{i≠j} w_i w_j d_i d_j, at inner estimates."""
    m = jrr.DRR(8, 0.6, 0.1, k=2)
    weights = np.array([1.0, 2.0, 2.5, 3.0, 1.0, 1.5, 0.5, 0.25])
    reports = np.array([1, 0, 1, 0, 0, 1, 0, 1])
    estimate = m.estimate(m.tally(reports, True, weights=weights))
    moments = m.moments
    p, q, d = moments.p[1], moments.q[1], moments.lean_holder[1]
    x = estimate.counts[1]
    y = moments.estimate(np.array([0.0, (weights**2 * reports).sum()]), (weights**2).sum())[1]
    assert 0 < x < weights.sum()
    assert 0 < y < (weights**2).sum()
    pairs = sum(weights[i] * weights[j] * d * d for i in range(8) for j in range(8) if i != j)
    variance = y * p * (1 - p) + ((weights**2).sum() - y) * q * (1 - q)
    variance -= m.moments.pair_weight(1) * pairs
    assert estimate.count_stderr[1] ** 2 == pytest.approx(variance / m.truth**2)


# Weights that change nothing ------------------------------------------------------------------


def encodings() -> list[Mechanism]:
    return [
        jrr.RR(2, epsilon=1.0),
        jrr.RR(5, epsilon=1.0),
        jrr.JRR(200, 0.6, s=0.3),
        jrr.JRR(201, 0.5, s=0.3, k=3),
        jrr.DRR(200, 0.4, 0.1, k=5),
        jrr.SUE(11, epsilon=1.0),
        jrr.OUE(11, q=0.3, s=0.2, coupling="dealt", n=200),
        jrr.SUE(11, q=0.3, s=0.2, coupling="joint", n=200),
        jrr.OLH(11, epsilon=1.0),
        jrr.OLH(11, g=4, p=0.5, s=0.2, coupling="joint", n=200),
    ]


def answers(m: Mechanism, n: int = 200, seed: int = SEED) -> tuple[Any, NDArray[np.bool_]]:
    """Reports of everybody, of whom the last 30 hold no card."""
    rng = jrr.SeededRandom(seed)
    values = np.arange(n) ** 2 % m.k
    cards = m.deal(rng)
    held = 0 if cards is None else n - 30
    hand = None if cards is None else cards[:held]
    reports = np.concatenate(
        (m.respond(values[:held], hand, rng), m.respond(values[held:], None, rng))
    )
    return reports, np.arange(n) < held


def same(first: jrr.Estimate, second: jrr.Estimate, scale: float = 1.0) -> None:
    assert second.n == first.n
    assert second.weight == pytest.approx(scale * first.weight)
    assert second.counts == pytest.approx(scale * first.counts)
    assert second.count_stderr == pytest.approx(scale * first.count_stderr)
    assert second.frequencies == pytest.approx(first.frequencies)
    assert second.stderr == pytest.approx(first.stderr)
    for level in (0.5, LEVEL, 0.999):
        for end, other in zip(first.interval(level), second.interval(level), strict=True):
            assert other == pytest.approx(end, abs=1e-12)


@pytest.mark.slow_variants("SUE(k=11, q=0.3,", "OLH(k=11, g=4, p=0.5,")
@pytest.mark.parametrize("m", encodings(), ids=repr)
def test_equal_weights_change_nothing(m: Mechanism) -> None:
    reports, carded = answers(m)
    plain = m.estimate(m.tally(reports, carded))
    ones = m.tally(reports, carded, weights=np.ones(len(reports)))
    assert ones.n == plain.n
    same(plain, m.estimate(ones))
    for scale in (0.01, 7.5, 1e6):
        scaled = m.tally(reports, carded, weights=np.full(len(reports), scale))
        same(plain, m.estimate(scaled), scale)
    more = m.estimate(m.tally(reports, carded), decks=3)
    same(more, m.estimate(ones, decks=3))


@pytest.mark.parametrize("m", encodings(), ids=repr)
def test_scaling_unequal_weights_scales_counts_and_nothing_else(m: Mechanism) -> None:
    reports, carded = answers(m)
    weights = np.random.default_rng(SEED).gamma(2.0, size=len(reports))
    first, second = (
        m.estimate(m.tally(reports, carded, weights=factor * weights)) for factor in (1.0, 300.0)
    )
    same(first, second, 300.0)


@pytest.mark.parametrize("m", encodings(), ids=repr)
def test_a_weight_of_two_is_counted_as_two_people(m: Mechanism) -> None:
    """Counts are those of the doubled file, error bars are not: nobody answered twice."""
    reports, carded = answers(m)
    weights = 1.0 + (np.arange(len(reports)) % 3 == 0)
    weighted = m.estimate(m.tally(reports, carded, weights=weights))
    twice = np.repeat(np.arange(len(reports)), weights.astype(int))
    doubled = m.estimate(m.tally(reports[twice], carded[twice]), 2 if m.deals else None)
    assert weighted.counts == pytest.approx(doubled.counts)
    assert weighted.n == len(reports)
    assert weighted.weight == pytest.approx(len(twice))
    alone = reports[~carded]
    twos = m.estimate(m.tally(alone, False, weights=np.full(len(alone), 2.0)))
    copies = m.estimate(m.tally(np.concatenate((alone, alone)), False))
    assert twos.counts == pytest.approx(copies.counts)
    assert twos.count_stderr == pytest.approx(math.sqrt(2) * copies.count_stderr)


# Support of encodings -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "m", [m for m in encodings() if isinstance(m, jrr.SUE | jrr.OUE | jrr.OLH)], ids=repr
)
def test_weighted_support_against_a_plain_loop(m: Mechanism) -> None:
    reports, carded = answers(m)
    weights = np.random.default_rng(SEED).gamma(2.0, size=len(reports))
    tally = m.tally(reports, carded, weights=weights)
    for group, part in ((tally.carded, carded), (tally.cardless, ~carded)):
        support, squares = np.zeros(m.k), np.zeros(m.k)
        for report, weight in zip(reports[part], weights[part], strict=True):
            for v in range(m.k):
                if supports(m, report, v):
                    support[v] += weight
                    squares[v] += weight**2
        assert group.n == part.sum()
        assert group.support == pytest.approx(support)
        assert group.support_squares == pytest.approx(squares)
        assert group.weight == pytest.approx(weights[part].sum())
        assert group.weight_squares == pytest.approx((weights[part] ** 2).sum())


def supports(m: Mechanism, report: Any, v: int) -> bool:
    if isinstance(m, jrr.OLH):
        return hashing.hash_one(int(report["seed"]), v, m.g) == int(report["value"])
    return bool(report[v // 8] >> v % 8 & 1)


def test_more_olh_reports_than_one_block() -> None:
    m = jrr.OLH(3, epsilon=1.0)
    reports = m.respond(np.arange(40_000) % 3, None, jrr.SeededRandom(SEED))
    weights = np.random.default_rng(SEED).gamma(2.0, size=len(reports))
    whole = m.tally(reports, weights=weights)
    parts = [m.tally(reports[at::7], weights=weights[at::7]) for at in range(7)]
    merged = sum(parts[1:], parts[0])
    assert whole.cardless.support == pytest.approx(merged.cardless.support)
    ones = m.tally(reports, weights=np.ones(len(reports)))
    assert tuple(ones.cardless.support) == m.tally(reports).cardless


# Merging --------------------------------------------------------------------------------------


@pytest.mark.parametrize("m", encodings(), ids=repr)
def test_parts_add_up_to_the_whole(m: Mechanism) -> None:
    reports, carded = answers(m)
    weights = np.random.default_rng(SEED).gamma(2.0, size=len(reports))
    whole = m.tally(reports, carded, "a", weights=weights)
    cut = np.arange(len(reports)) % 4
    parts = [
        m.tally(reports[cut == at], carded[cut == at], "a", weights=weights[cut == at])
        for at in range(4)
    ]
    merged = sum(parts)
    assert isinstance(merged, WeightedTally)
    assert merged.decks == whole.decks
    assert (merged.n, merged.n_carded) == (whole.n, whole.n_carded)
    same(m.estimate(whole), m.estimate(merged))
    swapped = parts[2] + (parts[3] + parts[0]) + parts[1]
    same(m.estimate(whole), m.estimate(swapped))


def test_decks_are_counted_by_name_and_the_cardless_have_none() -> None:
    m = jrr.DRR(100, 0.3)
    weights = np.arange(1.0, 41.0)
    a, b = (m.tally([0, 1] * 20, True, name, weights=weights) for name in "ab")
    late = m.tally([1] * 40, False, "c", weights=weights)
    assert (a + b).decks == ("a", "b")
    assert late.decks == ()
    assert (a + late).decks == ("a",)
    assert (m.estimate(a + b).stderr > m.estimate(a + b, decks=1).stderr).all()
    assert m.estimate(a + b).counts == pytest.approx(m.estimate(a + b, decks=1).counts)


def test_only_weighted_tallies_of_one_mechanism_add() -> None:
    first, second = jrr.RR(2, p=0.7), jrr.RR(2, p=0.8)
    one, two = (m.tally([0, 1], weights=[1, 2]) for m in (first, second))
    with pytest.raises(jrr.JrrError, match="one mechanism"):
        one + two
    with pytest.raises(TypeError):
        one + first.tally([0, 1])
    with pytest.raises(TypeError):
        first.tally([0, 1]) + one
    with pytest.raises(TypeError):
        one + 1
    with pytest.raises(jrr.JrrError, match="must be a tally of"):
        second.estimate(one)


# Refusals -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        ([1.0, -1.0, 1.0], "weights must be 0 or in 1e-50..1e50, got -1.0 at place 1"),
        ([1.0, 1.0, math.nan], "weights must be 0 or in 1e-50..1e50, got nan at place 2"),
        ([math.inf, 1.0, 1.0], "weights must be 0 or in 1e-50..1e50, got inf at place 0"),
        ([1.0, 1.0], r"weights must be 3 numbers, got shape \(2,\)"),
        ([[1.0, 1.0, 1.0]], r"weights must be 3 numbers, got shape \(1, 3\)"),
        (2.0, r"weights must be 3 numbers, got shape \(\)"),
        (["a", "b", "c"], "weights must be 3 numbers >= 0"),
        ([None, 1.0, 1.0], "weights must be"),
    ],
)
@pytest.mark.parametrize("m", [jrr.RR(2, p=0.7), jrr.DRR(4, 0.3)], ids=repr)
def test_weights_that_are_none(m: Mechanism, weights: Any, words: str) -> None:
    with pytest.raises(jrr.JrrError, match=words):
        m.tally([0, 1, 1], m.deals, weights=weights)


@pytest.mark.parametrize("m", [jrr.RR(2, p=0.7), jrr.DRR(4, 0.3)], ids=repr)
def test_all_zero_weighs_nothing(m: Mechanism) -> None:
    nothing = m.tally([0, 1, 1], m.deals, weights=[0, 0, 0])
    with pytest.raises(jrr.JrrError, match="weights must not all be 0"):
        m.estimate(nothing)
    something = m.tally([0], m.deals, weights=[2])
    assert m.estimate(nothing + something).weight == 2  # zeros in one part are allowed
    assert np.isfinite(m.estimate(nothing + something).interval()).all()


@pytest.mark.parametrize("m", [jrr.RR(2, p=0.7), jrr.DRR(4, 0.3)], ids=repr)
@pytest.mark.parametrize("size", [1e-200, 1e-100, 1e100, 1e200, 1e308])
def test_weights_of_any_size_mean_the_same_or_are_refused(m: Mechanism, size: float) -> None:
    weights = np.array([1.0, 1.0, 0.5, 1.0])
    expected = m.estimate(m.tally([0, 1, 1, 0], m.deals, weights=weights))
    with np.errstate(all="ignore"):
        try:
            estimate = m.estimate(m.tally([0, 1, 1, 0], m.deals, weights=size * weights))
        except jrr.JrrError:
            return
        assert estimate.frequencies == pytest.approx(expected.frequencies)
        assert estimate.stderr == pytest.approx(expected.stderr)
        for end, other in zip(expected.interval(), estimate.interval(), strict=True):
            assert other == pytest.approx(end)


# Coverage -------------------------------------------------------------------------------------

N, SURVEYS = 600, 1000
BUILDS: dict[str, Callable[[], jrr.RR | jrr.JRR | jrr.DRR]] = {
    "RR": lambda: jrr.RR(2, epsilon=1.0),
    "JRR": lambda: jrr.JRR(N, 0.6, s=0.4),
    "k-JRR": lambda: jrr.JRR(N, 0.5, s=0.4, k=3),
    "DRR": lambda: jrr.DRR(N, 0.3, 0.05),
    "DRR k=3": lambda: jrr.DRR(N, 0.25, 0.05, k=3),
}


@pytest.mark.statistical
@pytest.mark.parametrize("name", BUILDS)
@pytest.mark.parametrize("share", [0.02, 0.3])
def test_weighted_intervals_hold_their_level(name: str, share: float) -> None:
    """Weights are unequal (from 0.2 to 6) and go along with the answer, as survey weights do."""
    m = BUILDS[name]()
    rng = np.random.default_rng(SEED)
    values = np.zeros(N, np.int64)
    values[: round(N * share)] = 1
    if m.k > 2:
        values[round(N * share) :: 3] = 2
    weights = np.where(values == 1, 1.7, 1.0) * rng.choice([0.2, 1.0, 3.5], N)
    truth = weights[values == 1].sum() / weights.sum()
    understated = 2 * NormalDist().cdf((1 - OFF) * NormalDist().inv_cdf(0.5 + LEVEL / 2)) - 1
    supports = np.array(
        [m.respond(values, m.deal(rng), rng) == 1 for _ in range(SURVEYS)], dtype=np.float64
    )
    # All surveys at once, as if each were a value.
    surveys = weighted_estimate_of(m, weights, supports @ weights, supports @ weights**2)
    shares, stated = surveys.frequencies, surveys.stderr

    def p_value(level: float) -> float:  # that the interval covers 95% of the time, or more
        low, high = surveys.interval(level)
        covered = np.count_nonzero((low <= truth) & (truth <= high))
        return float(stats.binom.cdf(covered, SURVEYS, LEVEL))

    accepts_only(p_value, LEVEL, understated)
    held = float((weights[values == 1] ** 2).sum())
    spread = m.moments.spread(float(weights.sum()), float((weights**2).sum()), 1)
    exact = spread.along(np.full(m.k, held), np.zeros(1)).at(np.full(m.k, truth * weights.sum()))
    sd = math.sqrt(np.broadcast_to(exact, m.k)[1]) / weights.sum()
    assert mean_test(shares, truth, sd) > P_VALUE
    accepts_only(lambda sd: spread_test(shares, sd), sd, sd * (1 + OFF))
    if share == 0.3:
        assert np.mean(stated) == pytest.approx(sd, rel=0.06)
