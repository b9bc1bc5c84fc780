"""JSON that is hashed, compared byte by byte or sent: one way to write it, one to read it."""

import hashlib
import json
import re
from typing import Annotated, Any, TypeVar

import msgspec

from jrr.errors import DamagedError

MOST = 1 << 20  # bytes of a document
T = TypeVar("T")
HASH_DIGITS = 64  # hexadecimal digits of 32 bytes: a hash, a pseudonym, a public key
Hash = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]  # as a field of a message


def canonical_json(document: dict[str, Any]) -> bytes:
    """The only bytes that stand for a document: sorted keys, no blanks, UTF-8."""
    return _CANONICAL.encode(document).encode()


def hash_of(data: bytes) -> str:
    """The name of a document with these bytes: hexadecimal SHA-256."""
    return hashlib.sha256(data).hexdigest()


def hashed(secret: bytes) -> bytes:
    """What a server stores of a pseudonym, or of a device's name."""
    return hashlib.sha256(secret).digest()


class Message(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A message of exactly its fields; those with a default may be left out."""


def read_document(what: str, data: bytes, kind: type[T], most: int = MOST) -> T:
    """A document that is named by its hash; who reads it checks its canonical form.

    Args:
        what: Its kind in words, for a refusal.
        data: Its bytes.
        kind: The struct that it must be.
        most: Bytes that there may be.

    Raises:
        DamagedError: It is too long, no JSON, or has an unknown, missing or wrong field, which is
            named.
    """
    if len(data) > most:
        raise DamagedError(f"{what} must be at most {most} bytes, got {len(data)}")
    try:
        return msgspec.json.decode(data, type=kind)
    except RecursionError:
        raise DamagedError(f"{what} must be JSON, got too many brackets") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise DamagedError(f"{what} is not acceptable: {error}") from None


def read_body(body: bytes, kind: type[T]) -> T:
    """A request's body.

    Args:
        body: The bytes as they came.
        kind: The struct that it must be, of plain values only: then no message repeats one of
            them, which may be somebody's report.

    Raises:
        DamagedError: It is anything else, or says a key twice: nobody can tell which is meant. The
            message names the field, but not one that is unknown, which is the sender's word.
    """
    try:
        found = msgspec.json.decode(body, type=kind)
        json.loads(body, object_pairs_hook=_each_once)
    except RecursionError:
        raise DamagedError("body must be JSON, got too many brackets") from None
    except (msgspec.DecodeError, ValueError) as error:
        reason = _UNKNOWN.sub("an unknown field", str(error))
        raise DamagedError(f"body is not acceptable: {reason}") from None
    return found


def _each_once(pairs: list[tuple[str, Any]]) -> None:
    if len({key for key, _ in pairs}) != len(pairs):
        raise ValueError("a key is said twice")


def plain(document: Any) -> Any:
    """A struct as dictionaries, lists, texts and numbers."""
    return msgspec.to_builtins(document)


def bytes_from_hex(value: object, size: int = HASH_DIGITS // 2) -> bytes | None:
    """The bytes that so many lower-case hexadecimal digits stand for; None for anything else."""
    if not isinstance(value, str) or len(value) != 2 * size:
        return None
    try:
        decoded = bytes.fromhex(value)
    except ValueError:
        return None
    return decoded if decoded.hex() == value else None  # blanks and capitals are not canonical


_UNKNOWN = re.compile("unknown field `.*`", re.DOTALL)
# Made once: `json.dumps` would make its own anew for every report.
_CANONICAL = json.JSONEncoder(sort_keys=True, ensure_ascii=False, separators=(",", ":"))
