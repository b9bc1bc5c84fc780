"""`jrr study`: what studies the rest."""

import click

from jrr.cli.lazy import TABLES, LazyGroup

MODULES = {"attacks": "reproduce", "simulate": "reproduce"}


@click.group(cls=LazyGroup, package=__name__, table=TABLES["study"], modules=MODULES)
def study() -> None:
    """Reproduce the paper, simulate surveys, measure speed and what attacks gain."""
