"""`jrr study bench`: what a report costs on this machine."""

import click
from rich.table import Table

from jrr.cli.lazy import CommandWithMore, LazyCommand
from jrr.cli.options import console, json_option, print_json
from jrr.cli.progress import bar
from jrr.research.bench import costs

COMMANDS = {
    "serve": LazyCommand(
        "jrr.cli.study.bench_serve",
        "serve",
        "Put a collector of its own under load, and count what came of it.",
    ),
}


@click.group(cls=CommandWithMore, table=COMMANDS)
@click.option("--reports", default=1_000_000, show_default=True, help="Reports per mechanism.")
@click.option("--rounds", default=5, show_default=True, help="The best of so many counts.")
@json_option
def bench(reports: int, rounds: int, as_json: bool) -> None:
    """Time responding and counting, beside bare numpy in the same run.

    Reports are perturbed with the cryptographic randomness that surveys use; the bare loop throws
    as many ordinary coins and counts them. `make bench` measures more, against other libraries.
    """
    with bar("measuring", quiet=as_json) as progress:
        measurements = costs(reports, rounds, progress)
    if as_json:
        print_json({"costs": [cost._asdict() for cost in measurements]})
        return
    table = Table(title="Respond and count", title_justify="left", title_style="")
    table.add_column("")
    for heading in ("reports", "ns per report", "of numpy's"):
        table.add_column(heading, justify="right")
    for cost in measurements:
        ratio = f"{cost.ratio:.3g} times"
        table.add_row(cost.name, f"{cost.reports:,}", f"{cost.nanoseconds:.3g}", ratio)
    console().print(table)
