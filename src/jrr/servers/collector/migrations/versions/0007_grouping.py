"""In which groups dealers are asked for sums of their cards."""

import sqlalchemy as sa
from alembic import op

revision = "collector_0007"
down_revision = "collector_0006"


def upgrade() -> None:
    """Add the column."""
    op.add_column("campaigns", sa.Column("grouping", sa.Text))
