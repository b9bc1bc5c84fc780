"""Whole-number noise drawn exactly: geometric numbers, discrete Laplace noise, and chances e^x.

A geometric number is floor(-ln U / rate), U uniform in (0, 1). The first 64 bits of U and floating
point nearly always decide; where they do not, decimals of growing precision and further words do.
So every value has exactly the chance that it should have, also in the far tails, where privacy is
decided, and the same words make the same numbers on every machine.
"""

import math
from collections.abc import Callable
from decimal import Context, Decimal

import numpy as np
from numpy.typing import NDArray

from jrr._base.randomness import BLOCK, RandomSource, Words

Ints = NDArray[np.int64]
_SLACK = 2.0**-48  # far above what floating point loses in a logarithm, relative or absolute
_SMALL = 1 << 24  # words below it say too little of U for floating point
_DIGITS = 50  # of decimals at first


def geometric(rate: float, count: int, source: RandomSource) -> Ints:
    """Independent numbers g >= 0 with Pr[g] = (1 - r) r^g, where r = e^-rate.

    Args:
        rate: above 0.
        count: how many.
        source: where randomness comes from.

    Example:
        >>> from jrr._base.randomness import SeededRandom
        >>> geometric(5.0, 4, SeededRandom(1)).tolist()
        [0, 0, 0, 0]
    """
    if count == 1:  # of a small deck's total: arrays would cost more than the logarithm
        return np.array([_floor(rate, source.word(), source)], np.int64)
    numbers = np.empty(count, np.int64)
    for start in range(0, count, BLOCK):
        block = numbers[start : start + BLOCK]
        block[:] = _floors(rate, source.words(len(block)), source)
    return numbers


def discrete_laplace(rate: float, count: int, source: RandomSource) -> Ints:
    """Independent numbers z with Pr[z] proportional to e^(-rate |z|)."""
    up = geometric(rate, count, source)
    up -= geometric(rate, count, source)
    return up


def happens(
    logarithm: float, error: float, exact: Callable[[], Decimal], source: RandomSource
) -> bool:
    """True with the chance e^x, x <= 0.

    Args:
        logarithm: x, in floating point.
        error: how far off that is at most.
        exact: x to fifty digits; called where floating point does not decide.
        source: where randomness comes from.
    """
    word = source.word()
    if word >= _SMALL:
        drawn = math.log((word + 0.5) * 2.0**-64)
        unsure = error + _SLACK * (1 - drawn) + 2 / word
        if abs(drawn - logarithm) > unsure:
            return drawn < logarithm
    return _exactly_below(exact(), word, source)


def _floors(rate: float, words: Words, source: RandomSource) -> Ints:
    """floor(-ln U / rate), U beginning with these words."""
    scaled = (words.astype(np.float64) + 0.5) * 2.0**-64
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        known = 2 / (words.astype(np.float64) * rate)
    np.log(scaled, out=scaled)
    scaled *= -1 / rate
    known += _SLACK * (scaled + 1 / rate)
    floors = np.floor(scaled)
    np.subtract(scaled, floors, out=scaled)
    unsure = (scaled < known) | (scaled > 1 - known) | (words < np.uint64(_SMALL))
    numbers: Ints = floors.astype(np.int64)
    for place in np.flatnonzero(unsure).tolist():
        numbers[place] = _exact_floor(rate, int(words[place]), source)
    return numbers


def _floor(rate: float, word: int, source: RandomSource) -> int:
    """The same number for one word."""
    if word >= _SMALL:
        scaled = -math.log((word + 0.5) * 2.0**-64) / rate
        known = 2 / (word * rate) + _SLACK * (scaled + 1 / rate)
        number = math.floor(scaled)
        if known < scaled - number < 1 - known:
            return number
    return _exact_floor(rate, word, source)


def _exact_floor(rate: float, word: int, source: RandomSource) -> int:
    """The same for one word, to as many digits and further words as it takes."""
    bits, digits = 64, _DIGITS
    while True:
        if word:
            most, least = _log_bounds(word, bits, digits)
            context = Context(prec=digits)
            low, high = (context.divide(end.copy_negate(), Decimal(rate)) for end in (least, most))
            margin = context.multiply(context.add(high, Decimal(1)), Decimal((0, (1,), 5 - digits)))
            ends = {_whole(context.subtract(low, margin)), _whole(context.add(high, margin))}
            if len(ends) == 1:
                return max(0, ends.pop())
        word, bits, digits = (word << 64) | source.word(), bits + 64, digits + 20


def _exactly_below(x: Decimal, word: int, source: RandomSource) -> bool:
    """Whether ln U < x, U beginning with this word."""
    bits = 64
    context = Context(prec=_DIGITS + 20)  # never the caller's, which may have few digits
    size = context.add(x.copy_abs(), Decimal(1))
    margin = context.multiply(size, Decimal((0, (1,), 8 - _DIGITS)))
    below, above = context.subtract(x, margin), context.add(x, margin)
    while bits < 192:
        if word:
            low, high = _log_bounds(word, bits, _DIGITS + 20)
            if high < below:
                return True
            if low > above:
                return False
        word, bits = (word << 64) | source.word(), bits + 64
    # 192 bits and fifty digits agree: a chance below 10^-40, which either answer may have.
    return False


def _log_bounds(word: int, bits: int, digits: int) -> tuple[Decimal, Decimal]:
    """Ln of the ends of the interval that U lies in, its first bits being this word."""
    context = Context(prec=digits)
    scale = Decimal(1 << bits)
    low, high = (context.ln(context.divide(Decimal(end), scale)) for end in (word, word + 1))
    return low, high


def _whole(number: Decimal) -> int:
    return math.floor(number)
