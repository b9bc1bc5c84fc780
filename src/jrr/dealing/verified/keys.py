"""What a dealer promises before it deals: public keys, and the noise seeds that it cannot change.

The promise is recorded by the collector before the first answer, and everything that a dealer
signs or a device proves is bound to it. Cards, noise and blinding are numbers that follow from a
secret, the same in every language (`Stream`). The law of whole numbers is drawn exactly, from whole
numbers alone (Canonne, Kamath, Steinke: The discrete Gaussian for differential privacy, 2020,
Algorithm 2).
"""

import hashlib
from collections.abc import Sequence
from fractions import Fraction
from typing import Annotated

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.hashes import SHA512
from cryptography.hazmat.primitives.kdf.hkdf import HKDFExpand
from msgspec import Meta, ValidationError, convert

from jrr.dealing.verified.group import as_number, base, digest, read_point
from jrr.errors import DamagedError
from jrr.protocol.documents import Message, bytes_from_hex, canonical_json, plain

Bytes32 = Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]


class Promise(Message):
    """What one dealer promises of one survey, in hexadecimal digits."""

    signing: Bytes32  # the key that its signatures are checked with (Ed25519)
    cards: Bytes32  # the key that fixes all cards before anybody asks for one
    noise: Bytes32  # the root over the hashes of all noise seeds

    def check(self) -> None:
        """Refuse keys that are none.

        Raises:
            DamagedError: They are not.
        """
        read_point(bytes.fromhex(self.cards))

    def context(self, survey: str) -> bytes:
        """What this dealer's signatures and cards are bound to: the survey and this promise."""
        return digest("dealer", bytes.fromhex(survey), canonical_json(plain(self)))


def survey_context(survey: str, promises: Sequence[Promise]) -> bytes:
    """What proofs are bound to: the survey and the promises of all its dealers."""
    return digest("survey", bytes.fromhex(survey), *(one.context(survey) for one in promises))


def read_promises(document: object, dealers: int) -> list[Promise]:
    """The promises of all dealers, in order.

    Raises:
        DamagedError: They are not, or a key is none.
    """
    if not isinstance(document, list) or len(document) != dealers:
        raise DamagedError(f"promises must be a list of {dealers}, one from each dealer")
    try:
        found = [convert(one, Promise) for one in document]
    except ValidationError as error:
        raise DamagedError(f"promises are not acceptable: {error}") from None
    for one in found:
        one.check()
    return found


class Secrets:
    """A dealer's secret keys of one survey, which follow from the survey's key.

    Args:
        key: Of the survey.
    """

    def __init__(self, key: bytes) -> None:
        self.cards = as_number(_derived(key, b"cards", 64))
        self.noise = _derived(key, b"noise", 32)
        self._signing = Ed25519PrivateKey.from_private_bytes(_derived(key, b"signing", 32))

    def __repr__(self) -> str:
        return "Secrets()"  # never the keys

    def promise(self, noise_root: bytes) -> Promise:
        """What the public may know of them.

        Args:
            noise_root: Over the hashes of the noise seeds (jrr.dealing.verified.noise).
        """
        return Promise(
            signing=self._signing.public_key().public_bytes_raw().hex(),
            cards=base(self.cards).hex(),
            noise=noise_root.hex(),
        )

    def sign(self, message: bytes) -> bytes:
        """A signature, of 64 bytes."""
        return self._signing.sign(message)


def check_signature(promise: Promise, message: bytes, signature: bytes) -> None:
    """Refuse what the dealer has not signed.

    Raises:
        DamagedError: It has not.
    """
    try:
        key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(promise.signing))
        key.verify(signature, message)
    except (InvalidSignature, ValueError):
        raise DamagedError("a card must be signed by the dealer") from None


def hex_bytes(argument: str, value: object, size: int) -> bytes:
    """Bytes in a message, as so many hexadecimal digits in lower case.

    Raises:
        DamagedError: They are none; the message does not repeat them.
    """
    decoded = bytes_from_hex(value, size)
    if decoded is None:
        raise DamagedError(f"{argument} must be {2 * size} hexadecimal digits")
    return decoded


def _derived(key: bytes, purpose: bytes, size: int) -> bytes:
    return HKDFExpand(SHA512(), size, b"jrr verified 1 " + purpose).derive(key)


class Stream:
    """Bytes from a secret: SHA-512 of the secret's hash and a counter, block after block.

    Args:
        domain: What is drawn.
        parts: The secret, and what else it depends on.
    """

    def __init__(self, domain: str, *parts: bytes) -> None:
        self._key = digest(domain, *parts)
        self._block = 0
        self._left = b""

    def take(self, size: int) -> bytes:
        """The next bytes."""
        while len(self._left) < size:
            counter = self._block.to_bytes(8, "little")
            self._left += hashlib.sha512(self._key + counter).digest()
            self._block += 1
        taken, self._left = self._left[:size], self._left[size:]
        return taken

    def below(self, bound: int) -> int:
        """A uniform whole number below a bound."""
        bits = (bound - 1).bit_length()
        while True:
            found = int.from_bytes(self.take((bits + 7) // 8), "little") & ((1 << bits) - 1)
            if found < bound:
                return found

    def number(self) -> int:
        """A uniform number modulo the group's order."""
        return as_number(self.take(64))

    def laplace(self, rate: float) -> int:
        """A whole number z with Pr[z] proportional to exp(-rate |z|).

        Args:
            rate: Above 0; taken as the fraction that it is.
        """
        fraction = Fraction(rate)
        steps, scale = fraction.numerator, fraction.denominator
        while True:
            start = self.below(scale)
            if not self._decays(start, scale):
                continue
            whole = 0
            while self._decays(1, 1):
                whole += 1
            size = (start + scale * whole) // steps
            negative = self.below(2) == 1
            if negative and size == 0:
                continue
            return -size if negative else size

    def _decays(self, over: int, under: int) -> bool:
        """True with the chance exp(-over/under), for a fraction of 0 to 1."""
        tries = 1
        while self.below(under * tries) < over:
            tries += 1
        return tries % 2 == 1
