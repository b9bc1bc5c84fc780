"""Named steps after an unbiased estimate; none is ever applied silently.

Each takes frequencies and gives frequencies. The result is easier to read and usually closer
to the truth, but no longer unbiased: keep standard errors and intervals of the original.
"""

from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jrr._base import checks

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
    vector = vector - vector.max()  # changes nothing, and keeps the digits of large numbers
    falling = np.sort(vector)[::-1]
    shifts = (np.cumsum(falling) - 1) / np.arange(1, len(vector) + 1)
    kept = np.nonzero(falling > shifts)[0][-1]
    projected: Floats = np.maximum(vector - shifts[kept], 0.0)
    return projected


def normalise(frequencies: ArrayLike) -> Floats:
    """Cut at 0 and divide by the sum, so that the rest adds up to 1 (norm-mul)."""
    positive = np.maximum(_vector(frequencies), 0.0)
    total = float(positive.sum())
    if total == 0:
        raise checks.refusal("frequencies", frequencies, "above 0 somewhere, to be normalised")
    normal: Floats = positive / total
    return normal


def norm_cut(frequencies: ArrayLike) -> Floats:
    """Cut at 0, then drop the smallest ones while the sum of the others is still 1 or more.

    Keeps the large estimates as they are (their sum may stay below 1 where too little is left).
    """
    vector = np.maximum(_vector(frequencies), 0.0)
    rising = np.argsort(vector, kind="stable")
    left = vector.sum() - np.cumsum(vector[rising])  # what remains if these are dropped
    vector[rising[left >= 1]] = 0.0
    return vector


def base_cut(frequencies: ArrayLike, stderr: ArrayLike, level: float = 0.05) -> Floats:
    """Drop what is not significantly above 0, all values considered at once.

    An estimate stays if it exceeds the quantile 1 - level/k of its own noise: where all true
    frequencies are 0, at most a share `level` of surveys keeps any (Bonferroni).
    """
    vector = _vector(frequencies)
    allowed = f"finite and non-negative, one number or {len(vector)}"
    try:
        errors = np.broadcast_to(np.asarray(stderr, dtype=np.float64), vector.shape)
    except (TypeError, ValueError):
        raise checks.refusal("stderr", stderr, allowed) from None
    if not (np.isfinite(errors).all() and (errors >= 0).all()):
        raise checks.refusal("stderr", stderr, allowed)
    z = NormalDist().inv_cdf(1 - checks.level(level) / len(vector))
    kept: Floats = np.where(vector > z * errors, vector, 0.0)
    return kept


def _vector(frequencies: ArrayLike) -> Floats:
    allowed = "a one-dimensional array of finite numbers"
    try:
        vector = np.asarray(frequencies, dtype=np.float64)
    except (TypeError, ValueError):
        raise checks.refusal("frequencies", frequencies, allowed) from None
    if vector.ndim != 1 or vector.size == 0 or not np.isfinite(vector).all():
        raise checks.refusal("frequencies", frequencies, allowed)
    return vector
