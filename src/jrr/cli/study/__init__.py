"""`jrr study`: what studies the rest."""

import click

from jrr.cli.lazy import LazyGroup

COMMANDS = {
    "reproduce": "Reproduce the paper: all figures and tables, as CSV, PNG and SVG, and one "
    "report.",
    "simulate": "Simulate whole surveys, exactly in distribution, and compare with theory.",
    "bench": "Time responding and counting, beside bare numpy in the same run.",
    "attacks": "Say what each attack on a survey gains, in numbers.",
}


@click.group(cls=LazyGroup, package=__name__, table=COMMANDS)
def study() -> None:
    """Reproduce the paper, simulate surveys, measure speed and what attacks gain."""
