"""Alembic's entry point."""

from jrr.servers.common.database import run_migrations

run_migrations()
