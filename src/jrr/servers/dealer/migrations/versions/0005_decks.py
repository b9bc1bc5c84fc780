"""Decks that the dealer committed to, and the marks of those who were dealt their cards."""

import sqlalchemy as sa
from alembic import op

revision = "dealer_0005"
down_revision = "dealer_0004"


def upgrade() -> None:
    """Make the table, and add the column."""
    op.create_table(
        "decks",
        sa.Column("campaign", sa.String(64), primary_key=True),
        sa.Column("published", sa.Text, nullable=False),
    )
    op.add_column("seats", sa.Column("mark", sa.LargeBinary(32)))
