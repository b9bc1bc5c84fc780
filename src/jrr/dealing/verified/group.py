"""The group ristretto255 by libsodium, numbers modulo its order, and hashes with a domain.

Nothing of curves is written here: points are 32 bytes, and libsodium adds and multiplies them. It
says nothing where one of them is no point (rbcl gives the identity then), so whatever comes from
elsewhere is read by `read_point` first.
"""

import hashlib
import secrets
from collections.abc import Iterable
from typing import TYPE_CHECKING

from jrr.errors import DamagedError, MissingExtraError

try:
    import rbcl
except ImportError:  # pragma: no cover  # which tests always have
    if not TYPE_CHECKING:
        raise MissingExtraError("verified cards need rbcl", "verified") from None

ORDER = 2**252 + 27742317777372353535851937790883648493
SIZE = 32  # bytes of a point, and of a number modulo the order
IDENTITY = bytes(SIZE)


def digest(domain: str, *parts: bytes) -> bytes:
    """SHA-512 of parts, each after its length, in a domain of their own.

    Args:
        domain: What the hash is for; no two uses share one.
        parts: Hashed in order.
    """
    found = hashlib.sha512()
    for part in (b"jrr verified 1 " + domain.encode(), *parts):
        found.update(len(part).to_bytes(8, "little"))
        found.update(part)
    return found.digest()


def as_number(wide: bytes) -> int:
    """64 bytes as a number modulo the order; random bytes give a random number."""
    return int.from_bytes(wide, "little") % ORDER


def random_number() -> int:
    """A random number modulo the order."""
    return as_number(secrets.token_bytes(64))


def number_bytes(number: int) -> bytes:
    """A number modulo the order in its only encoding."""
    return (number % ORDER).to_bytes(SIZE, "little")


def read_number(encoded: bytes) -> int:
    """The number of an encoding.

    Raises:
        DamagedError: It is not of 32 bytes, or not below the order.
    """
    number = int.from_bytes(encoded, "little")
    if len(encoded) != SIZE or number >= ORDER:
        raise DamagedError("a number modulo the group's order must be in its canonical encoding")
    return number


def read_point(encoded: bytes) -> bytes:
    """The same bytes where they are a point other than the identity, in its only encoding.

    Raises:
        DamagedError: They are not.
    """
    if (
        len(encoded) != SIZE
        or encoded == IDENTITY
        or encoded[-1] > 127  # libsodium of rbcl 1.1.2 overlooks this bit (RFC 9496 does not)
        or not rbcl.crypto_core_ristretto255_is_valid_point(encoded)
    ):
        raise DamagedError("a point must be of ristretto255, encoded canonically, not the identity")
    return encoded


def times(number: int, point: bytes) -> bytes:
    """A point so many times."""
    return bytes(rbcl.crypto_scalarmult_ristretto255_allow_scalar_zero(number_bytes(number), point))


def base(number: int) -> bytes:
    """The base point so many times."""
    return bytes(rbcl.crypto_scalarmult_ristretto255_base_allow_scalar_zero(number_bytes(number)))


def plus(left: bytes, right: bytes) -> bytes:
    """The sum of two points."""
    return bytes(rbcl.crypto_core_ristretto255_add(left, right))


def minus(left: bytes, right: bytes) -> bytes:
    """The difference of two points."""
    return bytes(rbcl.crypto_core_ristretto255_sub(left, right))


def total(points: Iterable[bytes]) -> bytes:
    """The sum of points."""
    found = IDENTITY
    for point in points:
        found = plus(found, point)
    return found


def point_of(wide: bytes) -> bytes:
    """A point from 64 bytes of a hash; nobody knows how often it is the base point."""
    return bytes(rbcl.crypto_core_ristretto255_from_hash(wide))


OTHER_BASE = point_of(digest("second base"))


def commit(number: int, blinding: int) -> bytes:
    """A commitment to a number: it tells nothing of it, and cannot be opened to another."""
    return plus(base(number), times(blinding, OTHER_BASE))
