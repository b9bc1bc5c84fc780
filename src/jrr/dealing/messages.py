"""What contributors send to those who deal."""

from typing import Annotated

from msgspec import UNSET, Meta, UnsetType

from jrr.errors import DamagedError
from jrr.protocol.documents import (
    Hash,
    Message,
    bytes_from_hex,
    canonical_json,
    hashed,
    plain,
    read_body,
)

Party = Annotated[int, Meta(ge=0, le=255)]


class CardRequest(Message):
    """A request for one's cards, or for a place in the next deal."""

    pseudonym: str
    key: str | UnsetType = UNSET  # what a committee seals to
    device: str | UnsetType = UNSET  # a secret of the device that asks: nobody else gets the cards

    @property
    def name(self) -> bytes:
        """The hash of the pseudonym."""
        return hashed(_bytes("pseudonym", self.pseudonym))

    @property
    def device_hash(self) -> bytes | None:
        """The hash of the device's secret, if there is one."""
        return None if self.device is UNSET else hashed(_bytes("device", self.device))

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


class ShareEvidence(Message):
    """One party's share of one's own slot, and the key that opens it."""

    party: Party
    sealed: Annotated[bytes, Meta(max_length=1024)]  # in base64
    path: Annotated[list[Hash], Meta(max_length=64)]  # that shows that the party committed to it
    key: Hash  # secret until now


class Complaint(Message):
    """That one's card is not acceptable; without evidence it only gives up the card."""

    pseudonym: str
    accused: Party | None = None  # the party whose fault it is said to be
    evidence: ShareEvidence | None = None  # what shows it

    @property
    def name(self) -> bytes:
        """The hash of the pseudonym of whoever complains."""
        return hashed(_bytes("pseudonym", self.pseudonym))


def complaint_request(
    pseudonym: bytes, accused: int | None = None, evidence: ShareEvidence | None = None
) -> bytes:
    """Complain of one's own card."""
    complaint = Complaint(pseudonym=pseudonym.hex(), accused=accused, evidence=evidence)
    return canonical_json(plain(complaint))


def _bytes(name: str, value: object) -> bytes:
    decoded = bytes_from_hex(value)
    if decoded is None:
        raise DamagedError(f"{name} must be 64 hexadecimal digits")
    return decoded
