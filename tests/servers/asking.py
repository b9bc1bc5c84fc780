"""Requests to a server's application, without a socket."""

import asyncio
import json
from typing import Any

from fastapi import FastAPI

from jrr.servers.common.tokens import new_token

TOKEN = new_token()


def ask(app: FastAPI, method: str, path: str, body: bytes = b"", **headers: str) -> tuple[int, Any]:
    """One request, without a socket; a body that is no JSON is given as it is."""
    sent_headers = {"authorization": f"Bearer {TOKEN}"} | headers
    path, _, query = path.partition("?")
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "path": path,
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "headers": [
            (name.replace("_", "-").encode(), value.encode())
            for name, value in sent_headers.items()
        ],
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
    kinds = dict(sent[0]["headers"])
    is_json = b"json" in kinds.get(b"content-type", b"")
    return sent[0]["status"], json.loads(data) if is_json else data
