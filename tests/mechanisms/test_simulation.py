"""Surveys simulated in distribution against exact laws and against person-by-person ones."""

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

import jrr
from jrr.estimation.moments import Floats
from jrr.research.paper.literal import respond_in_pairs
from tests import bare_plans, oracle
from tests.statistics_rules import (
    P_VALUE,
    SURVEYS,
    accepts_only,
    chi_square,
    mean_test,
    skewed,
    spread_test,
)

COUNTS = np.array([300, 120, 60, 20])
N = int(COUNTS.sum())
MECHANISMS = [
    jrr.RR(4, epsilon=1.0),
    jrr.JRR(N, 0.45, k=4, s=0.4),
    jrr.JRR(N + 1, 0.45, k=4, s=0.45),
    jrr.JRR(2 * N, 0.6, k=4, s=0.4),
    jrr.DRR(N, 0.3, 0.1, k=4),
    jrr.DRR(N + 3, 0.3, 0.0, k=4),
    jrr.DRR(N, 0.3, 0.2, k=4, deck=[200, 150, 100, 50]),
    jrr.SUE(4, 1.0),
    jrr.SUE(4, 1.0, coupling="joint", n=N, colluders=2),
    jrr.OUE(4, 1.0),
    jrr.OUE(4, 1.0, coupling="joint", n=N + 1, colluders=2),
    jrr.OUE(4, 1.0, coupling="dealt", n=2 * N, colluders=2),
    jrr.OLH(4, 1.0),
    jrr.OLH(4, 1.0, coupling="joint", n=N, colluders=2),
]


@pytest.mark.statistical
@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda m: f"{m!r:.60}")
def test_mean_and_spread_are_exact(mechanism: jrr.Mechanism) -> None:
    """Every mechanism, with full decks, odd decks and drop-outs."""
    estimates = jrr.simulate(mechanism, COUNTS, SURVEYS, np.random.default_rng(11))
    for value, true in enumerate(COUNTS):
        sd = float(np.sqrt(mechanism.variance(COUNTS)[value]))
        assert_mean_and_spread(estimates[:, value], float(true), sd)


def assert_mean_and_spread(samples: Floats, mean: float, sd: float) -> None:
    accepts_only(lambda m: mean_test(samples, m, sd), mean, mean + 0.3 * sd)
    accepts_only(lambda s: spread_test(samples, s), sd, 1.3 * sd)


@pytest.mark.statistical
@pytest.mark.parametrize("rho", [-0.6, -0.2])
def test_agrees_with_the_papers_pairs_person_by_person(rho: float) -> None:
    """The law of the estimate, bin by bin: pairing, shared signs, C_j and T_j against O(1)."""
    n, ones, p = 12, 3, 0.6
    mechanism = jrr.JRR(n, p, rho=rho)
    values = (np.arange(n) < ones).astype(int)
    rng = np.random.default_rng(5)
    surveys = SURVEYS // 4
    slow = [int(respond_in_pairs(values, p, rho, rng).sum()) for _ in range(surveys)]
    fast = jrr.simulate(mechanism, (n - ones, ones), 100 * surveys, rng)[:, 1]
    reports = np.rint(fast * (2 * p - 1) + n * (1 - p)).astype(int)
    law = np.bincount(reports, minlength=n + 1) / len(reports)
    kept = law * surveys >= 20  # rare counts would be noise against noise
    observed = np.bincount(slow, minlength=n + 1)[kept]
    chances = law[kept] / law[kept].sum()
    accepts_only(lambda chance: chi_square(observed, chance), chances.tolist(), skewed(chances))


@pytest.mark.statistical
@pytest.mark.parametrize("own", [Fraction(0), Fraction(1, 10)])
def test_dealt_law_is_the_enumerated_one(own: Fraction) -> None:
    deck, truth, values = (3, 2, 1), Fraction(3, 10), (0, 0, 1, 2, 0, 1)
    mechanism = jrr.DRR(6, float(truth), float(own), k=3, deck=list(deck))
    channel = oracle.dealt_channel(truth, own, 3)
    joint = oracle.reports_of_deals(oracle.one_deck(oracle.decoy_deck(deck)), channel, values)
    law = np.zeros(7)
    for reports, chance in joint.items():
        law[reports.count(0)] += float(chance)
    estimates = jrr.simulate(mechanism, (3, 2, 1), SURVEYS, np.random.default_rng(2))[:, 0]
    q = mechanism.moments.q[0]
    supports = np.rint(estimates * mechanism.truth + 6 * q).astype(int)
    observed = np.bincount(supports, minlength=7)
    accepts_only(lambda chances: chi_square(observed, chances), law.tolist(), skewed(law))


@pytest.mark.statistical
def test_local_hashing_agrees_with_real_hashes() -> None:
    counts = np.array([150, 40, 10])
    mechanism = jrr.OLH(3, 1.0)
    values = np.repeat(np.arange(3), counts)
    rng = np.random.default_rng(8)
    real = np.array(
        [mechanism.estimate(mechanism.respond(values, rng=rng)).counts for _ in range(4000)]
    )
    for value, true in enumerate(counts):
        sd = float(np.sqrt(mechanism.variance(counts)[value]))
        accepts_only(spread_of(real[:, value]), sd, 1.3 * sd)
        assert mean_test(real[:, value], float(true), sd) > P_VALUE


def spread_of(samples: Floats) -> Callable[[float], float]:
    return lambda sd: spread_test(samples, sd)


@pytest.mark.statistical
@pytest.mark.parametrize("kind", ["jrr", "drr"])
def test_cardless_contributors_are_added(kind: str) -> None:
    mechanism = bare_plans.plan(900, 1.0, 2, mechanism=kind, frequency=0.1).mechanism
    rng = np.random.default_rng(4)
    estimates = jrr.simulate(mechanism, (810, 90), SURVEYS, rng, cardless=(70, 30))[:, 1]
    alone = jrr.RR(p=float(mechanism.moments.p[0])).variance((70, 30))[1]
    sd = float(np.sqrt(mechanism.variance((810, 90))[1] + alone))
    assert_mean_and_spread(estimates, 120.0, sd)


@pytest.mark.statistical
def test_cardless_decoys_have_the_decks_proportions() -> None:
    mechanism = jrr.DRR(900, 0.3, 0.1, k=3, deck=[600, 200, 100])
    estimates = jrr.simulate(
        mechanism, (0, 0, 0), SURVEYS, np.random.default_rng(4), cardless=(70, 30, 20)
    )
    variance = mechanism.moments.without_cards().variance(np.array([70.0, 30.0, 20.0]), 120.0, 1)
    for value, true in enumerate((70, 30, 20)):
        assert_mean_and_spread(estimates[:, value], float(true), float(np.sqrt(variance[value])))


def test_only_cardless_contributors() -> None:
    mechanism = jrr.DRR(10, 0.3)
    assert jrr.simulate(mechanism, (0, 0), 5, cardless=(3, 4)).shape == (5, 2)


def test_cost_does_not_depend_on_n() -> None:
    """Half a billion people are simulated as a matter of course."""
    mechanism = jrr.DRR(500_000_000, 0.05)
    estimates = jrr.simulate(mechanism, (450_000_000, 50_000_000), 10, jrr.SeededRandom(1))
    assert estimates.sum(axis=1) == pytest.approx(np.full(10, 5e8))


def test_a_seed_repeats_and_another_does_not() -> None:
    mechanism = jrr.JRR(100, 0.6, s=0.3)
    runs = [jrr.simulate(mechanism, (90, 10), 20, jrr.SeededRandom(seed)) for seed in (1, 1, 2)]
    assert (runs[0] == runs[1]).all()
    assert not (runs[0] == runs[2]).all()
    secure = [jrr.simulate(mechanism, (90, 10), 20) for _ in range(2)]
    assert not (secure[0] == secure[1]).all()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"counts": (60, 60), "runs": 1}, "counts must add up to at most"),
        ({"counts": (1, 2, 3), "runs": 1}, "counts must be 2 whole numbers"),
        ({"counts": (1.5, 2.5), "runs": 1}, "counts must be 2 whole numbers"),
        ({"counts": (-1, 2), "runs": 1}, "counts must be 2 whole numbers"),
        ({"counts": (0, 0), "runs": 1}, "counts must be above 0 somewhere"),
        ({"counts": (50, 50), "runs": 0}, "runs must be a whole number >= 1"),
    ],
)
def test_refusals(arguments: dict[str, object], words: str) -> None:
    with pytest.raises(jrr.JrrError, match=words):
        jrr.simulate(jrr.JRR(100, 0.6, s=0.3), **arguments)  # type: ignore[arg-type]
