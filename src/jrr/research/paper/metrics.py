"""How far a mechanism falls behind RR near 1/2: the paper's RI and R."""

import math

from jrr.mechanisms.base import Mechanism
from jrr.mechanisms.rr import RR


def relative_increase(n: int, mechanism: Mechanism, rr: RR) -> float:
    """RI: how much larger a mechanism's MSE is than RR's at n1/n = 1/2, as a share."""
    half = (n - n // 2, n // 2)
    return float(mechanism.variance(half)[1] / rr.variance(half)[1]) - 1


def underperforming_range(n: int, mechanism: Mechanism, rr: RR) -> float:
    """R: the width of the frequencies around 1/2 at which the MSE exceeds RR's."""
    a, b, c = (float(part[0]) for part in mechanism.moments.quadratic(n, 1))
    bound = float(rr.variance((n, 0))[1])
    # JRR's variance is a concave parabola in n1, highest at n/2.
    excess = b * b - 4 * c * (a - bound)
    if c == 0:
        return 1.0 if a > bound else 0.0
    return min(1.0, math.sqrt(max(0.0, excess)) / (-c * n)) if excess > 0 else 0.0
