"""What a window of numbers loses behind masks, enumerated without the library."""

import itertools
import math
from decimal import Context, Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import jrr
from jrr._base.exact import SCALE
from jrr.privacy.windows import (
    WindowWords,
    masked_window,
    window_chances,
    window_loss,
    window_step,
)

Array = NDArray[np.float64]
SHAPES = list(itertools.product(range(1, 7), range(1, 7)))  # steps, width
RATES = [(0.8, 0.3, 0.2), (2.5, 0.05, 0.4), (3.0, 1.0, 0.7)]  # own, card, closing


def words_of_lies(steps: int, width: int, own: float) -> int:
    return int(steps / (steps + width * math.exp(own)) * SCALE) // steps * steps


def channel(steps: int, width: int, lies: int) -> Array:
    """P(u | x), a row for each x."""
    law = np.full((steps + 1, steps + width), lies / steps / SCALE)
    for x in range(steps + 1):
        law[x, x : x + width] = (SCALE - lies) / width / SCALE
    return law


def loss_with(law: Array, weights: Array) -> float:
    """The largest |ln| of what is seen under two numbers; a column of weights for every sight."""
    seen = law @ weights
    return float(np.log(seen.max(axis=0) / seen.min(axis=0)).max())


def by_slopes(law: Array, c: float) -> float:
    """Every pattern of slopes, up or down: the edges of what weights there are."""
    steps = np.array(list(itertools.product((-c, c), repeat=law.shape[1] - 1)))
    weights = np.exp(np.pad(np.cumsum(steps, axis=1), ((0, 0), (1, 0))))
    return loss_with(law, weights.T)


def gain(law: Array, ratio: float, c: float) -> float:
    """The largest Σ (P(u|x) - ratio P(u|x')) w(u), w(0) = 1, from the last number backwards."""
    best = -math.inf
    for x, other in itertools.permutations(range(len(law)), 2):
        value = 0.0
        for one in (law[x] - ratio * law[other])[::-1]:
            value = one + math.exp(c if value > 0 else -c) * value
        best = max(best, value)
    return best


@pytest.mark.slow_variants("0.8", "3.0")
@pytest.mark.parametrize(("steps", "width"), SHAPES)
@pytest.mark.parametrize(("own", "card", "closing"), RATES)
def test_the_peak_is_the_worst_of_all_weights(
    steps: int, width: int, own: float, card: float, closing: float
) -> None:
    lies = words_of_lies(steps, width, own)
    law, c = channel(steps, width, lies), card + closing
    assert np.allclose(law.sum(axis=1), 1)
    stated = masked_window(steps, width, lies, Fraction(card) + Fraction(closing))
    assert by_slopes(law, c) == pytest.approx(stated, rel=1e-12)
    # At the stated ratio nothing can be gained any more, just below it something can.
    assert gain(law, math.exp(stated + 1e-9), c) < 0 < gain(law, math.exp(stated - 1e-9), c)
    assert stated < window_loss(steps, width, lies)
    assert window_step(steps, width, stated, window_loss(steps, width, lies)) == pytest.approx(
        c, rel=1e-6
    )


REACH = 40


def fall(rate: float, numbers: Any) -> Array:
    return np.asarray(np.exp(-rate * np.abs(numbers)))


def announced_law(law: Array, card: float, closing: float, others: int, known: bool) -> float:
    """The worst over the target's report and the announced sum less what others brought in.

    Others' answers are known. Of others whose cards are not known the reports are: what their
    coins said blurs the sum, beside the noise of the closing.
    """
    u = np.arange(law.shape[1])
    reports = np.arange(-3, law.shape[1] + 3)
    sums = np.arange(-REACH, REACH + 1)  # announced sum less others' reports, or their cards
    noise = fall(closing, np.arange(-4 * REACH, 4 * REACH + 1))
    if not known:
        for _ in range(others):  # S - Σ r_other = z - Σ u_other + noise: one who tells 0
            noise = np.convolve(noise, law[0][::-1])
    middle = 4 * REACH + (0 if known else others * (law.shape[1] - 1))
    worst = 0.0
    for report in reports:
        z = report - u
        weights = fall(card, z)[:, None] * noise[middle + sums[None, :] - z[:, None]]
        worst = max(worst, loss_with(law, weights))
    return worst


def closed_law(law: Array, card: float, closing: float, others: int, known: bool) -> float:
    """The same for a closed deck; known: the other cards."""
    u = np.arange(law.shape[1])
    rest = np.arange(-REACH, REACH + 1)
    tied = fall(closing, np.arange(-6 * REACH, 6 * REACH + 1))
    worst = 0.0
    for report in range(-3, law.shape[1] + 3):
        z = report - u
        if known:  # what others' cards add up to
            weights = fall(card, z)[:, None] * tied[6 * REACH + z[:, None] + rest[None, :]]
            worst = max(worst, loss_with(law, weights))
            continue
        # Their reports are known: each card is report less coin, a sum over all coins.
        for told in itertools.product(range(-2, law.shape[1] + 2, 2), repeat=others):
            weights = np.zeros((len(u), 1))
            for coins in itertools.product(u, repeat=others):
                cards = np.subtract(told, coins)
                chance = math.prod(law[0][coin] for coin in coins)
                weight = chance * fall(card, cards).prod()
                weights[:, 0] += weight * fall(card, z) * fall(closing, z + cards.sum())
            worst = max(worst, loss_with(law, weights))
    return worst


@pytest.mark.slow_variants("0.8", "3.0")
@pytest.mark.parametrize(("steps", "width"), SHAPES)
@pytest.mark.parametrize(("own", "card", "closing"), RATES)
def test_the_loss_is_met_by_what_is_seen_and_a_larger_rate_is_noticed(
    steps: int, width: int, own: float, card: float, closing: float
) -> None:
    """Two and three people: reports, announced sums or closed decks, known cards."""
    lies = words_of_lies(steps, width, own)
    law = channel(steps, width, lies)
    stated = masked_window(steps, width, lies, Fraction(card) + Fraction(closing))
    for law_of in (announced_law, closed_law):
        worst = law_of(law, card, closing, 1, known=True)
        assert worst == pytest.approx(stated, rel=1e-9)
        assert law_of(law, 1.05 * card, 1.05 * closing, 1, known=True) > stated * (1 + 1e-6)
    for others in (1, 2):
        assert announced_law(law, card, closing, others, known=False) <= stated * (1 + 1e-9)
    for others in (1, 2) if steps + width <= 5 else (1,):
        assert closed_law(law, card, closing, others, known=False) <= stated * (1 + 1e-9)


@pytest.mark.parametrize(("steps", "width"), [(1, 1), (2, 3), (3, 2), (12, 5), (24, 7), (64, 31)])
def test_words_add_up_and_losses_are_rounded_up(steps: int, width: int) -> None:
    """Exactly, in whole numbers of words: no ratio of chances is above what is stated."""
    for own in (0.01, 0.7, 3.0, 12.0):
        lies = words_of_lies(steps, width, own)
        words = WindowWords.of(steps, width, lies)
        assert words.other * steps + words.told * (width - 1) + words.last == SCALE
        assert words.told - width < words.last <= words.told
        bare = Decimal(window_loss(steps, width, lies)).exp(Context(prec=40))
        assert Fraction(bare) >= Fraction(words.told, words.other)
        p, q = window_chances(steps, width, own)
        assert words.told / SCALE == pytest.approx(p, rel=1e-12)
        assert words.other / SCALE == pytest.approx(q, rel=1e-12)
        most = masked_window(steps, width, lies, Fraction(10**4))  # masks that hide nothing
        assert most == window_loss(steps, width, lies)
    assert window_step(steps, width, 1.0, 1.0) == math.inf


def test_a_coin_that_never_lies_loses_what_masks_do() -> None:
    """A window of one number that is always told: steps times c, and bare everything."""
    assert masked_window(3, 1, 0, Fraction(1, 2)) == pytest.approx(1.5)
    assert window_loss(3, 1, 0) == math.inf
    m = jrr.MRR(4, p=1.0, card_rate=0.2, total_rate=0.3, coin=jrr.Window(3, 1))
    assert m.epsilon("everything") == pytest.approx(1.5)
    question = jrr.Numbers(0, 3, m)
    low, high = question.estimate(question.respond([0, 1, 2, 3], [0, 0, 0, 0])).interval()
    assert low < 1.5 < high


def test_yes_or_no_is_a_window_of_one() -> None:
    lies = words_of_lies(1, 1, 3.0)
    both = math.tanh(1.5) * math.tanh(0.25)
    assert masked_window(1, 1, lies, Fraction(1, 2)) == pytest.approx(2 * math.atanh(both))
