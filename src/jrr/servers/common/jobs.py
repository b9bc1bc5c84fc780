"""What every server does to a campaign; each job checks first and writes last.

A job is done within one transaction, which other requests may share: a refusal must leave nothing.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Any, ClassVar, Generic, TypeVar

from sqlalchemy import Connection

from jrr.servers.common.problems import Problem, gone, too_early, unknown_name, wrong_state
from jrr.servers.common.store import CampaignStore, HeldCampaign
from jrr.survey.campaign import Campaign
from jrr.survey.states import Act, State, When, refusal_of

Clock = Callable[[], datetime]
S = TypeVar("S", bound=CampaignStore[Any])
_PROBLEMS = {When.LATER: too_early, When.OVER: gone, When.WRONG_STATE: wrong_state}


def utc_now() -> datetime:
    """The time by the server's clock."""
    return datetime.now(UTC)


def check_state(act: Act, held: HeldCampaign) -> None:
    """Refuse what the state of a campaign does not allow (jrr.survey.states)."""
    refusal = refusal_of(act, held.state)
    if refusal is not None:
        raise _PROBLEMS[refusal.when](refusal.reason)


def check_times(campaign: Campaign, now: datetime) -> None:
    """Refuse before the campaign opens and after it closes."""
    opens, closes = campaign.times
    if opens is not None and now < opens:
        raise too_early(f"the campaign opens at {campaign.opens}")
    if closes is not None and now >= closes:
        raise gone(f"the campaign closed at {campaign.closes}")


def check_invitation(row: Any) -> None:
    """Refuse a pseudonym that nobody was invited by (row: None)."""
    if row is None:
        raise unknown_name()


def check_whole(held: HeldCampaign, survey: str | None) -> None:
    """Refuse an answer to one part of a survey: its answers come together.

    survey: Through which the answer comes; None: for a campaign alone.
    """
    if held.survey != survey:
        raise Problem(409, "part-of-survey", "the question is part of a survey: answer that")


class CampaignJobs(ABC, Generic[S]):
    """Jobs that all servers have; each role adds its own."""

    title: ClassVar[str]  # of the server, in its OpenAPI document
    store: type[S]

    def __init__(self, clock: Clock = utc_now) -> None:
        self.clock = clock

    @abstractmethod
    def new_columns(self, campaign: Campaign) -> dict[str, Any]:
        """What a new campaign's row holds besides; refuses one that this server cannot hold."""

    def check_ready(self, connection: Connection) -> None:
        """Refuse unless the server can do its work; the database was written to just before."""

    def told_state(self, held: HeldCampaign) -> State:
        """The state that everybody is told."""
        return held.state

    def find(self, connection: Connection, name: str) -> HeldCampaign:
        """The campaign as it is held now."""
        held: HeldCampaign = self.store(connection).find(name)
        return held

    def install(
        self, connection: Connection, campaign: Campaign, survey: str | None = None
    ) -> bool:
        """Hold a campaign; True where it is new. The same again changes nothing.

        survey: The hash of the one that it is a part of.
        """
        store = self.store(connection)
        if store.holds(campaign.hash):
            return False
        part = {} if survey is None else {"survey": survey}
        store.add_campaign(campaign, **self.new_columns(campaign), **part)
        return True

    def invite(self, connection: Connection, name: str, hashes: Iterable[bytes]) -> int:
        """Accept more pseudonyms; how many there are in all."""
        store = self.store(connection)
        held = store.find(name, lock=True)
        check_state(Act.INVITE, held)
        if not held.campaign.invitations:
            raise Problem(409, "open-campaign", "anybody may answer: there are no invitations")
        with connection.begin_nested() as attempt:  # other jobs share this transaction
            store.add_invited(name, hashes)
            total = store.count(store.invited, name)
            full = total > held.campaign.capacity
            if full:
                attempt.rollback()
        if full:
            capacity = held.campaign.capacity
            raise Problem(409, "full", f"more invitations than the capacity {capacity}")
        return total

    def check_invited(self, store: S, held: HeldCampaign, who: bytes) -> None:
        """Refuse a pseudonym that nobody was invited by."""
        if held.campaign.invitations:
            check_invitation(store.invitation(held.survey or held.name, who))
