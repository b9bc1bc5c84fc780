"""Why coins are fresh in every wave: what one that is remembered would show, by enumeration.

A coin that is tossed once for each question and answer (memoised, or permanent, responses) keeps
dealers and collector from averaging coins out over waves. But the same coin's answer twice means
that the answer did not change.
"""

import itertools
import math
from typing import Any

import numpy as np
import pytest

from jrr import MRR

REACH = 60
HISTORIES = tuple(itertools.product((0, 1), repeat=2))


def coin(own: float) -> Any:
    """Answer -> chances of the coin's answers."""
    truth = math.exp(own) / (1 + math.exp(own))
    return np.array([[truth, 1 - truth], [1 - truth, truth]])


def laws(own: float, rate: float, remembered: bool) -> list[Any]:
    """The law of two waves' reports, behind independent cards, for every pair of answers."""
    card = np.exp(-rate * np.abs(np.arange(-REACH, REACH + 1)))
    shifted = np.stack([card[1:], card[:-1]])  # where the coin says 0, and 1
    chances = coin(own)
    found = []
    for first, second in HISTORIES:
        if remembered and first == second:
            law = sum(chances[first, c] * np.outer(shifted[c], shifted[c]) for c in (0, 1))
        else:
            law = np.outer(chances[first] @ shifted, chances[second] @ shifted)
        found.append(law)
    return found


def worst(found: list[Any]) -> float:
    """The largest loss; unbounded where what one history may show another cannot."""
    losses = []
    for one, other in itertools.permutations(found, 2):
        possible = one > 0
        if np.any(other[possible] == 0):
            return math.inf
        losses.append(float(np.max(np.log(one[possible] / other[possible]))))
    return max(losses)


@pytest.mark.parametrize(("epsilon", "own"), [(0.05, 0.15), (1.0, 3.0)])
def test_fresh_coins_cost_twice_one_wave(epsilon: float, own: float) -> None:
    mechanism = MRR.for_epsilon(epsilon, n=1_000, dealer_epsilon=own, announced=True)
    found = worst(laws(mechanism.own, float(mechanism.step), remembered=False))
    assert found == pytest.approx(2 * mechanism.epsilon("everything"), rel=1e-9)


def test_a_remembered_coin_costs_more_where_the_coin_protects_most() -> None:
    """As for an item of a long questionnaire: 1.68 times what fresh coins cost."""
    mechanism = MRR.for_epsilon(0.05, n=1_000, dealer_epsilon=0.15, announced=True)
    found = worst(laws(mechanism.own, float(mechanism.step), remembered=True))
    assert found / (2 * mechanism.epsilon("everything")) == pytest.approx(1.68, abs=0.01)


def test_to_who_knows_the_cards_it_shows_for_sure_that_an_answer_changed() -> None:
    """Dealers and collector together: a loss without bound, where fresh coins cost 2 own."""
    chances = coin(3.0)
    fresh = [np.outer(chances[first], chances[second]) for first, second in HISTORIES]
    assert worst(fresh) == pytest.approx(6.0)
    remembered = [
        np.diag(chances[first]) if first == second else np.outer(chances[first], chances[second])
        for first, second in HISTORIES
    ]
    assert worst(remembered) == math.inf
