"""What every server does to a survey; each job checks first and writes last.

A job is done within one transaction, which other requests may share: a refusal must leave nothing.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from sqlalchemy import Connection

from jrr.protocol.states import Act, State, When, refusal_of
from jrr.servers.common.problems import Problem, gone, too_early, unknown_name, wrong_state

if TYPE_CHECKING:
    from jrr.servers.common.store import HeldSurvey, SurveyStore
    from jrr.survey.survey import Survey

Clock = Callable[[], datetime]
S = TypeVar("S", bound="SurveyStore[Any]")
_PROBLEMS = {When.LATER: too_early, When.OVER: gone, When.WRONG_STATE: wrong_state}


def utc_now() -> datetime:
    """The time by the server's clock."""
    return datetime.now(UTC)


def check_state(act: Act, held: "HeldSurvey") -> None:
    """Refuse what the state of a survey does not allow (jrr.protocol.states)."""
    refusal = refusal_of(act, held.state)
    if refusal is not None:
        raise _PROBLEMS[refusal.when](refusal.reason)


def check_times(survey: "Survey", now: datetime) -> None:
    """Refuse before the survey opens and after it closes."""
    opens, closes = survey.times
    if opens is not None and now < opens:
        raise too_early(f"the survey opens at {survey.opens}")
    if closes is not None and now >= closes:
        raise gone(f"the survey closed at {survey.closes}")


def check_invitation(row: Any) -> None:
    """Refuse a pseudonym that nobody was invited by (row: None)."""
    if row is None:
        raise unknown_name()


class SurveyJobs(ABC, Generic[S]):
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

    def find(self, connection: Connection, name: str) -> "HeldSurvey":
        """The survey as it is held now."""
        held: HeldSurvey = self.store(connection).find(name)
        return held

    def install(self, connection: Connection, survey: "Survey") -> bool:
        """Hold a survey; True where it is new. The same again changes nothing."""
        store = self.store(connection)
        if store.holds(survey.hash):
            return False
        store.add_survey(survey, **self.new_columns(survey))
        return True

    def invite(self, connection: Connection, name: str, hashes: Sequence[bytes]) -> int:
        """Accept more pseudonyms; how many there are in all."""
        store = self.store(connection)
        held = store.find(name, lock=True)
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

    def check_invited(self, store: S, held: "HeldSurvey", who: bytes) -> None:
        """Refuse a pseudonym that nobody was invited by."""
        if held.survey.invitations:
            check_invitation(store.invitation(held.name, who))
