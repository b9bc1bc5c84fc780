"""How a device comes by verified cards: promises from the collector, cards from every dealer."""

import secrets
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from jrr.dealing.interface import Hand, Hands, Person
from jrr.dealing.messages import ask_for_cards, card_request, same_everywhere
from jrr.dealing.serials import NONCE, SERIAL, SerialNonce
from jrr.dealing.verified.cards import SignedCards, VerifiedCard, added, check_dealt
from jrr.dealing.verified.group import digest
from jrr.dealing.verified.keys import Promise, hex_bytes, read_promises, survey_context
from jrr.dealing.verified.oprf import Evaluation
from jrr.dealing.verified.proving import Proving, SignedCommitments
from jrr.dealing.verified.questions import card_laws
from jrr.errors import DamagedError, ProtocolError
from jrr.protocol.identity import device_name, pseudonym
from jrr.protocol.steps import Call, Steps, insist, read_reply, refused

if TYPE_CHECKING:
    from jrr.survey.survey import Survey

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
