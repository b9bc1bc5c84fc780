"""Which pages of other origins may ask a server, and what."""

import asyncio
from typing import Any

import pytest

from jrr.errors import ArgumentError
from jrr.servers.common.middleware import CrossOrigin, read_origins

NAME = "0" * 64
PAGE = "https://page.example"


def ask(
    path: str, method: str = "GET", origin: str | None = PAGE, setting: str = "*", **more: str
) -> tuple[int, dict[str, str]]:
    sent: list[dict[str, Any]] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 409, "headers": [(b"a", b"b")]})

    async def send(message: Any) -> None:
        sent.append(message)

    given = more | ({} if origin is None else {"origin": origin})
    headers = [(k.replace("_", "-").encode(), v.encode()) for k, v in given.items()]
    scope = {"type": "http", "method": method, "path": path, "headers": headers}
    asyncio.run(CrossOrigin(app, read_origins(setting))(scope, None, send))  # type: ignore[arg-type]
    told = {k.decode(): v.decode() for k, v in sent[0]["headers"]}
    return sent[0]["status"], told


@pytest.mark.parametrize("route", ["", "/status", "/cards", "/seats", "/reports", "/complaints"])
def test_any_page_may_use_a_contributors_routes(route: str) -> None:
    path = f"/v1/surveys/{NAME}{route}"
    status, told = ask(path)
    assert (status, told["access-control-allow-origin"]) == (409, "*")  # refusals can be read too
    assert told["access-control-expose-headers"] == "retry-after"  # and when to come again
    assert told["a"] == "b"
    assert "access-control-allow-credentials" not in told
    status, told = ask(path, "OPTIONS", access_control_request_method="POST")
    assert status == 200
    assert told["access-control-allow-methods"] == "GET, POST"
    allowed = told["access-control-allow-headers"].lower().split(", ")
    assert "content-type" in allowed
    assert "authorization" not in allowed  # no token of an operator
    refused = ask(
        path,
        "OPTIONS",
        access_control_request_method="POST",
        access_control_request_headers="authorization",
    )
    assert refused[0] == 400


@pytest.mark.parametrize(
    "path",
    [
        f"/v1/admin/surveys/{NAME}",
        f"/v1/admin/surveys/{NAME}/estimate",
        f"/v1/admin/surveys/{NAME}/export",
        f"/v1/surveys/{NAME}/reports/more",
        "/healthz",
        "/openapi.json",
    ],
)
def test_no_page_may_use_others(path: str) -> None:
    for method in ("GET", "OPTIONS"):
        status, told = ask(path, method, access_control_request_method="PUT")
        assert status == 409
        assert told == {"a": "b"}


def test_some_origins_and_none() -> None:
    path = f"/v1/surveys/{NAME}/cards"
    named = f"{PAGE} https://other.example"
    assert ask(path, setting=named)[1]["access-control-allow-origin"] == PAGE
    assert ask(path, setting=named)[1]["vary"] == "Origin"
    assert "access-control-allow-origin" not in ask(path, origin="null", setting=named)[1]
    assert "access-control-allow-origin" not in ask(path, setting="")[1]
    before = ask(path, "OPTIONS", setting="", access_control_request_method="POST")[1]
    assert "access-control-allow-origin" not in before


def test_clients_that_are_no_browsers_see_no_difference() -> None:
    assert ask(f"/v1/surveys/{NAME}/cards", origin=None) == (409, {"a": "b"})


@pytest.mark.parametrize("wrong", ["https://a.example/", "a.example", "https://a b;c", "**"])
def test_settings_that_are_no_origins(wrong: str) -> None:
    with pytest.raises(ArgumentError, match="origins must be"):
        read_origins(wrong)
