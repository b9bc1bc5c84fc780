"""Surveys, whose parts are campaigns, and who answered them."""

import sqlalchemy as sa
from alembic import op

revision = "collector_0004"
down_revision = "collector_0003"


def upgrade() -> None:
    """Make the tables, and say of campaigns which survey they are a part of."""
    op.create_table(
        "surveys",
        sa.Column("survey", sa.String(64), primary_key=True),
        sa.Column("document", sa.LargeBinary, nullable=False),
    )
    op.add_column("campaigns", sa.Column("survey", sa.String(64)))
    op.create_table(
        "people",
        sa.Column("survey", sa.String(64), primary_key=True),
        sa.Column("pseudonym", sa.LargeBinary(32), primary_key=True),
        sa.Column("open", sa.Text, nullable=False),
        sqlite_with_rowid=False,
    )
