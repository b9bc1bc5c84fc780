"""What the servers store: names are hashes of pseudonyms, and there is no time or order."""

from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
)

dealer = MetaData()
collector = MetaData()
party = MetaData()


def _campaigns(metadata: MetaData, *more: Column[Any]) -> Table:
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


def _invited(metadata: MetaData, *more: Column[Any]) -> Table:
    # Without row numbers, which would keep the order in which rows came.
    return Table(
        "invited",
        metadata,
        Column("campaign", String(64), primary_key=True),
        Column("pseudonym", LargeBinary(32), primary_key=True),
        *more,
        sqlite_with_rowid=False,
    )


dealer_campaigns = _campaigns(
    dealer,
    Column("wrapped_key", LargeBinary),  # None: burned, or no cards
)
dealer_invited = _invited(dealer)
seats = Table(
    "seats",
    dealer,
    Column("campaign", String(64), primary_key=True),
    Column("pseudonym", LargeBinary(32), primary_key=True),
    Column("block", BigInteger),
    Column("seat", BigInteger),
    Column("device", LargeBinary(32)),  # hash of the secret of the device that sits there
    UniqueConstraint("campaign", "block", "seat", name="one_person_per_seat"),
    sqlite_with_rowid=False,
)

party_campaigns = _campaigns(party)
party_invited = _invited(party)
members = Table(
    "members",
    party,
    Column("campaign", String(64), primary_key=True),
    Column("pseudonym", LargeBinary(32), primary_key=True),
    Column("key", LargeBinary(32), nullable=False),
    Column("slot", BigInteger),  # None: not dealt to
    UniqueConstraint("campaign", "key", name="one_person_per_key"),
    sqlite_with_rowid=False,
)
envelopes = Table(
    "envelopes",
    party,
    Column("campaign", String(64), primary_key=True),
    Column("round", Integer, primary_key=True),
    Column("slot", BigInteger, primary_key=True),
    Column("sealed", LargeBinary, nullable=False),
    sqlite_with_rowid=False,
)
records = Table(
    "records",
    party,
    Column("campaign", String(64), primary_key=True),
    Column("round", Integer, primary_key=True),
    Column("record", Text, nullable=False),
    sqlite_with_rowid=False,
)

collector_campaigns = _campaigns(collector, Column("decks", BigInteger))
collector_invited = _invited(collector, Column("round", Integer, nullable=False))
reports = Table(
    "reports",
    collector,
    Column("campaign", String(64), primary_key=True),
    Column("pseudonym", LargeBinary(32), primary_key=True),
    Column("round", Integer, nullable=False),
    Column("carded", Boolean, nullable=False),
    Column("report", LargeBinary, nullable=False),
    Column("covariates", Text, nullable=False),
    sqlite_with_rowid=False,
)
