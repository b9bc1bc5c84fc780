"""What the dealer stores: campaigns with their wrapped keys, and who sits where."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
    func,
    select,
    update,
)

from jrr.servers.common.store import (
    CampaignStore,
    HeldCampaign,
    arrivals_table,
    campaigns_table,
    invited_table,
    survey_column,
    surveys_table,
)
from jrr.servers.dealer.seating import Seat
from jrr.survey.states import CLOSED, OPEN, Role

METADATA = MetaData()  # the tables of this server


@dataclass(frozen=True, kw_only=True)
class DealerCampaign(HeldCampaign):
    """A campaign as the dealer holds it."""

    wrapped_key: bytes | None  # None: burned
    told: dict[str, Any] | None  # what was told of its cards at the end, once and for all


class DealerStore(CampaignStore[DealerCampaign]):
    """Queries of the dealer within one transaction."""

    role = Role.DEALER
    metadata = METADATA
    campaigns = campaigns_table(
        metadata,
        Column("wrapped_key", LargeBinary),
        Column("told", Text),  # JSON: sums of cards that were told at the end, never a card
        survey_column(),
    )
    surveys = surveys_table(metadata)
    invited = invited_table(metadata)
    arrivals = arrivals_table(metadata)
    seats = Table(
        "seats",
        metadata,
        Column("campaign", String(64), primary_key=True),
        Column("pseudonym", LargeBinary(32), primary_key=True),
        Column("block", BigInteger),
        Column("seat", BigInteger),
        Column("device", LargeBinary(32)),  # hash of the secret of the device that sits there
        Column("fetched", Boolean),  # whether the cards may have left the dealer
        UniqueConstraint("campaign", "block", "seat", name="one_person_per_seat"),
        sqlite_with_rowid=False,
    )

    def _held(self, row: Any, facts: dict[str, Any]) -> DealerCampaign:
        wrapped = None if row.wrapped_key is None else bytes(row.wrapped_key)
        told = None if row.told is None else json.loads(row.told)
        return DealerCampaign(**facts, wrapped_key=wrapped, told=told)

    def seats_of(self, name: str, people: Iterable[bytes]) -> dict[bytes, Seat]:
        """Where those of some people sit who have a seat."""
        return self.all_seats_of([name], people)[name]

    def all_seats_of(
        self, names: Sequence[str], people: Iterable[bytes]
    ) -> dict[str, dict[bytes, Seat]]:
        """The same in each of some campaigns."""
        table = self.seats
        query = select(table).where(table.c.campaign.in_(names), table.c.pseudonym.in_(set(people)))
        found: dict[str, dict[bytes, Seat]] = {name: {} for name in names}
        for row in self.connection.execute(query):
            found[row.campaign][bytes(row.pseudonym)] = Seat(
                block=row.block,
                number=row.seat,
                fetched=bool(row.fetched),
                device=b"" if row.device is None else bytes(row.device),
            )
        return found

    def add_seats(self, seats: Mapping[str, Mapping[bytes, Seat]]) -> None:
        """Seat people in each of some campaigns, in random order."""
        self._add(
            self.seats,
            [
                {
                    "campaign": name,
                    "pseudonym": who,
                    "block": seat.block,
                    "seat": seat.number,
                    "device": seat.device or None,
                    "fetched": seat.fetched,
                }
                for name, some in seats.items()
                for who, seat in some.items()
            ],
        )

    def note_fetched(self, name: str, people: Iterable[bytes]) -> None:
        """From now on the cards of some people may have left the dealer."""
        table, found = self.seats, set(people)
        if found:
            where = (table.c.campaign == name) & table.c.pseudonym.in_(found)
            self.connection.execute(update(table).where(where).values(fetched=True))

    def places(self, name: str) -> list[tuple[int, int]]:
        """Blocks and seats of all whose cards may have left the dealer."""
        table = self.seats
        query = select(table.c.block, table.c.seat).where(
            table.c.campaign == name, table.c.block.is_not(None), table.c.fetched
        )
        return [(block, seat) for block, seat in self.connection.execute(query)]

    def closed(self) -> list[str]:
        """Campaigns that are over."""
        query = select(self.campaigns.c.campaign).where(self.campaigns.c.state == CLOSED.value)
        return [name for (name,) in self.connection.execute(query)]

    def open_ones(self) -> list[str]:
        """Campaigns whose cards are given away."""
        query = select(self.campaigns.c.campaign).where(self.campaigns.c.state == OPEN.value)
        return [name for (name,) in self.connection.execute(query)]

    def tell(self, held: DealerCampaign, told: dict[str, Any]) -> None:
        """End a campaign and keep what is told of its cards; the key is of no more use."""
        self.move(held, CLOSED, told=json.dumps(told), wrapped_key=None)

    def number_seats(self, name: str) -> None:
        """Put everybody in one block, by the order of the hashes: it tells nothing of who came."""
        table = self.seats
        ranks = (
            select(
                table.c.pseudonym,
                (func.row_number().over(order_by=table.c.pseudonym) - 1).label("rank"),
            )
            .where(table.c.campaign == name)
            .subquery()
        )
        self.connection.execute(
            update(table)
            .values(block=0, seat=ranks.c.rank)
            .where(table.c.campaign == name, table.c.pseudonym == ranks.c.pseudonym)
        )
