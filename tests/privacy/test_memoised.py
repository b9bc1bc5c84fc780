"""Coins that are remembered from wave to wave: the exact loss, against laws of whole reports."""

import itertools
import math

import numpy as np
import pytest

from jrr import MRR
from jrr.privacy.memoised import MOST_WAVES, remembered_loss

REACH = 60


def enumerated(own: float, rate: float) -> float:
    """Two waves by the law of every pair of reports: coin's answer plus a discrete Laplace card."""
    truth = math.exp(own) / (1 + math.exp(own))
    places = np.arange(-REACH, REACH + 1)
    card = np.exp(-rate * np.abs(places))
    shifted = np.stack([card[1:], card[:-1]])  # the report's law where the coin says 0, and 1
    chances = np.array([[truth, 1 - truth], [1 - truth, truth]])
    laws = []
    for first, second in itertools.product((0, 1), repeat=2):
        if first == second:  # one coin, two cards
            law = sum(
                chances[first, coin] * np.outer(shifted[coin], shifted[coin]) for coin in (0, 1)
            )
        else:
            law = np.outer(chances[first] @ shifted, chances[second] @ shifted)
        laws.append(law)
    return max(float(np.max(np.log(one / other))) for one, other in itertools.permutations(laws, 2))


@pytest.mark.parametrize(("own", "rate"), [(0.15, 0.69), (1.0, 0.3), (3.0, 1.13), (2.5, 0.05)])
def test_two_waves_are_what_enumeration_finds(own: float, rate: float) -> None:
    assert remembered_loss(own, rate, 2) == pytest.approx(enumerated(own, rate), rel=1e-9)


def test_one_wave_is_the_mechanisms_own_loss() -> None:
    mechanism = MRR.for_epsilon(1_000, 1.0, announced=True)
    found = remembered_loss(mechanism.own, float(mechanism.step), 1)
    assert found == pytest.approx(mechanism.epsilon("everything"), rel=1e-9)


def test_an_answer_that_changed_shows_where_the_coin_protects_most() -> None:
    """A small budget of its own: two waves cost more than twice one, so coins must be fresh."""
    mechanism = MRR.for_epsilon(1_000, 0.05, own=0.15, announced=True)
    once = mechanism.epsilon("everything")
    assert remembered_loss(mechanism.own, float(mechanism.step), 2) > 1.5 * 2 * once


def test_waves_that_are_too_many_to_try_have_no_bound() -> None:
    assert remembered_loss(3.0, 1.0, MOST_WAVES + 1) == math.inf
