"""What a number loses that is told by a window of numbers (docs/theory.md, section on numbers).

The coin says one of 0..steps+width-1, each number of the window x..x+width-1 with the same chance
p, each other one with the smaller chance q. Behind masks somebody sees each number u with a weight
w(u) of which no two neighbours differ by a factor above e^c. The worst such weights have one peak,
e^(-c |u - m|), and are met: where report and sum of masks meet at m (Theorem 33).
"""

import math
from decimal import Context, Decimal
from fractions import Fraction
from itertools import accumulate
from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from jrr._base.exact import SCALE, log_ratio_up

_CONTEXT = Context(prec=60, Emax=999_999, Emin=-999_999)
_DIGITS = 1 << 80  # of the upper bound of e^c
_STEEP = 50.0  # a rate of masks beyond which they hide nothing that counts


class WindowWords(NamedTuple):
    """Random words, of 2**63, that say single numbers."""

    other: int  # each number that is not of the window
    told: int  # each of the window but the last
    last: int  # the last of the window, which has what is left: hardly less

    @classmethod
    def of(cls, steps: int, width: int, lies: int) -> "WindowWords":
        """Where so many words, a multiple of steps, say a number that is not of the window."""
        told = -(-(SCALE - lies) // width)
        return cls(lies // steps, told, SCALE - lies - (width - 1) * told)


def window_loss(steps: int, width: int, lies: int) -> float:
    """ε of the bare coin, rounded up; `lies`: words for numbers that are not of the window."""
    words = WindowWords.of(steps, width, lies)
    return log_ratio_up(words.told, min(words.other, words.last))


def masked_window(steps: int, width: int, lies: int, step: Fraction) -> float:
    """ε behind masks, by which what is seen is at most e^step times as likely a step further.

    Args:
        steps: whole numbers 0..steps are told.
        width: numbers of the window.
        lies: words for numbers that are not of it.
        step: c.

    Returns:
        ε, rounded up.
    """
    bare = window_loss(steps, width, lies)
    if step > _STEEP:
        return bare
    words = WindowWords.of(steps, width, lies)
    last = steps + width - 1
    exponent = _CONTEXT.divide(Decimal(step.numerator), Decimal(step.denominator))
    above = math.floor(Fraction(_CONTEXT.exp(exponent)) * _DIGITS) + 1
    # Whole numbers in the proportions of e^(-c d), and their sums up to a distance d.
    weights: list[int] = [above ** (last - d) * _DIGITS**d for d in range(last + 1)]
    sums = [0, *accumulate(weights)]

    def weight(low: int, high: int, peak: int) -> int:
        """Of the numbers low..high, the peak being no further than half way up."""
        if peak < low:
            return sums[high - peak + 1] - sums[low - peak]
        if peak > high:
            return sums[peak - low + 1] - sums[peak - high]
        return sums[peak - low + 1] + sums[high - peak + 1] - weights[0]

    worst = 1, 1
    for peak in range(last // 2 + 1):  # the other half is its mirror image
        everything = words.other * weight(0, last, peak)
        windows = [weight(x, x + width - 1, peak) for x in range(steps + 1)]
        most = everything + (words.told - words.other) * max(windows)
        least = everything + (words.last - words.other) * min(windows)
        if most * worst[1] > least * worst[0]:
            worst = most, least
    return min(log_ratio_up(*worst), bare)


def window_chances(steps: int, width: int, epsilon: float) -> tuple[float, float]:
    """Of each number of the window and of each other one, as a loss ε allows; in floats."""
    truth = 1 / (width + steps * math.exp(-epsilon))
    return truth, truth * math.exp(-epsilon)


def window_step(steps: int, width: int, epsilon: float, own: float) -> float:
    """The c at which a coin of loss `own` has loss ε behind masks; in floats.

    Infinite where the coin loses no more than ε anyway.
    """
    if own <= epsilon:
        return math.inf
    p, q = window_chances(steps, width, own)

    def excess(log_step: float) -> float:
        return _float_loss(steps, width, p, q, math.exp(log_step)) - epsilon

    if excess(math.log(_STEEP)) <= 0:
        return math.inf
    # Two numbers are `steps` steps apart at most: c is at least ε/steps.
    found = scipy.optimize.brentq(
        excess, math.log(epsilon / steps / 2), math.log(_STEEP), xtol=1e-13
    )
    return math.exp(float(found))


def _float_loss(steps: int, width: int, p: float, q: float, step: float) -> float:
    last = steps + width - 1
    peaks = np.arange(last // 2 + 1)
    weights: NDArray[np.float64] = np.exp(-step * np.abs(peaks[:, None] - np.arange(last + 1)))
    sums = np.cumsum(np.pad(weights, ((0, 0), (1, 0))), axis=1)
    windows = sums[:, width:] - sums[:, :-width]
    everything = q * sums[:, -1]
    ratio = (everything + (p - q) * windows.max(axis=1)) / (
        everything + (p - q) * windows.min(axis=1)
    )
    return math.log(float(ratio.max()))
