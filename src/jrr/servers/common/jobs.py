"""What every server does to a survey; each job checks first and writes last.

A job is done within one transaction, which other requests may share: a refusal must leave nothing.
"""

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NamedTuple, TypeVar

from sqlalchemy import Connection

from jrr._base.checks import refusal
from jrr.protocol.documents import Message
from jrr.protocol.states import NEW, Act, State, When, refusal_of
from jrr.protocol.texts import read_time
from jrr.servers.common.problems import Problem, gone, too_early, unknown_name, wrong_state

if TYPE_CHECKING:
    from jrr.servers.common.batch import Writer
    from jrr.servers.common.store import HeldSurvey, SurveyStore
    from jrr.survey.survey import Survey


class Extension(Message):
    """Until when answers are to be taken, as a request says it."""

    closes: str  # UTC, as in the document


Clock = Callable[[], datetime]
S = TypeVar("S", bound="SurveyStore[Any]")
H = TypeVar("H", bound="HeldSurvey")
_PROBLEMS = {When.LATER: too_early, When.OVER: gone, When.WRONG_STATE: wrong_state}


def utc_now() -> datetime:
    """The time by the server's clock."""
    return datetime.now(UTC)


def check_state(act: Act, held: "HeldSurvey") -> None:
    """Refuse what the state of a survey does not allow (jrr.protocol.states)."""
    refusal = refusal_of(act, held.state)
    if refusal is not None:
        raise _PROBLEMS[refusal.when](refusal.reason)


def check_times(held: "HeldSurvey", now: datetime) -> None:
    """Refuse before the survey opens and after it closes."""
    opens, closes = held.times
    if opens is not None and now < opens:
        raise too_early(f"the survey opens at {held.survey.opens}")
    if closes is not None and now >= closes:
        raise gone(f"the survey closed at {held.closes}")


def check_invitation(row: Any) -> None:
    """Refuse a pseudonym that nobody was invited by (row: None)."""
    if row is None:
        raise unknown_name()


class SurveyJobs(ABC, Generic[S, H]):
    """Jobs that all servers have; each role adds its own."""

    title: ClassVar[str]  # of the server, in its OpenAPI document
    store: type[S]

    def __init__(self, clock: Clock = utc_now) -> None:
        self.clock = clock

    @abstractmethod
    def new_columns(self, survey: "Survey") -> dict[str, Any]:
        """What a new survey's row holds besides; refuses one that this server cannot hold."""

    def check_ready(self, connection: Connection) -> None:
        """Refuse unless the server can do its work; the database was written to just before."""

    def told_state(self, held: "HeldSurvey") -> State:
        """The state that everybody is told."""
        return held.state

    def told_facts(self, held: "HeldSurvey") -> dict[str, Any]:
        """What everybody is told besides."""
        return {}

    def find(self, connection: Connection, name: str) -> H:
        """The survey as it is held now."""
        return self.found(connection, name)[1]

    def found(self, connection: Connection, name: str, *, lock: bool = False) -> tuple[S, H]:
        """The store, and the survey as it is held now.

        lock: Until the transaction ends nobody else may lock it.
        """
        store = self.store(connection)
        return store, store.find(name, lock)

    def install(self, connection: Connection, survey: "Survey") -> bool:
        """Hold a survey; True where it is new. The same again changes nothing."""
        store = self.store(connection)
        if store.holds(survey.hash):
            store.find(survey.hash)  # refuses one that was deleted
            return False
        store.add_survey(survey, **self.new_columns(survey))
        return True

    def open(self, connection: Connection, name: str) -> State:
        """Of those who deal: begin enrolment, or dealing on arrival; the state after it."""
        store, held = self.found(connection, name, lock=True)
        check_state(Act.OPEN, held)
        if held.state != NEW:
            return held.state
        first = held.survey.dealing.first_state
        store.move(held, first)
        return first

    def invite(self, connection: Connection, name: str, hashes: Sequence[bytes]) -> int:
        """Accept more pseudonyms; how many there are in all."""
        store, held = self.found(connection, name, lock=True)
        check_state(Act.INVITE, held)
        if not held.survey.invitations:
            raise Problem(409, "open-survey", "anybody may answer: there are no invitations")
        with connection.begin_nested() as attempt:  # other jobs share this transaction
            store.add_invited(name, hashes)
            total = store.count(store.invited, name)
            full = total > held.survey.capacity
            if full:
                attempt.rollback()
        if full:
            capacity = held.survey.capacity
            raise Problem(409, "full", f"more invitations than the capacity {capacity}")
        return total

    def used(self, connection: Connection, name: str, hashes: Sequence[bytes]) -> list[bytes]:
        """Of some pseudonyms those whose invitation has been used, as far as this server knows."""
        return []

    def revoke(self, connection: Connection, name: str, hashes: Sequence[bytes]) -> dict[str, Any]:
        """Accept some pseudonyms no longer; not those that have been used, which are named."""
        store, held = self.found(connection, name, lock=True)
        check_state(Act.INVITE, held)
        used = self.used(connection, name, hashes)
        gone = store.remove_invited(name, set(hashes) - set(used))
        return {"revoked": gone, "used": [one.hex() for one in used]}

    def extend(self, connection: Connection, name: str, closes: str) -> str:
        """Take answers until a later time; until when. The same again changes nothing.

        Each server keeps its own time, and its operator alone can move it: answers with cards are
        taken until the earliest of them.
        """
        store, held = self.found(connection, name, lock=True)
        check_state(Act.EXTEND, held)
        before, after = held.times[1], read_time("closes", closes)
        if before is None:
            raise refusal("closes", closes, "left out: the survey has no closing time to extend")
        if after is None or after < before:
            raise refusal("closes", closes, f"later than {held.closes}, the time until now")
        if after != before:
            if after <= self.clock():
                raise refusal("closes", closes, "a time in the future")
            store.extend(held, closes)
        return closes

    def delete(self, connection: Connection, name: str) -> str:
        """Delete a survey's data for good; when that was. Again changes nothing.

        What must be destroyed outside the database is destroyed after the commit: `forget`.
        """
        store = self.store(connection)
        before = store.deletions().get(name)
        if before is not None:
            return before
        held = store.find(name, lock=True)
        is_due = name in self.due(connection)
        if not (held.survey.pilot or is_due) and self.is_used(store, held):
            check_state(Act.DELETE, held)
        when = self.clock().strftime("%Y-%m-%dT%H:%M:%SZ")
        store.delete_data(held, when)
        return when

    def due(self, connection: Connection) -> list[str]:
        """Surveys whose time of keeping is over."""
        store, now = self.store(connection), self.clock()
        found = []
        for name, held in store.find_all(store.kept()).items():
            end, days = held.times[1], held.survey.keep_days
            if end is not None and days is not None and now - end >= timedelta(days=days):
                found.append(name)
        return found

    def is_used(self, store: S, held: "HeldSurvey") -> bool:
        """Whether anybody has taken part, so that it must be closed before it is deleted."""
        return True

    def forget(self, name: str) -> None:
        """Destroy what lies outside the database of a survey that was deleted."""

    def check_invited(self, store: S, held: "HeldSurvey", who: bytes) -> None:
        """Refuse a pseudonym that nobody was invited by."""
        if held.survey.invitations:
            check_invitation(store.invitation(held.name, who))


FRESH = 1.0  # seconds: another process may have opened or closed a survey meanwhile
MOST = 1_000  # surveys that are remembered


class _Remembered(NamedTuple):
    held: "HeldSurvey"
    since: float


class SurveyMemory:
    """Surveys of one server; a change by this process is known at once."""

    def __init__(self, writer: "Writer", jobs: "SurveyJobs[Any, Any]") -> None:
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
        held: HeldSurvey = self._jobs.find(connection, name)
        if len(self._known) >= MOST:
            self._known.clear()
        self._known[name] = _Remembered(held, time.monotonic())
        return held

    def _forget(self, names: set[str]) -> None:
        with self._lock:
            for name in names:
                self._known.pop(name, None)
