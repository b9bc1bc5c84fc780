"""What a party stores: surveys, who has enrolled with which key, and sealed shares of cards."""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from jrr.dealing.committee.cards import Record
from jrr.dealing.committee.complaints import Finding
from jrr.protocol.documents import plain
from jrr.protocol.states import Role
from jrr.servers.common.store import (
    HeldSurvey,
    SurveyStore,
    arrivals_table,
    invited_table,
    surveys_table,
    table_by_survey,
)

if TYPE_CHECKING:
    from jrr.dealing.committee.deals import DealtDeck, Member

ROWS = 10_000  # envelopes stored at a time

METADATA = sa.MetaData()  # the tables of this server


@dataclass(frozen=True, kw_only=True)
class StoredMember:
    """Somebody who has enrolled."""

    key: bytes  # public; shares are sealed to it
    slot: int | None  # None: not dealt to
    unnamed_by: tuple[int, ...]  # parties that did not name it for the deal


@dataclass(frozen=True, kw_only=True)
class HeldByParty(HeldSurvey):
    """A survey as a party holds it."""

    settled: bool  # all parties serve the deal


@dataclass(frozen=True, kw_only=True)
class StoredComplaint:
    """What came of somebody's complaint of a card."""

    slot: int
    finding: Finding
    accused: int | None
    evidence: dict[str, Any] | None


class PartyStore(SurveyStore[HeldByParty]):
    """Queries of a party within one transaction."""

    role = Role.PARTY
    metadata = METADATA
    surveys = surveys_table(metadata, sa.Column("settled", sa.Boolean))
    invited = invited_table(metadata)
    arrivals = arrivals_table(metadata)
    members = table_by_survey(
        "members",
        metadata,
        sa.Column("pseudonym", sa.LargeBinary(32), primary_key=True),
        sa.Column("key", sa.LargeBinary(32), nullable=False),
        sa.Column("slot", sa.BigInteger),  # None: not dealt to
        sa.Column("unnamed_by", sa.String(64)),  # numbers of parties, or None
        sa.UniqueConstraint("survey", "key", name="one_person_per_key"),
    )
    envelopes = table_by_survey(
        "envelopes",
        metadata,
        sa.Column("slot", sa.BigInteger, primary_key=True),
        sa.Column("sealed", sa.LargeBinary, nullable=False),
        sa.Column("excess", sa.LargeBinary, nullable=False),
    )
    complaints = table_by_survey(
        "complaints",
        metadata,
        sa.Column("slot", sa.BigInteger, primary_key=True),
        sa.Column("finding", sa.String(16), nullable=False),
        sa.Column("accused", sa.Integer),
        sa.Column("evidence", sa.Text),
    )
    records = table_by_survey("records", metadata, sa.Column("record", sa.Text, nullable=False))

    def _held(self, row: Any, facts: dict[str, Any]) -> HeldByParty:
        return HeldByParty(**facts, settled=bool(row.settled))

    def settle(self, name: str) -> None:
        """All parties serve the deal."""
        self._set(name, settled=True)

    def member(self, name: str, who: bytes) -> StoredMember | None:
        """Somebody who has enrolled; None where they have not."""
        table = self.members
        query = sa.select(table).where(table.c.survey == name, table.c.pseudonym == who)
        row = self.connection.execute(query).one_or_none()
        if row is None:
            return None
        unnamed = tuple(int(number) for number in (row.unnamed_by or "").split())
        return StoredMember(key=bytes(row.key), slot=row.slot, unnamed_by=unnamed)

    def has_key(self, name: str, key: bytes) -> bool:
        """Whether somebody has enrolled with this key."""
        table = self.members
        query = sa.select(table.c.survey).where(table.c.survey == name, table.c.key == key)
        return self.connection.execute(query).first() is not None

    def add_member(self, name: str, who: bytes, key: bytes) -> None:
        """Take somebody in."""
        row = {"survey": name, "pseudonym": who, "key": key}
        self.connection.execute(sa.insert(self.members).values(**row))

    def roster(self, name: str) -> list["Member"]:
        """Everybody who has enrolled."""
        table = self.members
        query = sa.select(table.c.pseudonym, table.c.key).where(table.c.survey == name)
        return [(bytes(who), bytes(key)) for who, key in self.connection.execute(query)]

    def remove_members(self, name: str) -> None:
        """Forget who has enrolled."""
        self.connection.execute(sa.delete(self.members).where(self.members.c.survey == name))

    def add_deal(self, name: str, dealt: "DealtDeck") -> None:
        """Keep the shares, and who holds which slot."""
        row = {"survey": name, "record": json.dumps(plain(dealt.record))}
        self.connection.execute(sa.insert(self.records).values(**row))
        self._add_envelopes(name, dealt.sealed, dealt.excess)
        rows = [{"who": who, "place": slot} for slot, (who, _) in enumerate(dealt.members)]
        table = self.members
        self.connection.execute(
            sa.update(table)
            .where(table.c.survey == name, table.c.pseudonym == sa.bindparam("who"))
            .values(slot=sa.bindparam("place")),
            rows,
        )
        for key, parties in dealt.left_out.items():
            change = sa.update(table).where(table.c.survey == name, table.c.key == key)
            numbers = " ".join(map(str, parties))
            self.connection.execute(change.values(unnamed_by=numbers))

    def _add_envelopes(self, name: str, sealed: Sequence[bytes], excess: Sequence[bytes]) -> None:
        for start in range(0, len(sealed), ROWS):
            rows = [
                {"survey": name, "slot": slot, "sealed": sealed[slot], "excess": excess[slot]}
                for slot in range(start, min(start + ROWS, len(sealed)))
            ]
            self.connection.execute(sa.insert(self.envelopes), rows)

    def remove_deal(self, name: str) -> None:
        """Forget the shares and who holds which slot."""
        for table in (self.envelopes, self.records, self.complaints):
            self.connection.execute(sa.delete(table).where(table.c.survey == name))
        members = self.members
        change = sa.update(members).where(members.c.survey == name)
        self.connection.execute(change.values(slot=None, unnamed_by=None))

    def kept_record(self, name: str) -> Record | None:
        """The public facts of the deal; None where no deal is kept."""
        query = sa.select(self.records.c.record).where(self.records.c.survey == name)
        record = self.connection.execute(query).scalar_one_or_none()
        return None if record is None else Record.from_document(json.loads(record))

    def envelope(self, name: str, slot: int) -> tuple[bytes, bytes]:
        """One sealed share, and what the shares of its slot were checked with."""
        table = self.envelopes
        query = sa.select(table).where(table.c.survey == name, table.c.slot == slot)
        row = self.connection.execute(query).one()
        return bytes(row.sealed), bytes(row.excess)

    def all_envelopes(self, name: str) -> list[tuple[bytes, bytes]]:
        """The same of all slots, in their order."""
        table = self.envelopes
        query = sa.select(table).where(table.c.survey == name).order_by(table.c.slot)
        return [(bytes(row.sealed), bytes(row.excess)) for row in self.connection.execute(query)]

    def add_complaint(self, name: str, complaint: StoredComplaint) -> None:
        """Remember what came of a complaint: the slot is lost."""
        evidence = None if complaint.evidence is None else json.dumps(complaint.evidence)
        row = vars(complaint) | {"survey": name, "evidence": evidence}
        self.connection.execute(sa.insert(self.complaints).values(**row))

    def complaint(self, name: str, slot: int) -> StoredComplaint | None:
        """What came of the complaint of a slot's holder; None where there was none."""
        return next(iter(self.complaints_of(name, slot)), None)

    def complaints_of(self, name: str, slot: int | None = None) -> list[StoredComplaint]:
        """What came of all complaints, in the order of slots; slot: of one only."""
        table = self.complaints
        query = sa.select(table).where(table.c.survey == name).order_by(table.c.slot)
        if slot is not None:
            query = query.where(table.c.slot == slot)
        return [
            StoredComplaint(
                slot=row.slot,
                finding=Finding(row.finding),
                accused=row.accused,
                evidence=None if row.evidence is None else json.loads(row.evidence),
            )
            for row in self.connection.execute(query)
        ]

    def unnamed(self, name: str) -> Counter[int]:
        """How many who have enrolled each party did not name for the deal."""
        table = self.members
        query = sa.select(table.c.unnamed_by).where(
            table.c.survey == name, table.c.unnamed_by.is_not(None)
        )
        found = self.connection.execute(query).scalars()
        return Counter(int(number) for entry in found for number in entry.split())
