"""Many contributors at once, each with a conversation of its own: demonstrations and load tests."""

import asyncio
from collections.abc import Callable, Iterable
from typing import TypeVar

import aiohttp

from jrr.protocol.steps import Call, Reply, Steps, Wait, seconds_of

T = TypeVar("T")
CONNECTIONS = 64


async def drive_all(
    conversations: Iterable[Steps[T]],
    progress: Callable[[int], None] = lambda done: None,
    connections: int = CONNECTIONS,
) -> list[T | Exception]:
    """Run all conversations, some at a time; results in order, an exception where one failed."""
    timeout = aiohttp.ClientTimeout(total=60)
    connector = aiohttp.TCPConnector(limit=connections, force_close=False)
    results: dict[int, T | Exception] = {}
    waiting = enumerate(conversations)
    async with aiohttp.ClientSession(connector=connector, timeout=timeout) as session:

        async def worker() -> None:
            for number, conversation in waiting:  # shared: each takes the next one
                try:
                    results[number] = await _drive(session, conversation)
                except Exception as error:
                    results[number] = error
                progress(len(results))

        await asyncio.gather(*(worker() for _ in range(connections)))
    return [results[number] for number in range(len(results))]


async def _drive(session: aiohttp.ClientSession, steps: Steps[T]) -> T:
    reply: Reply | None = None
    try:
        while True:
            step = steps.send(reply)
            reply = None
            if isinstance(step, Call):
                reply = await _call(session, step)
            elif isinstance(step, Wait):
                await asyncio.sleep(step.seconds)
    except StopIteration as finished:
        result: T = finished.value
        return result


async def _call(session: aiohttp.ClientSession, call: Call) -> Reply:
    method = "GET" if call.body is None else "POST"
    try:
        async with session.request(
            method, call.address, data=call.body, allow_redirects=False
        ) as response:
            told = seconds_of(response.headers.get("Retry-After"))
            return Reply(response.status, await response.read(), told)
    except (aiohttp.ClientError, TimeoutError, OSError):
        return Reply(0)
