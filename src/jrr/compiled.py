"""Compiled loops, where numba is installed; the same results as the numpy code they replace."""

import importlib.util
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray


@cache
def hash_support() -> Any | None:
    """A function (states, starts, widths, k) -> counts, or None without numba.

    The loop of jrr.mechanisms.hashed for all values of one report after the other: hashes
    never go to memory.
    """
    if importlib.util.find_spec("numba") is None:
        return None
    import numba

    @numba.njit(cache=True)  # type: ignore[untyped-decorator, unused-ignore]
    def count(
        states: NDArray[np.uint32],
        starts: NDArray[np.uint32],
        widths: NDArray[np.uint32],
        k: int,
    ) -> NDArray[np.int64]:
        counts = np.zeros(k, np.int64)
        for value in range(k):
            lane = np.uint32(np.uint32(value) * np.uint32(0xC2B2AE3D))
            found = 0
            for i in range(len(states)):
                h = np.uint32(states[i] + lane)
                h = np.uint32((h << np.uint32(17)) | (h >> np.uint32(15)))
                h = np.uint32(h * np.uint32(0x27D4EB2F))
                h = np.uint32(h ^ (h >> np.uint32(15)))
                h = np.uint32(h * np.uint32(0x85EBCA77))
                h = np.uint32(h ^ (h >> np.uint32(13)))
                h = np.uint32(h * np.uint32(0xC2B2AE3D))
                h = np.uint32(h ^ (h >> np.uint32(16)))
                found += np.uint32(h - starts[i]) < widths[i]
            counts[value] = found
        return counts

    return count
