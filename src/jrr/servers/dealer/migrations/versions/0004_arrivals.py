"""Arrivals are counted apart from the campaigns."""

from jrr.servers.common.migrating import move_arrivals

revision = "dealer_0004"
down_revision = "dealer_0003"


def upgrade() -> None:
    """Make the table, and move the counts there."""
    move_arrivals()
