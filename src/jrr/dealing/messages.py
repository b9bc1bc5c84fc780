"""What contributors send to those who deal, whichever way they deal, and what they ask of them."""

from typing import TYPE_CHECKING, Annotated, Any

from msgspec import UNSET, Meta, UnsetType

from jrr.dealing.serials import SerialNonce, serial_from_hex
from jrr.errors import DamagedError, ProtocolError
from jrr.protocol.documents import (
    Hash,
    Message,
    bytes_from_hex,
    canonical_json,
    hashed,
    plain,
    read_body,
)
from jrr.protocol.steps import (
    LEFT_OUT,
    UNKNOWN_NAME,
    Call,
    Steps,
    insist,
    printable,
    read_problem,
    read_reply,
    refused,
)

if TYPE_CHECKING:
    from jrr.survey.survey import Survey

Party = Annotated[int, Meta(ge=0, le=255)]


class CardRequest(Message):
    """A request for one's cards, or for a place in the next deal."""

    pseudonym: str
    key: str | UnsetType = UNSET  # what a committee seals to
    device: str | UnsetType = UNSET  # a secret of the device that asks: nobody else gets the cards
    serial: str | UnsetType = UNSET  # of verified cards, chosen by the device
    nonce: str | UnsetType = UNSET

    @property
    def name(self) -> bytes:
        """The hash of the pseudonym."""
        return hashed(_bytes("pseudonym", self.pseudonym))

    @property
    def device_hash(self) -> bytes | None:
        """The hash of the device's secret, if there is one."""
        return None if self.device is UNSET else hashed(_bytes("device", self.device))

    @property
    def for_verified(self) -> SerialNonce | None:
        """What the device chose for verified cards, if it did."""
        if self.serial is UNSET and self.nonce is UNSET:
            return None
        return SerialNonce(serial_from_hex(self.serial), _bytes("nonce", self.nonce))

    @property
    def public_key(self) -> bytes:
        """The public key, which a committee needs."""
        return _bytes("key", self.key)


def card_request(
    pseudonym: bytes,
    key: bytes | None = None,
    device: bytes | None = None,
    serial: bytes | None = None,
    nonce: bytes | None = None,
) -> bytes:
    """Ask for one's cards, or for a place in the next deal."""
    given = {"pseudonym": pseudonym, "key": key, "device": device, "serial": serial, "nonce": nonce}
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


def address_at(survey: "Survey", number: int) -> str:
    """Where one of those who deal keeps the survey."""
    return f"{survey.dealing.addresses[number]}{survey.path}"


def same_everywhere(
    survey: "Survey", patience: float, *, silence_is_fine: bool = False
) -> Steps[list[bool]]:
    """Of each who deals, whether it serves the very same survey; False where it serves nothing."""
    found = []
    for number in range(len(survey.dealing.addresses)):
        call = Call(address_at(survey, number))
        reply = yield from insist(call, patience, silence_is_fine=silence_is_fine)
        if not reply.gave_up and reply.status != 200:
            raise refused("the dealer", reply)
        if not reply.gave_up and reply.body != survey.to_bytes():
            raise ProtocolError("dealer and collector serve different surveys")
        found.append(not reply.gave_up)
    return found


def ask_for_place(survey: "Survey", number: int, body: bytes, patience: float) -> Steps[None]:
    """Enrol at one who deals."""
    reply = yield from insist(Call(f"{address_at(survey, number)}/seats", body), patience)
    if reply.status not in (200, 201):
        raise refused("the dealer", reply)


def ask_for_cards(
    survey: "Survey", number: int, body: bytes, patience: float
) -> Steps[tuple[dict[str, Any] | None, str | None]]:
    """What one who deals replies; None where no card is to be had of it.

    And what it says of why somebody who enrolled was dealt nothing, if it does.
    """
    call = Call(f"{address_at(survey, number)}/cards", body)
    reply = yield from insist(call, patience, silence_is_fine=True, also=(425,))
    kind, detail = read_problem(reply.body)
    # Who did not enrol in time has no card and may answer; where nobody enrols, somebody whom the
    # dealer does not know must not send anything to the collector either.
    is_stranger = kind == UNKNOWN_NAME and not survey.dealing.enrols
    if reply.gave_up or (reply.status in (404, 410, 425) and not is_stranger):
        # Nothing came, this name has no seat, the cards are burned or not dealt yet.
        return None, printable(detail) if kind == LEFT_OUT else None
    if reply.status != 200:
        raise refused("the dealer", reply)
    return read_reply(reply.body, "the dealer"), None
