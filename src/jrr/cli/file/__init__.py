"""`jrr file`: surveys by files of cards and reports, without servers."""

import click

from jrr.cli.lazy import TABLES, LazyGroup

MODULES = dict.fromkeys(("shuffle", "convert", "keys"), "passing_on")
MODULES |= dict.fromkeys(("pool", "database"), "estimate")
MODULES |= dict.fromkeys(("heavy-hitters", "quantiles"), "levels")


@click.group(cls=LazyGroup, package=__name__, table=TABLES["file"], modules=MODULES)
def file() -> None:
    """Deal, perturb and estimate files of cards and reports.

    CSV, Parquet and Arrow, by the ending of a file's name.
    """
