"""Several items with one coin: the best number to ask, against another way and simulation."""

import math
from typing import Any

import numpy as np
import pytest

import jrr
from benchmarks import best_alone
from benchmarks.limits import ITEM_PEOPLE, SPLIT_OVER_BLOCK
from jrr.mechanisms.request import Request
from jrr.planning.blocks import BlockPlan, plan_block
from tests.statistics_rules import OFF, accepts_only, mean_test, spread_test


@pytest.mark.parametrize(("d", "epsilon", "at"), [(3, 1.0, 0), (5, 2.0, 1), (8, 4.0, 3)])
def test_gain_over_a_coin_for_each(d: int, epsilon: float, at: int) -> None:
    """The table of an independent reader, within 5%."""
    f = (0.05, 0.1, 0.3, 0.5)[at]
    options: dict[str, Any] = {"frequency": f, "dealer_epsilon": epsilon + 2, "lost": 0.0}
    made = plan_block(ITEM_PEOPLE, epsilon, [2] * d, **options)
    cap = (epsilon + 2) / d
    each = jrr.MRR.for_epsilon(epsilon / d, n=ITEM_PEOPLE, dealer_epsilon=cap, frequency=f)
    drawn = f * (1 - f) / ITEM_PEOPLE
    split = Request(ITEM_PEOPLE, epsilon, frequency=f).expected_variance(each) + drawn
    gain = split / (made.stderr(0) ** 2 + drawn)
    assert gain == pytest.approx(SPLIT_OVER_BLOCK[d, epsilon][at], rel=0.07)
    assert gain > 0.95 * SPLIT_OVER_BLOCK[d, epsilon][at]


@pytest.mark.parametrize("sizes", [[2, 2, 2], [2, 3, 5], [4, 4]])
@pytest.mark.parametrize("ask", [1, 2, "all", "auto"])
def test_nobody_loses_more(sizes: list[int], ask: int | str) -> None:
    """Whichever items somebody is asked, and however few: ε, and the cap for the dealer."""
    made = plan_block(3_000, 1.0, sizes, ask=ask)
    assert made.mechanism.epsilon("everything", 5) <= 1.0
    assert made.mechanism.epsilon("dealer") <= 3.0
    assert made.mechanism.epsilon("everything", 5) > 0.999
    for asked in ([0], [0, 1], [1, 0], list(range(made.asked))):
        if len(asked) <= made.asked:
            assert person_of(made, asked).epsilon("everything", 5) <= 1 + 1e-12
            assert person_of(made, asked).epsilon("dealer") <= 3 + 1e-12


def person_of(made: BlockPlan, asked: list[int]) -> jrr.MRR:
    """What somebody reports with who is asked these items: all answers are kept as often."""
    sizes = tuple(made.sizes[item][0] for item in asked)
    k = math.prod(sizes)
    alone = made.item(0)
    first = made.sizes[0][0]
    kept = (first * alone.alone - 1) / (first - 1)
    return jrr.MRR(
        made.request.n,
        p=made.keep + (1 - made.keep) / k,
        card_rate=made.mechanism.card_rate,
        announced_rate=made.mechanism.announced_rate,
        coin=jrr.Block(sizes) if len(sizes) > 1 else jrr.Choice(k),
        alone=kept + (1 - kept) / k,
    )


@pytest.mark.statistical
def test_errors_are_those_of_simulated_surveys() -> None:
    """Everybody is asked two of three items, drawn at random."""
    n, rng = 600, np.random.default_rng(3)
    made = plan_block(n, 1.5, [2, 2, 3], ask=2, frequency=0.3, lost=0.0)
    truth = np.stack([np.arange(n) % 10 < 3, np.arange(n) % 3 == 1, np.arange(n) % 3], axis=1)
    found = np.empty((400, 2))
    seed = jrr.SeededRandom(4)
    for run in range(400):
        left_out = rng.permutation(np.arange(n) % 3)  # each item is left out for a third
        reports: dict[int, list[Any]] = {0: [], 1: [], 2: []}
        for out in range(3):
            asked = [item for item in range(3) if item != out]
            m = person_of(made, asked)
            people = np.flatnonzero(left_out == out)
            # Only the numbers matter, not whose: cards of this group, taken off with noise below.
            cards = m.deal(seed)[: len(people)]
            sent = np.asarray(m.respond(truth[people][:, asked], cards, seed)).astype(np.int64)
            bare = sent - np.asarray(cards)
            at = 0
            for item in asked:
                width = 1 if made.sizes[item] == (2,) else made.sizes[item][0]
                reports[item].append(bare[:, at : at + width])
                at += width
        for column, (item, answer) in enumerate(((0, 1), (2, 1))):
            m = made.item(item)
            marks = np.concatenate(reports[item])
            rate = m.announced_rate
            noise = rng.geometric(1 - math.exp(-rate)) - rng.geometric(1 - math.exp(-rate))
            support = marks[:, 0 if made.sizes[item] == (2,) else answer].sum() + noise
            p, q = float(m.moments.p[0]), float(m.moments.q[0])
            found[run, column] = (support - len(marks) * q) / (p - q) / len(marks)
    for column, (item, true) in enumerate(((0, 0.3), (2, 1 / 3))):
        spread = made.stderr(item, 0.3 if item == 0 else 1 / 3)
        check(found[:, column], true, spread)


def check(found: Any, true: float, spread: float) -> None:
    accepts_only(lambda mean: mean_test(found, mean, spread), true, true + OFF * spread)
    accepts_only(lambda sd: spread_test(found, sd), spread, (1 + OFF) * spread)


def test_margins_decide_how_many_are_asked() -> None:
    """An item with more answers that is to be exact, beside ones that need not be."""
    even = plan_block(2_000, 1.0, [2] * 6, frequency=0.05)
    assert even.asked < 6
    assert plan_block(2_000, 1.0, [2] * 6, ask="all", frequency=0.05).asked == 6
    worst = max(even.stderr(item) for item in range(6))
    for other in range(1, 7):
        assert worst <= plan_block(2_000, 1.0, [2] * 6, ask=other, frequency=0.05).stderr(0)
    uneven = plan_block(2_000, 1.0, [2, 12], margins=[1.0, 0.01])
    assert uneven.stderr(1) <= plan_block(2_000, 1.0, [2, 12], margins=[0.01, 1.0]).stderr(1)


def test_the_best_coin_without_a_helper_is_the_bound() -> None:
    """Sets of one value are RR, and no set is better than the best that is tried."""
    for k, epsilon in ((2, 1.0), (5, 0.5), (30, 2.0)):
        p = math.exp(epsilon) / (math.exp(epsilon) + k - 1)
        rr = jrr.RR(k=k, p=p)
        frequency = 1 / k
        variance = rr.variance([1_000.0] * k)[0] / (1_000 * k)
        assert best_alone.share(k, epsilon, frequency) <= variance * (1 + 1e-9)
    # One item is a yes or no; a number that is anywhere needs less than one that is at an end.
    assert best_alone.items(1, 1.0) == pytest.approx(best_alone.share(2, 1.0, 0.5))
    assert 0.583 < best_alone.mean(1.0) / best_alone.share(2, 1.0, 0.5) < 1 + 1 / 6


def test_refusals() -> None:
    for arguments, words in (
        (([2],), "sizes must be two items at least"),
        (([2, 1],), "sizes must be a whole number in 2"),
        (([2, 2], {"ask": 3}), r"ask must be a whole number in 1\.\.2"),
        (([2, 2], {"ask": "some"}), "ask must be"),
        (([2, 2], {"margins": [1]}), "margins must be 2 numbers above 0"),
        (([70, 70, 2], {"ask": "all"}), "ask must be at most 1: more have above 4,096"),
    ):
        sizes, options = arguments[0], arguments[1] if len(arguments) > 1 else {}
        with pytest.raises(jrr.JrrError, match=words):
            plan_block(1_000, 1.0, sizes, **options)
