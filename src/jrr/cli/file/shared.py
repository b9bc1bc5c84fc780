"""What commands on files have in common."""

from pathlib import Path

import click

from jrr._base.randomness import SeededRandom
from jrr.cli.counts import COUNT
from jrr.estimation.groups import MIN_CELL

FILE = click.Path(dir_okay=False, path_type=Path)
OLD_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
force_option = click.option("--force", is_flag=True, help="Overwrite an existing output.")
seed_option = click.option(
    "--seed", type=int, help="For tests: reproducible, and so not private. Default: secure."
)
by_option = click.option(
    "--by", help="A public column: one estimate per group, and their differences."
)
weight_option = click.option("--weight", help="A column of survey weights.")
level_option = click.option(
    "--level", type=float, default=0.95, show_default=True, help="Of the intervals."
)
min_cell_option = click.option(
    "--min-cell",
    type=COUNT,
    default=MIN_CELL,
    show_default=True,
    help="Smallest group that is shown; if left out, of a survey's answers as the survey says.",
)
decks_option = click.option(
    "--decks", type=COUNT, help="Decks dealt, where whole decks dropped out."
)
key_option = click.option("--key", type=FILE, help="The private key, for sealed reports.")
top_option = click.option("--top", type=COUNT, default=20, show_default=True, help="Answers shown.")
results_option = click.option(
    "-o", "--out", type=FILE, help="Also: write the results as a .csv file."
)
force_results_option = click.option(
    "--force", is_flag=True, help="Overwrite an existing file of results."
)


def seeded(seed: int | None) -> SeededRandom | None:
    """Reproducible randomness, where a seed is given; None is the system's."""
    return None if seed is None else SeededRandom(seed)
