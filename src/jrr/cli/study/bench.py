"""`jrr study bench` and `bench serve`: what a report costs here, and a collector under load."""

import tempfile
from pathlib import Path
from typing import Any

import click

from jrr._base import checks
from jrr.cli.lazy import TABLES, CommandWithMore
from jrr.cli.output import json_option, make_table, show
from jrr.cli.progress import bar
from jrr.errors import needed
from jrr.research.bench import costs


@click.group(
    cls=CommandWithMore, package="jrr.cli.study", table=TABLES["bench"], modules={"serve": "bench"}
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


@click.command()
@click.option("--rate", default=500.0, help="Uploads a second.")
@click.option("--seconds", default=10.0, help="How long.")
@click.option("--processes", default=2, help="That send.")
@click.option("--connections", default=2_000, help="Kept at most, in all.")
@click.option("--timeout", default=10.0, help="Seconds until a sender leaves.")
@click.option("--obey", is_flag=True, help="Wait as Retry-After says and try again, as clients do.")
@click.option("--database", help="postgresql://…, empty; by default SQLite in a new folder.")
@json_option
def serve(
    rate: float,
    seconds: float,
    processes: int,
    connections: int,
    timeout: float,
    obey: bool,
    database: str | None,
) -> None:
    """Put a collector of its own under load, and count what came of it.

    Several processes send reports at a rate that does not wait for the server. Shown are
    throughput, percentiles of latency (from when a request was due), refusals by reason, and
    reports that were acknowledged and are not stored (lost) or stored and never sent (doubled).
    """
    with needed("servers need", "serve"):
        from jrr.research.load.measure import gather, put_under_load
        from jrr.research.processes import running

    people = checks.integer("rate times seconds", int(rate * seconds), 1, 5_000_000)
    checks.integer("processes", processes, 1, 64)
    checks.integer("connections", connections, processes, 20_000)
    checks.real("timeout", timeout, "seconds > 0", 0.0, open_low=True)
    with (
        tempfile.TemporaryDirectory() as folder,
        running("collector", Path(folder), database) as server,
    ):
        contributors = gather(server, people)
        load = put_under_load(
            server,
            contributors,
            contributors.bodies,
            rate,
            processes=processes,
            connections=connections,
            timeout=timeout,
            obey=obey,
        )
    facts = load.to_dict()
    rows = ((name.replace("_", " "), _shown(value)) for name, value in facts.items())
    show(facts, make_table(("", ""), rows, title="A collector under load"))


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key}: {part:.3g}" for key, part in value.items())
    return f"{value:.4g}" if isinstance(value, float) else str(value)
