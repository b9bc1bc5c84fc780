"""JSON that is hashed, compared byte by byte or sent: one way to write it, one to read it."""

import json
from typing import Any

from jrr.errors import DamagedError

HASH_DIGITS = 64  # hexadecimal digits of 32 bytes: a hash, a pseudonym, a public key


def canonical_json(document: dict[str, Any]) -> bytes:
    """The only bytes that stand for a document: sorted keys, no blanks, UTF-8."""
    return _CANONICAL.encode(document).encode()


def read_document(what: str, data: bytes, most: int) -> Any:
    """The JSON in a document that is named by its hash; who reads it checks its canonical form.

    Args:
        what: Its kind, for a refusal.
        data: Its bytes.
        most: How many there may be.

    Raises:
        DamagedError: It is too long, or no JSON.
    """
    if len(data) > most:
        raise DamagedError(f"{what} must be at most {most} bytes, got {len(data)}")
    try:
        return json.loads(data.decode("utf-8"))
    except RecursionError:
        raise DamagedError(f"{what} must be JSON, got too many brackets") from None
    except ValueError as error:
        raise DamagedError(f"{what} must be JSON in UTF-8: {error}") from None


def read_body(body: bytes, *fields: str, optional: tuple[str, ...] = ()) -> dict[str, Any]:
    """The JSON object in a request's body, of exactly these fields.

    Args:
        body: The bytes as they came.
        *fields: Names that must be there.
        optional: Names that may be there too.

    Returns:
        The object; its values are not checked.

    Raises:
        DamagedError: It is no such object. The message never repeats the body, which may hold
            somebody's report.
    """
    try:
        document = _BODY.decode(body.decode("utf-8"))
    except RecursionError:
        raise DamagedError("body must be JSON, got too many brackets") from None
    except ValueError:
        raise DamagedError("body must be JSON in UTF-8") from None
    if not isinstance(document, dict) or set(document) - set(optional) != set(fields):
        raise DamagedError(f"body must be an object of exactly {sorted(fields)}")
    return document


def bytes_from_hex(value: object) -> bytes | None:
    """The 32 bytes that 64 lower-case hexadecimal digits stand for; None for anything else."""
    if not isinstance(value, str) or len(value) != HASH_DIGITS:
        return None
    try:
        decoded = bytes.fromhex(value)
    except ValueError:
        return None
    return decoded if decoded.hex() == value else None  # blanks and capitals are not canonical


def _refuse_repeated_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    document = dict(pairs)
    if len(document) != len(pairs):
        raise ValueError("a key that occurs twice")
    return document


def _refuse_constant(name: str) -> None:
    raise ValueError(name)  # NaN and Infinity are Python's, not JSON's


# Made once: `json.loads` and `json.dumps` would make theirs anew for every report.
_CANONICAL = json.JSONEncoder(sort_keys=True, ensure_ascii=False, separators=(",", ":"))
_BODY = json.JSONDecoder(parse_constant=_refuse_constant, object_pairs_hook=_refuse_repeated_keys)
