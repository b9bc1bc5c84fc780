"""Results of a round that are shown, or fixed to be shown next (results_every)."""

import sqlalchemy as sa
from alembic import op

revision = "collector_0002"
down_revision = "collector_0001"


def upgrade() -> None:
    """Make the table."""
    op.create_table(
        "results",
        sa.Column("campaign", sa.String(64), primary_key=True),
        sa.Column("round", sa.Integer, primary_key=True),
        sa.Column("shown", sa.Text),
        sa.Column("next", sa.Text, nullable=False),
    )
