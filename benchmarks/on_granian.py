"""`python -m benchmarks.on_granian serve collector …`: the same application on Granian."""

import asyncio
from typing import Any

import jrr.servers.run
from jrr.cli import main
from jrr.research.processes import free_port

IN_FLIGHT = 256


def _run_app(app: Any, host: str, port: int, *, ready: Any = print, **_: Any) -> None:
    import uvloop
    from granian.server.embed import Server

    port = port or free_port()
    server = Server(
        app,
        address=host,
        port=port,
        interface="asgi",
        backlog=128,
        backpressure=IN_FLIGHT,
        log_enabled=False,
    )

    async def run() -> None:
        task = asyncio.create_task(server.serve())
        await asyncio.sleep(3.0)  # it does not say when it listens
        ready(f"http://{host}:{port}")
        await task

    uvloop.run(run())


if __name__ == "__main__":
    jrr.servers.run.run_app = _run_app
    main()
