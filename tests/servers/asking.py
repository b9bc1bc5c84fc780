"""Requests to a server's application, without a socket."""

import asyncio
import json
from typing import Any

from fastapi import FastAPI

from jrr.servers.common.tokens import new_token

TOKEN = new_token()


def ask(app: FastAPI, method: str, path: str, body: bytes = b"") -> tuple[int, Any]:
    """One request, without a socket."""
    path, _, query = path.partition("?")
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "path": path,
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "headers": [(b"authorization", f"Bearer {TOKEN}".encode())],
        "scheme": "http",
        "server": ("test", 80),
        "client": ("test", 1),
    }
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    asyncio.run(app(scope, receive, send))
    data = b"".join(message.get("body", b"") for message in sent)
    return sent[0]["status"], json.loads(data)
