"""`jrr study bench serve`: a collector under load."""

import tempfile
from pathlib import Path
from typing import Any

import click

from jrr._base import checks
from jrr.cli.output import json_option, make_table, show
from jrr.errors import needed


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
