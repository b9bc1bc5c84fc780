"""A seeded hash family for local hashing: xxHash32 of a seed's upper half and a value.

H(seed, value) = XXH32(upper 32 bits of seed ‖ value, little-endian 4 bytes each, seeded by
the lower 32 bits), scaled to 0..g-1 by its upper bits: (hash · g) >> 32. All arithmetic is on
32-bit words, which processors do many at a time, and is the same in any language.
"""

import importlib.util
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

Lanes = NDArray[np.uint32]

PRIMES = (0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D, 0x27D4EB2F, 0x165667B1)  # of xxHash32
_P1, _P2, _P3, _P4, _P5 = (np.uint32(prime) for prime in PRIMES)
_MASK = 0xFFFFFFFF


def hash_one(seed: int, value: int, g: int) -> int:
    """H(seed, value) in 0..g-1 without arrays, for a contributor's own device."""
    return finish_one(prefix_one(seed), value) * g >> 32


def prefix_one(seed: int) -> int:
    """`prefix` of one seed, without arrays."""
    return _lane_one(((seed & _MASK) + PRIMES[4] + 8) & _MASK, seed >> 32)


def finish_one(state: int, value: int) -> int:
    """`finish` of one value, without arrays."""
    h = _lane_one(state, value)
    h = ((h ^ h >> 15) * PRIMES[1]) & _MASK
    h = ((h ^ h >> 13) * PRIMES[2]) & _MASK
    return h ^ h >> 16


def _lane_one(state: int, lane: int) -> int:
    h = (state + lane * PRIMES[2]) & _MASK
    return ((h << 17 | h >> 15) * PRIMES[3]) & _MASK


def prefix(seeds: NDArray[np.uint64]) -> Lanes:
    """The hash's state after the seed alone: everything that does not depend on the value."""
    low = (seeds & np.uint64(0xFFFFFFFF)).astype(np.uint32)
    high = (seeds >> np.uint64(32)).astype(np.uint32)
    state = low + (_P5 + np.uint32(8))
    return _lane(state, high)


def finish(state: Lanes, values: NDArray[np.uint32] | np.uint32) -> Lanes:
    """The 32-bit hash of values behind prefixed seeds."""
    h = _lane(state, values)
    h ^= h >> np.uint32(15)
    h *= _P2
    h ^= h >> np.uint32(13)
    h *= _P3
    h ^= h >> np.uint32(16)
    return h


def bucket(hashes: Lanes, g: int) -> Lanes:
    """Scale hashes to 0..g-1."""
    scaled: Lanes = ((hashes.astype(np.uint64) * np.uint64(g)) >> np.uint64(32)).astype(np.uint32)
    return scaled


def bucket_start(buckets: NDArray[Any], g: int) -> NDArray[np.uint64]:
    """The smallest hash of each bucket; bucket g would start at 2^32."""
    start: NDArray[np.uint64] = (
        (buckets.astype(np.uint64) << np.uint64(32)) + np.uint64(g - 1)
    ) // np.uint64(g)
    return start


def _lane(state: Lanes, lane: NDArray[np.uint32] | np.uint32) -> Lanes:
    with np.errstate(over="ignore"):
        h = state + lane * _P3
    h = (h << np.uint32(17)) | (h >> np.uint32(15))
    h *= _P4
    return h


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
