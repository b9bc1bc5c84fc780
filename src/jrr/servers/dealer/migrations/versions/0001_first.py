"""Campaigns, invitations, seats."""

import sqlalchemy as sa
from alembic import op

revision = "dealer_0001"
down_revision = None


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "campaigns",
        sa.Column("campaign", sa.String(64), primary_key=True),
        sa.Column("document", sa.LargeBinary, nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("n", sa.BigInteger),
        sa.Column("wrapped_key", sa.LargeBinary),
        sa.Column("arrivals", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "invited",
        sa.Column("campaign", sa.String(64), primary_key=True),
        sa.Column("pseudonym", sa.LargeBinary(32), primary_key=True),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "seats",
        sa.Column("campaign", sa.String(64), primary_key=True),
        sa.Column("pseudonym", sa.LargeBinary(32), primary_key=True),
        sa.Column("block", sa.BigInteger),
        sa.Column("seat", sa.BigInteger),
        sa.Column("device", sa.LargeBinary(32)),
        sa.UniqueConstraint("campaign", "block", "seat", name="one_person_per_seat"),
        sqlite_with_rowid=False,
    )
