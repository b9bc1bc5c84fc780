"""Coins behind masks by the book: the law of all reports and sums of two or three people.

Nothing of the library's losses is used: what coins say is enumerated, and the cards that they leave
have their weight. One number's reports, cards and sum depend on that number of each coin alone, so
for each of them a small table of weights by what the coins said is all that there is. Windows say
numbers above 1 and are enumerated in tests/privacy/test_windows.py.
"""

import itertools
import math
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray

import jrr
from jrr.mechanisms.coins.interface import Coin
from tests.mechanisms.test_coins import law_of

CARD, CLOSING = 0.4, 0.9  # rates
MOST_SEEN = 4_000_000  # combinations of tables that are looked at
Array = NDArray[np.float64]


@cache
def tables(people: int, *, announced: bool) -> Array:
    """The weights of all that is seen of one number, an axis for what each person's coin said.

    Beyond these reports and sums a table is one of these times a factor.
    """
    found: dict[tuple[float, ...], Array] = {}
    sums = range(-people - 3, people + 4) if announced else [0]
    for *reports, told in itertools.product(*([range(-1, 3)] * people), sums):
        table = np.empty((2,) * people)
        for coins in itertools.product((0, 1), repeat=people):
            cards = [report - coin for report, coin in zip(reports, coins, strict=True)]
            total = sum(cards)
            left = abs(told - total) if announced else abs(total)
            table[coins] = math.exp(-CARD * sum(map(abs, cards)) - CLOSING * left)
        table /= table.max()
        found[tuple(table.ravel().round(12))] = table
    return np.array(list(found.values()))


def with_known_cards(coin: Coin, lies: int, people: int, *, announced: bool) -> float:
    """The largest loss of the first person where the others' cards are known.

    Then what their coins said is known too: of each number a slope is left, the logarithm of its
    weight where the first coin says 1 over that where it says 0.
    """
    laws = law_of(coin, lies)
    rows, chances = np.array(list(laws[0])), np.array([list(law.values()) for law in laws])
    each = tables(people, announced=announced)
    by_coin = np.moveaxis(each, 0, -1)  # the table last
    slopes = {
        said: tuple(np.unique(np.log(by_coin[1][said] / by_coin[0][said]).round(12)))
        for said in itertools.product((0, 1), repeat=people - 1)
    }
    others = itertools.product(laws[0], repeat=people - 1)
    sights = {tuple(slopes[said] for said in zip(*rows, strict=True)) for rows in others}
    most = 0.0
    for sight in sights:
        every = np.array(list(itertools.product(*sight)))
        seen = np.exp(every @ rows.T) @ chances.T  # row: what is seen, column: the true value
        most = max(most, float(np.log(seen.max(axis=1) / seen.min(axis=1)).max()))
    return most


def with_unknown_cards(coin: Coin, lies: int, people: int, *, announced: bool) -> float:
    """The same where the others' answers are known, and their cards are not.

    Their answers are the first value: coins treat all values alike.
    """
    laws = law_of(coin, lies)
    said = []
    for law in laws:
        table = np.zeros((2,) * coin.numbers)
        for row, chance in law.items():
            table[row] = chance
        said.append(table)
    each = tables(people, announced=announced)
    seen = []
    for mine in said:
        joint = mine
        for _ in range(people - 1):
            joint = np.multiply.outer(joint, said[0])
        # The axes of one number, one for each person, are next to each other.
        order = [p * coin.numbers + j for j in range(coin.numbers) for p in range(people)]
        joint = joint.transpose(order)
        for _ in range(coin.numbers):  # the tables of a number take the place of its coins
            joint = np.tensordot(joint, each, (range(people), range(1, people + 1)))
        seen.append(joint.ravel())
    most, least = np.maximum.reduce(seen), np.minimum.reduce(seen)
    return float(np.log(most / least).max())


COINS: list[Coin] = [jrr.Choice(k) for k in (2, 3, 4, 5)] + [jrr.Bits(k) for k in (3, 4, 5)]
COINS += [jrr.Subset(k, size) for k in range(3, 8) for size in range(1, k)]
SIZES = [(2, 2), (2, 2, 2), (2, 2, 2, 2), (2, 3), (3, 3), (2, 2, 4)]
COINS += [jrr.Block(sizes) for sizes in SIZES]


SIGHTS = list(itertools.product((2, 3), (True, False)))  # people, announced


@pytest.mark.parametrize(("people", "announced"), SIGHTS)
@pytest.mark.parametrize("coin", COINS, ids=str)
def test_no_more_than_stated_and_that_much(coin: Coin, people: int, announced: bool) -> None:
    lies = coin.lie_words(coin.truth_for(3.0))
    stated = coin.masked_loss(lies, Fraction(CARD) + Fraction(CLOSING))
    known = with_known_cards(coin, lies, people, announced=announced)
    assert known == pytest.approx(stated, rel=1e-9)
    # The same test finds rates that are 5% larger than what is accounted for.
    assert known > coin.masked_loss(lies, Fraction((CARD + CLOSING) / 1.05)) * (1 + 1e-3)


def few_enough(coin: Coin, people: int, announced: bool) -> bool:
    return bool(len(tables(people, announced=announced)) ** coin.numbers <= MOST_SEEN)


SEEN = [(coin, *sight) for coin in COINS for sight in SIGHTS if few_enough(coin, *sight)]


@pytest.mark.slow_variants(
    "*k=5*-3",
    "Subset(k=6",
    "Subset(k=7",
    "Block(sizes=(2, 2, 4",
    "Block(sizes=(3, 3",
    "Block(sizes=(2, 2, 2, 2))-3",
    "Choice(k=4)-3",
)
@pytest.mark.parametrize(("coin", "people", "announced"), SEEN, ids=str)
def test_no_more_where_cards_are_not_known(coin: Coin, people: int, announced: bool) -> None:
    lies = coin.lie_words(coin.truth_for(3.0))
    stated = coin.masked_loss(lies, Fraction(CARD) + Fraction(CLOSING))
    unknown = with_unknown_cards(coin, lies, people, announced=announced)
    assert 0.8 * stated < unknown <= stated * (1 + 1e-9)
