"""A keyed function that nobody can bias: the verifiable one of RFC 9497 (ristretto255, SHA-512).

Whoever has the secret key computes it, with a proof; the public key fixes all its values before
anybody asks. Nothing is blinded here: the dealer may know what it is asked for.
"""

import hashlib
from dataclasses import dataclass

from jrr.dealing.verified.group import (
    ORDER,
    as_number,
    base,
    number_bytes,
    plus,
    point_of,
    random_number,
    read_number,
    read_point,
    times,
)
from jrr.errors import DamagedError

_CONTEXT = b"OPRFV1-\x01-ristretto255-SHA512"


@dataclass(frozen=True)
class Evaluation:
    """A value of the function, as it travels."""

    element: bytes  # a point
    proof: bytes  # 64 bytes

    def to_bytes(self) -> bytes:
        """96 bytes."""
        return self.element + self.proof

    @classmethod
    def from_bytes(cls, encoded: bytes) -> "Evaluation":
        """The same from 96 bytes.

        Raises:
            DamagedError: There are more or fewer.
        """
        if len(encoded) != 96:
            raise DamagedError("an evaluation must be of 96 bytes")
        return cls(encoded[:32], encoded[32:])


def public_key(secret: int) -> bytes:
    """The public key of a secret one."""
    return base(secret)


def evaluate(secret: int, given: bytes) -> tuple[bytes, Evaluation]:
    """The value for what is given, and what shows that it is the right one.

    Args:
        secret: The secret key.
        given: Any bytes, up to 65,535.
    """
    asked = _hash_to_group(given)
    element = times(secret, asked)
    public = public_key(secret)
    left, right = _composites(public, asked, element)
    nonce = random_number()
    challenge = _challenge(public, left, right, base(nonce), times(nonce, left))
    answer = (nonce - challenge * secret) % ORDER
    proof = number_bytes(challenge) + number_bytes(answer)
    return _finalise(given, element), Evaluation(element, proof)


def evaluate_again(secret: int, given: bytes) -> bytes:
    """The value alone."""
    return _finalise(given, times(secret, _hash_to_group(given)))


def check(public: bytes, given: bytes, evaluation: Evaluation) -> bytes:
    """The value for what is given, once it is shown to be the right one.

    Raises:
        DamagedError: It is not.
    """
    asked = _hash_to_group(given)
    element = read_point(evaluation.element)
    challenge, answer = read_number(evaluation.proof[:32]), read_number(evaluation.proof[32:])
    left, right = _composites(read_point(public), asked, element)
    first = plus(base(answer), times(challenge, public))
    second = plus(times(answer, left), times(challenge, right))
    if _challenge(public, left, right, first, second) != challenge:
        raise DamagedError("a value must be that of the public key")
    return _finalise(given, element)


def _finalise(given: bytes, element: bytes) -> bytes:
    return hashlib.sha512(_long(given) + _long(element) + b"Finalize").digest()


def _composites(public: bytes, asked: bytes, element: bytes) -> tuple[bytes, bytes]:
    seed = hashlib.sha512(_long(public) + _long(b"Seed-" + _CONTEXT)).digest()
    factor = _hash_to_number(_long(seed) + bytes(2) + _long(asked) + _long(element) + b"Composite")
    return times(factor, asked), times(factor, element)


def _challenge(*points: bytes) -> int:
    return _hash_to_number(b"".join(map(_long, points)) + b"Challenge")


def _hash_to_group(given: bytes) -> bytes:
    return point_of(_expand(given, b"HashToGroup-" + _CONTEXT))


def _hash_to_number(given: bytes) -> int:
    return as_number(_expand(given, b"HashToScalar-" + _CONTEXT))


def _expand(given: bytes, domain: bytes) -> bytes:
    """expand_message_xmd of RFC 9380 for SHA-512 and 64 bytes: one block."""
    ending = domain + bytes([len(domain)])
    first = hashlib.sha512(bytes(128) + given + (64).to_bytes(2) + b"\0" + ending).digest()
    return hashlib.sha512(first + b"\x01" + ending).digest()


def _long(part: bytes) -> bytes:
    return len(part).to_bytes(2) + part
