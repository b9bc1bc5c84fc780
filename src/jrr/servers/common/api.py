"""The OpenAPI document: who may ask, and every refusal a route may answer with."""

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

PROBLEM = "application/problem+json"
_ADMIN = "/v1/admin/"
_SCHEME = "admin"
_WORDS = {
    "400": "The request ended too early, or is no HTTP.",
    "401": "No admin token, or a wrong one.",
    "403": "This operator may not do that.",
    "404": "No such survey or pseudonym here.",
    "405": "Another method is needed.",
    "409": "It conflicts with what is stored or with the survey's state.",
    "410": "The survey is over, or was deleted.",
    "413": "The body is too large.",
    "422": "The body, or a part of the address, is not acceptable.",
    "425": "The survey has not begun: come back later.",
    "503": "More is asked than can be done, or the database cannot be used: come back later.",
}
_EVERYBODY = ("400", "404", "405", "410", "413", "422", "503")
_BODIES = ("409", "425")  # of routes that change something
_OPERATORS = ("401", "403", "409", "425")


def describe(app: FastAPI) -> None:
    """Let an application serve a document with security schemes and all refusals."""

    def document() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = _described(app)
        return app.openapi_schema

    app.openapi = document  # type: ignore[method-assign]


def _described(app: FastAPI) -> dict[str, Any]:
    found = get_openapi(title=app.title, version=app.version, routes=app.routes)
    parts = found.setdefault("components", {})
    parts["securitySchemes"] = {_SCHEME: {"type": "http", "scheme": "bearer"}}
    parts["schemas"] = {"Problem": _problem_schema()}
    parts["responses"] = {
        status: {
            "description": words,
            "content": {PROBLEM: {"schema": {"$ref": "#/components/schemas/Problem"}}},
        }
        for status, words in _WORDS.items()
    }
    for path, methods in found["paths"].items():
        for method, operation in methods.items():
            for status in _refusals(path, method):
                operation["responses"][status] = {"$ref": f"#/components/responses/{status}"}
            if method in ("post", "put"):  # repeats are answered with 200, the first with 201
                operation["responses"].setdefault("201", {"description": "It is new here."})
            if path.startswith(_ADMIN):
                operation["security"] = [{_SCHEME: []}]
    return found


def _refusals(path: str, method: str) -> list[str]:
    """Statuses that a route may refuse with."""
    own = _OPERATORS if path.startswith(_ADMIN) else _BODIES if method == "post" else ()
    return sorted({*_EVERYBODY, *own})


def _problem_schema() -> dict[str, Any]:
    """RFC 9457."""
    texts = ("type", "title", "detail")
    return {
        "type": "object",
        "required": ["type", "status"],
        "properties": {name: {"type": "string"} for name in texts}
        | {"status": {"type": "integer"}},
    }
