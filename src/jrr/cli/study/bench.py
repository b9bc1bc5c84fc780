"""`jrr study bench`: what a report costs on this machine."""

import click

from jrr.cli.lazy import CommandWithMore
from jrr.cli.output import json_option, make_table, show
from jrr.cli.progress import bar
from jrr.research.bench import costs

COMMANDS = {
    "serve": "Put a collector of its own under load, and count what came of it.",
}


@click.group(
    cls=CommandWithMore, package="jrr.cli.study", table=COMMANDS, modules={"serve": "bench_serve"}
)
@click.option("--reports", default=1_000_000, help="Reports per mechanism.")
@click.option("--rounds", default=5, help="The best of so many counts.")
@json_option
def bench(reports: int, rounds: int) -> None:
    """Time responding and counting, beside bare numpy in the same run.

    Reports are perturbed with the cryptographic randomness that surveys use; the bare loop throws
    as many ordinary coins and counts them. `make bench` measures more, against other libraries.
    """
    with bar("measuring") as progress:
        measurements = costs(reports, rounds, progress)
    rows = (
        (cost.name, f"{cost.reports:,}", f"{cost.nanoseconds:.3g}", f"{cost.ratio:.3g} times")
        for cost in measurements
    )
    headings = ("", "reports", "ns per report", "of numpy's")
    show(
        {"costs": [cost._asdict() for cost in measurements]},
        make_table(headings, rows, title="Respond and count"),
    )
