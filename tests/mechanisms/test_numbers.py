"""Numbers: unbiased, of the stated variance, in range, and through every verb."""

import itertools
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from numpy.typing import NDArray

import jrr
from jrr.errors import ArgumentError
from tests.statistics_rules import OFF, accepts_only, mean_test, spread_test

Floats = NDArray[np.float64]

MECHANISMS: dict[str, Callable[[int], jrr.Mechanism]] = {
    "RR": lambda n: jrr.RR(epsilon=1.0),
    "JRR": lambda n: jrr.plan(n, 1.0, mechanism="jrr").mechanism,
    "DRR": lambda n: jrr.DRR(n, truth=0.3, own=0.2),
    "MRR": lambda n: jrr.MRR.for_epsilon(1.0, n=n, announced=False),
    "MRR announced": lambda n: jrr.MRR.for_epsilon(1.0, n=n, announced=True),
    "Piecewise": lambda n: jrr.Piecewise(1.0, steps=12, width=5),
    "window": lambda n: window(n, jrr.Window(12, 4), total_rate=0.05),
    "window announced": lambda n: window(n, jrr.Window(12, 4), announced_rate=0.05),
    "window, 3 steps": lambda n: window(n, jrr.Window(3, 1), total_rate=0.3),
}


def window(n: int, coin: jrr.Window, **closing: Any) -> jrr.MRR:
    return jrr.MRR(n, own=3.0, card_rate=0.05, coin=coin, **closing)


def made(name: str, n: int) -> jrr.Mechanism:
    return MECHANISMS[name](n)


def survey(
    question: jrr.Numbers, numbers: Floats, rng: jrr.SeededRandom, **options: Any
) -> jrr.MeanEstimate:
    """One survey; fewer numbers than cards are drop-outs."""
    m = question.mechanism
    deck = question.deal(rng)
    if deck is None:
        return question.estimate(question.respond(numbers, None, rng), **options)
    reports = question.respond(numbers, deck[: len(numbers)], rng)
    if m.announced:
        options["announced"] = m.announce(deck, range(len(numbers)), rng)
    return question.estimate(reports, **options)


# Variance ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["RR", "JRR", "DRR", "MRR", "MRR announced"])
@pytest.mark.parametrize("shares", [(0.5,), (0.2, 0.9, 0.5), (0.0, 1.0, 0.3, 0.3)])
def test_variance_of_a_bit_is_that_of_all_ways_to_round(
    name: str, shares: tuple[float, ...]
) -> None:
    """Law of total variance over every outcome of the rounding coins."""
    m = made(name, max(4, len(shares)))
    first = second = 0.0
    for bits in itertools.product((0, 1), repeat=len(shares)):
        chance = math.prod(t if bit else 1 - t for t, bit in zip(shares, bits, strict=True))
        total = sum(bits)
        first += chance * total
        second += chance * (m.variance([len(bits) - total, total])[1] + total**2)
    question = jrr.Numbers(-2, 8, m)
    numbers = [-2 + 10 * t for t in shares]
    assert question.variance(numbers) == pytest.approx(100 * (second - first**2), rel=1e-9)


@pytest.mark.parametrize("reporters", [1, 2, 3])
@pytest.mark.parametrize(("steps", "width"), [(1, 1), (2, 1), (2, 4), (5, 2)])
def test_variance_in_steps_is_what_enumeration_finds(
    reporters: int, steps: int, width: int
) -> None:
    """Three cards of a closed deck, some of which are lost; weights by the book."""
    a, b = 0.9, 0.7
    m = jrr.MRR(3, own=1.4, card_rate=a, total_rate=b, coin=jrr.Window(steps, width))
    z = np.arange(-30, 31, dtype=np.float64)
    cards = np.meshgrid(z, z, z, indexing="ij")
    deck = np.exp(-a * sum(np.abs(c) for c in cards) - b * np.abs(sum(cards)))
    masks = sum(cards[:reporters])
    total = float((deck * masks**2).sum() / deck.sum())
    shares = (0.13, 0.5, 0.9)[:reporters]
    scale = _slope(steps, width, 1.4)
    for t in shares:
        law = _said(t, steps, width, 1.4)
        said = np.arange(len(law))
        total += float(law @ said**2) - float(law @ said) ** 2
    by_hand = total / (steps * scale) ** 2 * 10**2
    numbers = [5 + 10 * t for t in shares]
    assert jrr.Numbers(5, 15, m).variance(numbers) == pytest.approx(by_hand, rel=1e-9)


def _said(t: float, steps: int, width: int, own: float) -> Floats:
    """The law of what a device says of a number in 0..1, from the definition."""
    below = min(math.floor(t * steps), steps - 1)
    law = np.zeros(steps + width)
    for x, chance in ((below, 1 - (t * steps - below)), (below + 1, t * steps - below)):
        weights = np.ones(steps + width)
        weights[x : x + width] = math.exp(own)
        law += chance * weights / weights.sum()
    return law


def _slope(steps: int, width: int, own: float) -> float:
    """How much what is said moves on average with each step."""
    said = np.arange(steps + width)
    ends = [float(_said(t, steps, width, own) @ said) for t in (0.0, 0.5, 1.0)]
    assert ends[1] == pytest.approx((ends[0] + ends[2]) / 2)
    return (ends[2] - ends[0]) / steps


@pytest.mark.slow_variants("window]", "window, 3", "MRR]")
@pytest.mark.heavy
@pytest.mark.statistical
@pytest.mark.parametrize("name", MECHANISMS)
def test_unbiased_and_of_the_stated_variance(name: str) -> None:
    """Whole surveys, a fifth of the cards lost, numbers that are skewed."""
    question = jrr.Numbers(10, 60, made(name, 50))
    numbers = 10 + 50 * np.linspace(0, 1, 40) ** 3
    rng = jrr.SeededRandom(5)
    sums = [survey(question, numbers, rng).sum for _ in range(1_000)]
    sd = math.sqrt(question.variance(numbers))
    accepts_only(lambda off: mean_test(sums, numbers.sum() + off, sd), 0.0, OFF * sd)
    accepts_only(lambda wrong: spread_test(sums, wrong), sd, sd * (1 + OFF))


@pytest.mark.parametrize("name", MECHANISMS)
def test_stated_error_is_never_less_than_the_true_one(name: str) -> None:
    """At the true mean the most that rounding can add is counted, whatever the numbers are."""
    for n, shape in itertools.product((10, 300), (0.0, 0.3, 1.0, "ends", "even")):
        m = made(name, n)
        shares = _shares(shape, n)
        estimate = _at_truth(jrr.Numbers(0, 1, m), shares)
        true = math.sqrt(jrr.Numbers(0, 1, m).variance(shares)) / n
        assert estimate.stderr >= true * (1 - 1e-9), (n, shape)


def _shares(shape: object, n: int) -> Floats:
    if shape == "ends":
        return np.asarray(np.arange(n) % 2, np.float64)
    return np.linspace(0, 1, n) if shape == "even" else np.full(n, float(str(shape)))


def _at_truth(question: jrr.Numbers, shares: Floats) -> jrr.MeanEstimate:
    """What an estimate states that happens to be right."""
    from dataclasses import replace

    from jrr.estimation.estimates import Estimate
    from jrr.estimation.means import MeanEstimate

    m, n = question.mechanism, len(shares)
    cards = question.deal(jrr.SeededRandom(1))
    reports = question.respond(shares, cards, jrr.SeededRandom(2))
    told: Any = {"announced": 0} if m.announced else {}
    share = m.estimate(reports, **told)
    total = float(shares.sum())
    strata = [replace(one, counts=np.array([n - total, total])) for one in share.strata]
    return MeanEstimate.of(0, 1, Estimate(strata), m.steps)


# Which way is better -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("epsilon", "own", "noise"),
    [(0.1, 0.176, 226), (0.5, 0.111, 8.9), (1, 0.067, 2.2), (2, 0.027, 0.5)],
)
@pytest.mark.parametrize("n", [100, 1_000, 10_000, 1_000_000])
def test_a_window_reaches_the_least_variance_that_is_known(
    epsilon: float, own: float, noise: float, n: int
) -> None:
    """Numbers anywhere between the ends, dealer and collector together at most ε + 2."""
    plan = jrr.plan_number(n, epsilon, 0, 1, lost=0.0)
    assert n * plan.stderr() ** 2 < 1.05 * (own + noise / n)
    assert plan.stderr() == min(row.stderr for row in plan.compare())


@pytest.mark.parametrize("name", ["mrr", "mrr announced", "rr", "piecewise"])
def test_a_plan_states_the_error_that_there_is(name: str) -> None:
    numbers = np.linspace(0, 1, 1000) ** 2 * 40 + 10
    options: Any = {"mean": float(numbers.mean()), "sd": float(numbers.std())}
    plan = jrr.plan_number(
        1000,
        1.0,
        10,
        50,
        mechanism=name.split()[0],
        lost=0.0,
        announced="announced" in name,
        **options,
    )
    true = math.sqrt(plan.question.variance(numbers)) / 1000
    assert plan.stderr() == pytest.approx(true, rel=2e-3)
    of_people = math.hypot(true, numbers.std() / math.sqrt(1000))
    assert plan.stderr(population="sample") == pytest.approx(of_people, rel=2e-3)


@pytest.mark.parametrize("epsilon", [1, 4])
def test_the_table_of_the_page_is_what_plans_say(epsilon: int) -> None:
    page = (Path(__file__).parents[2] / "docs" / "numbers.md").read_text("utf-8")
    (line,) = (row for row in page.splitlines() if row.startswith(f"| {epsilon} |"))
    shown = [float(cell.strip(" *")) for cell in line.strip("|").split("|")[1:]]
    closed, announced = (
        {
            row.name: row.stderr
            for row in jrr.plan_number(10_000, epsilon, 0, 100, announced=told).compare()
        }
        for told in (False, True)
    )
    names = ("rr", "jrr", "drr", "piecewise", "mrr")
    expected = [*(closed[name] for name in names), announced["mrr"]]
    assert shown == pytest.approx(expected, rel=5e-3)


def test_plans_keep_what_was_asked_in_every_view() -> None:
    for epsilon, word in itertools.product((0.05, 1.0, 3.0), ("auto", "mrr", "piecewise")):
        plan = jrr.plan_number(500, epsilon, 0, 100, mechanism=word)
        m = plan.mechanism
        assert m.epsilon("cards", min(5, 499) if m.deals else 0) <= epsilon
        assert m.epsilon("dealer") <= epsilon + 2
        everything = jrr.plan_number(
            500, epsilon, 0, 100, mechanism=word, view="everything", delta=0.0
        ).mechanism
        assert everything.epsilon("everything", 499 if everything.deals else 0) <= epsilon


# Intervals ---------------------------------------------------------------------------------


@pytest.mark.heavy
@pytest.mark.slow_variants("Piecewise]", "window]", "window, 3", "MRR]")
@pytest.mark.statistical
@pytest.mark.parametrize("name", MECHANISMS)
def test_intervals_hold_the_mean_of_respondents(name: str) -> None:
    """A few surveys of each kind; the whole grid is a slow test."""
    held, runs = _held(name, ns=(12, 40), shapes=(0.3, "ends", "even"), runs=15)
    assert held / runs > 0.95 - 4 * math.sqrt(0.05 * 0.95 / runs)


@pytest.mark.slow
@pytest.mark.statistical
@pytest.mark.parametrize("name", MECHANISMS)
def test_intervals_hold_over_a_grid(name: str) -> None:
    shapes = (0.0, 0.05, 0.5, "ends", "even")
    for n in (5, 20, 300):
        held, runs = _held(name, ns=(n,), shapes=shapes, runs=300)
        assert held / runs > 0.95 - 4 * math.sqrt(0.05 * 0.95 / runs), n


@pytest.mark.slow_variants(
    "6.0-coin1", "3.0-coin0-alone", "2.1-coin2-closed", "2.1-coin2-announced"
)
@pytest.mark.parametrize("kind", ["alone", "closed", "announced"])
@pytest.mark.parametrize(("own", "coin"), [(3.0, (24, 9)), (6.0, (24, 3)), (2.1, (4, 2))])
def test_intervals_in_steps_have_the_stated_coverage(
    kind: str, own: float, coin: tuple[int, int]
) -> None:
    """The exact law of the sum, at numbers of several shapes; too short intervals are noticed."""
    level, lowest = 0.95, 1.0
    for n, shape in itertools.product((5, 20, 100, 2_000), (0.0, 0.02, 0.5, "ends", "even")):
        m: jrr.Mechanism = jrr.Piecewise(own, steps=coin[0], width=coin[1])
        if kind != "alone":
            rates: Any = {
                "card_rate": 0.05,
                "total_rate" if kind == "closed" else "announced_rate": 0.1,
            }
            m = jrr.MRR(n, own=own, coin=jrr.Window(*coin), **rates)
        question = jrr.Numbers(0, 1, m)
        reporters = n - n // 5
        shares = _shares(shape, reporters)
        deck = question.deal(jrr.SeededRandom(1))
        cards = None if deck is None else deck[:reporters]
        reports = question.respond(shares, cards, jrr.SeededRandom(2))
        told: Any = {"announced": 0} if kind == "announced" else {}
        low, high = question.estimate(reports, **told).interval(level)
        # Beyond what masks leave, which is the same for all numbers.
        left = getattr(m, "masks", None)
        law = np.ones(1) if left is None else left.law(reporters, 1).chances
        middle = 0.0 if left is None else float(left.law(reporters, 1).numbers @ law)
        size = coin[0] + coin[1]
        waves = np.fft.fft(law, 1 << (reporters * size + len(law)).bit_length())
        for t, times in zip(*np.unique(shares, return_counts=True), strict=True):
            one = _said(float(t), *coin, own)
            waves = waves * np.fft.fft(one, len(waves)) ** times
            middle += times * float(one @ np.arange(size))
        first = 0.0 if left is None else left.law(reporters, 1).first
        chances = np.maximum(np.fft.ifft(waves).real, 0)
        errors = np.abs(first + np.arange(len(chances)) - middle)
        reach = (high - low) / 2 * reporters * coin[0] * _slope(*coin, own)
        inside, shorter = (chances[errors <= part * reach + 1e-6].sum() for part in (1, 0.85))
        assert inside > level - 0.005, (n, shape, inside)
        lowest = min(lowest, shorter)
    assert lowest < level - 0.005  # negative control


def _held(name: str, ns: Sequence[int], shapes: Sequence[object], runs: int) -> tuple[int, int]:
    rng, held, total = jrr.SeededRandom(11), 0, 0
    for n, shape in itertools.product(ns, shapes):
        question = jrr.Numbers(0, 1, made(name, n))
        numbers = _shares(shape, n - n // 5)
        for _ in range(runs):
            low, high = survey(question, numbers, rng).interval()
            held += low - 1e-12 <= numbers.mean() <= high + 1e-12
            total += 1
    return held, total


@pytest.mark.heavy
@pytest.mark.slow_variants("Piecewise]", "MRR]")
@pytest.mark.statistical
@pytest.mark.parametrize("name", ["RR", "DRR", "MRR", "window", "Piecewise"])
def test_intervals_hold_the_mean_of_a_population(name: str) -> None:
    """People drawn at random from numbers that differ as much as they can, and hardly."""
    rng, people = jrr.SeededRandom(3), np.random.default_rng(3)
    question, held, runs = jrr.Numbers(0, 1, made(name, 80)), 0, 0
    for numbers in (np.array([0.0, 1.0, 1.0]), np.array([0.4, 0.5]), np.linspace(0, 1, 9)):
        for _ in range(40):
            drawn = people.choice(numbers, 80)
            low, high = survey(question, drawn, rng, population="sample").interval()
            held += low <= numbers.mean() <= high
            runs += 1
    assert held / runs > 0.95 - 4 * math.sqrt(0.05 * 0.95 / runs)


def test_intervals_of_a_finite_population_lie_between() -> None:
    for name in ("RR", "window"):
        question = jrr.Numbers(0, 1, made(name, 200))
        cards = question.deal(jrr.SeededRandom(3))
        reports = question.respond([0.5] * 200, cards, jrr.SeededRandom(4))
        respondents, some, all_people = (
            question.estimate(reports, **options).stderr
            for options in (
                {},
                {"population": "sample", "population_size": 300},
                {"population": "sample"},
            )
        )
        assert respondents <= some * (1 + 1e-9) <= all_people * (1 + 1e-3)
        assert math.isnan(question.estimate(reports, population="sample").sum)
        of_all = question.estimate(reports, population="sample", population_size=300)
        assert of_all.sum == pytest.approx(300 * of_all.mean)


# Verbs, documents, refusals ----------------------------------------------------------------


def test_rounding_is_fair_and_stays_between_the_ends() -> None:
    question = jrr.Numbers(-5, 5, jrr.Piecewise(1.0, steps=4))
    steps = question.steps([-5, 5, 0, -2.5, 1.0] * 20_000, jrr.SeededRandom(9)).reshape(-1, 5)
    assert set(steps[:, 0]) == {0}
    assert set(steps[:, 1]) == {4}
    assert set(steps[:, 2]) == {2}
    assert set(steps[:, 3]) == {1}
    assert set(steps[:, 4]) == {2, 3}
    assert mean_test(steps[:, 4], 2.4, math.sqrt(0.24)) > 1e-6
    assert mean_test(steps[:, 4], 2.4 + OFF * 0.24, math.sqrt(0.24)) < 1e-6


def test_the_same_words_make_the_same_reports() -> None:
    numbers = [0.0, 3.0, 25.0, 61.5, 99.9, 100.0]
    bits = jrr.Numbers(0, 100, jrr.RR(epsilon=1.0)).respond(numbers, rng=jrr.SeededRandom(1))
    alone = jrr.Numbers(0, 100, jrr.Piecewise(1.0)).respond(numbers, rng=jrr.SeededRandom(1))
    m = jrr.MRR(6, own=3.0, card_rate=0.05, total_rate=0.02, coin=jrr.Window(16, 6))
    question = jrr.Numbers(0, 100, m)
    cards = question.deal(jrr.SeededRandom(2))
    masked = question.respond(numbers, cards, jrr.SeededRandom(1))
    assert (bits.tolist(), alone.tolist(), masked.tolist()) == GOLDEN
    one = question.respond_one(25.0, int(np.asarray(cards)[2]), jrr.SeededRandom(7))
    assert one == question.respond([25.0], np.asarray(cards)[2:3], jrr.SeededRandom(7))[0]


GOLDEN = ([1, 1, 0, 1, 1, 1], [17, 10, 10, 2, 20, 21], [61, 25, 13, -42, 14, 35])


@pytest.mark.parametrize("name", MECHANISMS)
def test_people_with_and_without_a_card_add_up(name: str) -> None:
    question = jrr.Numbers(0, 10, made(name, 30))
    rng, deck = jrr.SeededRandom(6), question.deal(jrr.SeededRandom(8))
    late = question.tally(question.respond([5.0] * 10, None, rng))
    if deck is None:
        assert question.estimate(late + late).n == 20
        return
    tally = question.tally(question.respond([5.0] * 30, deck, rng))
    m = question.mechanism
    told: dict[str, Any] = {}
    if m.announced:
        told = {"announced": m.announce(deck, rng=rng)}
    both = question.estimate(jrr.Tally.from_json((tally + late).to_json()), **told)
    alone = question.estimate(tally, **told)
    assert both.n == 40
    assert both.sum == pytest.approx(alone.sum + question.estimate(late).sum)


def test_of_several_dealers_no_card_that_was_cut_can_show() -> None:
    """The largest sum and the farthest card of another dealer: the least number, or below it."""
    given: Any = {"own": 3.0, "announced_rate": 0.3, "dealers": 2, "coin": jrr.Window(64, 100)}
    accepted = []
    for card_rate in np.linspace(0.0018, 0.0021, 61):
        try:
            accepted.append(jrr.MRR(10**6, card_rate=float(card_rate), **given))
        except ArgumentError:
            assert not accepted  # smaller rates only
    assert 0 < len(accepted) < 61
    for m in accepted:
        low, high = m._range
        assert high - m.card_format.most <= low


def test_documents() -> None:
    for name in MECHANISMS:
        question = jrr.Numbers(0.5, 10, made(name, 30), clip=True)
        assert jrr.Numbers.from_dict(question.to_dict()) == question
        assert jrr.from_json(question.mechanism.to_json()) == question.mechanism
        report = question.respond_one(3.0)
        m = question.mechanism
        assert m.report_from_json(m.report_to_json(report)) == report
    with pytest.raises(ArgumentError, match="exactly"):
        jrr.Numbers.from_dict({"low": 0})
    estimate = jrr.Numbers(0, 9, jrr.RR(epsilon=1.0)).estimate([0, 1, 1, 1] * 10)
    document = estimate.to_dict(0.9)
    assert document["mean"] == estimate.mean
    assert document["level"] == 0.9
    assert document["interval"][0] < estimate.mean < document["interval"][1]
    assert "MeanEstimate(n=40" in repr(estimate)


@pytest.mark.parametrize(
    ("act", "words"),
    [
        (lambda: jrr.Numbers(3, 3, jrr.RR(p=0.75)), "high must be .* above low=3"),
        (lambda: jrr.Numbers(math.nan, 3, jrr.RR(p=0.75)), "low must be a finite number"),
        (lambda: jrr.Numbers(-1e308, 1e308, jrr.RR(p=0.75)), "less far"),
        (lambda: jrr.Numbers(0, 3, jrr.RR(3, p=0.75)), "k=2"),
        (lambda: jrr.Numbers(0, 3, cast(Any, "rr")), "mechanism must be"),
        (lambda: jrr.Numbers(0, 3, jrr.RR(p=0.75)).respond([1, 3.5]), r"0\.\.3, got 1 beyond.*3.5"),
        (lambda: jrr.Numbers(0, 3, jrr.RR(p=0.75)).respond([1, math.nan]), "got nan"),
        (lambda: jrr.Numbers(0, 3, jrr.RR(p=0.75)).respond(["1"]), "dtype"),
        (lambda: jrr.Numbers(0, 3, jrr.RR(p=0.75), clip=True).respond([math.inf]), "got inf"),
        (lambda: jrr.Piecewise(1.0, p=0.9), "exactly one"),
        (lambda: jrr.Piecewise(p=0.2), "p must be above 0.333333 and at most 1"),
        (lambda: jrr.Piecewise(1.0, steps=0), r"steps must be .* 1\.\.64"),
        (lambda: jrr.Piecewise(1.0, width=129), r"width must be .* 1\.\.128"),
        (lambda: jrr.Piecewise(1.0).respond([0], [1]), "cards must be None"),
        (lambda: jrr.Window(65, 1), r"steps must be .* 1\.\.64"),
        (lambda: window(5, jrr.Window(3, 1), total_rate=0.1).respond_steps([4]), r"in 0\.\.3"),
        (lambda: jrr.MRR(5, own=3, card_rate=1, total_rate=1, coin=["window", 3]), "coin must be"),
        (lambda: jrr.MRR(5, own=3, card_rate=1, total_rate=1, coin=["door", 3, 1]), "coin must be"),
        (
            lambda: jrr.MRR(5, own=3, card_rate=1, total_rate=1, k=3, coin=jrr.Window(3, 1)),
            "coin must be one for k=3 values",
        ),
        (
            lambda: window(5, jrr.Window(3, 1), total_rate=0.1, alone=0.2),
            "alone must be above 0.25",
        ),
        (lambda: window(5, jrr.Window(3, 1), total_rate=0.1).reading, "steps must be 1"),
        (lambda: jrr.plan_number(100, 1.0, 0, 10, mean=11), r"mean must be in 0\.\.10"),
        (lambda: jrr.plan_number(100, 1.0, 0, 10, mean=1, sd=4), r"sd must be in 0\.\.3"),
        (lambda: jrr.plan_number(100, 1.0, 0, 10, mechanism="oue"), "mechanism must be one of"),
        (lambda: jrr.plan_number(100, 1.0, 0, 10, delta=0.1), "delta must be given with"),
        (lambda: jrr.Bins((0, 1)), "three rising"),
        (lambda: jrr.Bins((0, 2, 1)), "three rising"),
        (lambda: jrr.Bins((0, 1, 2)).values([2.5]), "such as 2.5"),
    ],
)
def test_refusals(act: object, words: str) -> None:
    with pytest.raises(ArgumentError, match=words):
        act()  # type: ignore[operator]


def test_numbers_beyond_an_end_count_as_the_end_where_asked() -> None:
    question = jrr.Numbers(0, 3, jrr.RR(p=1.0), clip=True)
    assert question.respond([-7, 3, 99]).tolist() == [0, 1, 1]
    assert jrr.Bins((0, 1, 2), clip=True).values([-1, 5]).tolist() == [0, 1]


@pytest.mark.statistical
def test_a_histogram_by_bins() -> None:
    bins = jrr.Bins((0, 18, 30, 65, 120))
    m = jrr.RR(len(bins), epsilon=2.0)
    numbers = [10] * 4000 + [18, 29] * 1000 + [50] * 3000 + [120] * 1000
    estimate = m.estimate(m.respond(bins.values(numbers), rng=jrr.SeededRandom(5)))
    low, high = estimate.interval(0.999)
    assert (low < [0.4, 0.2, 0.3, 0.1]).all()
    assert (high > [0.4, 0.2, 0.3, 0.1]).all()


@pytest.mark.statistical
@pytest.mark.parametrize("name", ["Piecewise", "window", "window announced"])
def test_simulated_surveys_have_the_stated_law(name: str) -> None:
    m = made(name, 300)
    counts = np.array([120, 90])
    sums = jrr.simulate(m, counts, runs=4_000, rng=jrr.SeededRandom(8))[:, 1]
    sd = math.sqrt(m.variance(counts)[1])
    accepts_only(lambda off: mean_test(sums, 90 + off, sd), 0.0, OFF * sd)
    accepts_only(lambda wrong: spread_test(sums, wrong), sd, sd * (1 + OFF))
