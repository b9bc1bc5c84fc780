"""The best that coins can do at a loss ε without any helper: variances per person.

What a session of masks is compared with (docs/theory.md, section on the lower bound).
"""

import math
from functools import cache

import numpy as np
import scipy

_ESTIMATES = 160  # values that an estimate of a number may take


def share(k: int, epsilon: float, frequency: float) -> float:
    """Of the share of one of k values: sets of the best size (Ye and Barg 2018)."""
    found = []
    for size in range(1, k):
        p = 1 / (1 + (k - size) / size * math.exp(-epsilon))
        q = (size - p) / (k - 1)
        spread = frequency * p * (1 - p) + (1 - frequency) * q * (1 - q)
        found.append(spread / (p - q) ** 2)
    return min(found)


def items(d: int, epsilon: float) -> float:
    """Of the share of yes of each of d items, every combination being as frequent.

    That of one coin for the best number of them (docs/theory.md, after Theorem 35).
    """
    asked = best_asked(d, epsilon)
    return (d / (asked * kept(asked, epsilon) ** 2) - 1) / 4


def best_asked(d: int, epsilon: float) -> int:
    """How many of d items are best asked of each person."""
    return max(range(1, d + 1), key=lambda m: m * kept(m, epsilon) ** 2)


def kept(m: int, epsilon: float) -> float:
    """The chance that the answers to m items are kept, rather than drawn evenly."""
    return math.expm1(epsilon) / (math.exp(epsilon) + 2.0**m - 1)


@cache
def mean(epsilon: float) -> float:
    """Of the mean of a number in 0..1 that is anywhere, by linear programming.

    A report is a set of numbers that are e^ε times as likely to send it, here an interval, and the
    value that it adds to the estimate. Chances of reports are free, but for the law of chances and
    estimates without bias at every step of a grid. Turning all numbers round changes nothing, so
    every report has the chance of its mirror image.
    """
    steps = 24 if epsilon < 5 else 60  # between the ends: fewer would make the bound smaller
    places = np.arange(steps + 1)
    half = places[: steps // 2 + 1]
    at = places / steps
    spread = np.where((at == 0) | (at == 1), 0.5, 1.0) / steps
    far = 1.2 + 2 / math.expm1(epsilon)
    estimates = np.linspace(0.5 - far, 0.5 + far, _ESTIMATES)
    edges = [(low, high) for low in places for high in range(low, steps - low + 1)]
    likelier = np.array([(low <= places) & (places <= high) for low, high in edges])
    each = np.where(likelier, math.exp(epsilon), 1.0) / 2
    chances, mirrored = (np.repeat(one, _ESTIMATES, axis=0) for one in (each, each[:, ::-1]))
    added = np.tile(estimates, len(edges))
    on_average = chances.T * added + mirrored.T * (1 - added)
    found = scipy.optimize.linprog(
        (chances @ spread) * added**2 + (mirrored @ spread) * (1 - added) ** 2,
        A_eq=np.concatenate([(chances + mirrored).T[half], on_average[half]]),
        b_eq=np.concatenate([np.ones(len(half)), at[half]]),
        method="highs",
    )
    return float(np.asarray(found.fun) - spread @ at**2)
