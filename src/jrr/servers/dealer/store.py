"""What the dealer stores: surveys with their wrapped keys, and who sits where."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from jrr.dealing.serials import SerialNonce
from jrr.protocol.states import CLOSED, OPEN, Role, State
from jrr.servers.common.store import (
    HeldSurvey,
    SurveyStore,
    arrivals_table,
    invited_table,
    surveys_table,
    table_by_survey,
)
from jrr.servers.dealer.seating import Seat

METADATA = sa.MetaData()  # the tables of this server


@dataclass(frozen=True, kw_only=True)
class HeldByDealer(HeldSurvey):
    """A survey as the dealer holds it."""

    wrapped_key: bytes | None  # None: burned
    told: dict[str, Any] | None  # what was told of its cards at the end, once and for all

    @property
    def announced(self) -> list[dict[str, Any]]:
        """The announcements so far: hashes of their requests, and the sums."""
        return [] if self.told is None else list(self.told["announced"])


def _asked(row: Any) -> SerialNonce | None:
    if row.serial is None:
        return None
    return SerialNonce(bytes(row.serial), bytes(row.nonce))


class DealerStore(SurveyStore[HeldByDealer]):
    """Queries of the dealer within one transaction."""

    role = Role.DEALER
    metadata = METADATA
    surveys = surveys_table(
        metadata,
        sa.Column("wrapped_key", sa.LargeBinary),
        sa.Column("told", sa.Text),  # JSON: sums of cards that were told at the end, never a card
    )
    invited = invited_table(metadata)
    arrivals = arrivals_table(metadata)
    seats = table_by_survey(
        "seats",
        metadata,
        sa.Column("pseudonym", sa.LargeBinary(32), primary_key=True),
        sa.Column("block", sa.BigInteger),  # None: enrolled, not dealt to yet
        sa.Column("number", sa.BigInteger),
        sa.Column("fetched", sa.Boolean, nullable=False),  # whether cards may have left the dealer
        sa.Column("device", sa.LargeBinary(32)),  # hash of the secret of the device that sits there
        sa.Column("serial", sa.LargeBinary(16)),  # of verified cards, chosen by that device
        sa.Column("nonce", sa.LargeBinary(32)),
        sa.UniqueConstraint("survey", "serial", name="one_person_per_serial"),
        sa.UniqueConstraint("survey", "block", "number", name="one_person_per_seat"),
    )

    def _held(self, row: Any, facts: dict[str, Any]) -> HeldByDealer:
        wrapped = None if row.wrapped_key is None else bytes(row.wrapped_key)
        told = None if row.told is None else json.loads(row.told)
        return HeldByDealer(**facts, wrapped_key=wrapped, told=told)

    def seats_of(self, name: str, people: Iterable[bytes]) -> dict[bytes, Seat]:
        """Where those of some people sit who have a seat."""
        return {
            who: Seat(
                block=row.block,
                number=row.number,
                fetched=bool(row.fetched),
                device=b"" if row.device is None else bytes(row.device),
                asked=_asked(row),
            )
            for who, row in self.rows_of(self.seats, name, people).items()
        }

    def add_seats(self, name: str, seats: Mapping[bytes, Seat]) -> None:
        """Seat people."""
        self._add(
            self.seats,
            [
                {
                    "survey": name,
                    "pseudonym": who,
                    "block": seat.block,
                    "number": seat.number,
                    "fetched": seat.fetched,
                    "device": seat.device or None,
                    "serial": None if seat.asked is None else seat.asked.serial,
                    "nonce": None if seat.asked is None else seat.asked.nonce,
                }
                for who, seat in seats.items()
            ],
        )

    def serial_owners(self, name: str, serials: Iterable[bytes]) -> dict[bytes, bytes]:
        """Who asked for verified cards with some serial numbers."""
        table, wanted = self.seats, set(serials)
        query = sa.select(table.c.serial, table.c.pseudonym).where(
            table.c.survey == name, table.c.serial.in_(wanted)
        )
        if not wanted:
            return {}
        return {bytes(serial): bytes(who) for serial, who in self.connection.execute(query)}

    def all_asked(self, name: str) -> "dict[bytes, SerialNonce]":
        """What everybody asked for verified cards with, by serial number."""
        table = self.seats
        query = sa.select(table.c.serial, table.c.nonce).where(
            table.c.survey == name, table.c.serial.is_not(None)
        )
        found = (_asked(row) for row in self.connection.execute(query))
        return {one.serial: one for one in found if one is not None}

    def note_fetched(self, name: str, people: Iterable[bytes]) -> None:
        """From now on the cards of some people may have left the dealer."""
        table, found = self.seats, set(people)
        if found:
            where = (table.c.survey == name) & table.c.pseudonym.in_(found)
            self.connection.execute(sa.update(table).where(where).values(fetched=True))

    def places(self, name: str) -> list[tuple[int, int]]:
        """Blocks and seats of all whose cards may have left the dealer."""
        table = self.seats
        query = sa.select(table.c.block, table.c.number).where(
            table.c.survey == name, table.c.block.is_not(None), table.c.fetched
        )
        return [(block, number) for block, number in self.connection.execute(query)]

    def burned(self) -> list[str]:
        """Surveys that are over, and of which nothing more is announced."""
        return self._in_state(CLOSED, self.surveys.c.wrapped_key.is_(None))

    def open_ones(self) -> list[str]:
        """Surveys whose cards are given away."""
        return self._in_state(OPEN)

    def _in_state(self, state: State, *more: Any) -> list[str]:
        table = self.surveys
        query = sa.select(table.c.survey).where(
            table.c.state == state.value, table.c.deleted.is_(None), *more
        )
        return list(self.connection.execute(query).scalars())

    def tell(self, held: HeldByDealer, told: dict[str, Any], *, burns: bool) -> None:
        """End a survey and keep what is told of its cards.

        burns: The key is of no more use, as no more is announced. What devices asked for verified
            cards with goes too: from it and a public key, whoever can compute discrete logarithms
            one day would have the cards.
        """
        gone = {"wrapped_key": None} if burns else {}
        if held.state != CLOSED:
            self.move(held, CLOSED)
        self._set(held.name, told=json.dumps(told), **gone)
        if burns and held.survey.dealing.is_verified:
            mine = self.seats.c.survey == held.name
            self.connection.execute(
                sa.update(self.seats).where(mine).values(serial=None, nonce=None)
            )

    def number_seats(self, name: str) -> None:
        """Put everybody in one block, by the order of the hashes: it tells nothing of who came."""
        table = self.seats
        ranks = (
            sa.select(
                table.c.pseudonym,
                (sa.func.row_number().over(order_by=table.c.pseudonym) - 1).label("rank"),
            )
            .where(table.c.survey == name)
            .subquery()
        )
        self.connection.execute(
            sa.update(table)
            .values(block=0, number=ranks.c.rank)
            .where(table.c.survey == name, table.c.pseudonym == ranks.c.pseudonym)
        )
