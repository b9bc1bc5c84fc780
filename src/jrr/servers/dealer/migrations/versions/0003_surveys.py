"""Surveys, whose parts are campaigns."""

import sqlalchemy as sa
from alembic import op

revision = "dealer_0003"
down_revision = "dealer_0002"


def upgrade() -> None:
    """Make the tables, and say of campaigns which survey they are a part of."""
    op.create_table(
        "surveys",
        sa.Column("survey", sa.String(64), primary_key=True),
        sa.Column("document", sa.LargeBinary, nullable=False),
    )
    op.add_column("campaigns", sa.Column("survey", sa.String(64)))
