"""Probabilities as whole numbers of random words, and logarithms that round outward.

A report is made from one 64-bit random word; its upper 63 bits are a number below SCALE.
Every probability of a mechanism is a number of such words, so what runs is known exactly,
in any language, and privacy is computed from these whole numbers (docs/protocol.md).
"""

import math
from collections.abc import Callable
from fractions import Fraction

BITS = 63  # one bit less than a word, so that "all of them" still fits into 64 bits
SCALE = 1 << BITS


def words_up(probability: Fraction, multiple: int = 1) -> int:
    """The fewest words, a multiple of `multiple`, that are at least this probability."""
    return -(-probability.numerator * SCALE // (probability.denominator * multiple)) * multiple


def words_down(probability: Fraction) -> int:
    """The most words that are at most this probability."""
    return int(probability * SCALE)


def log_ratio_up(numerator: Fraction | int, denominator: Fraction | int) -> float:
    """An upper bound, tight to a few units in the last place, of max(0, ln(num/den))."""
    above = numerator.numerator * denominator.denominator  # whole numbers are quick
    below = denominator.numerator * numerator.denominator
    if above <= below:
        return 0.0
    if below == 0:
        return math.inf
    # Near 1 the exact excess keeps its digits where a quotient would lose them.
    excess = (above - below) / below
    log = math.log1p(math.nextafter(excess, math.inf))
    return math.nextafter(log * (1 + 2.0**-51), math.inf)


def private_side(best: float, towards: float, keeps: Callable[[float], bool]) -> float:
    """The number nearest to `best` that keeps the promise, searched `towards` the private end."""
    number = best
    step = math.ulp(best)
    while not keeps(number):
        number = max(towards, best - step) if best > towards else min(towards, best + step)
        if number == towards:
            break
        step *= 2
    return number
