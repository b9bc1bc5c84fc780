"""Variances behind masks: the stated ones, those of enumerated coins, and those of surveys drawn.

Estimates are those of the answers to one item, from what reports add up to less what the dealer
announced.
"""

import itertools
import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

import jrr
from jrr.mechanisms.coins.interface import Coin
from jrr.mechanisms.masked_deck import discrete_laplace
from tests.mechanisms.test_coins import law_of
from tests.privacy.test_windows import channel

COINS: list[Coin] = [jrr.Choice(2), jrr.Choice(5), jrr.Bits(6), jrr.Subset(7, 2), jrr.Subset(9, 4)]
COINS += [jrr.Window(1, 2), jrr.Window(5, 3), jrr.Window(12, 4)]
COINS += [jrr.Block(sizes) for sizes in ((2, 2), (2, 2, 2, 2), (2, 3), (3, 3), (2, 2, 4))]
PEOPLE, SURVEYS = 40, 20_000
CLOSE = 0.05  # five standard errors of a variance from that many surveys


class Answer(NamedTuple):
    """One answer to one item."""

    part: jrr.MRR  # the item by itself
    support: int  # its place in what the coin's sums support
    value: int


def answers(m: jrr.MRR) -> Iterator[Answer]:
    if not isinstance(m.coin, jrr.Block):
        yield from (Answer(m, value, value) for value in range(m.k))
        return
    at = itertools.count()
    for item, size in enumerate(m.coin.sizes):
        yield from (Answer(m.item(item), next(at), value) for value in range(size))


def made(coin: Coin, own: float, n: int = PEOPLE) -> jrr.MRR:
    return jrr.MRR(n, own=own, card_rate=0.2, announced_rate=0.7, coin=coin)


def some_people(coin: Coin) -> NDArray[np.int64]:
    """The value of each of them, of a window its two ends; common and rare ones."""
    return np.sort(np.arange(PEOPLE) ** 2 // 7 % coin.k)


def of_item(m: jrr.MRR, place: int, values: NDArray[np.int64]) -> NDArray[np.int64]:
    """How many give each answer to the item of this place."""
    if not isinstance(m.coin, jrr.Block):
        return np.bincount(values, minlength=m.k)
    combinations = np.array(list(itertools.product(*map(range, m.coin.sizes))))
    item = next(j for j, end in enumerate(np.cumsum(m.coin.sizes)) if place < end)
    return np.bincount(combinations[values, item], minlength=m.coin.sizes[item])


def coin_variance(m: jrr.MRR, place: int, values: NDArray[np.int64]) -> float:
    """Of what all people's coins add to a support, from the coin's definition."""
    coin = m.coin
    if isinstance(coin, jrr.Window):
        law = channel(coin.steps, coin.width, m.lie_words)[[0, coin.steps]]
        numbers, chances = np.arange(coin.largest + 1)[:, None], law
    else:
        laws = law_of(coin, m.lie_words)
        numbers = np.array(list(laws[0]))
        chances = np.array([list(one.values()) for one in laws])
    marks = coin.support(numbers, 1)[:, place]
    spread = chances @ marks**2 - (chances @ marks) ** 2
    return float(spread[values].sum())


def noise_variance(rate: float) -> float:
    return 2 * math.exp(-rate) / (1 - math.exp(-rate)) ** 2


@pytest.mark.parametrize("own", [0.4, 1.0, 3.0])
@pytest.mark.parametrize("coin", COINS, ids=str)
def test_stated_variances_are_those_of_enumerated_coins(coin: Coin, own: float) -> None:
    m, values = made(coin, own), some_people(coin)
    for part, place, value in answers(m):
        told = coin_variance(m, place, values) + noise_variance(m.announced_rate)
        gain = float(part.moments.gain[0])
        stated = part.variance(of_item(m, place, values))
        assert np.broadcast_to(stated, part.k)[value] == pytest.approx(told / gain**2, rel=1e-9)


@pytest.mark.statistical
@pytest.mark.slow_variants("*-0.4", "*-1.0", "*Subset(k=9*", "*, 2, 2))*", "*(3, 3)*", "*(12, 4)*")
@pytest.mark.parametrize("own", [0.4, 1.0, 3.0])
@pytest.mark.parametrize("coin", COINS, ids=str)
def test_stated_variances_are_those_of_surveys(coin: Coin, own: float) -> None:
    everybody, values, rng = (
        made(coin, own, PEOPLE * SURVEYS),
        some_people(coin),
        jrr.SeededRandom(6),
    )
    cards, held = everybody.deal(rng), np.tile(values, SURVEYS)
    if isinstance(coin, jrr.Block):
        combinations = np.array(list(itertools.product(*map(range, coin.sizes))))
        held = combinations[held]
    sums = surveys(everybody.respond(held, cards, rng)) - surveys(cards)
    noise = discrete_laplace(everybody.announced_rate, sums.size, rng).reshape(sums.shape)
    support = coin.support(sums - noise, PEOPLE)
    m, wrong = made(coin, own), 0
    for part, place, value in answers(m):
        found = part.moments.estimate(support[:, place].astype(np.float64), PEOPLE)
        counts = of_item(m, place, values)
        stated = float(np.broadcast_to(part.variance(counts), part.k)[value])
        assert abs(found.mean() - counts[value]) < 5 * math.sqrt(stated / SURVEYS)
        assert found.var() == pytest.approx(stated, rel=CLOSE)
        wrong += found.var() == pytest.approx(1.3 * stated, rel=CLOSE)
    assert wrong == 0  # a variance that is off by 30% is noticed, everywhere


def surveys(numbers: Any) -> NDArray[np.int64]:
    """What the numbers of each survey's people add up to, a row for each survey."""
    by_person = np.asarray(numbers, np.int64).reshape(SURVEYS, PEOPLE, -1)
    added: NDArray[np.int64] = by_person.sum(axis=1)
    return added
