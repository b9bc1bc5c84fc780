"""Which mechanism for a large domain: plans, the worst population, and the paper's claims.

Zipf data throughout: the v-th most frequent of k values is held by a share proportional to 1/v.
"""

import itertools
import math
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import jrr
from jrr.mechanisms.request import Request
from tests import bare_plans
from tests.statistics_rules import accepts_only, spread_test

pytestmark = pytest.mark.heavy

Floats = NDArray[np.float64]

K, N, M = 16, 20_000, 5
ENCODINGS = ("SUE", "OUE", "OLH")
CHOICES = {
    "RR": "rr",
    "JRR (optimal)": "jrr",
    "DRR": "drr",
    "MRR": "mrr",
    "SUE": "sue",
    "SS": "ss",
    "SUE + joint": "sue-joint",
    "SUE + dealt": "sue-dealt",
    "OUE": "oue",
    "OUE + joint": "oue-joint",
    "OUE + dealt": "oue-dealt",
    "OLH": "olh",
    "OLH + joint": "olh-joint",
}


def zipf(k: int, n: int) -> NDArray[np.int64]:
    """Whole numbers that add up to n, in Zipf's proportions."""
    weights = 1 / np.arange(1, k + 1)
    counts: NDArray[np.int64] = np.floor(n * weights / weights.sum()).astype(np.int64)
    counts[0] += n - counts.sum()
    return counts


@cache
def planned(name: str, epsilon: float, cap: float | None = None, k: int = K) -> jrr.Mechanism:
    return bare_plans.plan(N, epsilon, M, k, cap, mechanism=CHOICES[name]).mechanism


def mean_squared_error(mechanism: jrr.Mechanism, counts: NDArray[np.int64]) -> float:
    """Of the estimated counts, averaged over the values."""
    return float(mechanism.variance(counts).mean())


# Plans ----------------------------------------------------------------------------------------


@pytest.mark.slow_variants(
    "1001-5",
    "*-16]",
    "1000-0-*-100]",
    "200-60-*-3]",
    "200-60-3.0-4.0",
    "200-60-1.0-2.0",
    "1000-0-3.0",
)
@pytest.mark.parametrize("k", [3, 16, 100])
@pytest.mark.parametrize(
    ("epsilon", "cap"), [(0.1, None), (0.1, 1.0), (1.0, None), (1.0, 2.0), (3.0, 4.0), (1.0, 0.5)]
)
@pytest.mark.parametrize(("n", "colluders"), [(1_000, 0), (1_001, 5), (200, 60)])
def test_every_compared_mechanism_keeps_the_guarantee_and_auto_is_the_least(
    k: int, epsilon: float, cap: float | None, n: int, colluders: int
) -> None:
    chosen = bare_plans.plan(n, epsilon, colluders, k, cap)
    rows = {row.name: row for row in chosen.compare()}
    assert set(rows) == {*CHOICES, "JRR (Algorithm 1)"}
    assert rows["JRR (Algorithm 1)"].mechanism is None
    assert "k must be 2" in rows["JRR (Algorithm 1)"].note
    budget = epsilon if cap is None else min(epsilon, cap)
    for name in CHOICES:
        mechanism = rows[name].mechanism
        assert mechanism is not None, rows[name].note
        assert mechanism.k == k
        assert mechanism.epsilon("cards", colluders) <= budget
        assert cap is None or mechanism.epsilon("dealer") <= cap
        assert "breaks" not in rows[name].note
        losses = rows[name].epsilon
        assert losses["report"] <= losses["truths"] * (1 + 1e-12)
        assert losses["truths"] <= losses["cards"] * (1 + 1e-12)
        assert losses["cards"] <= losses["dealer"] * (1 + 1e-12)
    least = min(rows[name].expected_stderr for name in CHOICES if not rows[name].objection)
    assert chosen.stderr() == pytest.approx(least, rel=1e-12)
    assert chosen.stderr() <= rows["RR"].expected_stderr


def test_a_mechanism_asked_for_by_name_is_the_compared_one() -> None:
    rows = {row.name: row.mechanism for row in bare_plans.plan(N, 1.0, M, K).compare()}
    for name in CHOICES:
        assert rows[name] == planned(name, 1.0)


def test_a_cap_below_epsilon_leaves_no_room_for_cards() -> None:
    for name in CHOICES:
        mechanism = planned(name, 1.0, 0.5)
        assert getattr(mechanism, "s", 0.0) == 0
        assert mechanism.epsilon("dealer") <= 0.5
        if name in ("JRR (optimal)", "DRR", "MRR"):
            assert isinstance(mechanism, jrr.RR)


def test_two_values_need_no_encoding() -> None:
    assert len(bare_plans.plan(1_000, 1.0, 5, 2).compare()) == 5
    assert isinstance(bare_plans.plan(1_000, 1.0, 5, 2, mechanism="oue").mechanism, jrr.OUE)


@pytest.mark.parametrize("k", [1, 0, -1])
def test_one_value_is_no_question(k: int) -> None:
    with pytest.raises(jrr.JrrError, match=f"k must be a whole number .*, got k={k}"):
        bare_plans.plan(100, 1.0, k=k)


@pytest.mark.parametrize(
    "coupling", ["sue-joint", "sue-dealt", "oue-joint", "oue-dealt", "olh-joint"]
)
@pytest.mark.parametrize(("n", "epsilon"), [(1_000, 0.1), (100, 1.0), (100, 2.0), (N, 0.1)])
def test_a_planned_coupling_is_never_worse_than_none(coupling: str, n: int, epsilon: float) -> None:
    """By the plan's own criterion: no lean at all is among what may be chosen."""
    plain = bare_plans.plan(n, epsilon, M, K, mechanism=coupling.partition("-")[0])
    coupled = bare_plans.plan(n, epsilon, M, K, mechanism=coupling)
    assert coupled.stderr() <= plain.stderr() * (1 + 1e-9)


@pytest.mark.parametrize("encoding", [jrr.SUE, jrr.OUE])
@pytest.mark.parametrize("coupling", ["joint", "dealt"])
@pytest.mark.parametrize(
    ("n", "epsilon", "cap"), [(1_000, 0.1, None), (100, 1.0, None), (100, 2.0, 4.0)]
)
def test_no_lean_beats_the_planned_one(
    encoding: type[jrr.SUE] | type[jrr.OUE],
    coupling: str,
    n: int,
    epsilon: float,
    cap: float | None,
) -> None:
    """By the plan's own criterion, over a grid of leans."""
    plan = bare_plans.plan(n, epsilon, M, K, cap, mechanism=f"{encoding.name.lower()}-{coupling}")
    for s in np.linspace(0, 0.5, 41):
        try:
            other = encoding(
                K, epsilon, coupling=coupling, n=n, colluders=M, s=float(s), dealer_epsilon=cap
            )
        except jrr.JrrError:
            continue
        assert plan.stderr() ** 2 <= plan.request.expected_variance(other) * (1 + 1e-6)


# The worst population -------------------------------------------------------------------------


@pytest.mark.parametrize("name", list(CHOICES))
@pytest.mark.parametrize(("epsilon", "cap"), [(0.1, None), (1.0, None), (1.0, 2.0), (3.0, None)])
def test_variance_is_concave_in_the_frequency(name: str, epsilon: float, cap: float | None) -> None:
    assert (planned(name, epsilon, cap).moments.quadratic(N, 1).square <= 0).all()


@given(
    st.sampled_from(list(CHOICES)),
    st.sampled_from([(0.1, None), (1.0, None), (1.0, 2.0)]),
    st.sampled_from([0.05, 0.5, 5.0]),
    st.integers(0, 2**32),
)
@settings(max_examples=150, deadline=None)
def test_equal_frequencies_are_the_worst_population(
    name: str, request_: tuple[float, float | None], evenness: float, seed: int
) -> None:
    """No population has a larger mean squared error, averaged over values, than the criterion."""
    epsilon, cap = request_
    mechanism = planned(name, epsilon, cap)
    rng = np.random.default_rng(seed)
    counts = rng.multinomial(N, rng.dirichlet([evenness] * K))
    criterion = Request(N, epsilon, M, K, cap).expected_variance(mechanism) * N**2
    assert mean_squared_error(mechanism, counts) <= criterion * (1 + 1e-9)
    even = np.full(K, N // K)
    assert mean_squared_error(mechanism, even) == pytest.approx(criterion, rel=1e-9)


@pytest.mark.parametrize(("n", "k"), [(103, 10), (50, 7), (1_001, 16)])
def test_an_uneven_deck_exceeds_the_criterion_by_next_to_nothing(n: int, k: int) -> None:
    """At most 2β/(λk) per person, over n persons: the leans of values differ by 1/n."""
    mechanism = bare_plans.plan(n, 1.0, 1, k, mechanism="drr").mechanism
    assert isinstance(mechanism, jrr.DRR)
    criterion = Request(n, 1.0, 1, k).expected_variance(mechanism) * n**2
    worst = max(mean_squared_error(mechanism, n * np.eye(k, dtype=np.int64)[v]) for v in range(k))
    assert worst <= criterion + 2 * mechanism.dealt / (mechanism.truth * k)


# DRR at k = 16 --------------------------------------------------------------------------------

GAINS = [  # epsilon, cap, times below the better of GRR, OUE and OLH: DRR, SUE + dealt
    (1.0, None, 3.42, 2.43),
    (1.0, 4.0, 2.64, 1.87),
    (1.0, 2.0, 1.08, 1.25),
    (0.1, None, 22.3, 20.5),
    (0.1, 4.0, 17.2, 15.6),
    (0.1, 2.0, 6.41, 9.55),
]


@pytest.mark.parametrize(("epsilon", "cap", "drr", "sue"), GAINS)
def test_gains_at_sixteen_values(epsilon: float, cap: float | None, drr: float, sue: float) -> None:
    counts = zipf(K, N)
    peers = min(mean_squared_error(planned(name, epsilon), counts) for name in ("RR", "OUE", "OLH"))
    for name, times in (("DRR", drr), ("SUE + dealt", sue)):
        mechanism = planned(name, epsilon, cap)
        assert mechanism.epsilon("cards", M) <= epsilon
        assert mechanism.epsilon("dealer") <= (math.inf if cap is None else cap)
        gain = peers / mean_squared_error(mechanism, counts)
        assert gain == pytest.approx(times, rel=3e-3)
    assert bare_plans.plan(N, epsilon, M, K, cap).mechanism == planned("MRR", epsilon, cap)


def test_drr_is_at_least_three_and_fifteen_times_better() -> None:
    counts = zipf(K, N)
    for epsilon, times in ((1.0, 3), (0.1, 15)):
        peers = [planned(name, epsilon) for name in ("RR", "OUE", "OLH")]
        drr = planned("DRR", epsilon)
        assert drr.epsilon("cards", M) <= epsilon
        assert min(mean_squared_error(m, counts) for m in peers) >= times * mean_squared_error(
            drr, counts
        )


@pytest.mark.parametrize("cap", [0.05, 0.1])
def test_a_cap_at_or_below_epsilon_means_randomized_response(cap: float) -> None:
    assert planned("DRR", 0.1, cap) == jrr.RR(K, epsilon=cap)


@cache
def simulated(name: str, epsilon: float, cap: float | None, surveys: int) -> Floats:
    """Errors of estimated counts: surveys by values, with real cards, reports and estimates."""
    mechanism = planned(name, epsilon, cap)
    counts = zipf(K, N)
    values = np.repeat(np.arange(K), counts)
    source = jrr.SeededRandom(7)
    return np.array(
        [
            mechanism.estimate(mechanism.respond(values, mechanism.deal(source), source)).counts
            - counts
            for _ in range(surveys)
        ]
    )


SIMULATED = [
    *itertools.product(("RR", "OUE", "OLH", "DRR"), (1.0, 0.1), (None,)),
    *itertools.product(("DRR",), (1.0, 0.1), (2.0, 4.0)),
    *itertools.product(("SUE + dealt", "OUE + joint", "OLH + joint"), (1.0,), (None,)),
]


@pytest.mark.statistical
@pytest.mark.parametrize(("name", "epsilon", "cap"), SIMULATED)
def test_simulated_errors_are_as_large_as_the_formula_says(
    name: str, epsilon: float, cap: float | None
) -> None:
    surveys = 30 if " + " in name else 100  # an encoding's k decks take time to shuffle
    errors = simulated(name, epsilon, cap, surveys)
    standardised = errors / np.sqrt(planned(name, epsilon, cap).variance(zipf(K, N)))
    assert abs(standardised.mean()) < 5 / math.sqrt(surveys)
    accepts_only(lambda sd: spread_test(standardised.ravel(), sd), 1.0, 1.3)


@pytest.mark.statistical
@pytest.mark.parametrize(("epsilon", "times"), [(1.0, 3), (0.1, 15)])
def test_drr_is_at_least_three_and_fifteen_times_better_in_simulation(
    epsilon: float, times: float
) -> None:
    mse = {
        name: float((simulated(name, epsilon, None, 100) ** 2).mean())
        for name in ("RR", "OUE", "OLH", "DRR")
    }
    assert min(mse["RR"], mse["OUE"], mse["OLH"]) >= times * mse["DRR"]


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("epsilon", "cap", "low", "high"),
    [(1.0, 2.0, 0.9, 1.3), (1.0, 4.0, 2.2, 3.1), (0.1, 2.0, 5.3, 7.7), (0.1, 4.0, 14.3, 20.6)],
)
def test_what_a_capped_dealer_leaves_in_simulation(
    epsilon: float, cap: float, low: float, high: float
) -> None:
    peers = min(
        float((simulated(name, epsilon, None, 100) ** 2).mean()) for name in ("RR", "OUE", "OLH")
    )
    gain = peers / float((simulated("DRR", epsilon, cap, 100) ** 2).mean())
    assert low < gain < high


# Closed forms, nobody colluding and no cap ----------------------------------------------------


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 2.0, 3.0])
@pytest.mark.parametrize("k", [3, 16, 1_000])
def test_closed_forms_for_rare_values(epsilon: float, k: int) -> None:
    """Variance of a count per person; the deck is large, and SUE's holds for every frequency."""
    n, root, whole = 100_000, math.exp(epsilon / 2), math.exp(epsilon)
    rare = np.zeros(k)
    rare[-1] = n
    for kind, coupling, expected in (
        (jrr.SUE, "none", root / (root - 1) ** 2),
        (jrr.SUE, "dealt", 1 / (root - 1)),
        (jrr.OUE, "none", 4 * whole / (whole - 1) ** 2),
        (jrr.OUE, "dealt", 4 / (whole - 1)),
    ):
        mechanism = kind(k, epsilon=epsilon, coupling=coupling, n=n if coupling != "none" else None)
        variances = mechanism.variance(rare) / n
        assert variances[0] == pytest.approx(expected, rel=1e-6)
        if kind is jrr.SUE:
            assert variances[-1] == pytest.approx(expected, rel=1e-6)
        joint = kind(k, epsilon=epsilon, coupling="joint", n=n, s=mechanism.q)
        assert joint.variance(rare)[0] / n == pytest.approx(
            1 / (root - 1) if kind is jrr.SUE else 4 / (whole - 1), rel=1e-6
        )


def test_dealt_symmetric_beats_dealt_optimised_unary_encoding_below_epsilon_two_ln_three() -> None:
    for epsilon, symmetric_wins in ((0.1, True), (1.0, True), (2.19, True), (2.21, False)):
        rare = (0.0, 100_000.0)
        sue, oue = (
            kind(2, epsilon=epsilon, coupling="dealt", n=100_000).variance(rare)[0]
            for kind in (jrr.SUE, jrr.OUE)
        )
        assert (sue < oue) == symmetric_wins


@pytest.mark.parametrize(("k", "best"), [(16, jrr.MRR), (1_000, jrr.MRR), (100_000, jrr.SUE)])
def test_cards_for_many_values_cost_many_bytes(k: int, best: type[jrr.Mechanism]) -> None:
    plan = bare_plans.plan(N, 1.0, M, k)
    rows = [row for row in plan.compare() if row.mechanism is not None]
    assert isinstance(min(rows, key=lambda row: row.expected_stderr).mechanism, best)
    chosen = plan.mechanism
    assert chosen.report_format.width <= 1_000
    assert isinstance(chosen, jrr.MRR | jrr.DRR) or not chosen.deals


# The paper's Section 4.6.3 --------------------------------------------------------------------


def best_joint_share(k: int, epsilon: float, colluders: int, counts: NDArray[np.int64]) -> float:
    """Mean squared error of the best k-JRR as a share of GRR's, by a search over p."""
    n = int(counts.sum())
    top = 1 / (1 + (k - 1) * math.exp(-epsilon))
    low = 1 / (1 + (k - 1) * math.exp(epsilon))
    e = colluders / (n - colluders)
    base = mean_squared_error(jrr.RR(k, epsilon=epsilon), counts)
    best = base
    for p in top - (top - 1 / k) * np.linspace(0, 0.98, 200) ** 2:
        s = min(p, 1 - p)
        if e > 0:
            s = min(s, (top - p) / e, (p - low) / e)
        if s > 0:
            best = min(best, mean_squared_error(jrr.JRR(n, p, k=k, s=s), counts))
    return best / base


def test_k_jrr_does_not_consistently_outperform_grr() -> None:
    """Any lean is a loss where all values are equally frequent, even with nobody colluding."""
    n = 10_000
    for k, epsilon in itertools.product((2, 4, 10, 100), (0.1, 1.0)):
        grr = jrr.RR(k, epsilon=epsilon)
        even = np.full(k, n // k)
        for share in (0.1, 0.5, 1.0):
            s = share * min(grr.p, 1 - grr.p)
            leaning = jrr.JRR(n, grr.p, k=k, s=s)
            assert (leaning.variance(even) > grr.variance(even)).all()
        if k > 2:
            assert isinstance(bare_plans.plan(n, epsilon, 5, k, mechanism="jrr").mechanism, jrr.RR)


@pytest.mark.parametrize(
    ("epsilon", "colluders", "shares"),
    [
        (0.1, 0, {2: 0.8995, 4: 0.9866, 16: 0.9996, 64: 1.0000, 256: 1.0000}),
        (0.1, 5, {2: 0.9171, 4: 1.0000, 16: 1.0000, 64: 1.0000, 256: 1.0000}),
        (1.0, 0, {2: 0.9591, 4: 0.9541, 16: 0.9978, 64: 0.9999, 256: 1.0000}),
        (1.0, 5, {2: 0.9606, 4: 0.9567, 16: 0.9995, 64: 1.0000, 256: 1.0000}),
        (3.0, 0, {2: 0.9945, 4: 0.9901, 16: 0.9759, 64: 0.9962, 256: 0.9998}),
    ],
)
def test_the_advantage_over_grr_vanishes_with_k(
    epsilon: float, colluders: int, shares: dict[int, float]
) -> None:
    """On Zipf data, tuned to it; it falls in the end, but at ε = 1 and 3 it first grows."""
    for k, share in shares.items():
        found = best_joint_share(k, epsilon, colluders, zipf(k, 10_000))
        assert found == pytest.approx(share, abs=2e-4)


@pytest.mark.parametrize("epsilon", [0.1, 1.0])
@pytest.mark.parametrize("k", [64, 1_024])
def test_local_hashing_carries_the_joint_coupling_to_large_domains_but_gains_nothing_there(
    epsilon: float, k: int
) -> None:
    """True: its error does not grow with k. Not true: that JRR improves it on Zipf data."""
    n = 10_000
    counts = zipf(k, n)
    plain = jrr.OLH(k, epsilon=epsilon)
    base = mean_squared_error(plain, counts)
    free = jrr.OLH(k, g=plain.g, p=plain.p, s=min(plain.p, 1 - plain.p), coupling="joint", n=n)
    assert 0.998 < mean_squared_error(free, counts) / base < 1
    guarded = jrr.OLH(k, epsilon=epsilon, coupling="joint", n=n, colluders=5, s=0.475)
    assert mean_squared_error(guarded, counts) > base
    small = jrr.OLH(16, epsilon=epsilon)
    assert base == pytest.approx(mean_squared_error(small, zipf(16, n)), rel=0.03)
    assert mean_squared_error(jrr.RR(k, epsilon=epsilon), counts) > 5 * base
