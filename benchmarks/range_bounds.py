"""What others' methods for ranges cost: bounds, and the exact error of Haar wavelets.

Cormode, Kulkarni and Srivastava (VLDB 2019) cut D bins into B parts again and again, or transform
them by Haar wavelets; everybody tells one level, with the variance V = 4 e^ε / (n (e^ε - 1)²) of a
share. `tests/telemetry/test_range_bounds.py` holds both bounds against all ranges of small D.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

Ends = NDArray[np.int64]  # one row a range: its first bin, and the first bin after it


def share_variance(epsilon: float, people: int) -> float:
    """V, of unary encoding and local hashing of rare values."""
    return 4 * math.exp(epsilon) / (people * (math.exp(epsilon) - 1) ** 2)


def tree_bound(ends: Ends, bins: int, branching: int) -> NDArray[Any]:
    """In units of V, at most the variance of ranges by a consistent tree with equal levels."""
    lengths = (ends[:, 1] - ends[:, 0]).astype(np.float64)
    inside = np.maximum(np.log(lengths) / math.log(branching), 1.0)
    bound: NDArray[Any] = (branching + 1) / 2 * inside * math.log(bins, branching)
    return bound


def haar_bound(bins: int) -> float:
    """The same by Haar wavelets: two cut nodes on each of log2(D) levels, each weighing <= 1/2."""
    return math.log2(bins) ** 2 / 2


def haar_squares(ends: Ends, bins: int) -> NDArray[Any]:
    """Of each range the squared weights of all Haar coefficients, added up.

    The coefficient of a node of s bins is the share of its left half less that of its right half.
    In the share of the first x of these s bins it weighs min(x, s-x)/s.
    """
    first, last = ends[:, 0], ends[:, 1]
    total = np.zeros(len(ends))
    size = 2
    while size <= bins:
        left, right = (np.minimum(end % size, size - end % size) / size for end in (first, last))
        same = first // size == last // size
        total += np.where(same, (right - left) ** 2, left**2 + right**2)
        size *= 2
    return total


def haar_variance(ends: Ends, bins: int, epsilon: float, people: int) -> NDArray[Any]:
    """The variance of ranges by Haar wavelets told by Hadamard response, as in that paper.

    Everybody tells one level: one sign of a Hadamard transform of that level's coefficients, by RR.
    """
    one = ((math.exp(epsilon) + 1) / (math.exp(epsilon) - 1)) ** 2  # of one person's estimate
    return haar_squares(ends, bins) * one * math.log2(bins) / people
