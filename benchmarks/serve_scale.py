"""A collector under more load than it can bear, with more processes, more rows, more reports.

    python -m benchmarks.serve_scale overload       # goodput at three times what it can bear
    python -m benchmarks.serve_scale processes      # two collectors on one PostgreSQL, against one
    python -m benchmarks.serve_scale rows           # an upload beside five million rows
    python -m benchmarks.serve_scale memory         # memory while 200,000 reports come

Each prints JSON. Pairs alternate in one run. Processor seconds of the server are reported beside
seconds on the clock: generator, server and database share the machine's processors, and the
clock tells what all of them took.
"""

import argparse
import json
import secrets
import sqlite3
import statistics
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

from jrr.research.embedded import postgres
from jrr.research.load.measure import Crowd, Load, gather, memory_of, put_under_load
from jrr.research.processes import Running, running

PAIRS = 5
KINDS = ("sqlite", "postgresql")


def _a_second(load: Load) -> float:
    return load.acknowledged / load.seconds


def _processor(load: Load) -> float:
    """Milliseconds of the server's processor per report."""
    return 1000 * load.processor / max(1, load.acknowledged)


@contextmanager
def _databases(*names: str) -> Iterator[tuple[Path, dict[str, str]]]:
    with tempfile.TemporaryDirectory() as name, postgres(Path(name) / "server", *names) as found:
        yield Path(name), found


def overload(pairs: int = PAIRS) -> list[dict[str, Any]]:
    """Reports stored a second at three times capacity, of those at capacity."""
    results = []
    with _databases("one") as (folder, addresses):
        for kind in KINDS:
            database = None if kind == "sqlite" else addresses["one"]
            with running("collector", folder / kind, database) as server:
                results.append(_overloaded(server, kind, pairs))
    return results


def _overloaded(server: Running, kind: str, pairs: int, seconds: float = 8.0) -> dict[str, Any]:
    rows: list[dict[str, Any]] = []
    for _ in range(pairs):
        crowd = gather(server, 60_000)
        bodies = crowd.bodies
        most = put_under_load(server, crowd, bodies[:3_000], 1e5, connections=200, timeout=60.0)
        rate = 3 * _a_second(most)
        sent = bodies[3_000 : 3_000 + int(seconds * rate)]
        load = put_under_load(server, crowd, sent, rate, timeout=10.0)
        left = bodies[3_000 + len(sent) :][:200]
        after = put_under_load(server, crowd, left, 40.0, timeout=10.0)
        rows.append(
            {
                "capacity_a_second": _a_second(most),
                "stored_a_second": load.throughput,
                "by_clock": load.throughput / _a_second(most),
                "by_processor": _processor(most) / _processor(load),
                "refusals": load.refusals,
                "timeouts": load.timeouts,
                "lost": load.lost,
                "readyz": load.readyz,
                "memory_mb": [most.memory_mb, load.memory_mb],
                "latency_after": after.latency,
                "refused_after": after.refusals,
            }
        )
    return {
        "what": f"goodput at 3 times capacity, {kind}",
        "ratio": statistics.median(row["by_clock"] for row in rows),
        "by_processor": statistics.median(row["by_processor"] for row in rows),
        "at_least": 0.8,
        "runs": rows,
    }


def processes(pairs: int = PAIRS, reports: int = 3_000) -> list[dict[str, Any]]:
    """Reports that two collectors on one PostgreSQL store a second, of what one does."""
    names = [f"{count}_{number}" for number in range(pairs) for count in (1, 2)]
    rows: list[dict[str, Any]] = []
    with _databases(*names) as (folder, addresses):
        for number in range(pairs):
            found = {}
            for count in (1, 2):
                database = addresses[f"{count}_{number}"]
                with ExitStack() as stack:
                    servers = [
                        stack.enter_context(
                            running("collector", folder / f"{number}-{count}-{at}", database)
                        )
                        for at in range(count)
                    ]
                    crowd = gather(servers[0], reports)
                    load = put_under_load(
                        servers[0],
                        crowd,
                        crowd.bodies,
                        1e6,
                        urls=[server.url for server in servers],
                        connections=200,
                        timeout=120.0,
                    )
                    found[count] = load
            rows.append(
                {
                    "one_a_second": _a_second(found[1]),
                    "two_a_second": _a_second(found[2]),
                    "ratio": _a_second(found[2]) / _a_second(found[1]),
                    # Of one of the two, which stores half of them.
                    "processor_ms": [_processor(found[1]), 2 * _processor(found[2])],
                    "lost": found[1].lost + found[2].lost,
                }
            )
    return [
        {
            "what": "two collectors on one PostgreSQL, of one",
            "ratio": statistics.median(row["ratio"] for row in rows),
            "at_least": 1.6,
            "runs": rows,
        }
    ]


def rows(few: int = 50_000, many: int = 5_000_000, pairs: int = PAIRS) -> list[dict[str, Any]]:
    """What an upload costs where many rows are stored, of what it costs with few."""
    results = []
    with _databases("few", "many") as (folder, addresses):
        for kind in KINDS:
            with ExitStack() as stack:
                crowds = {}
                for name, stored in (("few", few), ("many", many)):
                    database = None if kind == "sqlite" else addresses[name]
                    place = folder / f"{kind}-{name}"
                    server = stack.enter_context(running("collector", place, database))
                    old = gather(server, 500 * pairs, capacity=10_000_000)
                    _fill(database or str(place / "collector.db"), old, stored)
                    crowds[name] = server, old, gather(server, 500 * pairs)
                results += _compared(kind, crowds, pairs)
    return results


def _compared(kind: str, crowds: dict[str, Any], pairs: int) -> list[dict[str, Any]]:
    found: dict[tuple[str, int], list[Load]] = {}
    for number in range(pairs):
        for name, (server, *both) in crowds.items():
            for at, crowd in enumerate(both):
                bodies = crowd.bodies[500 * number : 500 * (number + 1)]
                load = put_under_load(server, crowd, bodies, 1e6, connections=50, timeout=120.0)
                found.setdefault((name, at), []).append(load)
    results = []
    for at, where in enumerate(("in the same campaign", "in a new campaign beside them")):
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


def _fill(database: str, crowd: Crowd, reports: int) -> None:
    """Store made-up reports, in the order of their hashes, by the database's own means."""
    name = crowd.campaign.hash
    step = (1 << 256) // reports
    rows = (
        (name, (at * step + secrets.randbelow(step)).to_bytes(32, "big"), 0, False, bytes(4), "{}")
        for at in range(reports)
    )
    columns = "campaign, pseudonym, round, carded, report, covariates"
    counted = f"INSERT INTO arrivals VALUES ('{name}', 63, {reports})"
    if database.startswith("postgresql"):
        import psycopg

        with psycopg.connect(database) as connection, connection.cursor() as cursor:
            with cursor.copy(f"COPY reports ({columns}) FROM STDIN".encode()) as copy:
                for row in rows:
                    copy.write_row(row)
            cursor.execute(counted.encode())
        with psycopg.connect(database, autocommit=True) as connection:
            connection.execute("VACUUM ANALYZE")
        return
    with closing(sqlite3.connect(database, timeout=60)) as file:
        with file:
            file.executemany(f"INSERT INTO reports ({columns}) VALUES (?,?,?,?,?,?)", rows)
            file.execute(counted)
        file.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def memory(reports: int = 200_000, parts: int = 8) -> list[dict[str, Any]]:
    """Megabytes that a collector holds while reports come in."""
    results = []
    with tempfile.TemporaryDirectory() as name, running("collector", Path(name)) as server:
        crowd = gather(server, reports)
        each = reports // parts
        held = []
        for number in range(parts):
            bodies = crowd.bodies[number * each : (number + 1) * each]
            put_under_load(server, crowd, bodies, 1e6, connections=100, timeout=600.0)
            held.append(round(memory_of(server.process.pid), 1))
        results.append(
            {
                "what": "memory after each eighth of 200,000 reports, in MB, sqlite",
                "ratio": held[-1] / held[0],
                "at_most": 1.2,
                "memory_mb": held,
                "stored": crowd.stored,
            }
        )
    return results


MEASURES: dict[str, Callable[[], Any]] = {
    "overload": overload,
    "processes": processes,
    "rows": rows,
    "memory": memory,
}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="benchmarks.serve_scale")
    parser.add_argument("what", choices=MEASURES)
    print(json.dumps(MEASURES[parser.parse_args().what](), indent=2))
