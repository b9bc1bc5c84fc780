"""Campaigns, invitations, members, envelopes, records."""

import sqlalchemy as sa
from alembic import op

revision = "party_0001"
down_revision = None


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "campaigns",
        sa.Column("campaign", sa.String(64), primary_key=True),
        sa.Column("document", sa.LargeBinary, nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("n", sa.BigInteger),
        sa.Column("arrivals", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "invited",
        sa.Column("campaign", sa.String(64), primary_key=True),
        sa.Column("pseudonym", sa.LargeBinary(32), primary_key=True),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "members",
        sa.Column("campaign", sa.String(64), primary_key=True),
        sa.Column("pseudonym", sa.LargeBinary(32), primary_key=True),
        sa.Column("key", sa.LargeBinary(32), nullable=False),
        sa.Column("slot", sa.BigInteger),
        sa.UniqueConstraint("campaign", "key", name="one_person_per_key"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "envelopes",
        sa.Column("campaign", sa.String(64), primary_key=True),
        sa.Column("round", sa.Integer, primary_key=True),
        sa.Column("slot", sa.BigInteger, primary_key=True),
        sa.Column("sealed", sa.LargeBinary, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "records",
        sa.Column("campaign", sa.String(64), primary_key=True),
        sa.Column("round", sa.Integer, primary_key=True),
        sa.Column("record", sa.Text, nullable=False),
        sqlite_with_rowid=False,
    )
