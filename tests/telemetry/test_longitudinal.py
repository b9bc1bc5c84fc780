"""The same people report in every round: estimates, their series, changes and refusals."""

import itertools
import json
import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

from jrr import DRR, JRR, MRR, OUE, RR, JrrError, Longitudinal, Mechanism, SeededRandom
from jrr.analysis.items import SensitiveItem
from jrr.tables.header import Header
from jrr.telemetry.series import Series
from tests.statistics_rules import OFF, P_VALUE, accepts_only, mean_test, spread_test

pytestmark = pytest.mark.heavy

DAYS = 365
ANOTHER: Any = JRR(2, p=0.6, s=0.1)  # no randomized response without cards


def histories(n: int, days: int, rng: np.random.Generator) -> Any:
    """Values by day and device: one in a hundred changes a day, towards more and more yes."""
    values = np.empty((days, n), np.int64)
    values[0] = rng.random(n) < 0.1
    for day in range(1, days):
        changes = rng.random(n) < 0.01
        drawn = rng.random(n) < 0.1 + 0.3 * day / days
        values[day] = np.where(changes, drawn, values[day - 1])
    return values


def a_year(
    daily: Longitudinal, n: int, seed: int, every: int = 1, days: int = DAYS
) -> tuple[Any, Series]:
    """True shares of yes and the estimated series, of every so many days."""
    rng = np.random.default_rng(seed)
    values = histories(n, days, rng)[::every]
    memory = daily.remember(n, rng)
    tallies = []
    for held in values:
        cards = daily.deal(rng)
        reports = daily.respond(held, memory, cards, rng)
        tally = daily.fresh.tally(reports)
        if cards is not None and daily.fresh.announced:
            tally = daily.fresh.settle(tally, announced=daily.fresh.announce(cards, rng=rng))
        tallies.append(tally)
    return values.mean(axis=1), daily.series(tallies)


def coverage_by_year(daily: Longitudinal, years: int, n: int, every: int) -> tuple[Any, Any]:
    """Of each year the share of days whose 95% interval holds the truth; and narrowed by 30%."""
    right, wrong = [], []
    for year in range(years):
        truth, series = a_year(daily, n, year, every)
        low, high = (ends[:, 1] for ends in series.interval())
        off, half = np.abs(truth - (low + high) / 2), (high - low) / 2
        right.append(np.mean(off <= half))
        wrong.append(np.mean(off <= half * (1 - OFF)))
    return np.array(right), np.array(wrong)


def too_rare(coverage: Any) -> float:
    """p-value of at least 95% on average; years are independent, days of a year are not."""
    error = coverage.std(ddof=1) / math.sqrt(len(coverage))
    return float(stats.norm.cdf((coverage.mean() - 0.95) / error))


@pytest.mark.statistical
@pytest.mark.parametrize(
    "fresh",
    [
        RR(epsilon=1.0),
        pytest.param(
            MRR.for_epsilon(1.0, n=300, announced=True), id="MRR announced", marks=pytest.mark.slow
        ),
    ],
)
def test_a_series_is_covered_at_its_level(fresh: Mechanism) -> None:
    """Every 40th day of 60 years; the whole days of fewer years are a slow test below."""
    daily = Longitudinal(fresh, RR(epsilon=2.0))
    right, wrong = coverage_by_year(daily, 60, 300, 40)
    assert too_rare(right) > 1e-3
    assert too_rare(wrong) < P_VALUE
    assert right.mean() < 0.98  # nor is it bought with intervals that are too long


@pytest.mark.slow
@pytest.mark.statistical
def test_every_day_of_a_year_is_covered() -> None:
    daily = Longitudinal(RR(epsilon=1.0), RR(epsilon=2.0))
    right, wrong = coverage_by_year(daily, 40, 1000, 1)
    assert too_rare(right) > 1e-3
    assert too_rare(wrong) < P_VALUE


def test_simultaneous_intervals_hold_all_days_at_once() -> None:
    daily = Longitudinal(RR(epsilon=2.0), RR(epsilon=2.0))
    truth, series = a_year(daily, 2_000, 5, days=60)
    low, high = series.interval(0.999, simultaneous=True)
    assert ((low[:, 1] < truth) & (truth < high[:, 1])).all()
    assert len(series) == 60
    assert json.loads(json.dumps(series.to_dict()))["rounds"][3]["n"] == 2_000


def enumerated(daily: Longitudinal, values: tuple[int, ...]) -> tuple[float, float]:
    """Mean and variance of the estimated count of 1 over all memories and coins, by fractions."""
    assert daily.permanent is not None
    p, f = float(daily.permanent.moments.p[0]), float(daily.fresh.moments.p[0])
    mean = square = 0.0
    for coins in itertools.product((0, 1), repeat=2 * len(values)):
        chance, reports = 1.0, []
        for value, lied, flipped in zip(values, coins[::2], coins[1::2], strict=True):
            chance *= (1 - p if lied else p) * (1 - f if flipped else f)
            reports.append(value ^ lied ^ flipped)
        count = float(daily.estimate(reports).counts[1])
        mean += chance * count
        square += chance * count**2
    return mean, square - mean**2


@pytest.mark.parametrize("values", [(0, 0, 0), (0, 1, 1), (1, 1, 1, 0)])
def test_estimates_are_unbiased_with_the_variance_of_the_closed_form(
    values: tuple[int, ...],
) -> None:
    daily = Longitudinal(RR(p=0.8), RR(p=0.7))
    mean, variance = enumerated(daily, values)
    assert mean == pytest.approx(sum(values))
    counts = np.array([len(values) - sum(values), sum(values)], np.float64)
    assert daily.moments.variance(counts, len(values), 1)[1] == pytest.approx(variance)


@pytest.mark.slow_variants("OUE]", "JRR]")
@pytest.mark.statistical
@pytest.mark.parametrize(
    "fresh",
    [
        JRR(200, p=0.6, s=0.3, k=3),
        DRR(200, truth=0.3, own=0.2, k=3),
        MRR(200, own=2.0, card_rate=0.8, total_rate=0.5, k=3),
        OUE(3, epsilon=1.0),
    ],
    ids=["JRR", "DRR", "MRR", "OUE"],
)
def test_mean_and_variance_with_cards_beside_simulation(fresh: Mechanism) -> None:
    daily = Longitudinal(fresh, RR(3, epsilon=2.0))
    rng = np.random.default_rng(3)
    values = np.repeat([0, 1, 2], [120, 60, 20])
    found = [
        daily.estimate(daily.respond(values, daily.remember(200, rng), daily.deal(rng), rng)).counts
        for _ in range(1_000)
    ]
    sd = np.sqrt(daily.moments.variance(np.array([120.0, 60.0, 20.0]), 200, 1))
    first = np.array(found)[:, 0]
    accepts_only(lambda mean: mean_test(first, mean, sd[0]), 120.0, 120.0 + OFF * sd[0])
    accepts_only(lambda s: spread_test(first, s), sd[0], sd[0] * (1 + OFF))


@pytest.mark.statistical
def test_paired_changes_are_right_and_shorter() -> None:
    """Remembered noise cancels for those who did not change."""
    daily = Longitudinal(RR(epsilon=3.0), RR(epsilon=1.0))
    rng = np.random.default_rng(8)
    before = np.repeat([0, 1], [350, 150])
    after = before.copy()
    after[:25] = 1  # 5 points more
    moved, errors, held = [], [], []
    for _ in range(1_000):
        memory = daily.remember(500, rng)
        first, second = (daily.respond(v, memory, rng=rng) for v in (before, after))
        change = daily.change(first, second)
        moved.append(change.frequencies[1])
        errors.append(change.stderr[1])
        low, high = change.interval()
        held.append(low[1] <= 0.05 <= high[1])
    unpaired = float(daily.series([first, second]).change(0, 1).stderr[1])
    stated = math.sqrt(np.mean(np.square(errors)))
    accepts_only(lambda mean: mean_test(moved, mean, np.std(moved)), 0.05, 0.05 + OFF * stated)
    assert np.std(moved) < 1.03 * stated  # never too small on average
    assert stated < 0.6 * unpaired
    assert 0.93 < np.mean(held) < 0.99


def test_a_device_alone_and_json() -> None:
    daily = Longitudinal(RR(3, epsilon=1.0), RR(3, epsilon=2.0))
    memory = daily.remember_one(SeededRandom(1))
    assert len(memory) == 3
    assert daily.respond_one(2, memory, rng=SeededRandom(2)) in range(3)
    assert Longitudinal.from_dict(json.loads(json.dumps(daily.to_dict()))) == daily
    plain = Longitudinal(RR(3, epsilon=1.0))
    assert Longitudinal.from_dict(plain.to_dict()) == plain
    assert plain.remember_one() == (0, 1, 2)
    assert plain.remember(2).tolist() == [[0, 1, 2]] * 2
    assert plain.estimate([0, 1, 2]).n == 3


def test_weights_go_through() -> None:
    daily = Longitudinal(RR(p=0.75), RR(p=0.9))
    reports = np.array([0] * 60 + [1] * 40)
    same = daily.estimate(daily.fresh.tally(reports, weights=np.ones(100)))
    assert same.counts == pytest.approx(daily.estimate(reports).counts)
    assert same.stderr == pytest.approx(daily.estimate(reports).stderr)


@pytest.mark.parametrize(
    "fresh",
    [RR(epsilon=1.0), OUE(3, epsilon=1.0), MRR(100, 3.0, card_rate=0.5, announced_rate=0.7, k=3)],
)
def test_fresh_alone_does_not_estimate_what_devices_remember(fresh: Mechanism) -> None:
    """It would give the shares of remembered responses: 19% for 10%."""
    daily = Longitudinal(fresh, RR(fresh.k, epsilon=2.0))
    cards = daily.deal(SeededRandom(4))
    values, memory = [0] * 90 + [1] * 10, daily.remember(100, SeededRandom(1))
    reports = daily.respond(values, memory, cards, SeededRandom(2))
    announced: dict[str, Any] = {}
    if isinstance(fresh, MRR) and cards is not None:
        announced = {"announced": fresh.announce(cards, rng=SeededRandom(3))}
    reason = r"mechanism must be .* what devices remember.* `Longitudinal.estimate`"
    for told in (reports, daily.fresh.tally(reports)):
        with pytest.raises(JrrError, match=reason):
            daily.fresh.estimate(told)
        with pytest.raises(JrrError, match=reason):
            daily.fresh.estimate(told, **announced)
        assert daily.estimate(told, **announced).n == 100
    # The mechanism that was given is still one of answers, and so is one without a memory.
    assert fresh.estimate(reports, **announced).n == 100
    plain = Longitudinal(fresh)
    assert plain.fresh.estimate(reports, **announced).n == 100


def test_fresh_alone_is_no_item_of_a_regression() -> None:
    daily = Longitudinal(RR(epsilon=1.0), RR(epsilon=2.0))
    with pytest.raises(JrrError, match="what devices remember"):
        SensitiveItem(daily.fresh, [0, 1, 1, 0])
    assert SensitiveItem(RR(epsilon=1.0), [0, 1, 1, 0]).mechanism == daily.fresh


def test_a_file_refuses_reports_of_what_devices_remember() -> None:
    """Read as answers by `fresh` alone, 6.9% came out as 16.7%."""
    daily = Longitudinal(RR(epsilon=1.0), RR(epsilon=2.0))
    reports_of: Any = daily
    for mechanism in (reports_of, daily.fresh):
        with pytest.raises(JrrError, match="what devices remember"):
            Header("reports", mechanism)
    plain = Longitudinal(RR(epsilon=1.0))
    assert Header("reports", plain.fresh).mechanism == RR(epsilon=1.0) == daily.fresh
    reports_of = plain
    with pytest.raises(JrrError, match="mechanism must be a mechanism"):
        Header("reports", reports_of)


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda m: Longitudinal(RR(3, epsilon=1.0), RR(epsilon=1.0)), "permanent"),
        (lambda m: Longitudinal(RR(2, epsilon=1.0), ANOTHER), "permanent"),
        (lambda m: Longitudinal(RR(300, epsilon=9.0), RR(300, epsilon=9.0)), "fresh"),
        (lambda m: m.respond([0, 1], [[0, 1]]), "memory"),
        (lambda m: m.respond_one(0, [0]), "memory"),
        (lambda m: m.respond_one(0, None), "memory"),
        (lambda m: m.epsilon("paper", rounds=3), "view"),
        (lambda m: m.epsilon(rounds=0), "rounds"),
        (lambda m: m.epsilon(rounds=3, secret="all"), "secret"),
        (lambda m: m.epsilon(rounds=3, delta=0.1), "delta"),
        (lambda m: m.change([0, 1], [0]), "second"),
        (lambda m: Longitudinal(OUE(2, epsilon=1.0)).change([], []), "fresh"),
        (lambda m: m.series([]), "rounds"),
        (lambda m: Longitudinal.from_dict({"fresh": {}}), "document"),
    ],
)
def test_refusals_name_the_argument(call: Any, named: str) -> None:
    with pytest.raises(JrrError, match=named):
        call(Longitudinal(RR(epsilon=1.0), RR(epsilon=2.0)))
