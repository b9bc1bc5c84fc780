"""What dealer and collector both do to surveys: hold, open, invite, show; each part is a campaign.

A survey comes into being, opens and takes names as a whole, in one transaction. It ends part by
part, as campaigns do: every deck has a sum of its own.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, Generic, TypeVar

from sqlalchemy import Connection, insert, select

from jrr.servers.common.jobs import CampaignJobs, check_state
from jrr.servers.common.problems import Problem, unknown_name
from jrr.servers.common.store import CampaignStore
from jrr.survey.states import CLOSED, NEW, OPEN, Act, State
from jrr.survey.surveys import Survey, SurveyPart, read_survey

J = TypeVar("J", bound=CampaignJobs[Any])


class SurveyJobs(ABC, Generic[J]):
    """Jobs of surveys, on top of those of campaigns."""

    def __init__(self, campaigns: J) -> None:
        self.campaigns = campaigns

    def parts_here(self, survey: Survey) -> list[SurveyPart]:
        """The parts that this server has to do with."""
        return list(survey.parts)

    def find(self, connection: Connection, name: str) -> Survey:
        """A survey; a Problem if unknown."""
        table = self._table
        query = select(table.c.document).where(table.c.survey == name)
        row = connection.execute(query).one_or_none()
        if row is None:
            raise Problem(404, "unknown-survey", "this server holds no such survey")
        return read_survey(bytes(row.document))  # parsed once

    def held_parts(
        self, connection: Connection, survey: Survey, lock: bool = False, share: bool = False
    ) -> dict[str, Any]:
        """Its parts as the server holds them, in the order of the document."""
        store: CampaignStore[Any] = self.campaigns.store(connection)
        names = {part.name: part.campaign.hash for part in self.parts_here(survey)}
        held = store.find_all(list(names.values()), lock, share)
        return {part: held[name] for part, name in names.items()}

    def document(self, connection: Connection, name: str) -> bytes:
        """The survey's bytes."""
        return self.find(connection, name).to_bytes()

    def status(self, connection: Connection, name: str) -> dict[str, Any]:
        """The state of all parts together: closed as soon as one of them is."""
        held = self.held_parts(connection, self.find(connection, name)).values()
        return {"state": self._state(map(self.campaigns.told_state, held))}

    def install(self, connection: Connection, survey: Survey) -> bool:
        """Hold a survey and its parts; True where it is new. The same again changes nothing."""
        table = self._table
        query = select(table.c.survey).where(table.c.survey == survey.hash)
        if connection.execute(query).one_or_none() is not None:
            return False
        store = self.campaigns.store(connection)
        parts = self.parts_here(survey)
        if any(store.holds(part.campaign.hash) for part in parts):
            raise Problem(409, "conflict", "a part of the survey is here already, by itself")
        with connection.begin_nested():  # other jobs share this transaction
            for part in parts:
                self.campaigns.install(connection, part.campaign, survey.hash)
            row = {"survey": survey.hash, "document": survey.to_bytes()}
            connection.execute(insert(table).values(**row))
        return True

    def invite(self, connection: Connection, name: str, hashes: Iterable[bytes]) -> int:
        """Accept more pseudonyms, for all parts at once; how many there are in all."""
        survey = self.find(connection, name)
        store = self.campaigns.store(connection)
        for held in self.held_parts(connection, survey, lock=True).values():
            check_state(Act.INVITE, held)
        if not survey.invitations:
            raise Problem(409, "open-campaign", "anybody may answer: there are no invitations")
        with connection.begin_nested() as attempt:
            store.add_invited(name, hashes)
            total: int = store.count(store.invited, name)
            full = total > survey.first.capacity
            if full:
                attempt.rollback()
        if full:
            raise Problem(
                409, "full", f"more invitations than the capacity {survey.first.capacity}"
            )
        return total

    def open(self, connection: Connection, name: str) -> State:
        """Begin to take answers, or to deal; the state after it."""
        survey = self.find(connection, name)
        for held in self.held_parts(connection, survey, lock=True).values():
            check_state(Act.OPEN, held)
        for part in self.parts_here(survey):
            self.open_part(connection, part.campaign.hash)
        return OPEN

    @abstractmethod
    def open_part(self, connection: Connection, name: str) -> None:
        """Open one part, as the server's role does."""

    def show(self, connection: Connection, name: str) -> dict[str, Any]:
        """Counts, no names."""
        survey = self.find(connection, name)
        held = self.held_parts(connection, survey)
        store = self.campaigns.store(connection)
        return {
            "survey": name,
            "state": self._state(one.state for one in held.values()),
            "invited": store.count(store.invited, name),
            "parts": {part: one.arrivals for part, one in held.items()},
        }

    def check_invited(self, connection: Connection, survey: Survey, who: bytes) -> None:
        """Refuse a pseudonym that nobody was invited by."""
        if not survey.invitations:
            return
        if self.campaigns.store(connection).invitation(survey.hash, who) is None:
            raise unknown_name()

    @property
    def _table(self) -> Any:
        return self.campaigns.store.surveys

    @staticmethod
    def _state(parts: Iterable[State]) -> State:
        states = set(parts)
        return CLOSED if CLOSED in states else NEW if NEW in states else OPEN
