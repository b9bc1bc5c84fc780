"""Ranges and quantiles of a number: least squares on a tree, errors, what a report tells."""

import itertools
import json
import math
from typing import Any

import numpy as np
import pytest

from jrr import JRR, MRR, OLH, OUE, RR, JrrError, Mechanism, RangeTree, SeededRandom
from jrr.estimation.estimates import Estimate
from jrr.telemetry.consistency import consistent_leaves, weights_of
from jrr.telemetry.range_estimates import RangeEstimate
from tests.statistics_rules import OFF, accepts_only, mean_test, spread_test

# Least squares ----------------------------------------------------------------------------------


def by_linear_algebra(shares: list[Any], variances: list[float], branching: int) -> Any:
    """Weighted least squares over all nodes, with leaves that add up to 1."""
    leaves = len(shares[-1])
    rows, told, weights = [], [], []
    for level, variance in zip(shares, variances, strict=True):
        width = leaves // len(level)
        for node, share in enumerate(level):
            row = np.zeros(leaves)
            row[node * width : (node + 1) * width] = 1
            rows.append(row)
            told.append(share)
            weights.append(1 / variance)
    a, y, w = np.array(rows), np.array(told), np.diag(weights)
    system = np.block(
        [[a.T @ w @ a, np.ones((leaves, 1))], [np.ones((1, leaves)), np.zeros((1, 1))]]
    )
    return np.linalg.solve(system, np.append(a.T @ w @ y, 1.0))[:leaves]


@pytest.mark.parametrize(("branching", "depth"), [(3, 1), (3, 2), (4, 2), (3, 3)])
def test_two_passes_are_least_squares(branching: int, depth: int) -> None:
    rng = np.random.default_rng(depth)
    shares = [rng.normal(size=branching**level) for level in range(1, depth + 1)]
    variances = [0.5, 2.0, 1.0][:depth]
    leaves = consistent_leaves(shares, variances, branching)
    assert leaves == pytest.approx(by_linear_algebra(shares, variances, branching))
    assert leaves.sum() == pytest.approx(1)
    # Backwards: the weights of the noisy shares give the same sums.
    queries = rng.normal(size=(5, branching**depth))
    weights, constant = weights_of(queries, variances, branching)
    sums = constant + sum(w @ s for w, s in zip(weights, shares, strict=True))
    assert sums == pytest.approx(queries @ leaves)


# Small trees, enumerated ------------------------------------------------------------------------

SMALL = RangeTree(0, 9, (RR(3, p=0.7), RR(9, p=0.5)), branching=3)


def outcomes(numbers: tuple[float, ...], first: int) -> Any:
    """All ways to divide people among two levels, `first` at the top, and all their reports."""
    people = range(len(numbers))
    divisions = list(itertools.combinations(people, first))
    for top in divisions:
        groups = [top, tuple(i for i in people if i not in top)]
        held = [
            SMALL.values([numbers[i] for i in group], level) for level, group in enumerate(groups)
        ]
        for reports in itertools.product(
            *(
                itertools.product(range(m.k), repeat=len(g))
                for m, g in zip(SMALL.mechanisms, groups, strict=True)
            )
        ):
            chance = 1 / len(divisions)
            for m, values, told in zip(SMALL.mechanisms, held, reports, strict=True):
                for x, y in zip(values, told, strict=True):
                    chance *= float(m.moments.p[0] if x == y else m.moments.q[0])
            yield top, reports, chance


@pytest.mark.parametrize(("numbers", "first"), [((1.0, 1.5, 8.0), 2), ((0.0, 4.0, 4.0), 1)])
def test_unbiased_with_the_variance_of_the_closed_form(
    numbers: tuple[float, ...], first: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Over all divisions into groups and all reports: mean and variance of every range."""
    queries = np.array(
        [[i <= leaf < j for leaf in range(9)] for i in range(9) for j in range(i + 1, 10)]
    )
    total = np.zeros(len(queries))
    squares = np.zeros(len(queries))
    for _, reports, chance in outcomes(numbers, first):
        found = SMALL.estimate([np.array(told) for told in reports])
        sums = queries @ found.frequencies
        total += chance * sums
        squares += chance * sums**2
    true = np.bincount(SMALL.values(numbers, 1), minlength=9) / len(numbers)
    assert total == pytest.approx(queries @ true)
    # The closed form at the true shares; its sampling part is of people drawn with replacement
    # but for the factor n/(n-1).
    monkeypatch.setattr(RangeEstimate, "_plausible", true)
    by_level, _ = weights_of(queries, found._variances, 3)
    n, sizes = len(numbers), (first, len(numbers) - first)

    def spread(weights: Any, shares: Any) -> Any:
        return weights**2 @ shares - (weights @ shares) ** 2

    sampling = -spread(queries, true) / n
    for weights, size in zip(by_level, sizes, strict=True):
        sampling = sampling + spread(weights, true.reshape(weights.shape[1], -1).sum(axis=1)) / size
    stated = found.sum_stderr(queries) ** 2
    exact = squares - total**2
    assert stated + sampling * (n / (n - 1) - 1) == pytest.approx(exact, abs=1e-12)


def test_each_person_loses_what_one_report_loses() -> None:
    """By somebody who sees all reports and levels: the loss is the larger one of the two levels."""
    laws = {}
    numbers = [0.5, 3.5, 4.5, 8.5]
    for people in itertools.product(numbers, repeat=2):
        laws[people] = {(top, reports): c for top, reports, c in outcomes(people, 1)}
    worst = max(
        abs(math.log(laws[a, other][seen] / laws[b, other][seen]))
        for a, b, other in itertools.product(numbers, repeat=3)
        for seen in laws[a, other]
    )
    assert worst == pytest.approx(max(m.epsilon() for m in SMALL.mechanisms))
    assert SMALL.epsilon("everything") == pytest.approx(worst)


# Errors beside simulation -----------------------------------------------------------------------


def skew_numbers(n: int) -> Any:
    return 100 * np.linspace(0, 1, n, endpoint=False) ** 2


def one_survey(tree: RangeTree, numbers: Any, rng: np.random.Generator) -> RangeEstimate:
    if not any(m.deals for m in tree.mechanisms):
        return tree.estimate(tree.respond(numbers, rng))
    groups = np.array_split(rng.permutation(len(numbers)), len(tree.mechanisms))
    tallies = []
    for level, (m, group) in enumerate(zip(tree.mechanisms, groups, strict=True)):
        cards = m.deal(rng)
        assert cards is not None
        used = cards[: len(group)]
        tally = m.tally(m.respond(tree.values(numbers[group], level), used, rng))
        tallies.append(m.settle(tally, announced=m.announce(used, rng=rng)))
    return tree.estimate(tallies)


TREES = {
    "no cards": RangeTree.for_epsilon(0, 100, bins=16, epsilon=2.0),
    "hashed": RangeTree(0, 100, (OUE(4, epsilon=1.0), OLH(16, epsilon=1.0))),
    "masked": RangeTree.for_epsilon(0, 100, bins=16, epsilon=1.0, cards="masked", n=400),
    "masked values": RangeTree(
        0, 100, tuple(MRR(200, 3.0, 0.5, announced_rate=0.7, k=k) for k in (4, 16))
    ),
}


@pytest.mark.statistical
@pytest.mark.parametrize(
    "name", [*list(TREES)[:3], pytest.param("masked values", marks=pytest.mark.slow)]
)
def test_errors_and_intervals_beside_simulation(name: str) -> None:
    tree, numbers, rng = TREES[name], skew_numbers(400), np.random.default_rng(5)
    truth = float(np.mean(numbers < 37.5))
    true = {q: float(np.quantile(numbers, q, method="inverted_cdf")) for q in (0.1, 0.5, 0.9)}
    shares, errors, held = [], [], []
    for _ in range(500):
        found = one_survey(tree, numbers, rng)
        share, error = found.share(0, 37.5)
        shares.append(share)
        errors.append(error)
        for q, number in true.items():
            low, high = found.quantile_interval(q)
            held.append(low <= number <= high)
    sd = math.sqrt(np.mean(np.square(errors)))
    accepts_only(lambda mean: mean_test(shares, mean, sd), truth, truth + OFF * sd)
    accepts_only(lambda s: spread_test(shares, s), sd, sd * (1 + OFF))
    # Both ends may fail with 2.5% each, so that 95% hold at least.
    assert np.mean(held) > 0.95 - 4 * math.sqrt(0.0475 / len(shares))
    off = np.abs(np.array(shares) - truth) / np.array(errors)
    assert np.mean(off < 1.96) > 0.95 - 4 * math.sqrt(0.0475 / len(off))
    assert np.mean(off < 1.96 * (1 - OFF)) < 0.95 - 4 * math.sqrt(0.0475 / len(off))


def test_masks_make_errors_smaller() -> None:
    numbers = skew_numbers(4_000)
    plain = RangeTree.for_epsilon(0, 100, bins=256, epsilon=1.0)
    masked = RangeTree.for_epsilon(0, 100, bins=256, epsilon=1.0, cards="masked", n=4_000)
    errors = [
        one_survey(tree, numbers, np.random.default_rng(1)).share(0, 37.5)[1]
        for tree in (plain, masked)
    ]
    assert errors[1] < 0.35 * errors[0]
    assert masked.epsilon("everything") <= 1.0
    assert masked.epsilon("dealer") <= 3.0


def test_quantiles_without_noise_are_those_of_the_numbers() -> None:
    tree = RangeTree(0, 64, (RR(4, p=1.0), RR(16, p=1.0), RR(64, p=1.0)))
    numbers = np.repeat(np.arange(64) + 0.5, 3)
    levels = [m.estimate(tree.values(numbers, level)) for level, m in enumerate(tree.mechanisms)]
    found = tree.estimate(levels)
    assert found.quantile(0.25) == pytest.approx(16.0)
    assert found.quantile(1.0) == pytest.approx(64.0)
    assert found.share(16, 32)[0] == pytest.approx(0.25)
    document = json.loads(json.dumps(found.to_dict(quantiles=[0.5])))
    assert document["quantiles"][0]["quantile"] == pytest.approx(32.0)
    low, high = found.share_interval(16, 32)
    assert low <= 0.25 <= high


def test_one_device_at_a_time() -> None:
    tree = RangeTree.for_epsilon(0, 10, bins=1024, epsilon=4.0)
    assert [m.name for m in tree.mechanisms] == ["RR", "RR", "RR", "OUE", "OLH"]
    assert RangeTree.from_dict(json.loads(json.dumps(tree.to_dict()))) == tree
    rng = SeededRandom(2)
    lines = [json.dumps(tree.report_to_json(tree.respond_one(2.0, rng))) for _ in range(300)]
    reports = [tree.report_from_json(json.loads(line)) for line in lines]
    found = tree.estimate(tree.by_level(reports))
    low, high = found.quantile_interval(0.5, 0.999)
    assert low <= 2.0 <= high


ANOTHER: Any = JRR(4, p=0.6, s=0.1, k=4)


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda t: RangeTree(0, 1, ()), "mechanisms"),
        (lambda t: RangeTree(0, 1, (RR(3, p=0.5),)), "mechanisms"),
        (lambda t: RangeTree(0, 1, (ANOTHER,)), "mechanisms"),
        (lambda t: RangeTree(0, 1, (OUE(4, epsilon=1.0, coupling="joint", n=9),)), "coupling"),
        (lambda t: RangeTree(0, 1, (RR(2, p=0.6),), branching=2), "branching"),
        (lambda t: RangeTree(1, 1, (RR(4, p=0.5),)), "high"),
        (lambda t: RangeTree.for_epsilon(0, 1, bins=10**6, epsilon=1.0), "bins"),
        (lambda t: RangeTree.for_epsilon(0, 1, bins=16, epsilon=1.0, n=9), "n"),
        (lambda t: RangeTree.for_epsilon(0, 1, bins=16, epsilon=1.0, cards="all"), "cards"),
        (lambda t: t.respond([0.5, 1e9]), "numbers"),
        (lambda t: t.values([0.5], 7), "level"),
        (lambda t: t.estimate([]), "levels"),
        (lambda t: t.estimate(t.respond([1.0] * 9)).share(0, 0.3), "an end of a bin"),
        (lambda t: t.estimate(t.respond([1.0] * 9)).share(5, 5), "high"),
        (lambda t: t.estimate(t.respond([1.0] * 99)).quantile(1.5), "q"),
        (lambda t: RangeTree.from_dict({}), "document"),
        (lambda t: t.report_from_json([1]), "document"),
        (lambda t: TREES["masked"].respond([1.0]), "cards"),
    ],
)
def test_refusals_name_the_argument(call: Any, named: str) -> None:
    with pytest.raises(JrrError, match=named):
        call(RangeTree(0, 10, (RR(4, p=0.7),)))


def test_people_without_a_card_are_not_taken_for_others() -> None:
    masked: tuple[Mechanism, ...] = TREES["masked"].mechanisms
    told: list[Estimate] = [m.estimate(m.tally(m.respond([0] * 5), carded=False)) for m in masked]
    with pytest.raises(JrrError, match="levels"):
        TREES["masked"].estimate(told)
