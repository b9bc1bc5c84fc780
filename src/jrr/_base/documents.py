"""JSON documents, read strictly: no key twice, no unknown field, no missing one."""

import csv
import io
import json
from collections.abc import Collection, Iterable, Mapping
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


def csv_text(columns: Collection[str], rows: Iterable[Mapping[str, Any]]) -> str:
    """A table in CSV, with the names of its columns above it."""
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def read_version(
    document: object, *, kind: str, version: int, names: Collection[str]
) -> dict[str, Any]:
    """The fields of a document that says its kind and version in a field of that name.

    Args:
        document: a dictionary such as {"tally": 1, "n": 3}.
        kind: what it should be, and the name of the field with the version: "tally".
        version: the one that is understood.
        names: the other fields, all of which must be there.

    Returns:
        The other fields.

    Raises:
        ArgumentError: for another kind, another version, or other fields.

    Example:
        >>> read_version({"tally": 1, "n": 3}, kind="tally", version=1, names={"n"})
        {'n': 3}
    """
    if not isinstance(document, Mapping):
        raise ArgumentError(f"{kind} must be an object, got {document!r:.80}")
    if document.get(kind) != version or type(document.get(kind)) is not int:
        raise ArgumentError(f"{kind} version must be {version}, got {document.get(kind)!r:.80}")
    if set(document) != {*names, kind}:
        shown, wanted = sorted(map(str, document)), sorted(names)
        raise ArgumentError(f"{kind} fields must be {wanted} and {kind}, got {shown!r:.200}")
    return {name: document[name] for name in document if name != kind}


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object whose keys are all different."""
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("a key that occurs twice")
    return members
