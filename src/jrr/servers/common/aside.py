"""Work of some milliseconds that is done beside the event loop, so that other requests go on.

libsodium lets other threads run while it computes. What could not be begun within about two
seconds is refused at once, as everything else that waits (jrr.servers.common.batch).
"""

import asyncio
import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

from jrr.servers.common.batch import FEWEST, LONGEST
from jrr.servers.common.problems import busy

T = TypeVar("T")
P = ParamSpec("P")


class Aside:
    """As many threads as there are processors."""

    def __init__(self) -> None:
        self._workers = os.cpu_count() or 1
        self._pool = ThreadPoolExecutor(self._workers, thread_name_prefix="jrr-aside")
        self._pace = 0.001  # seconds of one piece of work, as measured
        self._waiting = 0

    @property
    def room(self) -> int:
        """Pieces of work that may wait."""
        return max(FEWEST, int(LONGEST * self._workers / self._pace))

    async def run(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """What some work returns, once it is done; refused where too much of it waits."""
        if self._waiting >= self.room:
            raise busy()

        def timed() -> T:
            began = time.perf_counter()
            try:
                return work(*args, **kwargs)
            finally:
                self._pace += (time.perf_counter() - began - self._pace) / 32

        self._waiting += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._pool, timed)
        finally:
            self._waiting -= 1
