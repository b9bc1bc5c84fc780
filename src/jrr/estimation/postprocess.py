"""Steps after an unbiased estimate, each with a name; none is ever applied silently.

Each takes frequencies and gives frequencies. The result is easier to read and usually closer
to the truth, but no longer unbiased: keep standard errors and intervals of the original.
"""

from collections.abc import Callable, Mapping
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jrr._base import checks

Floats = NDArray[np.float64]


def clip(frequencies: ArrayLike) -> Floats:
    """Bring every frequency into 0..1, each on its own; the sum may move away from 1.

    Args:
        frequencies: shares, one per value, as an Estimate has them.

    Returns:
        The clipped shares.

    Raises:
        ArgumentError: where frequencies is no vector of finite numbers.

    Example:
        >>> clip([-0.1, 0.4, 0.7]).tolist()
        [0.0, 0.4, 0.7]
    """
    clipped: Floats = np.clip(_vector(frequencies), 0.0, 1.0)
    return clipped


def project_simplex(frequencies: ArrayLike) -> Floats:
    """The nearest point (least squares) with non-negative entries that add up to 1.

    Known as norm-sub: subtract one number from all and cut at 0.

    Args:
        frequencies: shares, one per value, as an Estimate has them.

    Returns:
        Shares that add up to 1.

    Raises:
        ArgumentError: where frequencies is no vector of finite numbers.

    Example:
        >>> project_simplex([-0.1, 0.4, 0.7]).round(6).tolist()
        [0.0, 0.35, 0.65]
    """
    vector = _vector(frequencies)
    vector = vector - vector.max()  # changes nothing, and keeps the digits of large numbers
    falling = np.sort(vector)[::-1]
    shifts = (np.cumsum(falling) - 1) / np.arange(1, len(vector) + 1)
    kept = np.nonzero(falling > shifts)[0][-1]
    projected: Floats = np.maximum(vector - shifts[kept], 0.0)
    return projected


def normalise(frequencies: ArrayLike) -> Floats:
    """Cut at 0 and divide by the sum, so that the rest adds up to 1 (norm-mul).

    Args:
        frequencies: shares, one per value, as an Estimate has them.

    Returns:
        Shares that add up to 1.

    Raises:
        ArgumentError: where frequencies is no vector of finite numbers, or none is above 0.

    Example:
        >>> normalise([-0.1, 0.3, 0.9]).tolist()
        [0.0, 0.25, 0.75]
    """
    positive = np.maximum(_vector(frequencies), 0.0)
    total = float(positive.sum())
    if total == 0:
        raise checks.refusal("frequencies", frequencies, "above 0 somewhere, to be normalised")
    normal: Floats = positive / total
    return normal


def norm_cut(frequencies: ArrayLike) -> Floats:
    """Cut at 0, then drop the smallest ones while the sum of the others is still 1 or more.

    Keeps the large estimates as they are (their sum may stay below 1 where too little is left).

    Args:
        frequencies: shares, one per value, as an Estimate has them.

    Returns:
        The shares that are kept, and 0 for the others.

    Raises:
        ArgumentError: where frequencies is no vector of finite numbers.

    Example:
        >>> norm_cut([0.1, 0.4, 0.7]).tolist()
        [0.0, 0.4, 0.7]
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

    Args:
        frequencies: shares, one per value, as an Estimate has them.
        stderr: their standard errors, one number for all or one per value.
        level: how often any value is kept where all true shares are 0, in (0, 1).

    Returns:
        The shares that are kept, and 0 for the others.

    Raises:
        ArgumentError: where frequencies or stderr are no finite numbers, or level is not in
            (0, 1).

    Example:
        >>> base_cut([0.01, 0.3, 0.7], stderr=0.05).tolist()
        [0.0, 0.3, 0.7]
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


STEPS: Mapping[str, Callable[[ArrayLike], Floats]] = {  # by the names that commands take
    "clip": clip,
    "normalise": normalise,
    "simplex": project_simplex,
    "norm-cut": norm_cut,
}


def _vector(frequencies: ArrayLike) -> Floats:
    allowed = "a one-dimensional array of finite numbers"
    try:
        vector = np.asarray(frequencies, dtype=np.float64)
    except (TypeError, ValueError):
        raise checks.refusal("frequencies", frequencies, allowed) from None
    if vector.ndim != 1 or vector.size == 0 or not np.isfinite(vector).all():
        raise checks.refusal("frequencies", frequencies, allowed)
    return vector
