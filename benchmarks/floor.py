"""The floor: the mechanisms in bare numpy, fast randomness, nothing checked.

As short as a competent user of numpy would write them: whole arrays, but unary encoding in
blocks, without which its matrices leave the cache and it takes up to three times as long.
"""

import math

import numpy as np
from numpy.typing import NDArray

from benchmarks.cases import EPSILON, Case
from benchmarks.contender import Contender

Values = NDArray[np.int64]
Counts = NDArray[np.float64]

_ODDS = math.exp(EPSILON)
_ROWS = 1 << 12
_RNG = np.random.default_rng()


def contender(case: Case) -> Contender:
    run = {"GRR": _grr if case.k > 2 else _binary, "OUE": _oue, "OLH": _olh}[case.kind]
    size = {"GRR": 8, "OUE": case.k, "OLH": 8}[case.kind]  # what the arrays below hold
    return Contender(lambda values: values, lambda v: run(v, case.k), lambda: size)


def _binary(values: Values, k: int) -> Counts:
    q = 1 / (_ODDS + 1)
    reports = values ^ (_RNG.random(len(values)) < q)
    return _unbiased(np.bincount(reports, minlength=k), len(values), 1 - q, q)


def _grr(values: Values, k: int) -> Counts:
    n, q = len(values), 1 / (_ODDS + k - 1)
    lies = (values + _RNG.integers(1, k, n)) % k
    reports = np.where(_RNG.random(n) < _ODDS * q, values, lies)
    return _unbiased(np.bincount(reports, minlength=k), n, _ODDS * q, q)


def _oue(values: Values, k: int) -> Counts:
    q = 1 / (_ODDS + 1)
    ones = np.zeros(k, np.int64)
    for start in range(0, len(values), _ROWS):
        block = values[start : start + _ROWS]
        bits = _RNG.random((len(block), k), dtype=np.float32) < q
        bits[np.arange(len(block)), block] = _RNG.random(len(block)) < 0.5
        ones += bits.view(np.uint8).sum(axis=0, dtype=np.uint32)
    return _unbiased(ones, len(values), 0.5, q)


def _olh(values: Values, k: int) -> Counts:
    n, g = len(values), np.uint32(round(_ODDS) + 1)
    p = _ODDS / (_ODDS + int(g) - 1)
    seeds = _RNG.integers(0, 1 << 32, n, dtype=np.uint32)
    hashes = _hash(seeds, values.astype(np.uint32)) % g
    lies = (hashes + _RNG.integers(1, int(g), n, dtype=np.uint32)) % g
    reports = np.where(_RNG.random(n) < p, hashes, lies)
    support = [
        np.count_nonzero(_hash(seeds, np.array(v, np.uint32)) % g == reports) for v in range(k)
    ]
    return _unbiased(np.array(support), n, p, 1 / int(g))


def _hash(seeds: NDArray[np.uint32], values: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """The finaliser of MurmurHash3 on a seed moved by the value."""
    h = seeds + values * np.uint32(0x9E3779B1)
    h ^= h >> np.uint32(16)
    h *= np.uint32(0x85EBCA6B)
    h ^= h >> np.uint32(13)
    h *= np.uint32(0xC2B2AE35)
    h ^= h >> np.uint32(16)
    return h


def _unbiased(support: NDArray[np.int64], n: int, p: float, q: float) -> Counts:
    counts: Counts = np.asarray((support - n * q) / (p - q), np.float64)
    return counts
