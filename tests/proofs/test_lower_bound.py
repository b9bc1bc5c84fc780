"""The lower bound of docs/theory.md, Theorem 35, and how near masks come to it (Theorem 36)."""

import itertools
import math

import numpy as np
import pytest

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
