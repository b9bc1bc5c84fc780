"""Campaigns, invitations, reports."""

import sqlalchemy as sa
from alembic import op

revision = "collector_0001"
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
        sa.Column("decks", sa.BigInteger),
    )
    op.create_table(
        "invited",
        sa.Column("campaign", sa.String(64), primary_key=True),
        sa.Column("pseudonym", sa.LargeBinary(32), primary_key=True),
        sa.Column("round", sa.Integer, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "reports",
        sa.Column("campaign", sa.String(64), primary_key=True),
        sa.Column("pseudonym", sa.LargeBinary(32), primary_key=True),
        sa.Column("round", sa.Integer, nullable=False),
        sa.Column("carded", sa.Boolean, nullable=False),
        sa.Column("report", sa.LargeBinary, nullable=False),
        sa.Column("covariates", sa.Text, nullable=False),
        sqlite_with_rowid=False,
    )
