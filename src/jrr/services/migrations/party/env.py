"""Alembic's entry point."""

from jrr.services.database import run_migrations

run_migrations()
