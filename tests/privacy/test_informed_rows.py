"""The quick sums of the view "everything" are the plain ones; guarantees keep their digits."""

import math
from fractions import Fraction

import numpy as np
import pytest

from jrr import DRR
from jrr.privacy.binomial import FAINT, ULP, Floats, binomial
from jrr.privacy.informed.evidence import Cards, of_two_groups
from jrr.privacy.informed.sums import (
    BLOCK,
    Reporters,
    fewer_marked,
    hypergeometric,
    mixtures_of,
    ones_of,
)

HEARD = 1e-26  # entries below are dropped by one way and perhaps not by the other


def spread_out(start: int, law: Floats, length: int) -> Floats:
    found = np.zeros(length)
    found[start : start + len(law)] = law
    return found


def plain_mixture(group: Reporters, others: int, held: int) -> Floats:
    """A convolution for every number of plus cards in the group."""
    deal = hypergeometric(others, held, group.size)
    mixed = np.zeros(group.size + 1)
    for number, chance in enumerate(deal.law, deal.start):
        mixed += chance * spread_out(*ones_of(group, number), group.size + 1)
    return mixed


def plain_table(cards: Cards, first: Reporters, second: Reporters, held: int) -> Floats:
    """The same with a second group beside it."""
    others = cards.total - 1
    deal = hypergeometric(others, held, first.size)
    table = np.zeros((first.size + 1, second.size + 1))
    for number, chance in enumerate(deal.law, deal.start):
        mine = spread_out(*ones_of(first, number), first.size + 1)
        left = hypergeometric(others - first.size, held - number, second.size)
        theirs = np.zeros(second.size + 1)
        for many, share in enumerate(left.law, left.start):
            theirs += share * spread_out(*ones_of(second, many), second.size + 1)
        table += chance * mine[:, None] * theirs
    return table


def alike(found: Floats, expected: Floats) -> None:
    loud = (expected > HEARD) | (found > HEARD)
    assert loud.any()
    assert found[loud] == pytest.approx(expected[loud], rel=1e-10)
    assert float(found.sum()) == pytest.approx(1.0, rel=1e-12)


RATES = [
    (Fraction(9, 10), Fraction(1, 10)),
    (Fraction(1, 10), Fraction(9, 10)),  # the kinds change their names
    (Fraction(1, 3), Fraction(1, 3)),
    (Fraction(1), Fraction(1, 7)),
    (Fraction(2, 7), Fraction(0)),
    (Fraction(1), Fraction(0)),
    (Fraction(1), Fraction(1)),
    (1 - Fraction(1, 2**60), Fraction(1, 2**60)),  # laws so narrow that neighbours lie far apart
]


@pytest.mark.parametrize("size", [1, 2, 7, 130, 400])
@pytest.mark.parametrize("rates", RATES)
def test_two_coins_are_one(size: int, rates: tuple[Fraction, Fraction]) -> None:
    group, others = Reporters(size, *rates), 2 * size + 3
    helds = (0, 1, others // 3, others // 2, others)
    deals = [hypergeometric(others, held, size) for held in helds]
    found = mixtures_of(group, deals)
    for law, held in zip(found.laws, helds, strict=True):
        alike(spread_out(found.start, law, size + 1), plain_mixture(group, others, held))


@pytest.mark.parametrize(("size", "others", "held"), [(9, 20, 7), (30, 64, 31), (60, 70, 35)])
@pytest.mark.parametrize("rates", RATES[:5])
def test_two_coins_beside_exact_fractions(
    size: int, others: int, held: int, rates: tuple[Fraction, Fraction]
) -> None:
    """Every chance is right to the relative error that the view "everything" counts with."""

    def coin(trials: int, chance: Fraction) -> list[Fraction]:
        return [
            math.comb(trials, v) * chance**v * (1 - chance) ** (trials - v)
            for v in range(trials + 1)
        ]

    exact = [Fraction(0)] * (size + 1)
    for number in range(max(0, size - (others - held)), min(size, held) + 1):
        ways = math.comb(held, number) * math.comb(others - held, size - number)
        for a, first in enumerate(coin(number, rates[0])):
            for b, second in enumerate(coin(size - number, rates[1])):
                exact[a + b] += Fraction(ways, math.comb(others, size)) * first * second
    deal = hypergeometric(others, held, size)
    start, laws, terms = mixtures_of(Reporters(size, *rates), [deal])
    error = (32 * terms + 1024) * ULP
    for value, chance in enumerate(exact):
        found = laws[0][value - start] if start <= value < start + laws.shape[1] else 0.0
        faint = 128 * terms * FAINT
        assert abs(float(Fraction(found) - chance)) <= error * float(chance) + faint


@pytest.mark.slow_variants("700]")
@pytest.mark.parametrize("total", [3, 40, 700])
def test_neighbouring_decks_follow_from_one(total: int) -> None:
    for marked in {0, 1, total // 3, total // 2, total - 1, total}:
        for drawn in {0, 1, total // 5, total // 2, total - 1, total}:
            count = min(marked + 1, BLOCK)
            start, laws = fewer_marked(total, marked, count, drawn)
            assert len(laws) == count
            for less, law in enumerate(laws):
                plain = spread_out(*hypergeometric(total, marked - less, drawn), total + 1)
                alike(spread_out(start, law, total + 1), plain)


@pytest.mark.parametrize(("total", "plus"), [(9, 4), (60, 30), (301, 100), (600, 599)])
def test_two_groups_beside_the_plain_sum(total: int, plus: int) -> None:
    cards, third = Cards(total, plus), (total - 1) // 3
    first = Reporters(third, Fraction(4, 5), Fraction(1, 5))
    for size in (third, total - 1 - third):  # with and without others who say nothing
        second = Reporters(size, Fraction(3, 10), Fraction(1, 10))
        seen = of_two_groups(cards, first, second)
        for kind, held, chance in cards.kinds:
            plain = (chance * plain_table(cards, first, second, held)).ravel()
            mine = seen.plus if kind else seen.minus
            assert float(mine.sum()) == pytest.approx(float(plain.sum()), rel=1e-10)
            assert np.sort(mine)[-50:] == pytest.approx(np.sort(plain)[-50:], rel=1e-10)


def test_a_law_whose_neighbours_underflow() -> None:
    """Nearly certain coins: the law of 300 trials says nothing of that of 200."""
    sure = 1 - Fraction(1, 2**62)
    deal = hypergeometric(1_000, 500, 400)
    found = mixtures_of(Reporters(400, sure, Fraction(0)), [deal])
    plain = np.zeros(401)
    for number, chance in enumerate(deal.law, deal.start):
        plain += chance * spread_out(*binomial(number, sure), 401)
    alike(spread_out(found.start, found.laws[0], 401), plain)


# ε at δ = 1e-4, 1e-6 and 1e-9 by the plain sums, before there were quick ones.
PLAIN = {
    (201, 0.5, 0.1, 2, 5): (1.173591135978699, 1.2148191375732424, 1.2641605777740479),
    (400, 0.3, 0.1, 2, 0): (0.6596956181526185, 0.6919946522712705, 0.7304646110534669),
    (1200, 0.4, 0.2, 2, 5): (0.8588087620735169, 0.8686725049018861, 0.8791222367286684),
    (1201, 0.05, 0.02, 2, 3): (0.1155459085702896, 0.1351160646677017, 0.16113251554965968),
    (3000, 0.6, 0.05, 2, 5): (1.39953813457489, 1.4105283575057983, 1.4223220376968384),
    (10_000, 0.5, 0.1, 2, 5): (1.103280239105225, 1.1086838274002075, 1.1141595106124877),
    (20_000, 0.5, 0.1, 2, 5): (1.1019925203323364, 1.106388451576233, 1.1107495861053471),
    (100_000, 0.3, 0.3, 2, 5): (0.6191103019714357, 0.6201120300292969, 0.620951937198639),
    (50_000, 0.9, 0.02, 2, 2): (2.9451916389465334, 2.9468497276306156, 2.9483918457031253),
    (60_000, 0.01, 0.005, 2, 5): (0.020063393890857695, 0.021422928974032397, 0.0226825458407402),
    (30_000, 0.999, 0.0005, 2, 2): (7.60033596420288, 7.600515506744384, 7.600620933532714),
    (30_000, 0.3, 0.0, 2, 2): (0.6248269805908204, 0.6316515288352968, 0.6386436429023743),
    (2000, 0.3, 0.3, 5, 5): (1.16613636302948, 1.1820317249298098, 1.198268538475037),
    (20_000, 0.3, 0.3, 4, 2): (1.0014432134628295, 1.0061932115554808, 1.0107320842742924),
}


@pytest.mark.slow_variants(*(f"case{number}]" for number in (1, 3, 4, 5, 6, 8, 9, 11, 13)))
@pytest.mark.parametrize("case", PLAIN)
def test_guarantees_keep_their_digits(case: tuple[int, float, float, int, int]) -> None:
    """An ε is found to a relative 1e-9 of its upper side: two neighbours of that grid at most."""
    n, truth, own, k, colluders = case
    losses = DRR(n, truth=truth, own=own, k=k).losses(colluders)
    assert losses is not None
    found = [losses.epsilon(delta) for delta in (1e-4, 1e-6, 1e-9)]
    assert found == pytest.approx(PLAIN[case], rel=2e-9)
