"""How often each observation is made of each value: in chunks, by one seed."""

import hashlib
from collections import Counter
from collections.abc import Hashable
from typing import Any, NamedTuple

import numpy as np

from jrr._base.randomness import RandomSource, SecureRandom, SeededRandom
from jrr.errors import ArgumentError
from jrr.research.audit.subject import Observations, Subject

Counts = Counter[Hashable]


class Chunk(NamedTuple):
    """Some trials of one value, and where their randomness comes from."""

    value: Any
    trials: int
    seed: int | None


def chunks(subject: Subject, value: Any, trials: int, seed: int | None, part: str) -> list[Chunk]:
    """The trials of one value, cut the same way for any number of processes."""
    work = []
    for number, start in enumerate(range(0, trials, subject.chunk)):
        size = min(subject.chunk, trials - start)
        work.append(Chunk(value, size, _seed_of(seed, part, value, number)))
    return work


def count_chunk(subject: Subject, chunk: Chunk) -> Counts:
    """Make the trials and count what is seen."""
    rng: RandomSource = SecureRandom() if chunk.seed is None else SeededRandom(chunk.seed)
    return tally(subject.observe(chunk.value, chunk.trials, rng), chunk.trials)


def tally(observations: Observations, trials: int) -> Counts:
    """How often each observation occurs; rows become tuples."""
    seen = np.asarray(observations)
    if seen.ndim not in (1, 2) or len(seen) != trials:
        raise ArgumentError(
            f"observations must be one per trial ({trials}), got an array of shape {seen.shape}"
        )
    if seen.ndim == 1:
        kinds, counts = np.unique(seen, return_counts=True)
        return Counter(dict(zip(kinds.tolist(), counts.tolist(), strict=True)))
    # One number per row sorts much faster than rows do.
    low = seen.min(axis=0)
    sizes = [int(size) for size in seen.max(axis=0) - low + 1]
    if np.prod([float(size) for size in sizes]) > 2.0**62:
        rows, counts = np.unique(seen, axis=0, return_counts=True)
    else:
        codes = np.ravel_multi_index(tuple((seen - low).T), sizes)
        kinds, counts = np.unique(codes, return_counts=True)
        rows = np.column_stack(np.unravel_index(kinds, sizes)) + low
    return Counter(dict(zip(map(tuple, rows.tolist()), counts.tolist(), strict=True)))


def _seed_of(seed: int | None, part: str, value: Any, number: int) -> int | None:
    if seed is None:
        return None
    text = f"jrr audit {seed} {part} {value!r} {number}"
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little")
