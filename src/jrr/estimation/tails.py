"""How far out in its law an observation lies, from the law's first three cumulants.

Counts of reports are sums of chances: many small steps of one size, up and down. A difference of
two Poisson counts times that step (Skellam's law) is the simplest such sum: it has the variance
and the third cumulant of the count, exactly its tails where reports are rare, and slightly
heavier ones elsewhere. Its tail is read off the saddlepoint, which has a closed form
(docs/theory-jrr.md, section on intervals).
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

_MIDDLE = 1e-3  # nearer to the mean the quotient below is rounding errors; its limit is used


def standard_excess(
    excess: ArrayLike, variance: ArrayLike, third: ArrayLike, step: Floats, grain: Floats
) -> Floats:
    """The z such that the observation is exceeded or met with the chance that a normal exceeds z.

    Barndorff-Nielsen's r* with the continuity correction of Lugannani, Rice and Daniels.

    Args:
        excess: observation minus mean.
        variance: of the law, at least 0.
        third: the third cumulant of the law.
        step: how far one report moves the observation.
        grain: how far apart observations lie, not more than a step; 0 where they lie everywhere.

    Example:
        >>> one = np.ones(1)
        >>> z = standard_excess(1 - 0.025, 0.025, 0.025, one, one)  # Poisson(0.025) is 1 or more
        >>> round(float(z[0]), 2)  # a chance of 0.0247 lies at z = 1.97
        1.95
    """
    spread = np.asarray(variance) / step**2
    lean = np.clip(np.asarray(third) / step**3, -spread, spread)
    up, down = (spread + lean) / 2, (spread - lean) / 2  # means of the two Poisson counts
    beyond = (np.asarray(excess) - grain / 2) / step  # half a grain, for counting in grains
    value = beyond + lean
    with np.errstate(all="ignore"):  # where a law is degenerate, replaced below
        root = np.sqrt(value**2 + 4 * up * down)
        tilt = np.where(value >= 0, (value + root) / (2 * up), 2 * down / (root - value))
        point = np.log(tilt)
        cost = point * value - up * (tilt - 1) - down * (1 / tilt - 1)
        r = np.sign(point) * np.sqrt(2 * np.maximum(cost, 0.0))
        half = np.maximum(grain / step, 1e-9) / 2
        u = np.sinh(point * half) / half * np.sqrt(up * tilt + down / tilt)
        z = np.where(np.abs(r) < _MIDDLE, r + lean / spread**1.5 / 6, r + np.log(u / r) / r)
    z = np.where((up <= 0) & (value >= 0), np.inf, z)  # more than there can be
    z = np.where((down <= 0) & (value <= 0), -np.inf, z)  # less than there must be
    exact: Floats = np.where(spread > 0, z, np.where(beyond > 0, np.inf, -np.inf))
    return exact
