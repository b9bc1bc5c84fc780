"""Campaigns and surveys as they were a moment ago: what is answered without the database."""

import threading
import time
from typing import TYPE_CHECKING, Any, NamedTuple

from jrr.servers.common.batch import Writer
from jrr.servers.common.jobs import CampaignJobs
from jrr.servers.common.problems import Problem
from jrr.servers.common.store import HeldCampaign
from jrr.survey.survey_messages import upload_limit
from jrr.survey.surveys import Survey

if TYPE_CHECKING:
    from jrr.servers.common.surveys import SurveyJobs

FRESH = 1.0  # seconds: another process may have opened or closed a campaign meanwhile
MOST = 1_000  # campaigns that are remembered


class _Remembered(NamedTuple):
    held: HeldCampaign
    since: float


class CampaignMemory:
    """Campaigns of one server; a change by this process is known at once."""

    def __init__(self, writer: Writer, jobs: CampaignJobs[Any]) -> None:
        self._writer, self._jobs = writer, jobs
        self._known: dict[str, _Remembered] = {}
        self._lock = threading.Lock()
        writer.changed.append(self._forget)

    async def find(self, name: str) -> Any:
        """A campaign as its store finds it, but for the number of arrivals; a Problem if unknown.

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

    def _remember(self, connection: Any, name: str) -> HeldCampaign:
        """In the writer's thread: after it, a change is forgotten in the right order."""
        held = self._jobs.find(connection, name)
        if len(self._known) >= MOST:
            self._known.clear()
        self._known[name] = _Remembered(held, time.monotonic())
        return held

    def _forget(self, names: set[str]) -> None:
        with self._lock:
            for name in names:
                self._known.pop(name, None)


class KnownSurvey(NamedTuple):
    """A survey, which never changes."""

    survey: Survey
    upload_limit: int  # bytes of an upload


class SurveyMemory:
    """Surveys of one server, and whether they are open."""

    def __init__(self, writer: Writer, jobs: "SurveyJobs[Any]") -> None:
        self._writer, self._jobs = writer, jobs
        self._known: dict[str, KnownSurvey] = {}
        self._states: dict[str, tuple[dict[str, Any], float]] = {}
        writer.changed.append(self._forget)

    async def find(self, name: str) -> KnownSurvey:
        """A survey; a Problem if unknown."""
        if name not in self._known:
            survey = await self._writer.run(self._jobs.find, name)
            if len(self._known) >= MOST:
                self._known.clear()
            self._known[name] = KnownSurvey(survey, upload_limit(survey))
        return self._known[name]

    async def status(self, name: str) -> dict[str, Any]:
        """The state of all parts together, as it was a moment ago."""
        known = self._states.get(name)
        if known is None or time.monotonic() - known[1] >= FRESH:
            return await self._writer.run(self._remember, name)
        return known[0]

    def _remember(self, connection: Any, name: str) -> dict[str, Any]:
        """In the writer's thread: after it, a change is forgotten in the right order."""
        state = self._jobs.status(connection, name)
        if len(self._states) >= MOST:
            self._states.clear()
        self._states[name] = state, time.monotonic()
        return state

    def _forget(self, names: set[str]) -> None:
        if names:  # of parts: whichever survey they belong to
            self._states.clear()
