"""A verified answer: how a device comes by its cards, what it keeps and proves, what is checked."""

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from jrr.dealing.interface import Hand, Hands, Person
from jrr.dealing.messages import ask_for_cards, card_request, same_everywhere
from jrr.dealing.serials import NONCE, SERIAL, SerialNonce
from jrr.dealing.verified.cards import (
    Evaluation,
    SignedCards,
    VerifiedCard,
    added,
    check_dealt,
    report_binding,
    signed_card,
)
from jrr.dealing.verified.group import digest, number_bytes, read_number, read_point, total
from jrr.dealing.verified.keys import (
    Promise,
    check_signature,
    hex_bytes,
    read_promises,
    survey_context,
)
from jrr.dealing.verified.proofs import Possible, Statement, prove, verify
from jrr.dealing.verified.questions import card_laws, possible_numbers
from jrr.errors import DamagedError, ProtocolError
from jrr.protocol.identity import device_name, pseudonym
from jrr.protocol.steps import Call, Steps, insist, read_reply, refused

if TYPE_CHECKING:
    from jrr.survey.sensitive import SensitiveQuestion
    from jrr.survey.survey import Survey


@dataclass(frozen=True)
class SignedCommitments:
    """What one dealer committed to, and signed."""

    commitments: tuple[bytes, ...]
    signature: bytes

    def to_document(self) -> dict[str, Any]:
        """As it travels."""
        return {
            "commitments": [one.hex() for one in self.commitments],
            "signature": self.signature.hex(),
        }

    @classmethod
    def from_document(cls, document: Any, numbers: int) -> "SignedCommitments":
        """The same from JSON values.

        Raises:
            DamagedError: They are none, or not of so many numbers.
        """
        listed = document["commitments"][: numbers + 1]
        points = tuple(read_point(hex_bytes("commitments", one, 32)) for one in listed)
        return cls(points, hex_bytes("signature", document["signature"], 64))

    def to_bytes(self) -> bytes:
        """As the collector stores it."""
        return self.signature + b"".join(self.commitments)

    @classmethod
    def from_bytes(cls, stored: bytes) -> "SignedCommitments":
        """What `to_bytes` made, perhaps read from somebody else's record.

        Raises:
            DamagedError: It is something else; libsodium would take what is no point for nothing.
        """
        points = tuple(read_point(stored[at : at + 32]) for at in range(64, len(stored), 32))
        return cls(points, stored[:64])


@dataclass(frozen=True)
class Proving:
    """A card of all dealers together.

    Args:
        context: Of the survey and the promises of its dealers.
        card: Masks and blindings, added up.
        signed: By each dealer; None by one that was left out.
    """

    context: bytes
    card: VerifiedCard
    signed: tuple[SignedCommitments | None, ...]

    def answer(
        self,
        question: str,
        pseudonym: bytes,
        serials: Sequence[str | None],
        possible: Possible,
        said: Sequence[int],
    ) -> dict[str, Any]:
        """The report of what the coin said, with its proof, as it travels."""
        named = [None if one is None else bytes.fromhex(one) for one in serials]
        reports = [mask + one for mask, one in zip(self.card.masks, said, strict=True)]
        statement = Statement(
            report_binding(self.context, question, pseudonym, named),
            possible,
            all_commitments([one for one in self.signed if one is not None]),
            reports,
        )
        proof = prove(statement, said, self.card.blindings)
        return {
            "report": reports[0] if len(reports) == 1 else reports,
            "commitments": [None if one is None else one.to_document() for one in self.signed],
            "proof": proof.hex(),
        }

    def to_document(self) -> dict[str, Any]:
        """For a private file."""
        return {
            "context": self.context.hex(),
            "masks": list(self.card.masks),
            "blindings": [number_bytes(one).hex() for one in self.card.blindings],
            "signed": [None if one is None else one.to_document() for one in self.signed],
        }

    @classmethod
    def from_document(cls, document: Any) -> "Proving":
        """What `to_document` wrote."""
        masks = tuple(map(int, document["masks"]))
        blindings = tuple(
            read_number(hex_bytes("blindings", one, 32)) for one in document["blindings"]
        )
        signed = tuple(
            None if one is None else SignedCommitments.from_document(one, len(masks))
            for one in document["signed"]
        )
        context = hex_bytes("context", document["context"], 64)
        return cls(context, VerifiedCard(masks, blindings), signed)


def all_commitments(signed: Sequence[SignedCommitments]) -> list[bytes]:
    """To the masks of all dealers together."""
    return [total(points) for points in zip(*(one.commitments for one in signed), strict=True)]


Dealt = tuple[SerialNonce, Mapping[str, VerifiedCard], SignedCards]


def verified_hands(survey: "Survey", person: Person, patience: float) -> Steps[Hands]:
    """One's cards from every dealer, checked against what it has promised.

    Raises:
        IntegrityError: A dealer deals what it has not promised, or does not sign.
        ProtocolError: Nobody has promised anything yet, or a dealer refuses.
    """
    same = yield from same_everywhere(survey, patience, silence_is_fine=True)
    promises = yield from _promises(survey, patience)
    dealt: list[Dealt | None] = []
    for number, promise in enumerate(promises):
        one = None
        if same[number]:
            one = yield from _dealt(survey, number, promise, person, patience)
        dealt.append(one)
    if not survey.dealing.are_enough([one is not None for one in dealt]):
        return Hands()
    context = survey_context(survey.hash, promises)
    return Hands({one.name: _hand(one.name, context, dealt) for one in survey.dealt})


def serial_and_nonce(survey: str, role: str, device: bytes | None) -> SerialNonce:
    """What a device asks a dealer with: the same whenever it asks, and different at each dealer.

    Args:
        survey: The survey's hash.
        role: Of the dealer.
        device: The device's secret; None: nothing is kept, so asking again gets nothing.
    """
    if device is None:
        return SerialNonce(secrets.token_bytes(SERIAL), secrets.token_bytes(NONCE))
    derived = digest("serial and nonce", device, bytes.fromhex(survey), role.encode())
    return SerialNonce(derived[:SERIAL], derived[SERIAL : SERIAL + NONCE])


def _promises(survey: "Survey", patience: float) -> Steps[list[Promise]]:
    reply = yield from insist(Call(f"{survey.link}/status"), patience)
    if reply.status != 200:
        raise refused("the collector", reply)
    told = read_reply(reply.body, "the collector").get("promises")
    if told is None:
        raise ProtocolError("the collector has not said what dealers promise: it is not open yet")
    return read_promises(told, len(survey.dealing.addresses))


def _dealt(
    survey: "Survey", number: int, promise: Promise, person: Person, patience: float
) -> Steps[Dealt | None]:
    """What one dealer gave; None where no card is to be had of it."""
    role = survey.dealing.roles[number]
    asked = serial_and_nonce(survey.hash, role, person.device)
    mine = None if person.device is None else device_name(person.device, survey.hash, role)
    body = card_request(
        pseudonym(person.secret, survey.hash, role),
        device=mine,
        serial=asked.serial,
        nonce=asked.nonce,
    )
    reply, _ = yield from ask_for_cards(survey, number, body, patience)
    if reply is None:
        return None
    given = read_signed_cards(reply)
    context = promise.context(survey.hash)
    return asked, check_dealt(promise, context, asked, card_laws(survey), given), given


def read_signed_cards(document: Mapping[str, Any]) -> SignedCards:
    """What a dealer replied.

    Raises:
        DamagedError: It is no such reply.
    """
    told = document.get("signatures")
    if not isinstance(told, dict):
        raise DamagedError("the dealer must give signatures, by the names of the questions")
    return SignedCards(
        Evaluation.from_bytes(hex_bytes("evaluation", document.get("evaluation"), 96)),
        {name: hex_bytes("signatures", one, 64) for name, one in told.items()},
    )


def _hand(question: str, context: bytes, dealt: Sequence[Dealt | None]) -> Hand:
    cards = [None if one is None else one[1][question] for one in dealt]
    signed = tuple(
        None
        if one is None
        else SignedCommitments(one[1][question].commitments, one[2].signatures[question])
        for one in dealt
    )
    both = added([card for card in cards if card is not None])
    serials = tuple(None if one is None else one[0].serial.hex() for one in dealt)
    return Hand(None, serials, Proving(context, both, signed))


def most_bytes(mechanism: Any, dealers: int) -> int:
    """What proof and commitments of one answer add to an upload, in JSON, at most."""
    possible = possible_numbers(mechanism)
    return 128 + 2 * possible.proof_size + dealers * (256 + 72 * possible.numbers)


Stored = tuple[bytes | None, ...]


def check_verified(
    question: "SensitiveQuestion",
    promises: Sequence[Promise],
    pseudonym: bytes,
    serials: Sequence[bytes | None],
    reports: Sequence[int],
    commitments: Sequence[Any],
    proof: object,
) -> Stored:
    """What is stored beside each serial number: commitments and signature of the dealer.

    Args:
        question: Whose answer it is.
        promises: Of all dealers.
        pseudonym: Of the person at the collector.
        serials: Of the cards, one from each dealer; None from one that was left out.
        reports: What is reported.
        commitments: What each dealer has signed, as it came.
        proof: As it came.

    Raises:
        DamagedError: A card is not signed by its dealer, or the proof proves nothing.
    """
    possible = possible_numbers(question.mechanism)
    survey = question.survey.hash
    if len(commitments) != len(promises):
        raise DamagedError(f"commitments must be a list of {len(promises)}, one from each dealer")
    read: list[SignedCommitments | None] = []
    for promise, serial, told in zip(promises, serials, commitments, strict=True):
        if (told is None) != (serial is None):
            raise DamagedError("commitments must be given exactly with a serial")
        if told is None or serial is None:
            read.append(None)
            continue
        one = SignedCommitments.from_document(told, possible.numbers)
        if len(one.commitments) != possible.numbers:
            raise DamagedError(f"commitments must be {possible.numbers} of each dealer")
        context = promise.context(survey)
        message = signed_card(context, question.name, serial, one.commitments)
        check_signature(promise, message, one.signature)
        read.append(one)
    statement = Statement(
        report_binding(survey_context(survey, promises), question.name, pseudonym, serials),
        possible,
        all_commitments([one for one in read if one is not None]),
        reports,
    )
    verify(statement, hex_bytes("proof", proof, possible.proof_size))
    return tuple(None if one is None else one.to_bytes() for one in read)
