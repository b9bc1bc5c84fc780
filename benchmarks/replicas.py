"""`python -m benchmarks.replicas`: retries that reach another collector on the same PostgreSQL.

Every answer is sent to two collectors at the same moment. Each pair must be one that is new and one
repeat; nothing may be lost, doubled or answered by a server's error, and no log of the collectors
or of PostgreSQL may name anybody. One JSON document; the exit code says whether all was so.
"""

import argparse
import asyncio
import json
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import aiohttp
from sqlalchemy import create_engine

from jrr.protocol.documents import hashed
from jrr.research.load.measure import Contributors, gather
from jrr.research.processes import Running, postgres, running

PAIRS = 10_000
AT_ONCE = 40  # pairs that are under way


def measure(pairs: int = PAIRS) -> dict[str, Any]:
    """Send the pairs, and look at replies, rows and logs."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with (
            postgres(folder / "server", "collector") as addresses,
            running("collector", folder / "one", addresses["collector"]) as one,
            running("collector", folder / "other", addresses["collector"]) as other,
        ):
            contributors = gather(one, pairs)
            begun = time.perf_counter()
            replies = asyncio.run(_send_all((one, other), contributors))
            seconds = time.perf_counter() - begun
            stored = contributors.stored
            deadlocks = _deadlocks(addresses["collector"])
        logs = [path for path in folder.rglob("*") if path.is_file() and "log" in path.name]
        logged = "".join(path.read_text(errors="replace") for path in logs)
    statuses = Counter(status for pair in replies for status in pair)
    as_they_should = sum(sorted(pair) == [200, 201] for pair in replies)
    named = sum(name in logged for body in contributors.bodies for name in _names(body))
    return {
        "pairs": pairs,
        "seconds": round(seconds, 1),
        "new_and_repeat": as_they_should,
        "replies": {str(status): count for status, count in sorted(statuses.items())},
        "server_errors": sum(count for status, count in statuses.items() if status >= 500),
        "stored": stored,
        "deadlocks": deadlocks,
        "names_in_logs": named,
        "bytes_of_logs": len(logged),
        "kept": as_they_should == stored == pairs and not named and not deadlocks,
    }


async def _send_all(
    servers: tuple[Running, Running], contributors: Contributors
) -> list[tuple[int, int]]:
    limit = asyncio.Semaphore(AT_ONCE)
    connector = aiohttp.TCPConnector(limit=0)

    async def send(session: aiohttp.ClientSession, url: str, body: bytes) -> int:
        async with session.post(f"{url}{contributors.path}", data=body) as reply:
            await reply.read()
            return reply.status

    async def pair(session: aiohttp.ClientSession, body: bytes) -> tuple[int, int]:
        async with limit:
            first, second = await asyncio.gather(
                *(send(session, server.url, body) for server in servers)
            )
            return first, second

    async with aiohttp.ClientSession(connector=connector) as session:
        return await asyncio.gather(*(pair(session, body) for body in contributors.bodies))


def _names(body: bytes) -> tuple[str, str]:
    """A pseudonym and its hash, as a log would show them."""
    pseudonym: str = json.loads(body)["pseudonym"]
    return pseudonym, hashed(bytes.fromhex(pseudonym)).hex()


def _deadlocks(address: str) -> int:
    engine = create_engine(address.replace("postgresql://", "postgresql+psycopg://"))
    query = "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"
    with engine.connect() as connection:
        found = int(connection.exec_driver_sql(query).scalar_one())
    engine.dispose()
    return found


def main() -> int:
    """Print what was measured."""
    parser = argparse.ArgumentParser(prog="benchmarks.replicas")
    parser.add_argument("--pairs", type=int, default=PAIRS)
    found = measure(parser.parse_args().pairs)
    print(json.dumps(found, indent=2))
    return 0 if found["kept"] else 1


if __name__ == "__main__":
    sys.exit(main())
