"""Ranges and quantiles of a number: least squares on a tree, errors, what a report tells."""

import itertools
import json
import math
from collections import defaultdict
from typing import Any

import numpy as np
import pytest
from scipy import stats

from jrr import JRR, MRR, OLH, OUE, RR, JrrError, Mechanism, RangeTree, SeededRandom, Tally
from jrr.estimation.estimates import Estimate, Stratum
from jrr.estimation.masks import Known
from jrr.telemetry.range_estimates import RangeEstimate, consistent_leaves, noise_of, weights_of
from tests.statistics_rules import OFF, accepts_only, mean_test, spread_test

pytestmark = pytest.mark.heavy

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


QUERIES = np.array(
    [[i <= leaf < j for leaf in range(9)] for i in range(9) for j in range(i + 1, 10)], np.float64
)


@pytest.mark.parametrize("numbers", [(1.0, 1.5, 8.0, 8.0), (0.0, 4.0, 4.0, 4.0)])
def test_shares_and_their_variances_are_right_on_average(numbers: tuple[float, ...]) -> None:
    """Over all divisions into groups and all reports, of every range."""
    total, squares, stated = (np.zeros(len(QUERIES)) for _ in range(3))
    chances: dict[Any, float] = defaultdict(float)
    for _, reports, chance in outcomes(numbers, 2):
        chances[reports] += chance
    for reports, chance in chances.items():
        found = SMALL.estimate([np.array(told) for told in reports])
        sums, noise = QUERIES @ found.frequencies, found._sum_noise(QUERIES)
        total += chance * sums
        squares += chance * sums**2
        stated += chance * noise.unbiased
        assert (noise.variance >= noise.least).all()
    true = np.bincount(SMALL.values(numbers, 1), minlength=9) / len(numbers)
    exact = squares - total**2
    assert total == pytest.approx(QUERIES @ true)
    assert stated == pytest.approx(exact, abs=1e-12)
    assert (noise.least <= exact + 1e-12).all()


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
        0, 100, tuple(MRR(200, 3.0, card_rate=0.5, announced_rate=0.7, k=k) for k in (4, 16))
    ),
}


@pytest.mark.slow_variants("hashed]")
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


# Several decks at a level ------------------------------------------------------------------------

ANNOUNCED = [
    MRR(20, 3.0, card_rate=0.5, announced_rate=0.7, k=4, coin=coin) for coin in ("rr", "oue")
]
CLOSED = [MRR(20, 3.0, card_rate=0.5, total_rate=0.4, k=4, coin=coin) for coin in ("rr", "oue")]


def masked_tally(m: MRR, **known: int) -> Tally:
    """60 reports whose estimated counts are all between 0 and 60."""
    people = m.moments.p * np.array([30, 15, 10, 5]) + m.moments.q * np.array([30, 45, 50, 55])
    return Tally(
        m.to_dict(),
        carded=tuple(np.round(people).astype(int).tolist()),
        cardless=(0,) * 4,
        n_carded=60,
        n_cardless=0,
        masked=True,
        known=Known(**known),
    )


def level_estimates() -> list[Any]:
    """A level of 60 people by mechanism, decks, and what the dealers told."""
    found = []
    for m, decks in itertools.product(ANNOUNCED, (3, 6, 12)):
        for sums in (decks, decks + 5):  # of every deck, or of groups within decks too
            told = masked_tally(m, announcements=sums, covered=60)
            found.append((m, m.estimate(told, decks)))
    for m, decks, undealt in itertools.product(CLOSED, (4, 6, 12), (0, 20)):
        found.append((m, m.estimate(masked_tally(m, undealt=undealt), decks)))
    return found


@pytest.mark.parametrize("at", range(len(level_estimates())))
def test_a_levels_noise_is_that_of_its_own_estimate(at: int) -> None:
    """Of each share, whatever the decks, announcements and cards that nobody fetched."""
    m, level = level_estimates()[at]
    assert (level.counts > 0).all()
    (people,) = level.strata
    noise = noise_of(m, np.eye(4), people)
    holder, other = noise.of_holders.diagonal(), noise.of_holders[[1, 2, 3, 0], range(4)]
    coins = (level.counts * holder + (60 - level.counts) * other) / 60**2
    assert coins + noise.masks == pytest.approx(level.stderr**2)
    if m.announced:
        left = people.known.announcements / (2 * math.sinh(0.7 / 2) ** 2)
        assert noise.masks == pytest.approx(np.full(4, left / (60 * m.moments.gain[0]) ** 2))
    of_all = noise_of(m, np.ones((1, 4)), people).of_holders
    # A coin that tells one value supports exactly one: the sum of all its shares has no noise.
    assert (of_all > 1e-12).all() == (m.coin.name == "oue")
    tree = RangeTree(0, 4, (m,))
    found = tree.estimate([level])
    even = people.moments.quadratic(60, people.decks).at(np.full(1, 15.0))
    even += 60**2 * (noise.masks[0] - noise_of_masks(people) / 60**2)
    assert found._variances == pytest.approx(even / 60**2)


def noise_of_masks(people: Stratum) -> float:
    """What masks add to the variance of a count, where nothing is told but the decks."""
    assert people.moments.masks is not None
    left = people.moments.masks.variance_of(60, people.decks)
    return left / float(people.moments.gain[0]) ** 2


def survey_of_decks(
    tree: RangeTree, numbers: Any, decks: int, rng: np.random.Generator
) -> RangeEstimate:
    """Each level's group has cards of so many decks, some of which nobody uses."""
    levels = []
    groups = np.array_split(rng.permutation(numbers), len(tree.mechanisms))
    for level, (m, group) in enumerate(zip(tree.mechanisms, groups, strict=True)):
        assert isinstance(m, MRR)
        mine = tree.values(group, level)
        if m.announced:  # whatever the cards are, all that stays is the noise of the sums
            cards = np.zeros((len(mine), m.k), np.int16)
            sums = [m.announce(part, rng=rng) for part in np.array_split(cards, decks)]
            told = m.respond(mine, cards, rng)
            levels.append(m.estimate(told, decks, announced=np.array(sums)))
        else:
            dealt = np.concatenate([np.asarray(m.deal(rng)) for _ in range(decks)])
            cards = rng.permutation(dealt)[: len(mine)]
            levels.append(m.estimate(m.respond(mine, cards, rng), decks))
    return tree.estimate(levels)


@pytest.mark.slow_variants("tree0-6")
@pytest.mark.statistical
@pytest.mark.parametrize(
    ("tree", "decks"),
    [
        (RangeTree.for_epsilon(0, 64, bins=16, epsilon=2.0, cards="masked", n=40), 6),
        pytest.param(
            RangeTree.for_epsilon(0, 64, bins=16, epsilon=2.0, cards="masked", n=40),
            12,
            marks=pytest.mark.slow,
        ),
        (RangeTree.for_epsilon(0, 64, bins=16, epsilon=0.5, cards="masked", n=40), 12),
        pytest.param(
            RangeTree(
                0, 64, tuple(MRR(20, 4.0, card_rate=0.5, total_rate=0.5, k=k) for k in (4, 16))
            ),
            6,
            marks=pytest.mark.slow,
        ),
    ],
)
def test_errors_count_every_deck(tree: RangeTree, decks: int) -> None:
    """With the noise of as few decks as possible, down to 78% of the intervals held."""
    numbers, rng = np.array([3.0] * 60 + [20.0, 40.0, 60.0] * 20), np.random.default_rng(11)
    shares, errors, held = [], [], []
    for _ in range(500):
        found = survey_of_decks(tree, numbers, decks, rng)
        share, error = found.share(0, 16)
        low, high = found.share_interval(0, 16)
        shares.append(share)
        errors.append(error)
        held.append(low <= 0.5 <= high)
    sd = math.sqrt(np.mean(np.square(errors)))
    accepts_only(lambda s: spread_test(shares, s), sd, sd * (1 + OFF))
    assert np.mean(held) >= fewest(len(held))


def test_an_estimate_by_another_mechanism_is_no_level() -> None:
    tree = RangeTree(0, 4, (RR(4, p=0.7),))
    for other in (RR(4, p=0.6), RR(16, p=0.7)):
        with pytest.raises(JrrError, match=r"levels must be an estimate by RR"):
            tree.estimate([other.estimate([0, 1, 2, 3])])


# How often intervals hold ------------------------------------------------------------------------


def numbers_like(kind: str, n: int) -> Any:
    """Numbers in 0..1: many small ones, or one in a hundred far from all others."""
    even = np.linspace(0, 1, n, endpoint=False)
    return even**2 if kind == "skew" else np.where(even < 0.01, 0.9, 0.1)


def some_ranges(tree: RangeTree) -> list[tuple[float, float]]:
    """Wide and narrow ones, at the ends and inside, with many people and with few or none."""
    d = tree.bins
    ends = [(0, d // 2), (d // 4, d // 2), (d // 8 + 1, d // 8 + 3), (d // 3, d), (d * 7 // 8, d)]
    ends += [(0, max(1, d // 64)), (d - max(1, d // 64), d)]
    ends += [(int(d * 0.9), int(d * 0.9) + 1), (d // 2, d // 2 + max(1, d // 16))]
    return [(float(tree.edges[a]), float(tree.edges[b])) for a, b in ends]


def covered(
    tree: RangeTree, numbers: Any, runs: int, seed: int, ranges: list[tuple[float, float]]
) -> tuple[Any, Any]:
    """Of each range the share of 95% intervals that hold the true share; and narrowed by 30%."""
    rng = np.random.default_rng(seed)
    right, wrong = np.zeros(len(ranges)), np.zeros(len(ranges))
    true = [float(np.mean((numbers >= low) & (numbers < high))) for low, high in ranges]
    for _ in range(runs):
        found = one_survey(tree, numbers, rng)
        for at, (ends, truth) in enumerate(zip(ranges, true, strict=True)):
            low, high = found.share_interval(*ends)
            share = found.share(*ends)[0]
            right[at] += low <= truth <= high
            wrong[at] += share - 0.7 * (share - low) <= truth <= share + 0.7 * (high - share)
    return right / runs, wrong / runs


def fewest(runs: int, chance: float = 1e-5) -> float:
    """Where 95% hold, less than this share of so many intervals does with that chance."""
    return float(stats.binom.ppf(chance, runs, 0.95)) / runs


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("n", "bins", "runs"),
    [
        (600, 256, 300),
        pytest.param(600, 64, 1_000, marks=pytest.mark.slow),
        pytest.param(2_000, 1_024, 1_000, marks=pytest.mark.slow),
    ],
)
def test_intervals_of_narrow_ranges_with_many_people_hold(n: int, bins: int, runs: int) -> None:
    """At shares that are clipped at 0, variances are too small: 88% to 92% would hold."""
    tree = RangeTree.for_epsilon(0, 1, bins=bins, epsilon=3.0)
    ranges = [(0.0, float(tree.edges[bins // 64]))]
    right, wrong = covered(tree, numbers_like("skew", n), runs, 1, ranges)
    assert fewest(runs, 1e-3) <= right[0] < 0.99
    assert wrong[0] < fewest(runs)


@pytest.mark.slow
@pytest.mark.statistical
@pytest.mark.parametrize("kind", ["skew", "rare"])
@pytest.mark.parametrize(
    ("n", "epsilon", "bins"),
    [
        (100, 3.0, 64),
        (100, 6.0, 16),
        (600, 1.0, 64),
        (600, 3.0, 64),
        (600, 6.0, 64),
        (600, 3.0, 256),
        (2_000, 3.0, 1_024),
    ],
)
def test_intervals_hold_wherever_ranges_lie(kind: str, n: int, epsilon: float, bins: int) -> None:
    """Positions, widths, and shares from most people to nobody."""
    tree = RangeTree.for_epsilon(0, 1, bins=bins, epsilon=epsilon)
    right, wrong = covered(tree, numbers_like(kind, n), 300, 2, some_ranges(tree))
    assert (right >= fewest(300)).all()
    assert right.mean() >= 0.95
    assert (wrong < fewest(300)).any()


@pytest.mark.statistical
@pytest.mark.parametrize("kind", ["skew", "rare"])
def test_intervals_of_quantiles_hold(kind: str) -> None:
    tree, numbers = RangeTree.for_epsilon(0, 1, bins=64, epsilon=3.0), numbers_like(kind, 600)
    true = {q: float(np.quantile(numbers, q, method="inverted_cdf")) for q in (0.05, 0.5, 0.98)}
    rng = np.random.default_rng(3)
    held = dict.fromkeys(true, 0)
    for _ in range(300):
        found = one_survey(tree, numbers, rng)
        for q, number in true.items():
            low, high = found.quantile_interval(q)
            held[q] += low <= number <= high
    assert all(count >= 300 * fewest(300) for count in held.values())


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
    found = tree.estimate(reports)
    assert found.frequencies == pytest.approx(tree.estimate(tree.by_level(reports)).frequencies)
    low, high = found.quantile_interval(0.5, 0.999)
    assert low <= 2.0 <= high


def test_one_device_with_a_card_at_a_time() -> None:
    """Level and card are dealt together; on the same words it is what a whole group reports."""
    tree, sums, told = TREES["masked"], [], []
    for level, m in enumerate(tree.mechanisms):
        cards = m.deal(SeededRandom(level))
        group = m.respond(tree.values([2.0], level), cards[:1], SeededRandom(9))
        first = tree.respond_one(2.0, SeededRandom(9), dealt=(level, cards[0].tolist()))
        assert tree.report_to_json(first) == [level, m.reports_to_json(group)[0]]
        rng = SeededRandom(10 + level)
        told += [tree.respond_one(2.0, rng, dealt=(level, card)) for card in cards]
        sums.append(m.announce(cards, rng=rng))
    lines = [json.dumps(tree.report_to_json(report)) for report in told]
    found = tree.estimate([tree.report_from_json(json.loads(line)) for line in lines], sums)
    low, high = found.quantile_interval(0.5, 0.999)
    assert low <= 2.0 <= high
    with pytest.raises(JrrError, match="level"):
        tree.respond_one(2.0, dealt=(9, cards[0]))


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
        (lambda t: t.estimate([(1, 0)]), "level"),
        (lambda t: t.estimate([(0, 0), 3]), "reports"),
        (lambda t: t.estimate([(0, 0, 3)]), "reports"),
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
