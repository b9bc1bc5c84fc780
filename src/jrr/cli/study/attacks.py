"""`jrr study attacks`: what attacks gain."""

from pathlib import Path

import click
from rich.text import Text

from jrr.cli.output import Line, json_option, show
from jrr.cli.values import COUNT, FOLDER


@click.command()
@click.option("-n", "n", type=COUNT, default=10_000, help="Contributors.")
@click.option("-e", "--epsilon", type=float, default=0.1, help="ε, view cards.")
@click.option("-M", "--colluders", type=COUNT, default=5, help="Colluders.")
@click.option(
    "--dealer-epsilon",
    "cap",
    type=float,
    default=2.1,
    help="ε against dealer and collector together, where it is capped.",
)
@click.option("--yes", "frequency", type=float, default=0.1, help="True share of yes.")
@click.option("--out", type=FOLDER, help="Draw them: a directory for one picture each.")
@json_option
def attacks(out: Path | None, **setting: float) -> None:
    """Say what each attack on a survey gains, in numbers.

    \b
    jrr study attacks
    jrr study attacks -n 1000 -e 1 --dealer-epsilon 3 --out attacks
    """  # noqa: D301 - click reads the \b
    from jrr.research.attacks import Setting, all_attacks, draw_attacks

    survey = Setting(**setting)  # type: ignore[arg-type]  # counts are whole
    found = all_attacks(survey)
    if out is not None:
        draw_attacks(out, survey)
    lines: list[Line] = []
    for attack in found:
        lines.append(Text(f"{attack.name} ({attack.who})", style="bold"))
        lines.append(f"{attack.sentence}\n")
    if out is not None:
        lines.append(f"Pictures: {out}")
    show({"attacks": [vars(attack) for attack in found]}, *lines)
