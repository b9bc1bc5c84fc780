"""`jrr file`: surveys by files of cards and reports, without servers."""

import click

from jrr.cli.lazy import LazyCommand, LazyGroup

COMMANDS = {
    "deal": LazyCommand(
        "jrr.cli.file.deal", "deal", "Deal secret cards into a file, one row per contributor."
    ),
    "perturb": LazyCommand(
        "jrr.cli.file.perturb",
        "perturb",
        "Perturb a column of labels or numbers into a file of reports.",
    ),
    "shuffle": LazyCommand(
        "jrr.cli.file.shuffle",
        "shuffle",
        "Put reports of one or several files into one file in uniformly random order.",
    ),
    "estimate": LazyCommand(
        "jrr.cli.file.estimate",
        "estimate",
        "Estimate how many hold each answer, or the mean of a number, from files of reports.",
    ),
    "pool": LazyCommand(
        "jrr.cli.file.pool", "pool", "Make one estimate of files of different mechanisms."
    ),
    "database": LazyCommand(
        "jrr.cli.file.database",
        "database",
        "Estimate the closed surveys in a collector's PostgreSQL database.",
    ),
    "convert": LazyCommand(
        "jrr.cli.file.convert", "convert", "Write a file of reports in another format."
    ),
    "keys": LazyCommand(
        "jrr.cli.file.keys",
        "keys",
        "Make the collector's keys: NAME.key (secret) and NAME.pub, for sealed reports.",
    ),
    "heavy-hitters": LazyCommand(
        "jrr.cli.file.heavy_hitters",
        "heavy_hitters",
        "Find frequent strings, such as URLs or crashes, without a list of all strings.",
    ),
    "quantiles": LazyCommand(
        "jrr.cli.file.quantiles",
        "quantiles",
        "Estimate quantiles and the distribution of a number, such as seconds or bytes.",
    ),
}


@click.group(cls=LazyGroup, table=COMMANDS)
def file() -> None:
    """Deal, perturb and estimate files of cards and reports.

    CSV, Parquet and Arrow, by the ending of a file's name.
    """
