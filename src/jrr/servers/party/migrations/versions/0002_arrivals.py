"""Arrivals are counted apart from the campaigns."""

from jrr.servers.common.migrating import move_arrivals

revision = "party_0002"
down_revision = "party_0001"


def upgrade() -> None:
    """Make the table, and move the counts there."""
    move_arrivals()
