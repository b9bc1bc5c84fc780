"""Named steps after an unbiased estimate; none is ever applied silently.

Each takes frequencies and gives frequencies. The result is easier to read and usually closer
to the truth, but no longer unbiased: keep standard errors and intervals of the original.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jrr import checks

Floats = NDArray[np.float64]


def clip(frequencies: ArrayLike) -> Floats:
    """Bring every frequency into 0..1, each on its own; the sum may move away from 1."""
    clipped: Floats = np.clip(_vector(frequencies), 0.0, 1.0)
    return clipped


def project_simplex(frequencies: ArrayLike) -> Floats:
    """The nearest point (least squares) with non-negative entries that add up to 1.

    Known as norm-sub: subtract one number from all and cut at 0.
    """
    vector = _vector(frequencies)
    falling = np.sort(vector)[::-1]
    shifts = (np.cumsum(falling) - 1) / np.arange(1, len(vector) + 1)
    kept = np.nonzero(falling > shifts)[0][-1]
    projected: Floats = np.maximum(vector - shifts[kept], 0.0)
    return projected


def _vector(frequencies: ArrayLike) -> Floats:
    allowed = "a one-dimensional array of finite numbers"
    try:
        vector = np.asarray(frequencies, dtype=np.float64)
    except (TypeError, ValueError):
        raise checks.refusal("frequencies", frequencies, allowed) from None
    if vector.ndim != 1 or vector.size == 0 or not np.isfinite(vector).all():
        raise checks.refusal("frequencies", frequencies, allowed)
    return vector
