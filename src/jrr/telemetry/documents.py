"""Documents of questions and reports of this room, read strictly."""

from typing import Any

from jrr._base import checks


def list_of(argument: str, value: object) -> list[Any]:
    """A list, or a refusal."""
    if not isinstance(value, list):
        raise checks.refusal(argument, value, "a list")
    return value


def level_and_report(document: object, levels: int) -> tuple[int, Any]:
    """The level of a report, one of so many, and what its mechanism wrote; or a refusal."""
    if not isinstance(document, list) or len(document) != 2:
        raise checks.refusal("document", document, "a list of a level and a report")
    return checks.integer("level", document[0], 0, levels - 1), document[1]
