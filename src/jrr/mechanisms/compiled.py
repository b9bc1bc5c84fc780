"""Compiled loops, where numba is installed; the same results as the numpy code they replace."""

import importlib.util
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jrr.mechanisms.hashing import PRIMES


@cache
def hash_support() -> Any | None:
    """A function (states, starts, widths, values) -> counts, or None without numba.

    The loop of jrr.mechanisms.hashed, in which hashes never go to memory.
    """
    if importlib.util.find_spec("numba") is None:
        return None
    import numba

    _, p2, p3, p4, _ = (np.uint32(prime) for prime in PRIMES)

    def count(
        states: NDArray[np.uint32],
        starts: NDArray[np.uint32],
        widths: NDArray[np.uint32],
        values: NDArray[np.uint32],
    ) -> NDArray[np.int64]:
        counts = np.zeros(len(values), np.int64)
        for at in range(len(values)):
            lane = np.uint32(values[at] * p3)
            found = 0
            for i in range(len(states)):
                h = np.uint32(states[i] + lane)
                h = np.uint32((h << np.uint32(17)) | (h >> np.uint32(15)))
                h = np.uint32(h * p4)
                h = np.uint32(h ^ (h >> np.uint32(15)))
                h = np.uint32(h * p2)
                h = np.uint32(h ^ (h >> np.uint32(13)))
                h = np.uint32(h * p3)
                h = np.uint32(h ^ (h >> np.uint32(16)))
                found += np.uint32(h - starts[i]) < widths[i]
            counts[at] = found
        return counts

    try:
        return numba.njit(cache=True)(count)
    except RuntimeError:  # nowhere to keep the compiled code
        return numba.njit(count)
