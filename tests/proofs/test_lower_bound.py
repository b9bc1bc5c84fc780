"""The lower bound of docs/theory.md, Theorem 35, and how near masks come to it (Theorem 36)."""

import itertools
import math

import numpy as np
import pytest
from scipy.optimize import fmin

import jrr


@pytest.mark.parametrize(
    ("n", "most", "planned"),
    [(1_000, 1.04, 1.055), (10_000, 1.0045, 1.024), (10**6, 1.0001, 1.021)],
)
def test_masks_reach_the_bound(n: int, most: float, planned: float) -> None:
    """With a tenth of c for the cards; plans give more, up to 2% of the variance, against liars."""
    bound = n / (4 * math.sinh(3.0 / 2) ** 2)
    plan = jrr.plan(n, 1.0, mechanism="mrr", dealer_epsilon=3.0, announced=True).mechanism
    assert isinstance(plan, jrr.MRR)
    step = float(plan.step)
    best = jrr.MRR(n, 3.0, card_rate=step / 10, announced_rate=step * 0.9)
    assert best.epsilon("everything") <= 1.0 + 1e-9
    for mechanism, ratio in ((best, most), (plan, planned)):
        variance = float(mechanism.variance([n - n // 5, n // 5])[1])
        assert ratio - 0.002 < variance / bound <= ratio


def test_no_channel_beats_it() -> None:
    """Two people, random channels of three messages, the best estimates.

    The estimate of least variance that is unbiased at all four pairs of answers is found by linear
    algebra. Randomized response meets the bound, and a channel of a larger loss
    falls below it.
    """
    generator = np.random.default_rng(1)
    epsilon = 1.2
    bound = 2 / (4 * math.sinh(epsilon / 2) ** 2)
    for _ in range(50):
        channel = channel_within(epsilon, generator.random(3))
        assert best_variance(channel) >= bound * (1 - 1e-9)
    truth = 1 / (1 + math.exp(-epsilon))
    response = np.array([[truth, 1 - truth], [1 - truth, truth]])
    assert best_variance(response) == pytest.approx(bound, rel=1e-9)
    less_private = 1 / (1 + math.exp(-1.3 * epsilon))
    wrong = np.array([[less_private, 1 - less_private], [1 - less_private, less_private]])
    assert best_variance(wrong) < 0.7 * bound


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0, 2.0])
@pytest.mark.parametrize("n", [2, 5, 50, 1_000, 100_000])
def test_masks_keep_the_bound_of_those_whose_cards_are_known(n: int, epsilon: float) -> None:
    """Also with hardly any c for the cards; with a little more of c for the sum they would not."""
    cap = epsilon + 2
    bound = (n - 1) / (4 * math.sinh(cap / 2) ** 2) + 1 / (4 * math.sinh(epsilon / 2) ** 2)
    step = jrr.Choice(2).step_for(epsilon, cap)
    gain = math.tanh(cap / 2)
    coins = n / (4 * math.sinh(cap / 2) ** 2)
    noise = 2 * math.exp(-step) / (1 - math.exp(-step)) ** 2 / gain**2
    assert coins + noise >= bound
    if n == 2:
        assert coins + noise / 4 < bound


@pytest.mark.parametrize("epsilon", [0.5, 1.5, 3.0, 4.5])
def test_no_coin_for_items_is_better(epsilon: float) -> None:
    """The dual of the best coin for items: no direction is above it, and that of the coin meets it.

    With the chance of another number of items it would be exceeded.
    """
    most = max(range(1, 13), key=lambda m: m * kept(m, epsilon) ** 2)

    def over(direction: np.ndarray, m: int) -> float:
        signs = np.array(list(itertools.product((-1, 1), repeat=len(direction))))
        square = m + float(direction @ direction)
        gains = np.maximum(2 * signs @ direction / kept(m, epsilon) - square, 0.0)
        return math.expm1(epsilon) * float(gains.mean()) - square

    def below(direction: np.ndarray) -> float:
        return -over(direction, most)

    assert over(np.ones(most), most) == pytest.approx(0.0, abs=1e-9)
    for many in range(1, 11):
        assert all(over(np.full(many, t), most) <= 1e-9 for t in np.linspace(0.01, 3, 60))
    rng = np.random.default_rng(35)
    for d in (2, 3, 4, 6):
        for start in rng.normal(size=(4, d)):
            found = fmin(below, start, disp=False)
            assert over(np.asarray(found), most) <= 1e-9
    other = most + 1
    assert max(over(np.full(most, t), other) for t in np.linspace(0.3, 3, 60)) > 0.01


def kept(m: int, epsilon: float) -> float:
    """The chance that one coin keeps the answers to m items."""
    return math.expm1(epsilon) / (math.exp(epsilon) + 2.0**m - 1)


def channel_within(epsilon: float, ratios: np.ndarray) -> np.ndarray:
    """The laws of three messages under no and yes, of which no ratio is above e^epsilon."""
    logs = epsilon * (2 * ratios - 1)
    logs[:2] = -abs(logs[0]) - 0.01, abs(logs[1]) + 0.01
    logs = np.clip(logs, -epsilon, epsilon)
    likelihood = np.exp(logs)
    # Chances under no for which the chances under yes add up to 1 too.
    low, high = likelihood[0], likelihood[1]
    third = 0.2
    rest = 1 - third * likelihood[2] - (1 - third) * low
    weight = rest / (high - low)
    if not 0 < weight < 1 - third:
        third, weight = 0.0, (1 - low) / (high - low)
    no = np.array([1 - third - weight, weight, third])
    return np.array([no, no * likelihood])


def best_variance(channel: np.ndarray) -> float:
    """The least variance at (no, yes) of an estimate that is unbiased at every pair of answers."""
    answers = list(itertools.product((0, 1), repeat=2))
    laws = np.array([np.outer(channel[a], channel[b]).ravel() for a, b in answers])
    kept = laws.sum(axis=0) > 0
    laws = laws[:, kept]
    base = laws[answers.index((0, 1))]
    # Minimise sum base T^2 where sum law T = a + b: T = sum of multiples of law / base.
    gram = (laws / base) @ laws.T
    wanted = np.array([float(sum(pair)) for pair in answers])
    return float(wanted @ np.linalg.solve(gram, wanted) - 1.0)
