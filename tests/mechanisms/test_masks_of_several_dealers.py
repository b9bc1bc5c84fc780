"""Cards of several dealers: pure however the others deal, and clamped no more than those of one."""

import math
from collections import defaultdict
from collections.abc import Callable

import numpy as np
import pytest

import jrr
from jrr.errors import ArgumentError
from jrr.mechanisms.masking import LARGEST_CARD
from tests.mechanisms.test_masked import Given

THREE = jrr.MRR(10, own=3.0, card_rate=0.5, announced_rate=0.9, dealers=3)
Report = Callable[[int, list[int], int], int]


def one_after_another(coin: int, cards: list[int], limit: int) -> int:
    """What a device does."""
    for card in cards:
        coin = min(max(coin + card, -limit), limit + 1)
    return coin


def all_at_once(coin: int, cards: list[int], limit: int) -> int:
    """What it must not do: another dealer's card moves the cut of one into view."""
    return min(max(coin + sum(cards), -limit), limit + 1)


def largest_step(report: Report, honest: int, limit: int, cut: int, a: float, e: float) -> float:
    """By how much the coin changes what is seen: report and noisy sum of the honest dealer.

    The other dealer's card, and so its sum, is known and the worst that there is. Cards are cut
    at ±cut. The noise of the sum is compared place by place, as far as it is a single slope.
    """
    chances = {z: math.tanh(a / 2) * math.exp(-a * abs(z)) for z in range(-cut, cut + 1)}
    beyond = math.tanh(a / 2) * math.exp(-a * (cut + 1)) / (1 - math.exp(-a))
    for end in (-cut, cut):
        chances[end] += beyond
    worst = 1.0
    for other in range(-cut, cut + 1):
        for told in (-3 * cut, 0, 3 * cut):
            seen: dict[int, list[float]] = defaultdict(lambda: [0.0, 0.0])
            for z, chance in chances.items():
                cards = [z, other] if honest == 0 else [other, z]
                for coin in (0, 1):
                    weight = chance * math.exp(-e * abs(told - z))
                    seen[report(coin, cards, limit)][coin] += weight
            for no, yes in seen.values():
                worst = max(worst, yes / no if no else math.inf, no / yes if yes else math.inf)
    return worst


@pytest.mark.parametrize("honest", [0, 1])
@pytest.mark.parametrize(("limit", "cut"), [(2, 5), (2, 9), (3, 7)])
@pytest.mark.parametrize(("a", "e"), [(0.3, 0.4), (1.2, 0.2)])
def test_the_guarantee_is_pure_where_the_clamp_is_half_of_the_cut(
    honest: int, limit: int, cut: int, a: float, e: float
) -> None:
    assert 2 * limit + 1 <= cut
    step = largest_step(one_after_another, honest, limit, cut, a, e)
    assert step == pytest.approx(math.exp(a + e))
    # Controls: cards added up first, and a clamp that is wider than half of the cut.
    assert math.isinf(largest_step(all_at_once, honest, limit, cut, a, e))
    if honest == 1:
        assert largest_step(one_after_another, honest, cut, cut, a, e) > math.exp(a + e) * 1.01


def test_devices_clamp_after_every_card() -> None:
    rng = np.random.default_rng(7)
    far = THREE.limit + 5
    rows = [[0, 0, 0], [far, -far, 3], [LARGEST_CARD, -LARGEST_CARD, LARGEST_CARD], [-far, 5]]
    rows += rng.integers(-2 * far, 2 * far, (50, 3)).tolist()
    for row in rows:
        for coin, word in ((0, (1 << 64) - 1), (1, 0)):  # an answer of 0: the truth, and a lie
            expected = one_after_another(coin, row, THREE.limit)
            assert THREE.respond_one(0, row, Given(word)) == expected
    whole = [row for row in rows if len(row) == 3]
    decks = [list(column) for column in zip(*whole, strict=True)]
    reports = THREE.respond([0] * len(whole), decks, jrr.SeededRandom(3))
    for row, report in zip(whole, reports.tolist(), strict=True):
        assert report in {one_after_another(coin, row, THREE.limit) for coin in (0, 1)}
    two = THREE.respond([0] * 10, [[1] * 10, [2] * 10], jrr.SeededRandom(3))  # one is left out
    assert set(two.tolist()) <= {3, 4}


def test_cuts_lie_beyond_the_clamp() -> None:
    """As proofs/running.v asks: B + m of one dealer, 2B + m of several (`test_refusals`)."""
    widest = jrr.Window(64, 128)
    for coin in (widest, jrr.Block((2,) * 10), jrr.Bits(1_000)):
        m = jrr.MRR(10**9, own=3.0, card_rate=0.00125, announced_rate=0.5, coin=coin)
        assert m.limit > 20_000
        assert m.limit + coin.largest <= LARGEST_CARD
    for rate in (0.00125, 0.002, 0.003):
        two = jrr.MRR(2, own=3.0, card_rate=rate, announced_rate=0.5, dealers=2, coin=jrr.Bits(3))
        assert 2 * two.limit + 1 <= LARGEST_CARD


def test_wide_cards_of_several_dealers_do_not_wrap_around() -> None:
    """Below a card rate of about 0.002 the number before a card and the card exceed 16 bits."""
    two = jrr.MRR(2, own=3.0, card_rate=0.00125, announced_rate=0.5, dealers=2)
    assert two.limit + LARGEST_CARD > 2**15
    for row in ([9_000, LARGEST_CARD], [-9_000, -LARGEST_CARD], [two.limit, two.limit]):
        reports = two.respond([0, 1], [[card] * 2 for card in row], jrr.SeededRandom(3))
        assert set(reports.tolist()) <= {one_after_another(x, row, two.limit) for x in (0, 1)}


def beyond(law: np.ndarray, limit: int) -> float:
    """The chance that a sum of cards lies outside ±limit."""
    middle = len(law) // 2
    return float(law[middle + limit + 1 :].sum() + law[: middle - limit].sum())


@pytest.mark.parametrize("a", [0.05, 0.3, 1.0, 3.0])
def test_no_more_is_clamped_than_of_one_dealer(a: float) -> None:
    """By the exact law of the sum after every card, for 2 to 16 dealers."""
    reach = math.ceil((14 + 0.7 * 34 + 4 * 16 + 30) / a)
    numbers = np.arange(-reach, reach + 1)
    one = math.tanh(a / 2) * np.exp(-a * np.abs(numbers))
    laws = [one]
    for _ in range(15):
        whole = np.convolve(laws[-1], one)
        laws.append(whole[reach : len(whole) - reach])
    for n in (10, 10_000, 10**9):
        single = jrr.MRR(n, own=3.0, card_rate=a, announced_rate=0.9)
        chance = beyond(one, single.limit)
        for dealers in range(2, 17):
            limit = jrr.MRR(n, own=3.0, card_rate=a, announced_rate=0.9, dealers=dealers).limit
            clamped = sum(beyond(law, limit) for law in laws[:dealers])
            assert clamped <= chance
            # Control: the clamp of one dealer would be too narrow.
            assert sum(beyond(law, single.limit) for law in laws[:dealers]) > chance


def test_variance_and_documents() -> None:
    alone = jrr.MRR(10, own=3.0, card_rate=0.5, announced_rate=0.9)
    assert "dealers" not in alone.to_dict()
    assert jrr.from_dict(THREE.to_dict()) == THREE == alone.for_dealers(3)
    assert THREE.for_dealers(1) == alone
    noise = 2 * math.exp(-0.9) / (1 - math.exp(-0.9)) ** 2
    gain = float(alone.moments.gain[0])
    more = (THREE.variance([5, 5]) - alone.variance([5, 5])) * gain**2
    assert more == pytest.approx([2 * noise] * 2)
    for view in ("report", "cards", "everything", "dealer"):
        assert THREE.epsilon(view) == alone.epsilon(view)


def test_refusals() -> None:
    with pytest.raises(ArgumentError, match=r"dealers must be a whole number in 1\.\.16"):
        jrr.MRR(10, own=3.0, card_rate=0.5, announced_rate=0.9, dealers=17)
    with pytest.raises(ArgumentError, match="dealers must be 1 for a closed deck"):
        jrr.MRR(10, own=3.0, card_rate=0.5, total_rate=0.9, dealers=2)
    with pytest.raises(ArgumentError, match="card_rate must be larger where 2 dealers deal"):
        jrr.MRR(10**6, own=3.0, card_rate=0.0013, announced_rate=0.9, dealers=2)
    with pytest.raises(ArgumentError, match="dealers must be 1: only cards that are numbers"):
        jrr.RR(p=0.75).for_dealers(2)
    for cards in (5, [], [1, 2, 3, 4]):
        with pytest.raises(ArgumentError, match="a list of what each of the 3 dealers dealt"):
            THREE.respond_one(0, cards)
