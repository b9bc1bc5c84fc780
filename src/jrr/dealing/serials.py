"""Serial numbers of cards: by them a collector names the reports that it has to the dealer.

A serial number is the place of a card (block, seat) behind a cipher whose key follows from
the question's key. The dealer needs no table of them, nobody else can tell anything from one or
make one up, and when the key is burned they are numbers without a meaning.
"""

import hashlib
import hmac
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numpy.typing import NDArray

from jrr._base.randomness import overwrite
from jrr.errors import DamagedError
from jrr.protocol.documents import bytes_from_hex

SERIAL = 16  # bytes: one block of the cipher
NONCE = 32
_PLACE = np.dtype([("block", "<u8"), ("seat", "<u4"), ("round", "<u2"), ("zero", "<u2")])
Places = NDArray[Any]  # with the fields above


class Serials:
    """The serial numbers of one question.

    Example:
        >>> serials = Serials(bytes(32))
        >>> mine = serials.of(block=1, seat=7)
        >>> [int(serials.places([mine])[0][name]) for name in ("block", "seat")]
        [1, 7]
    """

    def __init__(self, key: bytes) -> None:
        self._key = hmac.new(key, b"jrr serials 1", hashlib.sha256).digest()
        # One block each, never two alike: the cipher is a secret permutation of places.
        self._cipher = Cipher(algorithms.AES(self._key), modes.ECB())

    def __repr__(self) -> str:
        return "Serials()"  # never the key

    def forget(self) -> None:
        """Overwrite the key; serial numbers mean nothing from now on."""
        overwrite(self._key)

    def of(self, block: int, seat: int) -> bytes:
        """The serial number of the card at a place."""
        place = np.array([(block, seat, 0, 0)], _PLACE)
        return self._cipher.encryptor().update(place.tobytes())

    def places(self, serials: Sequence[bytes]) -> Places:
        """What serial numbers stand for; of one that was made up, a place that is nowhere."""
        plain = self._cipher.decryptor().update(b"".join(serials))
        return np.frombuffer(plain, _PLACE)


@dataclass(frozen=True)
class SerialNonce:
    """What a device asks one dealer of verified cards with, once: a second try repeats it."""

    serial: bytes  # by which the collector names the card at the end
    nonce: bytes  # secret to all but dealer and device


def serial_from_hex(value: object) -> bytes:
    """The serial number in a message.

    Raises:
        DamagedError: It is none; the message does not repeat it.
    """
    decoded = bytes_from_hex(value, SERIAL)
    if decoded is None:
        raise DamagedError(f"serials must be of {2 * SERIAL} hexadecimal digits each")
    return decoded
