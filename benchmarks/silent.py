"""Uploads beside 4,000 connections that say nothing, where processes may open 1,024 files.

    python -m benchmarks.silent                     # directly and behind nginx
    python -m benchmarks.silent --against OTHER     # beside the code of another checkout

Prints JSON. Connections that are closed are opened again at once. `serve …` as the first argument
runs a server that may open so few files.
"""

import argparse
import asyncio
import json
import resource
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import jrr.cli
from benchmarks.overload import WAYS, Contender, nginx, started
from jrr.research.load.measure import gather, put_under_load

SILENT = 4_000
FILES = 1_024
UPLOADS = 400
RATE = 20.0  # uploads a second


@contextmanager
def silent(url: str) -> Iterator[None]:
    """Connections to an address that say nothing."""
    place = urlsplit(url)
    over = threading.Event()

    async def stay() -> None:
        while not over.is_set():
            with suppress(OSError, TimeoutError):
                opened = asyncio.open_connection(place.hostname, place.port)
                reader, writer = await asyncio.wait_for(opened, 10.0)
                with suppress(TimeoutError):
                    while not over.is_set() and await asyncio.wait_for(reader.read(), 60.0):
                        pass
                writer.transport.abort()
            await asyncio.sleep(0.1)

    async def run() -> None:
        tasks = [asyncio.create_task(stay()) for _ in range(SILENT)]
        while not over.is_set():
            await asyncio.sleep(0.2)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    thread = threading.Thread(target=asyncio.run, args=(run(),))
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def measure(contender: Contender, way: str) -> dict[str, Any]:
    """What becomes of uploads at one server."""
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        server = stack.enter_context(started(contender, folder / "server"))
        proxy = stack.enter_context(nginx(contender.tree, server, folder, FILES))
        contributors = gather(server, UPLOADS)
        url = proxy if way == "nginx" else server.url
        stack.enter_context(silent(url))
        threading.Event().wait(5.0)
        load = put_under_load(
            server,
            contributors,
            contributors.bodies,
            RATE,
            urls=[url],
            connections=100,
            timeout=20.0,
        )
    return {
        "sent": UPLOADS,
        "acknowledged": load.acknowledged,
        "latency": {name: round(value, 2) for name, value in load.latency.items()},
        "timeouts": load.timeouts,
        "broken": load.broken,
        "refusals": load.refusals,
    }


def main() -> None:
    """All contenders, one after another."""
    parser = argparse.ArgumentParser(prog="benchmarks.silent")
    parser.add_argument("--against", type=Path, help="another checkout")
    wish = parser.parse_args()
    module = "benchmarks.silent"
    contenders = [Contender("ours", module=module)]
    if wish.against:
        contenders.append(Contender("against", wish.against.resolve(), module))
    found = {way: {one.name: measure(one, way) for one in contenders} for way in WAYS}
    print(json.dumps(found, indent=2))


if __name__ == "__main__":
    if sys.argv[1:2] == ["serve"]:
        resource.setrlimit(resource.RLIMIT_NOFILE, (FILES, FILES))
        jrr.cli.main()
    else:
        main()
