"""How much of what a collector could read it also stores, and what waits cost: `serve`.

Pairs alternate in one run: a collector that stores, and one that reads and throws away. Both are
asked by as many connections as keep them busy, so that the generator is not the limit; seconds of
processor are reported too, because they do not depend on what else the machine does.
"""

import statistics
import tempfile
from pathlib import Path
from typing import Any

from jrr.research.load.measure import Load, gather, put_under_load
from jrr.research.processes import postgres, running

PAIRS = 5
WARMING = 1_000  # reports that are not measured
REPORTS = 6_000
AT_ONCE = 300
LEAST = 0.5  # of what is thrown away


def _busy(folder: Path, database: str | None, module: str) -> Load:
    with running("collector", folder, database, module=module) as server:
        contributors = gather(server, WARMING + REPORTS)
        loads = [
            put_under_load(server, contributors, bodies, 1e6, connections=AT_ONCE, timeout=120.0)
            for bodies in (contributors.bodies[:WARMING], contributors.bodies[WARMING:])
        ]
        return loads[1]


def _each(load: Load) -> float:
    """Milliseconds of the server's processor per report."""
    return 1000 * load.processor / load.acknowledged


def storing() -> list[dict[str, Any]]:
    """Reports stored a second, of those read and thrown away a second; by kind of database."""
    results = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        names = [f"pair_{number}" for number in range(PAIRS)]
        with postgres(folder / "server", *names) as addresses:
            for kind in ("sqlite", "postgresql"):
                pairs = []
                for number in range(PAIRS):
                    database = None if kind == "sqlite" else addresses[names[number]]
                    kept = _busy(folder / f"{kind}-{number}", database, "jrr.cli")
                    thrown = _busy(
                        folder / f"thrown-{kind}-{number}", None, "benchmarks.discarding"
                    )
                    pairs.append((kept, thrown))
                ratio = statistics.median(
                    kept.acknowledged / kept.seconds / (thrown.acknowledged / thrown.seconds)
                    for kept, thrown in pairs
                )
                results.append(
                    {
                        "what": f"uploads stored / read and thrown away, {kind}",
                        "ratio": ratio,
                        "at_least": LEAST,
                        "kept": ratio >= LEAST,
                        "a_second": [
                            [one.acknowledged / one.seconds for one in pair] for pair in pairs
                        ],
                        "by_processor": statistics.median(
                            _each(thrown) / _each(kept) for kept, thrown in pairs
                        ),
                        "generator_cores": [
                            [one.generator / one.seconds for one in pair] for pair in pairs
                        ],
                        "processor_ms": [[_each(one) for one in pair] for pair in pairs],
                        "lost": sum(kept.lost for kept, _ in pairs),
                    }
                )
    return results
