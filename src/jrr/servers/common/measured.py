"""How long requests take, told to whoever counts them."""

import time
from typing import Protocol

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from jrr.servers.common.visitors import CONTRIBUTORS


class RequestCounter(Protocol):
    """What is told, as `jrr.servers.common.metrics` has it."""

    def count_request(self, by: str, seconds: float) -> None:
        """A request was answered; by: contributor or operator."""


class Measured:
    """Times requests."""

    def __init__(self, app: ASGIApp, metrics: RequestCounter) -> None:
        self._app, self._metrics = app, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        if scope["type"] != "http" or not scope["path"].startswith("/v1/"):
            await self._app(scope, receive, send)
            return
        begun = time.perf_counter()

        async def noted(message: Message) -> None:
            await send(message)
            if message["type"] == "http.response.body" and not message.get("more_body"):
                by = "contributor" if scope["path"].startswith(CONTRIBUTORS) else "operator"
                self._metrics.count_request(by, time.perf_counter() - begun)

        await self._app(scope, receive, noted)
