"""What the collector writes down of a dealer's decks."""

import sqlalchemy as sa
from alembic import op

revision = "collector_0006"
down_revision = "collector_0005"


def upgrade() -> None:
    """Add the column."""
    op.add_column("campaigns", sa.Column("notes", sa.Text))
