"""What a party stores: campaigns, who has enrolled with which key, and sealed shares of cards."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
    bindparam,
    delete,
    insert,
    select,
    update,
)

from jrr.servers.common.store import (
    CampaignStore,
    HeldCampaign,
    arrivals_table,
    campaigns_table,
    invited_table,
)
from jrr.survey.committee.cards import Record
from jrr.survey.committee.rounds import DealtRounds, Member
from jrr.survey.states import Role

ROWS = 10_000  # envelopes stored at a time


@dataclass(frozen=True, kw_only=True)
class StoredMember:
    """Somebody who has enrolled."""

    key: bytes  # public; shares are sealed to it
    slot: int | None  # None: not dealt to


class PartyStore(CampaignStore[HeldCampaign]):
    """Queries of a party within one transaction."""

    role = Role.PARTY
    metadata = MetaData()
    campaigns = campaigns_table(metadata)
    invited = invited_table(metadata)
    arrivals = arrivals_table(metadata)
    members = Table(
        "members",
        metadata,
        Column("campaign", String(64), primary_key=True),
        Column("pseudonym", LargeBinary(32), primary_key=True),
        Column("key", LargeBinary(32), nullable=False),
        Column("slot", BigInteger),  # None: not dealt to
        UniqueConstraint("campaign", "key", name="one_person_per_key"),
        sqlite_with_rowid=False,
    )
    envelopes = Table(
        "envelopes",
        metadata,
        Column("campaign", String(64), primary_key=True),
        Column("round", Integer, primary_key=True),
        Column("slot", BigInteger, primary_key=True),
        Column("sealed", LargeBinary, nullable=False),
        sqlite_with_rowid=False,
    )
    records = Table(
        "records",
        metadata,
        Column("campaign", String(64), primary_key=True),
        Column("round", Integer, primary_key=True),
        Column("record", Text, nullable=False),
        sqlite_with_rowid=False,
    )

    def _held(self, row: Any, facts: dict[str, Any]) -> HeldCampaign:
        return HeldCampaign(**facts)

    def member(self, name: str, who: bytes) -> StoredMember | None:
        """Somebody who has enrolled; None where they have not."""
        table = self.members
        query = select(table).where(table.c.campaign == name, table.c.pseudonym == who)
        row = self.connection.execute(query).one_or_none()
        return None if row is None else StoredMember(key=bytes(row.key), slot=row.slot)

    def has_key(self, name: str, key: bytes) -> bool:
        """Whether somebody has enrolled with this key."""
        table = self.members
        query = select(table.c.campaign).where(table.c.campaign == name, table.c.key == key)
        return self.connection.execute(query).first() is not None

    def add_member(self, name: str, who: bytes, key: bytes) -> None:
        """Take somebody in."""
        row = {"campaign": name, "pseudonym": who, "key": key}
        self.connection.execute(insert(self.members).values(**row))

    def roster(self, name: str) -> list[Member]:
        """Everybody who has enrolled."""
        table = self.members
        query = select(table.c.pseudonym, table.c.key).where(table.c.campaign == name)
        return [(bytes(who), bytes(key)) for who, key in self.connection.execute(query)]

    def remove_members(self, name: str) -> None:
        """Forget who has enrolled."""
        self.connection.execute(delete(self.members).where(self.members.c.campaign == name))

    def add_deal(self, name: str, dealt: DealtRounds) -> None:
        """Keep the shares of all rounds, and who holds which slot."""
        for record, sealed in zip(dealt.records, dealt.sealed, strict=True):
            row = {"campaign": name, "round": record.round, "record": record.to_json()}
            self.connection.execute(insert(self.records).values(**row))
            self._add_envelopes(name, record.round, sealed)
        rows = [{"who": who, "place": slot} for slot, (who, _) in enumerate(dealt.members)]
        table = self.members
        self.connection.execute(
            update(table)
            .where(table.c.campaign == name, table.c.pseudonym == bindparam("who"))
            .values(slot=bindparam("place")),
            rows,
        )

    def _add_envelopes(self, name: str, round_number: int, sealed: Sequence[bytes]) -> None:
        for start in range(0, len(sealed), ROWS):
            rows = [
                {"campaign": name, "round": round_number, "slot": slot, "sealed": entry}
                for slot, entry in enumerate(sealed[start : start + ROWS], start)
            ]
            self.connection.execute(insert(self.envelopes), rows)

    def remove_deal(self, name: str) -> None:
        """Forget the shares and who holds which slot."""
        for table in (self.envelopes, self.records):
            self.connection.execute(delete(table).where(table.c.campaign == name))
        members = self.members
        self.connection.execute(update(members).where(members.c.campaign == name).values(slot=None))

    def record(self, name: str, round_number: int) -> Record:
        """The public facts of a round."""
        table = self.records
        query = select(table.c.record).where(
            table.c.campaign == name, table.c.round == round_number
        )
        return Record.from_document(json.loads(self.connection.execute(query).scalar_one()))

    def envelope(self, name: str, round_number: int, slot: int) -> bytes:
        """One sealed share."""
        table = self.envelopes
        query = select(table.c.sealed).where(
            table.c.campaign == name, table.c.round == round_number, table.c.slot == slot
        )
        return bytes(self.connection.execute(query).scalar_one())

    def round_envelopes(self, name: str, round_number: int) -> list[bytes]:
        """All sealed shares of a round, in the order of slots."""
        table = self.envelopes
        query = (
            select(table.c.sealed)
            .where(table.c.campaign == name, table.c.round == round_number)
            .order_by(table.c.slot)
        )
        return [bytes(sealed) for sealed in self.connection.execute(query).scalars()]
