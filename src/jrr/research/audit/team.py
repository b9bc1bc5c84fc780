"""How often observations are made: trials in chunks, over several processes where that helps."""

import hashlib
import os
import pickle
import time
from collections import Counter, deque
from collections.abc import Callable, Hashable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from multiprocessing import get_context
from types import TracebackType
from typing import Any, NamedTuple, Self

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


MOST_KINDS = 1 << 20  # different observations that are kept apart
_WORTH = 10.0  # seconds of work that are worth starting other processes


class Team:
    """Counts observations of one subject; to be used as a context, which ends the processes.

    workers: so many processes from the start; None takes one per processor as soon as there is
    work for some seconds. The result does not depend on it.
    """

    def __init__(self, subject: Subject, workers: int | None, done: Callable[[int], None]) -> None:
        self._subject = subject
        self._worth = _WORTH if workers is None else 0.0
        self._workers = workers or os.cpu_count() or 1
        if not _can_travel(subject):
            self._workers = 1
        self._done = done
        self._pool: ProcessPoolExecutor | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)

    def count(self, work: Iterable[Chunk]) -> dict[Any, Counts]:
        """Observations of every value."""
        totals: dict[Any, Counts] = {}
        for chunk, counts in self._counted(deque(work)):
            total = totals.setdefault(chunk.value, Counter())
            total.update(counts)
            if len(total) > MOST_KINDS:
                raise ArgumentError(
                    f"observations must be of at most {MOST_KINDS} kinds, got more: make them "
                    "coarser, as jrr.research.audit.views does with long reports"
                )
            self._done(chunk.trials)
        return totals

    def _counted(self, work: deque[Chunk]) -> Iterator[tuple[Chunk, Counts]]:
        while work and self._pool is None:
            chunk = work.popleft()
            begun = time.perf_counter()
            counts = count_chunk(self._subject, chunk)
            seconds = time.perf_counter() - begun
            yield chunk, counts
            if self._workers > 1 and seconds * len(work) > self._worth:
                # Spawned, not forked: a fork would copy the middle of other threads' work.
                self._pool = ProcessPoolExecutor(self._workers, get_context("spawn"))
        if self._pool is not None:
            yield from self._spread(self._pool, work)

    def _spread(
        self, pool: ProcessPoolExecutor, work: deque[Chunk]
    ) -> Iterator[tuple[Chunk, Counts]]:
        waiting: dict[Future[Counts], Chunk] = {
            pool.submit(count_chunk, self._subject, chunk): chunk for chunk in work
        }
        while waiting:
            for future in wait(waiting, return_when=FIRST_COMPLETED).done:
                yield waiting.pop(future), future.result()


def _can_travel(subject: Subject) -> bool:
    """Whether another process can be given the subject; a function inside another cannot."""
    try:
        pickle.dumps(subject)
    except Exception:  # pickle raises whatever the object's own methods raise
        return False
    return True
