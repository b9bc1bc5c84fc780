"""JSON texts, read strictly: one value, no key twice, not nested beyond reason."""

import json
from typing import Any

from jrr.errors import ArgumentError


def read_json(argument: str, text: str, expected: str) -> Any:
    """The value that a text holds; `expected` says in a refusal what it should have been."""
    try:
        return json.loads(text, object_pairs_hook=_object)
    except RecursionError:
        raise ArgumentError(f"{argument} must be {expected}, got too many brackets") from None
    except (TypeError, ValueError) as error:
        raise ArgumentError(f"{argument} must be {expected}, got {error}") from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object whose keys are all different."""
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("a key that occurs twice")
    return members
