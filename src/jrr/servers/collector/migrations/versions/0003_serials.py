"""Serial numbers that came with reports, and the sums that dealers told at the end."""

import sqlalchemy as sa
from alembic import op

revision = "collector_0003"
down_revision = "collector_0002"


def upgrade() -> None:
    """Make the table, and add the column."""
    op.create_table(
        "serials",
        sa.Column("campaign", sa.String(64), primary_key=True),
        sa.Column("dealer", sa.Integer, primary_key=True),
        sa.Column("serial", sa.LargeBinary(16), primary_key=True),
        sa.Column("pseudonym", sa.LargeBinary(32), nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_index("serials_by_report", "serials", ["campaign", "pseudonym"])
    op.add_column("campaigns", sa.Column("sums", sa.Text))
