"""Complaints slot by slot, who was left out of a deal, and which deals are settled."""

import sqlalchemy as sa
from alembic import op

revision = "party_0003"
down_revision = "party_0002"


def upgrade() -> None:
    """Make the table of complaints; deals of before have nothing to judge complaints by."""
    op.create_table(
        "complaints",
        sa.Column("campaign", sa.String(64), primary_key=True),
        sa.Column("slot", sa.BigInteger, primary_key=True),
        sa.Column("finding", sa.String(16), nullable=False),
        sa.Column("accused", sa.Integer),
        sa.Column("evidence", sa.Text),
        sqlite_with_rowid=False,
    )
    op.add_column("campaigns", sa.Column("settled", sa.Boolean))
    op.add_column("members", sa.Column("unnamed_by", sa.String(64)))
    op.add_column("envelopes", sa.Column("excess", sa.LargeBinary))
