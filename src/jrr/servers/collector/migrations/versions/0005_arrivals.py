"""Arrivals are counted apart from the campaigns."""

from jrr.servers.common.migrating import move_arrivals

revision = "collector_0005"
down_revision = "collector_0004"


def upgrade() -> None:
    """Make the table, and move the counts there."""
    move_arrivals()
