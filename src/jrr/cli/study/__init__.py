"""`jrr study`: what studies the rest."""

import click

from jrr.cli.lazy import TABLES, LazyGroup


@click.group(cls=LazyGroup, package=__name__, table=TABLES["study"])
def study() -> None:
    """Reproduce the paper, simulate surveys, measure speed and what attacks gain."""
