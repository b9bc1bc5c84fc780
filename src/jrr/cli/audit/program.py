"""`jrr audit program`: tries to refute what is claimed of any program."""

from typing import Any

import click

from jrr.cli.audit.trials import trial_options, try_claim


@click.command()
@click.argument("program")
@click.option("--claimed", type=float, required=True, help="The ε that is claimed.")
@click.option("--values", default="0,1", show_default=True, help="Values to perturb, by commas.")
@trial_options
def program(program: str, claimed: float, values: str, **trials: Any) -> None:
    """Try to refute the privacy claim of any program.

    PROGRAM reads values and writes reports, one on each line.

    \b
    jrr audit program "python my_mechanism.py" --values 0,1 --claimed 1
    """  # noqa: D301 - click reads the \b
    from jrr.research.audit import Command

    try_claim(Command(program, values.split(",")), claimed, **trials)
