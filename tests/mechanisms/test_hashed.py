"""Local hashing: the hash family, support counting, the joint coupling, refusals."""

import itertools
import json
import math
import struct
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import xxhash
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import jrr
from jrr.mechanisms import hashed, hashing
from jrr.mechanisms.report_formats import SEEDED_REPORT
from jrr.mechanisms.request import Request
from tests.oracle import of_random_subset, one_deck, sign_deck
from tests.oracle_encodings import hashed_survey, support_moments
from tests.statistics_rules import (
    SAMPLES,
    accepts_only,
    chi_square,
    mean_test,
    skewed,
    spread_test,
)

VIEWS = ("report", "truths", "cards", "dealer")
WORD = 1 << 32
SEEDS = (0, 1, WORD - 1, WORD, 1 << 63, (1 << 64) - 1, 0x0123456789ABCDEF)


def one_hash(seed: int, value: int) -> int:
    state = hashing.prefix(np.array([seed], np.uint64))
    return int(hashing.finish(state, np.array([value], np.uint32))[0])


def reference(seed: int, value: int) -> int:
    """The xxHash32 of its authors: upper half of the seed, then the value."""
    return int(xxhash.xxh32_intdigest(struct.pack("<II", seed >> 32, value), seed % WORD))


# The hash family ------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("value", [0, 1, 63, WORD // 2, WORD - 1])
def test_hash_is_xxhash_at_the_edges(seed: int, value: int) -> None:
    assert one_hash(seed, value) == reference(seed, value)


@given(st.integers(0, (1 << 64) - 1), st.integers(0, WORD - 1))
@settings(max_examples=300, deadline=None)
def test_hash_is_xxhash(seed: int, value: int) -> None:
    assert one_hash(seed, value) == reference(seed, value)


def test_whole_arrays_hash_as_single_numbers_do() -> None:
    rng = np.random.default_rng(1)
    seeds = rng.integers(0, 1 << 64, 2_000, dtype=np.uint64)
    values = rng.integers(0, WORD, 2_000, dtype=np.uint32)
    found = hashing.finish(hashing.prefix(seeds), values)
    expected = [reference(int(s), int(v)) for s, v in zip(seeds, values, strict=True)]
    assert found.tolist() == expected
    one_value = hashing.finish(hashing.prefix(seeds), np.uint32(7))
    assert one_value.tolist() == [reference(int(s), 7) for s in seeds]


@pytest.mark.parametrize(
    ("seed", "value", "expected"),
    [
        (0, 0, 0xDEB39513),
        (0x0123456789ABCDEF, 42, 0x251ECCE4),
        ((1 << 64) - 1, WORD - 1, 0xA01706A2),
    ],
)
def test_known_hashes(seed: int, value: int, expected: int) -> None:
    """Golden numbers for other languages."""
    assert one_hash(seed, value) == expected


@pytest.mark.statistical
@pytest.mark.parametrize("g", [2, 3, 4, 21, 100])
@pytest.mark.parametrize("value", [0, 1, WORD - 1])
def test_buckets_are_uniform_over_seeds(g: int, value: int) -> None:
    seeds = jrr.SeededRandom(g).words(SAMPLES)
    hashes = hashing.finish(hashing.prefix(seeds), np.uint32(value))
    observed = np.bincount(hashing.bucket(hashes, g), minlength=g)
    law = [1 / g] * g
    wrong = [1.3 / g] * (g // 2) + [1 / g] * (g % 2) + [0.7 / g] * (g // 2)
    accepts_only(lambda law: chi_square(observed, law), law, wrong)


@pytest.mark.statistical
@pytest.mark.parametrize("g", [2, 3, 4, 21])
@pytest.mark.parametrize("pair", [(0, 1), (1, 2), (0, 63), (5, WORD - 1)])
def test_two_values_collide_once_in_g(g: int, pair: tuple[int, int]) -> None:
    """And all pairs of their buckets are equally likely: what support counting relies on."""
    state = hashing.prefix(jrr.SeededRandom(100 + g).words(SAMPLES))
    first, second = (hashing.bucket(hashing.finish(state, np.uint32(v)), g) for v in pair)
    observed = np.bincount(first.astype(np.int64) * g + second, minlength=g * g)
    collided = int(observed.reshape(g, g).trace())
    law = [1 / g, 1 - 1 / g]
    accepts_only(
        lambda law: chi_square([collided, SAMPLES - collided], law),
        law,
        skewed(law),
    )
    assert chi_square(observed, [1 / g**2] * g**2) > 1e-6


@pytest.mark.parametrize("g", [*range(2, 70), 255, 256, 257, 65_537, (1 << 31) - 1, 1 << 31])
def test_bucket_starts_where_bucket_says(g: int) -> None:
    some = np.unique(np.concatenate((np.arange(min(g, 300)), g - 1 - np.arange(min(g, 300)))))
    starts = hashing.bucket_start(some.astype(np.uint32), g)
    ends = hashing.bucket_start(some.astype(np.uint64) + np.uint64(1), g)
    assert int(ends[-1]) == WORD  # the last bucket ends with the hashes
    assert int(starts[0]) == 0
    assert (hashing.bucket(starts.astype(np.uint32), g) == some).all()
    assert (hashing.bucket((ends - np.uint64(1)).astype(np.uint32), g) == some).all()
    inner = starts[1:] - np.uint64(1)
    assert (hashing.bucket(inner.astype(np.uint32), g) == some[1:] - 1).all()
    sizes = ends - starts
    assert int(sizes.max()) - int(sizes.min()) <= 1


def test_edge_hashes() -> None:
    edges = np.array([0, 1, WORD // 2 - 1, WORD // 2, WORD - 1], np.uint32)
    assert hashing.bucket(edges, 2).tolist() == [0, 0, 0, 1, 1]
    assert hashing.bucket(edges, 3).tolist() == [0, 0, 1, 1, 2]
    for g in range(2, 40):
        assert hashing.bucket(edges, g).tolist() == [int(e) * g >> 32 for e in edges]


# Support --------------------------------------------------------------------------------------


def some_reports(n: int, g: int, seed: int = 1) -> NDArray[np.void]:
    rng = np.random.default_rng(seed)
    out = np.empty(n, SEEDED_REPORT)
    out["seed"] = rng.integers(0, 1 << 64, n, dtype=np.uint64)
    out["value"] = rng.integers(0, g, n)
    return out


def naive_support(reports: NDArray[np.void], k: int, g: int) -> list[int]:
    return [
        sum(reference(int(r["seed"]), v) * g >> 32 == int(r["value"]) for r in reports)
        for v in range(k)
    ]


def support(reports: NDArray[np.void], k: int, g: int) -> NDArray[np.int64]:
    return hashed.support_of(reports, np.arange(k, dtype=np.uint32), g)


@pytest.mark.parametrize(("k", "g"), [(2, 2), (5, 4), (3, 7), (9, 1_000), (2, 1 << 31)])
@pytest.mark.parametrize("compiled_path", [True, False])
def test_support_counts_reports_whose_hash_hits(
    k: int, g: int, compiled_path: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not compiled_path:
        monkeypatch.setattr(hashing, "hash_support", lambda: None)
    reports = some_reports(400, g)
    if g > 100:  # make hits likely
        for i in range(0, 400, 3):
            reports["value"][i] = reference(int(reports["seed"][i]), i % k) * g >> 32
    assert support(reports, k, g).tolist() == naive_support(reports, k, g)


@pytest.mark.parametrize("g", [2, 4, 21, 65_537])
def test_compiled_and_plain_paths_agree(g: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Over several blocks of reports."""
    pytest.importorskip("numba")
    reports = some_reports(40_000, g)
    fast = hashing.hash_support()
    assert fast is not None
    quick = support(reports, 33, g)
    monkeypatch.setattr(hashing, "hash_support", lambda: None)
    assert (support(reports, 33, g) == quick).all()
    for state, start, width in hashed._prepared(reports, g):
        values = np.array([0, 3, 2**32 - 1], np.uint32)
        counted = hashed._count(state, start, width, values)
        assert (fast(state, start, width, values) == counted).all()


@pytest.mark.parametrize("compiled_path", [True, False])
def test_a_run_of_hashes_ends_before_its_end(compiled_path: bool) -> None:
    """A hash just inside, and just outside, either end of the run that a report supports."""
    count = hashing.hash_support() if compiled_path else hashed._count
    if count is None:
        pytest.skip("numba is not installed")
    state = hashing.prefix(np.array([1, 2, 1 << 40], np.uint64))
    found = hashing.finish(state, np.uint32(0))
    width = np.full(3, 1_000, np.uint32)
    for before, hits in ((0, 3), (999, 3), (1_000, 0), (WORD - 1, 0)):
        start = (found.astype(np.uint64) - np.uint64(before)).astype(np.uint32)
        assert count(state, start, width, np.zeros(1, np.uint32)).tolist() == [hits]


def test_support_counting_is_not_counting_reports_per_bucket() -> None:
    """What the paper's text suggests would estimate nothing: buckets of different people differ."""
    k, n = 8, 20_000
    mechanism = jrr.OLH(k, epsilon=3.0)
    values = np.zeros(n, np.int64)
    reports = mechanism.respond(values, rng=jrr.SeededRandom(3))
    per_bucket = np.bincount(reports["value"], minlength=mechanism.g) / n
    assert np.abs(per_bucket - 1 / mechanism.g).max() < 0.02  # uniform: says nothing of values
    assert mechanism.estimate(reports).frequencies[0] == pytest.approx(1, abs=0.05)


# Moments by enumeration -----------------------------------------------------------------------

POPULATIONS = [(0,), (0, 0), (0, 1), (0, 0, 0), (0, 0, 1), (0, 1, 2), (2, 2, 1)]


@pytest.mark.parametrize("values", POPULATIONS, ids=str)
@pytest.mark.parametrize(("k", "g"), [(3, 2), (3, 3)])
@pytest.mark.parametrize("s", [Fraction(0), Fraction(1, 8), Fraction(1, 4)])
def test_mean_and_variance_averaged_over_all_hash_functions(
    values: tuple[int, ...], k: int, g: int, s: Fraction
) -> None:
    """n contributors with hash functions of their own, among all from k values to g buckets."""
    p = Fraction(3, 4)
    for deck in {max(2, len(values)), 4}:  # a full deck, and dropout from one of four
        law = of_random_subset(one_deck(sign_deck(deck)), len(values))
        means, variances = support_moments(law, p, s, g, values, k)
        counts = [values.count(v) for v in range(k)]
        assert means == counts
        mechanism = jrr.OLH(k, g=g, p=float(p), s=float(s), coupling="joint", n=deck)
        np.testing.assert_allclose(
            mechanism.variance(counts), [float(v) for v in variances], rtol=1e-12
        )
        if s == 0:
            plain = jrr.OLH(k, g=g, p=float(p))
            np.testing.assert_allclose(plain.variance(counts), [float(v) for v in variances])


@pytest.mark.parametrize(("k", "g"), [(3, 2), (2, 3)])
@pytest.mark.parametrize("s", [Fraction(1, 8), Fraction(1, 4)])
@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_loss_of_every_view_is_that_of_k_jrr_on_buckets(
    n: int, k: int, g: int, s: Fraction
) -> None:
    """By enumeration of all hash functions, which the report reveals; and by the library."""
    p = Fraction(3, 4)
    survey = hashed_survey(n, p, s, k, g)
    mechanism = jrr.OLH(k, g=g, p=float(p), s=float(s), coupling="joint", n=n)
    inner = jrr.JRR(n, float(p), k=g, s=float(s))
    for view, colluders in itertools.product(VIEWS, range(n - n % 2)):
        stated, found = mechanism.epsilon(view, colluders), survey.loss(view, colluders)
        assert stated == found or stated == pytest.approx(found, abs=1e-12)
        assert stated == inner.epsilon(view, colluders)


@pytest.mark.parametrize("view", VIEWS)
def test_without_a_coupling_every_view_is_grr_on_buckets(view: str) -> None:
    mechanism = jrr.OLH(100, epsilon=1.3)
    assert mechanism.epsilon(view, 7) == jrr.RR(mechanism.g, p=mechanism.p).epsilon()
    assert 1.3 - 1e-9 <= mechanism.epsilon(view) <= 1.3


@given(
    st.floats(0.05, 4),
    st.integers(2, 3_000),
    st.floats(0, 1),
    st.one_of(st.none(), st.floats(0.05, 4)),
)
@settings(max_examples=40, deadline=None)
def test_epsilon_asked_for_is_kept_and_the_cap_respected(
    epsilon: float, n: int, share: float, above: float | None
) -> None:
    colluders = int(share * min(n - 1, n / 4))
    cap = None if above is None else epsilon + above
    mechanism = jrr.OLH(
        50, epsilon=epsilon, coupling="joint", n=n, colluders=colluders, dealer_epsilon=cap
    )
    assert mechanism.epsilon("cards", colluders) <= epsilon
    assert cap is None or mechanism.epsilon("dealer") <= cap
    losses = [mechanism.epsilon(view, colluders) for view in VIEWS]
    assert all(low <= high * (1 + 1e-12) for low, high in itertools.pairwise(losses))


@pytest.mark.parametrize(
    ("epsilon", "ratios"),
    [
        (0.1, {0.0: 1.0, 0.01: 0.99991, 0.1: 0.9910, 0.5: 0.7741, 1.0: 0.0952}),
        (1.0, {0.0: 1.0, 0.01: 0.99988, 0.1: 0.9883, 0.5: 0.7414, 1.0: 0.0939}),
    ],
)
def test_joint_gains_almost_nothing_for_rare_values(
    epsilon: float, ratios: dict[float, float]
) -> None:
    """Variance against plain OLH, nobody colluding: everything the coupling could ever gain."""
    n = 10_000
    plain = jrr.OLH(2, epsilon=epsilon)
    best = jrr.OLH(2, g=plain.g, p=plain.p, s=min(plain.p, 1 - plain.p), coupling="joint", n=n)
    for f, ratio in ratios.items():
        counts = (f * n, n - f * n)
        assert best.variance(counts)[0] / plain.variance(counts)[0] == pytest.approx(
            ratio, abs=6e-5
        )


@pytest.mark.parametrize(("epsilon", "price"), [(0.1, 1.0193), (1.0, 1.0021)])
def test_with_colluders_joint_costs_rare_values_more_than_it_gains(
    epsilon: float, price: float
) -> None:
    n = 10_000
    plain = jrr.OLH(64, epsilon=epsilon)
    lean = 0.475
    joint = jrr.OLH(64, epsilon=epsilon, coupling="joint", n=n, colluders=5, s=lean)
    rare = [0] + [n] + [0] * 62
    assert joint.variance(rare)[0] / plain.variance(rare)[0] == pytest.approx(price, abs=2e-4)


# Reports --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("epsilon", "g"), [(0.1, 2), (0.5, 3), (1.0, 4), (2.0, 8), (3.0, 21), (20.0, 485_165_196)]
)
def test_default_number_of_buckets(epsilon: float, g: int) -> None:
    mechanism = jrr.OLH(64, epsilon=epsilon)
    assert mechanism.g == g == round(math.exp(epsilon)) + 1
    assert mechanism.p == pytest.approx(math.exp(epsilon) / (math.exp(epsilon) + g - 1), rel=1e-9)
    assert jrr.OLH(64, epsilon=epsilon, g=5).g == 5


def test_report_is_a_seed_and_a_bucket() -> None:
    mechanism = jrr.OLH(10, epsilon=1.0)
    reports = mechanism.respond(np.arange(1_000) % 10, rng=jrr.SeededRandom(1))
    assert reports.dtype == np.dtype([("seed", "<u8"), ("value", "<u4")])
    assert len(set(reports["seed"].tolist())) == 1_000
    assert set(reports["value"].tolist()) == set(range(4))


def test_certain_truth_is_the_hash_itself() -> None:
    mechanism = jrr.OLH(10, g=7, p=1.0)
    values = np.arange(500) % 10
    reports = mechanism.respond(values, rng=jrr.SeededRandom(1))
    expected = [
        reference(int(s), int(v)) * 7 >> 32 for s, v in zip(reports["seed"], values, strict=True)
    ]
    assert reports["value"].tolist() == expected


@pytest.mark.parametrize("coupling", ["none", "joint"])
def test_one_report_is_the_same_as_many(coupling: str) -> None:
    n = None if coupling == "none" else 10
    mechanism = jrr.OLH(100, epsilon=1.0, coupling=coupling, n=n)
    for seed, value in itertools.product(range(20), (0, 99)):
        card = None if n is None else (-1, 1)[seed % 2]
        many = mechanism.respond([value], None if card is None else [card], jrr.SeededRandom(seed))
        one = mechanism.respond_one(value, card, jrr.SeededRandom(seed))
        assert one == (int(many["seed"][0]), int(many["value"][0]))


@pytest.mark.parametrize("value", [0, WORD - 1])
def test_the_largest_domain_there_is(value: int) -> None:
    mechanism = jrr.OLH(WORD, epsilon=2.0)
    reports = mechanism.respond(np.full(3, value, np.uint64), rng=jrr.SeededRandom(1))
    assert (reports["value"] < mechanism.g).all()


@pytest.mark.statistical
@pytest.mark.parametrize("coupling", ["none", "joint"])
def test_estimates_of_whole_surveys(coupling: str) -> None:
    """Unbiased, and as uncertain as the formula says, with the real hash family."""
    counts = np.array([30, 9, 1, 0])
    surveys, n = 3_000, 40
    deck = None if coupling == "none" else n
    s = None if deck is None else 0.3
    mechanism = jrr.OLH(4, g=4, p=0.6, coupling=coupling, n=deck, s=s)
    source = jrr.SeededRandom(9)
    values = np.repeat(np.arange(4), counts)
    estimates = np.array(
        [
            mechanism.estimate(mechanism.respond(values, mechanism.deal(source), source)).counts
            for _ in range(surveys)
        ]
    )
    spread = np.sqrt(mechanism.variance(counts))
    for v in range(4):
        right = float(spread[v])
        accepts_only(
            lambda mean: mean_test(estimates[:, v], mean, right),  # noqa: B023
            float(counts[v]),
            float(counts[v]) + 0.3 * right,
        )
        accepts_only(lambda sd: spread_test(estimates[:, v], sd), right, 1.3 * right)  # noqa: B023


def test_tallies_merge() -> None:
    mechanism = jrr.OLH(6, epsilon=1.0, coupling="joint", n=100)
    values = np.arange(100) % 6
    reports = mechanism.respond(values, mechanism.deal(jrr.SeededRandom(1)), jrr.SeededRandom(2))
    late = mechanism.respond(values[:20], rng=jrr.SeededRandom(3))
    total = mechanism.tally(reports[:50]) + mechanism.tally(reports[50:])
    assert total == mechanism.tally(reports)
    total += mechanism.tally(late, carded=False)
    assert (total.n_carded, total.n_cardless) == (100, 20)
    assert jrr.Tally.from_json(total.to_json()) == total
    expected = (np.array(total.carded) + total.cardless - 120 / mechanism.g) / (
        mechanism.p - 1 / mechanism.g
    )
    np.testing.assert_allclose(mechanism.estimate(total).counts, expected, rtol=1e-9)


@pytest.mark.parametrize(
    "mechanism",
    [
        jrr.OLH(64, epsilon=1.0),
        jrr.OLH(64, epsilon=1.0, coupling="joint", n=101, colluders=3),
        jrr.OLH(WORD, g=2, p=0.6),
    ],
    ids=str,
)
def test_json_round_trip(mechanism: jrr.OLH) -> None:
    again = jrr.from_dict(json.loads(json.dumps(mechanism.to_dict())))
    assert again == mechanism
    assert hash(again) == hash(mechanism)


# Refusals -------------------------------------------------------------------------------------

PLAIN = jrr.OLH(10, epsilon=1.0)
JOINT = jrr.OLH(10, epsilon=1.0, coupling="joint", n=4)


def with_fields(*kinds: tuple[str, str]) -> NDArray[np.void]:
    return np.zeros(2, np.dtype(list(kinds)))


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (lambda: jrr.OLH(1, epsilon=1.0), r"k must be a whole number >= 2, got k=1"),
        (lambda: jrr.OLH(WORD + 1, epsilon=1.0), "k must be .*, got k=4294967297"),
        (
            lambda: jrr.OLH(10, epsilon=1.0, coupling="dealt", n=10),
            "coupling='dealt'.*gains nothing; use DRR on the original domain",
        ),
        (lambda: jrr.OLH(10, epsilon=1.0, coupling="joint"), "n must be the size .*, got n=None"),
        (lambda: jrr.OLH(10, epsilon=1.0, n=10), "n must be None without a coupling.*, got n=10"),
        (lambda: jrr.OLH(10, epsilon=1.0, coupling="both", n=9), "coupling must be .*'both'"),
        (lambda: jrr.OLH(10), "exactly one of epsilon and p .* epsilon=None, p=None"),
        (lambda: jrr.OLH(10, epsilon=1.0, p=0.5, g=4), "exactly one of epsilon and p .* p=0.5"),
        (lambda: jrr.OLH(10, p=0.5), "g must be given together with p, got g=None"),
        (lambda: jrr.OLH(10, g=1, epsilon=1.0), r"g must be a whole number in 2\.\..*, got g=1"),
        (lambda: jrr.OLH(10, g=1 << 32, epsilon=1.0), "g must be .*, got g=4294967296"),
        (lambda: jrr.OLH(10, g=4, p=0.25), r"p must be in \(1/4, 1\], got p=0.25"),
        (lambda: jrr.OLH(10, epsilon=-1.0), "epsilon must be .*, got epsilon=-1.0"),
        (lambda: jrr.OLH(10, epsilon=1.0, s=0.1), "s must be 0 or None without a coupling"),
        (
            lambda: jrr.OLH(10, epsilon=1.0, coupling="joint", n=10, colluders=10),
            "colluders must be .*, got colluders=10",
        ),
        (
            lambda: jrr.OLH(10, epsilon=3.0, coupling="joint", n=100, s=0.9),
            "s must be at most .* at this epsilon, got s=0.9",
        ),
        (lambda: PLAIN.epsilon("paper"), "view='paper'.*OLH"),
        (lambda: JOINT.epsilon("paper"), "view='paper'.*OLH"),
        (lambda: JOINT.epsilon("cards", 4), "colluders must be .*, got colluders=4"),
        (lambda: PLAIN.respond([10]), "values must be .*, got values with 10"),
        (lambda: PLAIN.respond([1], [1]), "cards must be None"),
        (lambda: JOINT.respond([1], [2]), "cards must be whole numbers"),
        (lambda: PLAIN.respond_one(-1), "value must be .*, got value=-1"),
        (lambda: PLAIN.tally(np.zeros(3, np.int64)), "seed .u8. and value .u4., got dtype int64"),
        (lambda: PLAIN.tally(with_fields(("value", "<u4"))), "reports must be .*seed"),
        (lambda: PLAIN.tally(with_fields(("seed", "<u8"))), "reports must be .*value"),
        (
            lambda: PLAIN.tally(with_fields(("seed", "<u8"), ("value", "<u4"), ("name", "<u4"))),
            "reports must be a structured array with the fields seed",
        ),
        (
            lambda: PLAIN.tally(np.array([(1, 4)], SEEDED_REPORT)),
            r"reports\['value'\] must be .*0\.\.3, got .* with 4",
        ),
        (
            lambda: PLAIN.tally(np.zeros((2, 2), SEEDED_REPORT)),
            r"one-dimensional, got shape \(2, 2",
        ),
        (lambda: PLAIN.tally(np.zeros(0, SEEDED_REPORT)), "reports must hold at least one report"),
        (
            lambda: jrr.OLH(WORD, epsilon=1.0).tally(np.zeros(1, SEEDED_REPORT)),
            "k must be at most .*, got k=4294967296",
        ),
    ],
)
def test_refusals_name_argument_and_value(act: Callable[[], object], message: str) -> None:
    with pytest.raises(jrr.JrrError, match=message):
        act()


@pytest.mark.parametrize(
    ("kinds", "row"),
    [
        ((("seed", "<f8"), ("value", "<u4")), (1.5, 1)),
        ((("seed", "<u8"), ("value", "<f4")), (1, 1.5)),
        ((("seed", "<u8"), ("value", "<i8")), (1, WORD)),
        ((("seed", "<u8"), ("value", "<i8")), (1, -WORD)),
    ],
    ids=str,
)
def test_fields_of_another_kind_are_refused_or_kept_whole(
    kinds: tuple[tuple[str, str], ...], row: tuple[float, float]
) -> None:
    """A number that does not fit its field must never become another one silently."""
    with pytest.raises(jrr.JrrError, match="reports"):
        PLAIN.tally(np.array([row], np.dtype(list(kinds))))


def test_a_cap_below_epsilon_binds_every_report() -> None:
    for coupling, n in (("none", None), ("joint", 100)):
        mechanism = jrr.OLH(10, epsilon=2.0, coupling=coupling, n=n, dealer_epsilon=0.5)
        assert mechanism.epsilon("dealer") <= 0.5


@pytest.mark.parametrize("frequency", [None, 0.0, 0.2, 0.6, (0.1, 0.4)])
def test_a_plan_chooses_the_buckets_by_its_criterion(
    frequency: float | tuple[float, float] | None,
) -> None:
    for k, epsilon in ((16, 0.5), (100, 1.0), (1_000, 2.0)):
        request = Request(1_000, epsilon, 0, k, frequency=frequency)
        planned = jrr.plan(1_000, epsilon, 0, k, mechanism="olh", frequency=frequency).mechanism
        best = request.expected_variance(planned)
        for g in range(2, 60):
            other = jrr.OLH(k, epsilon=epsilon, g=g)
            assert best <= request.expected_variance(other) * (1 + 1e-9)
    frequent = jrr.plan(1_000, 1.0, 0, 100, mechanism="olh", frequency=0.6).mechanism
    assert frequent.to_dict()["g"] != jrr.OLH(100, epsilon=1.0).g  # that of rare values


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0, 2.0, 4.0])
@pytest.mark.slow_variants("*-16-")
@pytest.mark.parametrize("k", [3, 16, 1_000])
@pytest.mark.parametrize("frequency", [None, 0.0, 0.3, (0.1, 0.9)])
def test_the_planned_number_of_buckets_is_the_best_of_all(
    epsilon: float, k: int, frequency: Any
) -> None:
    """By the criterion of the plan, not only for rare values; against all that are tried."""
    request = Request(1_000, epsilon, 0, k, None, frequency)
    planned = jrr.plan(
        1_000, epsilon, 0, k, dealer_epsilon=math.inf, mechanism="olh", frequency=frequency
    ).mechanism
    assert isinstance(planned, jrr.OLH)
    tried = {g: jrr.OLH(k, epsilon, g=g) for g in range(2, 121)}
    least = min(request.expected_variance(one) for one in tried.values())
    assert planned.g in tried
    assert request.expected_variance(planned) == pytest.approx(least, rel=1e-12)
