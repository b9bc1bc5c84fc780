"""A collector that refuses, with more processes, more rows, more reports.

    python -m benchmarks.serve_scale refusals       # what a refusal costs, of what storing costs
    python -m benchmarks.serve_scale processes      # two collectors on one PostgreSQL, against one
    python -m benchmarks.serve_scale rows           # an upload beside five million rows
    python -m benchmarks.serve_scale memory         # memory while 200,000 reports come

Each prints JSON. `--kind sqlite` or `--kind postgresql` measures one of the two, `--pairs 3` fewer
pairs, which alternate in one run. Processor seconds of the server are reported beside seconds on
the clock: generator, server and database share the machine's processors, and the clock tells what
all of them took.
"""

import argparse
import json
import os
import secrets
import sqlite3
import statistics
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

from benchmarks.processors import database_processor, waits
from jrr.research.load.measure import (
    Contributors,
    Load,
    gather,
    memory_of,
    processor_of,
    put_under_load,
)
from jrr.research.processes import Running, postgres, running

PAIRS = 5
KINDS = ("sqlite", "postgresql")
MANY = 500  # connections that keep a server at its capacity


def _a_second(load: Load) -> float:
    return load.acknowledged / load.seconds


def _processor(load: Load) -> float:
    """Milliseconds of the server's processor per report."""
    return 1000 * load.processor / max(1, load.acknowledged)


@contextmanager
def _databases(*names: str) -> Iterator[tuple[Path, dict[str, str]]]:
    with tempfile.TemporaryDirectory() as name, postgres(Path(name) / "server", *names) as found:
        yield Path(name), found


def _at_capacity(server: Running, contributors: Contributors, bodies: Sequence[bytes]) -> Load:
    """As many connections as fill every commit: more do not make it faster."""
    return put_under_load(server, contributors, bodies, 1e5, connections=MANY, timeout=60.0)


def refusals(pairs: int = PAIRS, kinds: Sequence[str] = KINDS) -> list[dict[str, Any]]:
    """The processor that a refusal takes, of that which storing takes; and what follows from it.

    At three times capacity, where each of the two that are too many is refused once, a share g of
    the capacity is left with g + (3 - g) r = 1.
    """
    costs: dict[str, list[float]] = {kind: [] for kind in (*kinds, "refused")}
    with _databases("one") as (folder, addresses), ExitStack() as stack:
        servers = {}
        for kind in costs:
            database = addresses["one"] if kind == "postgresql" else None
            module = "benchmarks.refusing" if kind == "refused" else "jrr.cli"
            start = running("collector", folder / kind, database, module=module)
            servers[kind] = stack.enter_context(start)
        gathered = {kind: gather(server, 1_000 + 5_000 * pairs) for kind, server in servers.items()}
        for number in range(pairs + 1):
            for kind, contributors in gathered.items():
                first = 0 if number == 0 else 1_000 + 5_000 * (number - 1)
                bodies = contributors.bodies[first : 1_000 + 5_000 * number]
                load = _at_capacity(servers[kind], contributors, bodies)
                if number:  # the first one warms up
                    costs[kind].append(1000 * load.processor / len(bodies))
    refused = costs.pop("refused")
    return [
        {
            "what": f"processor of a refusal / of a stored report, {kind}",
            "ratio": (share := _ratio(refused, stored)),
            "goodput_at_3_times": (1 - 3 * share) / (1 - share),
            "processor_ms": {"refused": refused, "stored": stored},
        }
        for kind, stored in costs.items()
    ]


def _ratio(some: Sequence[float], others: Sequence[float]) -> float:
    return statistics.median(one / other for one, other in zip(some, others, strict=True))


def processes(
    pairs: int = PAIRS, kinds: Sequence[str] = KINDS, reports: int = 6_000
) -> list[dict[str, Any]]:
    """Reports that two collectors on one PostgreSQL store a second, of what one does."""
    names = [f"{count}_{number}" for number in range(pairs) for count in (1, 2)]
    rows: list[dict[str, Any]] = []
    with _databases(*names) as (folder, addresses):
        for number in range(pairs):
            one, two = (
                _together(folder, addresses[f"{count}_{number}"], f"{number}-{count}", reports)
                for count in (1, 2)
            )
            cores = os.cpu_count() or 1
            rows.append(
                {
                    "one": one,
                    "two": two,
                    "ratio": two["a_second"] / one["a_second"],
                    # No more than this, whatever the software: all processors, all the time.
                    "at_most_here": 1000
                    * cores
                    / sum(two["processor_ms"].values())
                    / one["a_second"],
                    # Where nobody waits for a processor, each of two stores half of them.
                    "on_more_processors": 2
                    * one["processor_ms"]["collectors"]
                    / two["processor_ms"]["collectors"],
                }
            )
    return [
        {
            "what": "two collectors on one PostgreSQL, of one",
            "ratio": statistics.median(row["ratio"] for row in rows),
            "at_least": 1.6,
            "at_most_here": statistics.median(row["at_most_here"] for row in rows),
            "on_more_processors": statistics.median(row["on_more_processors"] for row in rows),
            "runs": rows,
        }
    ]


def _together(folder: Path, database: str, name: str, reports: int) -> dict[str, Any]:
    """So many collectors as the name ends with, on one database: what they do, and what it took."""
    count = int(name[-1])
    with ExitStack() as stack:
        servers = [
            stack.enter_context(running("collector", folder / f"{name}-{at}", database))
            for at in range(count)
        ]
        # Room for many more: where few are still to come, processes take turns.
        contributors = gather(servers[0], 1_000 + reports, capacity=10_000_000)

        def load(bodies: Sequence[bytes]) -> Load:
            urls = [server.url for server in servers]
            return put_under_load(
                servers[0], contributors, bodies, 1e6, urls=urls, connections=MANY, timeout=120.0
            )

        def used() -> tuple[float, float]:
            collectors = sum(processor_of(server.process.pid) for server in servers)
            return collectors, database_processor(folder / "server")

        load(contributors.bodies[:1_000])  # not measured: it warms up
        before = used()
        with waits(database) as seen:
            found = load(contributors.bodies[1_000:])
        collectors, itself = (after - start for after, start in zip(used(), before, strict=True))
        spent = {"collectors": collectors, "database": itself, "generator": found.generator}
        return {
            "a_second": _a_second(found),
            "processor_ms": {
                part: 1000 * seconds / found.acknowledged for part, seconds in spent.items()
            },
            "database_waits": dict(seen),
            "lost": found.lost,
        }


def rows(
    pairs: int = PAIRS, kinds: Sequence[str] = KINDS, few: int = 50_000, many: int = 5_000_000
) -> list[dict[str, Any]]:
    """What an upload costs where many rows are stored, of what it costs with few."""
    results = []
    with _databases("few", "many") as (folder, addresses):
        for kind in kinds:
            with ExitStack() as stack:
                gathered = {}
                for name, stored in (("few", few), ("many", many)):
                    database = None if kind == "sqlite" else addresses[name]
                    place = folder / f"{kind}-{name}"
                    server = stack.enter_context(running("collector", place, database))
                    old = gather(server, 500 * pairs, capacity=10_000_000)
                    _fill(database or str(place / "collector.db"), old, stored)
                    gathered[name] = server, old, gather(server, 500 * pairs)
                results += _compared(kind, gathered, pairs)
    return results


def _compared(kind: str, gathered: dict[str, Any], pairs: int) -> list[dict[str, Any]]:
    found: dict[tuple[str, int], list[Load]] = {}
    for number in range(pairs):
        for name, (server, *both) in gathered.items():
            for at, contributors in enumerate(both):
                bodies = contributors.bodies[500 * number : 500 * (number + 1)]
                load = put_under_load(
                    server, contributors, bodies, 1e6, connections=50, timeout=120.0
                )
                found.setdefault((name, at), []).append(load)
    results = []
    for at, where in enumerate(("in the same survey", "in a new survey beside them")):
        ratios = {
            "by_clock": [
                _a_second(few) / _a_second(many)
                for few, many in zip(found["few", at], found["many", at], strict=True)
            ],
            "by_processor": [
                _processor(many) / _processor(few)
                for few, many in zip(found["few", at], found["many", at], strict=True)
            ],
        }
        results.append(
            {
                "what": f"upload with 5,000,000 rows / 50,000, {where}, {kind}",
                "ratio": statistics.median(ratios["by_clock"]),
                "at_most": 1.5,
                **ratios,
            }
        )
    return results


def _fill(database: str, contributors: Contributors, reports: int) -> None:
    """Store made-up answers, in the order of their hashes, by the database's own means."""
    name = contributors.survey.hash
    step = (1 << 256) // reports
    names = [(at * step + secrets.randbelow(step)).to_bytes(32, "big") for at in range(reports)]
    tables: dict[str, Iterator[tuple[Any, ...]]] = {
        "people (survey, pseudonym, open, covariates)": ((name, one, "{}", "{}") for one in names),
        "reports (survey, question, pseudonym, carded, report)": (
            (name, 0, one, False, bytes(4)) for one in names
        ),
    }
    counted = f"INSERT INTO arrivals VALUES ('{name}', 63, {reports})"
    if database.startswith("postgresql"):
        import psycopg

        with psycopg.connect(database) as connection, connection.cursor() as cursor:
            for table, rows in tables.items():
                with cursor.copy(f"COPY {table} FROM STDIN".encode()) as copy:
                    for row in rows:
                        copy.write_row(row)
            cursor.execute(counted.encode())
        with psycopg.connect(database, autocommit=True) as connection:
            connection.execute("VACUUM ANALYZE")
        return
    with closing(sqlite3.connect(database, timeout=60)) as file:
        with file:
            for table, rows in tables.items():
                places = ",".join("?" * (table.count(",") + 1))
                file.executemany(f"INSERT INTO {table} VALUES ({places})", rows)
            file.execute(counted)
        file.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def memory(
    pairs: int = 1, kinds: Sequence[str] = KINDS, reports: int = 200_000, parts: int = 8
) -> list[dict[str, Any]]:
    """Megabytes that a collector holds while reports come in."""
    results = []
    with tempfile.TemporaryDirectory() as name, running("collector", Path(name)) as server:
        contributors = gather(server, reports)
        each = reports // parts
        held = []
        for number in range(parts):
            bodies = contributors.bodies[number * each : (number + 1) * each]
            put_under_load(server, contributors, bodies, 1e6, connections=100, timeout=600.0)
            held.append(round(memory_of(server.process.pid), 1))
        results.append(
            {
                "what": f"memory after each of {parts} parts of {reports:,} reports, in MB, sqlite",
                "ratio": held[-1] / held[0],
                "at_most": 1.2,
                "memory_mb": held,
                "stored": contributors.stored,
            }
        )
    return results


MEASURES: dict[str, Callable[..., Any]] = {
    "refusals": refusals,
    "processes": processes,
    "rows": rows,
    "memory": memory,
}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="benchmarks.serve_scale")
    parser.add_argument("what", choices=MEASURES)
    parser.add_argument("--kind", choices=KINDS, help="of database; both unless given")
    parser.add_argument("--pairs", type=int, default=PAIRS)
    wish = parser.parse_args()
    kinds = (wish.kind,) if wish.kind else KINDS
    print(json.dumps(MEASURES[wish.what](wish.pairs, kinds), indent=2))
