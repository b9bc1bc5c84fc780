"""Sums of cards that were told at the end, and whose cards may have left the dealer."""

import sqlalchemy as sa
from alembic import op

revision = "dealer_0002"
down_revision = "dealer_0001"


def upgrade() -> None:
    """Add the columns."""
    op.add_column("campaigns", sa.Column("told", sa.Text))
    op.add_column("seats", sa.Column("fetched", sa.Boolean))
