"""Several rounds with fresh coins: the smallest ε at a δ (Kairouz, Oh and Viswanath, 2015).

A mechanism that loses at most ε reveals no more than binary randomized response at ε does. For
that the law of T rounds is known: how often the coin told the truth is a binomial number.
"""

import math
from fractions import Fraction

import numpy as np
import scipy

from jrr._base import checks

_UP = 1 + 1e-9  # more than the rounding errors of the sum
MOST_ROUNDS = 10**6


def composed_epsilon(epsilon: float, rounds: int, delta: float = 0.0) -> float:
    """What rounds with a loss of ε each cost together, with fresh coins and any answers.

    Args:
        epsilon: the loss of one round, without a δ.
        rounds: how many.
        delta: the δ of the result; with 0 losses simply add up.

    Returns:
        The smallest ε, rounded up, so that (ε, δ) holds for any mechanism; exact for plain
        randomized response of two values.

    Raises:
        ArgumentError: for numbers out of range.

    Example:
        >>> composed_epsilon(0.5, 100)
        50.0
        >>> round(composed_epsilon(0.5, 100, delta=1e-6), 1)
        33.3
    """
    rounds = checks.integer("rounds", rounds, 1, MOST_ROUNDS)
    delta = checks.delta(delta)
    if math.isinf(epsilon):
        return math.inf
    pure = epsilon * rounds
    if Fraction(pure) < Fraction(epsilon) * rounds:
        pure = math.nextafter(pure, math.inf)
    if delta == 0.0:
        return pure
    if _delta(epsilon, rounds, 0.0) <= delta:
        return 0.0
    low, high = 0.0, pure
    while high - low > 1e-9 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if _delta(epsilon, rounds, middle) <= delta else (middle, high)
    return high


def _delta(epsilon: float, rounds: int, at: float) -> float:
    """δ of so many rounds of randomized response, rounded up.

    With l lies the loss is (rounds - 2 l) ε; it counts by how far it lies above `at`.
    """
    lies = np.arange(rounds + 1)
    over = (rounds - 2 * lies) * epsilon - at
    lies, over = lies[over > 0], over[over > 0]
    chances = (
        scipy.special.gammaln(rounds + 1)
        - scipy.special.gammaln(lies + 1)
        - scipy.special.gammaln(rounds - lies + 1)
        - lies * epsilon
        - rounds * np.logaddexp(0.0, -epsilon)
    )
    return float(np.sum(np.exp(chances) * -np.expm1(-over))) * _UP
