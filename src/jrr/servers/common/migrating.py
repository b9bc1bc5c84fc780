"""Steps from an older database to a newer one that several servers share."""

import sqlalchemy as sa
from alembic import op


def move_arrivals() -> None:
    """Make the table of arrivals, and move the counts there from the campaigns."""
    op.create_table(
        "arrivals",
        sa.Column("campaign", sa.String(64), primary_key=True),
        sa.Column("slot", sa.Integer, primary_key=True),
        sa.Column("arrivals", sa.BigInteger, nullable=False),
        sqlite_with_rowid=False,
    )
    op.execute(
        "INSERT INTO arrivals (campaign, slot, arrivals) "
        "SELECT campaign, 0, arrivals FROM campaigns WHERE arrivals > 0"
    )
    op.drop_column("campaigns", "arrivals")
