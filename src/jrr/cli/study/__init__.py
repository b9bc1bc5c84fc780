"""`jrr study`: what studies the rest."""

import click

from jrr.cli.lazy import LazyCommand, LazyGroup

COMMANDS = {
    "reproduce": LazyCommand(
        "jrr.cli.study.reproduce",
        "reproduce",
        "Reproduce the paper: all figures and tables, as CSV, PNG and SVG, and one report.",
    ),
    "simulate": LazyCommand(
        "jrr.cli.study.simulate",
        "simulate",
        "Simulate whole surveys, exactly in distribution, and compare with theory.",
    ),
    "bench": LazyCommand(
        "jrr.cli.study.bench",
        "bench",
        "Time responding and counting, beside bare numpy in the same run.",
    ),
    "attacks": LazyCommand(
        "jrr.cli.study.attacks", "attacks", "Say what each attack on a survey gains, in numbers."
    ),
}


@click.group(cls=LazyGroup, table=COMMANDS)
def study() -> None:
    """Reproduce the paper, simulate surveys, measure speed and what attacks gain."""
