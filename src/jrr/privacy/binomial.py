"""Laws of sums of independent 0s and 1s, and the constants that all laws here use."""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
Progress: TypeAlias = Callable[[int, int], None]  # compositions done, compositions in all

ULP = 2.0**-52
LARGEST = 700.0  # e^700 is about the largest number there is
FAINT = 1e-32  # probabilities below this are dropped at both ends of a law


class Part(NamedTuple):
    """A range of a law; the probability outside it is at most length * FAINT."""

    start: int
    law: Floats


def trimmed(law: Floats) -> Floats:
    """The law without the ends whose probabilities are below FAINT; laws here have one peak."""
    loud = np.flatnonzero(law > FAINT)
    return law[loud[0] : loud[-1] + 1]


def binomial(trials: int, chance: Fraction) -> Part:
    """The law of a binomial, outward from its mode: products and sums of positive numbers."""
    if trials == 0 or chance in (0, 1):
        return Part(trials * int(chance), np.ones(1))
    mean, odds = trials * chance, float(chance / (1 - chance))
    mode = min(trials, math.floor(mean + chance))
    far = reach(float(mean * (1 - chance)), 76.0) + 1  # e^-76 < FAINT / 10
    up = np.arange(mode, min(trials, mode + far), dtype=np.float64)
    down = np.arange(mode, max(0, mode - far), -1, dtype=np.float64)
    rise = np.cumprod((trials - up) / (up + 1) * odds)
    fall = np.cumprod(down / (trials - down + 1) / odds)
    return outward(mode, fall, rise)


def outward(mode: int, fall: NDArray[Any], rise: NDArray[Any]) -> Part:
    """A law by its ratios to the chance of the mode, downwards and upwards from it."""
    law = np.concatenate((fall[::-1], [1.0], rise))
    law /= law.sum()
    loud = np.flatnonzero(law > FAINT)
    return Part(mode - len(fall) + int(loud[0]), law[loud[0] : loud[-1] + 1])


def reach(variance: float, exponent: float) -> int:
    """How far from its mean a sum of independent 0s and 1s strays with chance e^-exponent.

    Bernstein: at distance u at most exp(-u²/(2(variance + u/3))) on either side.
    """
    third = exponent / 3
    return math.ceil(third + math.sqrt(third * third + 2 * exponent * variance))
