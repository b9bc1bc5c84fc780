"""`jrr file`: surveys by files of cards and reports, without servers."""

import click

from jrr.cli.lazy import LazyGroup

COMMANDS = {
    "deal": "Deal secret cards into a file, one row per contributor.",
    "perturb": "Perturb a column of labels or numbers into a file of reports.",
    "shuffle": "Put reports of one or several files into one file in uniformly random order.",
    "estimate": "Estimate how many hold each answer, or the mean of a number, from files of "
    "reports.",
    "pool": "Make one estimate of files of different mechanisms.",
    "database": "Estimate the closed surveys in a collector's PostgreSQL database.",
    "convert": "Write a file of reports in another format.",
    "keys": "Make the collector's keys: NAME.key (secret) and NAME.pub, for sealed reports.",
    "heavy-hitters": "Find frequent strings, such as URLs or crashes, without a list of all "
    "strings.",
    "quantiles": "Estimate quantiles and the distribution of a number, such as seconds or bytes.",
}


MODULES = dict.fromkeys(("shuffle", "convert", "keys"), "passing_on")
MODULES |= dict.fromkeys(("pool", "database"), "estimate")
MODULES |= dict.fromkeys(("heavy-hitters", "quantiles"), "levels")


@click.group(cls=LazyGroup, package=__name__, table=COMMANDS, modules=MODULES)
def file() -> None:
    """Deal, perturb and estimate files of cards and reports.

    CSV, Parquet and Arrow, by the ending of a file's name.
    """
