"""Surveys as they were a moment ago: what is answered without the database."""

import threading
import time
from typing import TYPE_CHECKING, Any, NamedTuple

from jrr.servers.common.problems import Problem

if TYPE_CHECKING:
    from jrr.servers.common.batch import Writer
    from jrr.servers.common.jobs import SurveyJobs
    from jrr.servers.common.store import HeldSurvey

FRESH = 1.0  # seconds: another process may have opened or closed a survey meanwhile
MOST = 1_000  # surveys that are remembered


class _Remembered(NamedTuple):
    held: "HeldSurvey"
    since: float


class SurveyMemory:
    """Surveys of one server; a change by this process is known at once."""

    def __init__(self, writer: "Writer", jobs: "SurveyJobs[Any]") -> None:
        self._writer, self._jobs = writer, jobs
        self._known: dict[str, _Remembered] = {}
        self._lock = threading.Lock()
        writer.changed.append(self._forget)

    async def find(self, name: str) -> Any:
        """A survey as its store finds it, but for the number of arrivals; a Problem if unknown.

        Whatever must not happen a moment too late is checked again where it is written.
        """
        known = self._known.get(name)
        now = time.monotonic()
        if known is not None:
            if now - known.since < FRESH:
                return known.held
            with self._lock:
                if self._known.get(name) is known:
                    self._known[name] = known._replace(since=now)  # one asks, the others go on
        try:
            return await self._writer.run(self._remember, name)
        except Problem as problem:
            if known is not None and problem.status == 503:
                return known.held
            raise

    def _remember(self, connection: Any, name: str) -> "HeldSurvey":
        """In the writer's thread, so that changes are forgotten in the order in which they came."""
        held = self._jobs.find(connection, name)
        if len(self._known) >= MOST:
            self._known.clear()
        self._known[name] = _Remembered(held, time.monotonic())
        return held

    def _forget(self, names: set[str]) -> None:
        with self._lock:
            for name in names:
                self._known.pop(name, None)
