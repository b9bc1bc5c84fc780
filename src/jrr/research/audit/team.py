"""Chunks of trials over several processes, where that is worth their start."""

import os
import pickle
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from multiprocessing import get_context
from types import TracebackType
from typing import Any, Self

from jrr.errors import ArgumentError
from jrr.research.audit.counting import Chunk, Counts, count_chunk
from jrr.research.audit.subject import Subject

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
