"""Regression through a perturbation: likelihoods written anew, enumeration, simulation."""

import itertools
import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import optimize, stats
from scipy.special import expit

import jrr
from jrr.analysis import SensitiveItem, regress
from jrr.analysis.items import ReportsOfOne
from jrr.analysis.regression import _perturbed, chances, score_variance
from jrr.errors import ArgumentError
from tests.analysis.people import TRUE, N, answers, coverage, surveys
from tests.statistics_rules import OFF, accepts_only, mean_test, spread_test

MECHANISMS: dict[str, jrr.Mechanism] = {
    "RR": jrr.RR(epsilon=1.0),
    "RR at 2": jrr.RR(epsilon=2.0),
    "DRR": jrr.DRR(N, truth=0.45, own=0.1),
    "JRR": jrr.JRR(N, p=0.75, s=0.2),
    "MRR announced": jrr.MRR(N, own=3.0, card_rate=1.0, announced_rate=0.2),
    "MRR closed": jrr.MRR(N, own=3.0, card_rate=1.0, total_rate=0.2),
}


def one_survey(mechanism: jrr.Mechanism, seed: int = 3) -> tuple[dict[str, Any], NDArray[Any]]:
    rng = np.random.default_rng(seed)
    covariates, truth = answers(rng)
    return covariates, mechanism.respond(truth, mechanism.deal(rng), rng)


def written_anew(covariates: dict[str, Any], no: Any, yes: Any) -> NDArray[np.float64]:
    """Coefficients by another way: chances of every report given no and yes, a general search."""

    def minus(beta: NDArray[np.float64]) -> float:
        total = 0.0
        odds = np.exp(beta[0] + beta[1] * covariates["score"] + beta[2] * covariates["member"])
        for ratio, of_no, of_yes in zip(odds.tolist(), no, yes, strict=True):
            total -= math.log((of_no + of_yes * ratio) / (1 + ratio))
        return total

    found = optimize.minimize(minus, np.zeros(3), method="BFGS", options={"gtol": 1e-7})
    return np.asarray(found.x)


@pytest.mark.parametrize("name", ["RR", "RR at 2", "DRR", "JRR"])
def test_the_same_maximum_as_a_likelihood_written_anew(name: str) -> None:
    mechanism = MECHANISMS[name]
    covariates, reports = one_survey(mechanism)
    laws = mechanism.card_laws()
    no, yes = (
        [sum(law.share * law.reports[held, report] for law in laws) for report in reports.tolist()]
        for held in (0, 1)
    )
    fit = regress(SensitiveItem(mechanism, reports), covariates)
    assert fit.coefficients == pytest.approx(written_anew(covariates, no, yes), abs=1e-4)
    assert (fit.method == "exact likelihood") == (name in ("RR", "RR at 2"))


def test_the_sign_of_a_masked_report_is_all_it_says() -> None:
    """With announced sums: the whole number has the same maximum, and the same likelihood ratio."""
    mechanism = MECHANISMS["MRR announced"]
    assert isinstance(mechanism, jrr.MRR)
    covariates, reports = one_survey(mechanism)
    a, truth = mechanism.card_rate, 1 / (1 + math.exp(-mechanism.own))

    def chance(report: int, coin: int) -> float:
        return math.tanh(a / 2) * math.exp(-a * abs(report - coin))

    no = [truth * chance(y, 0) + (1 - truth) * chance(y, 1) for y in reports.tolist()]
    yes = [truth * chance(y, 1) + (1 - truth) * chance(y, 0) for y in reports.tolist()]
    fit = regress(SensitiveItem(mechanism, reports), covariates)
    assert fit.coefficients == pytest.approx(written_anew(covariates, no, yes), abs=1e-4)
    assert fit.method == "exact likelihood"


def test_a_masked_report_alone_is_randomized_response_of_a_smaller_epsilon() -> None:
    for a, own in itertools.product((0.05, 0.3, 1.0, 2.0), (1.0, 3.0)):
        law = jrr.MRR(50, own=own, card_rate=a, announced_rate=0.5).reading.law
        alone = 2 * math.atanh(math.tanh(own / 2) * math.tanh(a / 2))
        assert math.log(law[1, 1] / law[0, 1]) == pytest.approx(alone, rel=1e-9)


def test_standard_errors_without_cards_are_those_of_the_information() -> None:
    mechanism = MECHANISMS["RR"]
    covariates, reports = one_survey(mechanism)
    fit = regress(SensitiveItem(mechanism, reports), covariates)
    information = np.zeros((3, 3))
    for score, member in zip(covariates["score"], covariates["member"], strict=True):
        x = np.array([1.0, score, member])
        share = expit(x @ fit.coefficients)
        p, q = mechanism.moments.p[0], mechanism.moments.q[0]
        for chance, slope in ((q + (p - q) * share, p - q), (1 - q - (p - q) * share, q - p)):
            information += np.outer(x, x) * (slope * share * (1 - share)) ** 2 / chance
    assert fit.covariance == pytest.approx(np.linalg.inv(information), rel=1e-9)


@pytest.mark.parametrize(
    "mechanism",
    [
        jrr.DRR(4, truth=0.4, own=0.1),
        jrr.DRR(4, truth=0.5, deck=[1, 3]),
        jrr.JRR(4, p=0.7, s=0.25),
        jrr.JRR(3, p=0.7, s=0.25),
        jrr.JRR(4, p=0.7, s=0.2, plus=3),
    ],
    ids=str,
)
@pytest.mark.parametrize("reporters", [2, 3])
@pytest.mark.parametrize("link", ["logit", "identity"])
def test_the_variance_of_the_score_is_what_enumeration_finds(
    mechanism: jrr.Mechanism, reporters: int, link: Any
) -> None:
    """Over all decks, answers and reports; some of the deck may not report."""
    x = np.array([[1.0, -0.5], [1.0, 0.3], [1.0, 1.2]])[:reporters]
    beta = np.array([-0.4, 0.9] if link == "logit" else [0.4, 0.3])
    w = np.array([1.0, 0.5, 2.0])[:reporters]
    item = SensitiveItem(mechanism, [0, 1, 1][:reporters], mechanism.deals)
    said = np.zeros(reporters)
    reports_of_one = ReportsOfOne.of(item, 1)
    base = _perturbed(reports_of_one, x, w, link)
    at = chances(base, beta)
    formula = score_variance(base, at, leans=reports_of_one.kinds(), tie=item.tie, empirical=False)
    law = {law.card: law for law in mechanism.card_laws()}
    n = mechanism.moments.deck or 0
    deck = [card for card, one in law.items() for _ in range(round(one.share * n))]
    hands = list(itertools.permutations(deck, reporters))
    mean, square = np.zeros(2), np.zeros((2, 2))
    for hand in hands:
        for symbols in itertools.product((0, 1), repeat=reporters):
            chance = 1 / len(hands)
            for card, symbol, share in zip(hand, symbols, at.yes, strict=True):
                given = law[card].reports[:, symbol]
                chance *= (1 - share) * given[0] + share * given[1]
            said = np.array(symbols, np.float64)
            score = x.T @ (w * at.weight * (said - at.report))
            mean += chance * score
            square += chance * np.outer(score, score)
    assert mean == pytest.approx(np.zeros(2), abs=1e-12)
    assert formula == pytest.approx(square, abs=1e-12)


@pytest.mark.parametrize("n", [20, 200])
@pytest.mark.parametrize(("a", "b"), [(1.0, 0.2), (0.3, 0.8)])
def test_signs_of_two_cards_of_a_closed_deck(n: int, a: float, b: float) -> None:
    """Exact law of two cards, by convolution; the reading's tie has an error of order 1/n²."""
    reach = math.ceil(60 / a)
    numbers = np.arange(-reach, reach + 1)
    card = np.exp(-a * np.abs(numbers))
    theta = np.linspace(0, np.pi, 20_001)
    wave = (np.cosh(a) - np.cos(theta)) ** -1.0 / (np.cosh(a) - 1) ** -1.0
    wave = wave ** (n - 2) / (np.cosh(b) - np.cos(theta))
    rest = np.array([np.trapezoid(wave * np.cos(theta * s), theta) for s in range(4 * reach + 1)])
    joint = np.outer(card, card) * rest[np.abs(numbers[:, None] + numbers[None, :])]
    joint /= joint.sum()
    mechanism = jrr.MRR(n, own=3.0, card_rate=a, total_rate=b)
    up = numbers >= 1
    single = joint.sum(axis=1)[up].sum()
    covariance = joint[np.ix_(up, up)].sum() - single**2
    reading = mechanism.reading
    lean = reading.leans[0, 0, 1]
    assert -(lean**2) * reading.tie(1) == pytest.approx(covariance, rel=2 / n + 0.01)


def test_a_naive_regression_on_the_reports_is_wrong() -> None:
    """Reports taken for answers: slopes shrink to less than half, and intervals never hold."""
    rng = np.random.default_rng(5)
    mechanism, as_if_true = MECHANISMS["RR"], jrr.RR(p=1.0)
    naive, right = [], []
    for _ in range(40):
        covariates, truth = answers(rng)
        reports = np.asarray(mechanism.respond(truth, rng=rng))
        naive.append(regress(SensitiveItem(as_if_true, reports), covariates))
        right.append(regress(SensitiveItem(mechanism, reports), covariates))
    slopes = np.mean([fit.coefficients for fit in naive], axis=0)
    assert (np.abs(slopes) < 0.5 * np.abs(TRUE)).all()
    assert (coverage(naive)[:2] == 0).all()
    assert (coverage(right) > 0.85).all()


def test_without_perturbation_it_is_logistic_regression() -> None:
    """By iterated least squares, the way every other program does it."""
    covariates, truth = answers(np.random.default_rng(8))
    fit = regress(SensitiveItem(jrr.RR(p=1.0), truth), covariates)
    x = np.column_stack([np.ones(N), covariates["score"], covariates["member"]])
    beta = np.zeros(3)
    for _ in range(30):
        share = expit(x @ beta)
        weight = share * (1 - share)
        wanted = x.T @ (weight * (x @ beta) + truth - share)
        beta = np.linalg.solve(x.T @ (weight[:, None] * x), wanted)
    assert fit.coefficients == pytest.approx(beta, abs=1e-7)
    assert fit.covariance == pytest.approx(np.linalg.inv(x.T @ (weight[:, None] * x)), rel=1e-6)


@pytest.mark.statistical
@pytest.mark.parametrize("name", ["RR", "DRR", "MRR closed"])
def test_coefficients_are_where_and_as_far_as_they_say(name: str) -> None:
    fits = surveys(MECHANISMS[name], runs=150, seed=11)
    scores = np.array([(fit.coefficients - TRUE) / fit.stderr for fit in fits]).ravel()
    accepts_only(lambda mean: mean_test(scores, mean, 1.0), 0.0, OFF)
    accepts_only(lambda sd: spread_test(scores, sd), 1.0, 1 - OFF)


@pytest.mark.slow
@pytest.mark.statistical
@pytest.mark.parametrize("name", sorted(MECHANISMS))
def test_intervals_hold(name: str) -> None:
    share = coverage(surveys(MECHANISMS[name], runs=2_000, seed=12))
    assert (share >= 0.935).all(), share
    assert (share <= 0.97).all(), share


@pytest.mark.statistical
def test_a_deck_makes_the_constant_more_certain() -> None:
    """What is ignored: the same reports as if nobody shared a deck."""
    mechanism = jrr.DRR(N, truth=0.3)
    covariates, reports = one_survey(mechanism)
    tied = regress(SensitiveItem(mechanism, reports), covariates)
    loose = regress(SensitiveItem(mechanism, np.asarray(reports), carded=False), covariates)
    assert tied.coefficients == pytest.approx(loose.coefficients, abs=1e-6)
    assert (tied.stderr < loose.stderr + 1e-12).all()
    middle = {"score": [0.0], "member": [0.5]}
    widths = [np.ptp(fit.predict(middle)[1:]) for fit in (tied, loose)]
    assert widths[0] < 0.9 * widths[1]


@pytest.mark.parametrize("name", ["RR", "DRR", "MRR announced"])
def test_weights(name: str) -> None:
    """Whole weights are people who are there several times; errors are a sandwich."""
    mechanism = MECHANISMS[name]
    covariates, reports = one_survey(mechanism)
    w = np.random.default_rng(4).integers(1, 4, N)
    alone = jrr.RR(p=float(mechanism.reading.law[1, 1]))
    said = np.asarray(SensitiveItem(mechanism, reports).symbols)
    many = regress(
        SensitiveItem(alone, np.repeat(said, w)),
        {key: np.repeat(column, w) for key, column in covariates.items()},
    )
    fit = regress(SensitiveItem(mechanism, reports), covariates, weights=w)
    assert fit.coefficients == pytest.approx(many.coefficients, abs=1e-5)
    assert fit.weighted
    assert fit.effective_n == pytest.approx(w.sum() ** 2 / (w**2).sum())
    if name == "RR":
        x = np.column_stack([np.ones(N), covariates["score"], covariates["member"]])
        p, q = float(mechanism.moments.p[0]), float(mechanism.moments.q[0])
        share = expit(x @ fit.coefficients)
        mean = q + (p - q) * share
        slope = (p - q) * share * (1 - share)
        scores = (w * slope * (said - mean) / (mean * (1 - mean)))[:, None] * x
        bread = np.linalg.inv(x.T @ ((w * slope**2 / (mean * (1 - mean)))[:, None] * x))
        assert fit.covariance == pytest.approx(bread @ scores.T @ scores @ bread, rel=1e-6)


def test_people_with_and_without_a_card_together() -> None:
    mechanism = jrr.MRR(N, own=3.0, card_rate=1.0, announced_rate=0.2)
    rng = np.random.default_rng(6)
    covariates, truth = answers(rng)
    flags = rng.random(N) < 0.6
    reports = np.where(
        flags, mechanism.respond(truth, mechanism.deal(rng), rng), mechanism.respond(truth, rng=rng)
    )
    fit = regress(SensitiveItem(mechanism, reports, carded=flags), covariates)
    assert (np.abs(fit.coefficients - TRUE) < 4 * fit.stderr).all()
    wrong = regress(SensitiveItem(mechanism, reports, carded=True), covariates)
    assert not np.allclose(fit.coefficients, wrong.coefficients, atol=0.01)


def test_more_than_two_answers_and_words() -> None:
    rng = np.random.default_rng(9)
    region = rng.choice(["east", "north", "west"], 30_000)
    share = expit(np.select([region == "north", region == "west"], [0.0, -1.0], -0.5))
    truth = np.where(rng.random(30_000) < share, 2, rng.integers(0, 2, 30_000))
    mechanism = jrr.DRR(30_000, truth=0.6, k=3)
    reports = mechanism.respond(truth, mechanism.deal(rng), rng)
    fit = regress(SensitiveItem(mechanism, reports), {"region": region}, value=2)
    assert fit.names == ("(intercept)", "region=north", "region=west")
    low, high = fit.interval(0.999)
    assert (low < [-0.5, 0.5, -0.5]).all()
    assert (high > [-0.5, 0.5, -0.5]).all()
    shares, low, high = fit.predict({"region": ["north", "east"]})
    assert shares == pytest.approx(expit([fit.coefficients[:2].sum(), fit.coefficients[0]]))
    assert (low < shares).all()
    assert (shares < high).all()
    with pytest.raises(ArgumentError, match="region must be one of"):
        fit.predict({"region": ["south"]})
    with pytest.raises(ArgumentError, match="as before"):
        fit.predict({"region": [1.0]})


def test_a_result_document() -> None:
    covariates, reports = one_survey(MECHANISMS["DRR"])
    fit = regress(SensitiveItem(MECHANISMS["DRR"], reports), covariates)
    document = fit.to_dict(0.9)
    row = document["coefficients"][1]
    assert document["method"] == "working likelihood"
    assert row["name"] == "score"
    assert row["odds_ratio"] == pytest.approx(math.exp(row["coefficient"]))
    assert row["odds_ratio_interval"] == pytest.approx(np.exp(row["interval"]).tolist())
    z = row["coefficient"] / row["stderr"]
    assert row["p_value"] == pytest.approx(2 * stats.norm.sf(abs(z)))
    wide, narrow = fit.interval(simultaneous=True), fit.interval()
    assert (wide[0] < narrow[0]).all()
    assert "score: " in repr(fit)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"covariates": {"a": [1.0, 2.0]}}, "one row for each of the 60 people, got 2"),
        ({"covariates": {"a": np.ones(60)}}, "must not follow from each other"),
        ({"covariates": {"a": np.zeros(60)}}, "must not be 0 for everybody, got 'a'"),
        ({"covariates": {"a": [math.nan] * 60}}, "a must be finite numbers"),
        ({"covariates": {"a": [1.0] * 60, "b": [1.0]}}, "equally long"),
        ({"covariates": {"a": [str(at) for at in range(60)]}}, "at most 50 levels"),
        ({"covariates": {}, "intercept": False}, "at least one column"),
        ({"value": 2}, "value must be a whole number in 0..1"),
        ({"weights": [0.0] * 60}, "weights must not all be 0"),
        ({"weights": [1.0]}, "weights must be 60 numbers"),
    ],
)
def test_refusals(change: dict[str, Any], message: str) -> None:
    item = SensitiveItem(jrr.RR(p=0.75), [0, 1, 1] * 20)
    arguments: dict[str, Any] = {"covariates": {"a": [0.0, 1.0, 2.0] * 20}} | change
    with pytest.raises(ArgumentError, match=message):
        regress(item, arguments.pop("covariates"), **arguments)


def test_coefficients_that_go_to_infinity_are_refused() -> None:
    reports = [0, 0, 0, 0, 0, 0, 0, 1] * 20 + [0, 1] * 80  # fewer yes than q in the first half
    item = SensitiveItem(jrr.RR(p=0.75), reports)
    with pytest.raises(ArgumentError, match="finite coefficients"):
        regress(item, {"half": [0] * 160 + [1] * 160})


@pytest.mark.parametrize(
    "mechanism",
    [jrr.OUE(k=8, epsilon=1.0), jrr.MRR.for_epsilon(1.0, n=50, k=3, announced=False)],
    ids=str,
)
def test_reports_that_are_not_one_of_few_symbols_are_refused(mechanism: jrr.Mechanism) -> None:
    reports = mechanism.respond([0, 1, 2])
    with pytest.raises(ArgumentError, match="must be"):
        SensitiveItem(mechanism, reports)


def test_only_a_constant_gives_the_share() -> None:
    mechanism = MECHANISMS["DRR"]
    _, reports = one_survey(mechanism)
    fit = regress(SensitiveItem(mechanism, reports), {})
    estimate = mechanism.estimate(reports).for_population("sample")
    share = expit(fit.coefficients[0])
    assert share == pytest.approx(estimate.frequencies[1], abs=1e-6)
    error = fit.stderr[0] * share * (1 - share)
    assert error == pytest.approx(estimate.stderr[1], rel=1e-3)
