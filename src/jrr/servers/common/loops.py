"""The event loop of a server: a client that opens a connection must finish its TLS in time.

The loop itself knows such a deadline, of sixty seconds; uvicorn offers no way to name another.
"""

import asyncio
from typing import Any

_Loop: Any
try:
    import uvloop

    _Loop = uvloop.Loop
except ModuleNotFoundError:  # Windows
    _Loop = asyncio.SelectorEventLoop


class ServerLoop(_Loop):  # type: ignore[misc]
    """An event loop whose servers hang up on whoever is slow in a handshake."""

    handshake = 10.0  # seconds

    async def create_server(self, *args: Any, **kwargs: Any) -> asyncio.AbstractServer:
        """As any loop does."""
        if kwargs.get("ssl") is not None:
            kwargs.setdefault("ssl_handshake_timeout", self.handshake)
        server: asyncio.AbstractServer = await super().create_server(*args, **kwargs)
        return server
