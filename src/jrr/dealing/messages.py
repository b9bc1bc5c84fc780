"""What contributors send to those who deal."""

from jrr.errors import DamagedError
from jrr.protocol.documents import Message, bytes_from_hex, canonical_json, read_body
from jrr.protocol.identity import hashed


class CardRequest(Message):
    """A request for one's cards, or for a place in the next deal."""

    pseudonym: str
    key: str | None = None  # what a committee seals to
    device: str | None = None  # a secret of the device that asks: the cards are for nobody else

    @property
    def name(self) -> bytes:
        """The hash of the pseudonym."""
        return hashed(_bytes("pseudonym", self.pseudonym))

    @property
    def device_hash(self) -> bytes | None:
        """The hash of the device's secret, if there is one."""
        return None if self.device is None else hashed(_bytes("device", self.device))

    @property
    def public_key(self) -> bytes:
        """The public key, which a committee needs."""
        return _bytes("key", self.key)


def card_request(pseudonym: bytes, key: bytes | None = None, device: bytes | None = None) -> bytes:
    """Ask for one's cards, or for a place in the next deal."""
    given = {"pseudonym": pseudonym, "key": key, "device": device}
    return canonical_json({name: value.hex() for name, value in given.items() if value is not None})


def read_card_request(body: bytes) -> CardRequest:
    """A request as it came.

    Raises:
        DamagedError: It is none.
    """
    return read_body(body, CardRequest)


def _bytes(name: str, value: str | None) -> bytes:
    decoded = bytes_from_hex(value)
    if decoded is None:
        raise DamagedError(f"{name} must be 64 hexadecimal digits")
    return decoded
