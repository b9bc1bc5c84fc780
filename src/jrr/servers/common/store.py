"""What every server stores: campaigns, and whom to accept.

Names are hashes of pseudonyms, and nothing tells a time or an order.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar

from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    LargeBinary,
    MetaData,
    String,
    Table,
    func,
    insert,
    select,
    update,
)
from sqlalchemy.dialects.postgresql import insert as insert_postgresql
from sqlalchemy.dialects.sqlite import insert as insert_sqlite

from jrr.mechanisms import Mechanism
from jrr.servers.common.problems import unknown_campaign
from jrr.survey.campaign import Campaign, read_campaign
from jrr.survey.states import NEW, Role, State, check_move, read_state


def campaigns_table(metadata: MetaData, *more: Column[Any]) -> Table:
    """The table of campaigns, with a role's own columns."""
    return Table(
        "campaigns",
        metadata,
        Column("campaign", String(64), primary_key=True),
        Column("document", LargeBinary, nullable=False),
        Column("state", String(16), nullable=False),
        Column("n", BigInteger),  # people who were dealt cards, once that is fixed
        Column("arrivals", BigInteger, nullable=False),  # seats, members or reports so far
        *more,
    )


def survey_column() -> Column[Any]:
    """Of the table of campaigns: the survey that a campaign is a part of, if it is."""
    return Column("survey", String(64))


def surveys_table(metadata: MetaData) -> Table:
    """The table of surveys; their parts stand among the campaigns."""
    return Table(
        "surveys",
        metadata,
        Column("survey", String(64), primary_key=True),
        Column("document", LargeBinary, nullable=False),
    )


def invited_table(metadata: MetaData, *more: Column[Any]) -> Table:
    """The table of those whom to accept, with a role's own columns."""
    # Without row numbers, which would keep the order in which rows came.
    return Table(
        "invited",
        metadata,
        Column("campaign", String(64), primary_key=True),
        Column("pseudonym", LargeBinary(32), primary_key=True),
        *more,
        sqlite_with_rowid=False,
    )


@dataclass(frozen=True, kw_only=True)
class HeldCampaign:
    """A campaign as a server holds it."""

    name: str  # its hash
    campaign: Campaign
    state: State
    n: int | None  # people who were dealt cards, once that is fixed
    arrivals: int  # seats, members or reports so far
    survey: str | None = None  # hash of the survey that it is a part of

    @property
    def mechanism(self) -> Mechanism:
        """For as many people as were dealt cards, where that is fixed."""
        return self.campaign.mechanism if self.n is None else self.campaign.for_people(self.n)


H = TypeVar("H", bound=HeldCampaign)


class CampaignStore(ABC, Generic[H]):
    """Queries within one transaction; each role adds its own tables and queries."""

    role: ClassVar[Role]
    metadata: ClassVar[MetaData]
    campaigns: ClassVar[Table]
    invited: ClassVar[Table]

    def __init__(self, connection: Connection) -> None:
        self.connection = connection

    @abstractmethod
    def _held(self, row: Any, facts: dict[str, Any]) -> H:
        """A row of the table of campaigns; facts: what all roles have."""

    def find(self, name: str, lock: bool = False) -> H:
        """A campaign, locked until the transaction ends if asked for; a Problem if unknown."""
        query = select(self.campaigns).where(self.campaigns.c.campaign == name)
        row = self.connection.execute(query.with_for_update() if lock else query).one_or_none()
        if row is None:
            raise unknown_campaign()
        facts = {
            "name": name,
            "campaign": read_campaign(bytes(row.document)),  # parsed once
            "state": read_state(row.state),
            "n": row.n,
            "arrivals": row.arrivals,
            "survey": getattr(row, "survey", None),  # a committee's parties have no surveys
        }
        return self._held(row, facts)

    def holds(self, name: str) -> bool:
        """Whether the campaign is here."""
        query = select(self.campaigns.c.campaign).where(self.campaigns.c.campaign == name)
        return self.connection.execute(query).one_or_none() is not None

    def add_campaign(self, campaign: Campaign, **more: Any) -> None:
        """Hold a new campaign; more: the role's own columns."""
        self.connection.execute(
            insert(self.campaigns).values(
                campaign=campaign.hash,
                document=campaign.to_bytes(),
                state=NEW.value,
                n=None,
                arrivals=0,
                **more,
            )
        )

    def move(self, held: H, state: State, **more: Any) -> None:
        """Put a campaign into another state, and set columns besides."""
        after = check_move(self.role, held.state, state)
        self._set(held.name, state=after.value, **more)

    def count_arrival(self, held: H) -> None:
        """One more has come; the caller has locked the campaign."""
        arrivals = held.arrivals + 1
        grown = self.connection.info.setdefault("arrivals", {})  # for Writer, which tidies up
        grown[held.name] = arrivals
        self._set(held.name, arrivals=arrivals)

    def _set(self, name: str, **values: Any) -> None:
        change = update(self.campaigns).where(self.campaigns.c.campaign == name)
        self.connection.execute(change.values(**values))

    def add_invited(self, name: str, hashes: Iterable[bytes], **more: Any) -> None:
        """Accept these pseudonyms too; those that are accepted already stay as they are."""
        rows = [{"campaign": name, "pseudonym": entry} | more for entry in hashes]
        if rows:
            is_sqlite = self.connection.dialect.name == "sqlite"
            upsert = insert_sqlite if is_sqlite else insert_postgresql
            self.connection.execute(upsert(self.invited).on_conflict_do_nothing(), rows)

    def invitation(self, name: str, who: bytes) -> Any:
        """The row of somebody who was invited; None where they were not."""
        table = self.invited
        query = select(table).where(table.c.campaign == name, table.c.pseudonym == who)
        return self.connection.execute(query).one_or_none()

    def count(self, table: Table, name: str) -> int:
        """Rows of a campaign."""
        query = select(func.count()).select_from(table).where(table.c.campaign == name)
        return int(self.connection.execute(query).scalar_one())
