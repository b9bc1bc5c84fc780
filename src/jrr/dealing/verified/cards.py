"""A verified card: its masks follow from what dealer and device chose before either knew the other.

The dealer's key was promised before anybody asked; serial number and nonce are the device's. So
neither chooses the masks, and the device draws them again for itself.

They are drawn from a keyed function that nobody can bias: the verifiable one of RFC 9497
(ristretto255, SHA-512). Whoever has the secret key computes it, with a proof; the public key fixes
all its values before anybody asks. Nothing is blinded: the dealer may know what it is asked for.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from jrr.dealing.serials import SerialNonce
from jrr.dealing.verified.group import (
    ORDER,
    as_number,
    base,
    commit,
    digest,
    number_bytes,
    plus,
    point_of,
    random_number,
    read_number,
    read_point,
    times,
)
from jrr.dealing.verified.keys import Promise, Secrets, Stream, check_signature
from jrr.dealing.verified.laws import Law
from jrr.errors import DamagedError, IntegrityError

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


def evaluate(secret: int, given: bytes) -> tuple[bytes, Evaluation]:
    """The value for what is given, and what shows that it is the right one.

    Args:
        secret: The secret key.
        given: Any bytes, up to 65,535.
    """
    asked = _hash_to_group(given)
    element = times(secret, asked)
    public = base(secret)
    left, right = _composites(public, asked, element)
    nonce = random_number()
    challenge = _challenge(public, left, right, base(nonce), times(nonce, left))
    answer = (nonce - challenge * secret) % ORDER
    proof = number_bytes(challenge) + number_bytes(answer)
    return _finalise(given, element), Evaluation(element, proof)


def evaluate_again(secret: int, given: bytes) -> bytes:
    """The value alone."""
    return _finalise(given, times(secret, _hash_to_group(given)))


def check_evaluation(public: bytes, given: bytes, evaluation: Evaluation) -> bytes:
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


@dataclass(frozen=True)
class VerifiedCard:
    """One card of one question."""

    masks: tuple[int, ...]
    blindings: tuple[int, ...]

    @property
    def commitments(self) -> tuple[bytes, ...]:
        """To each mask."""
        return tuple(map(commit, self.masks, self.blindings))


@dataclass(frozen=True)
class SignedCards:
    """What a dealer gives to one device: the masks are not in it, since the device draws them."""

    evaluation: Evaluation
    signatures: Mapping[str, bytes]  # by question


def deal(
    secrets: Secrets, context: bytes, asked: SerialNonce, laws: Mapping[str, Law]
) -> SignedCards:
    """The dealer's part: commit to the cards of all questions, and sign.

    Args:
        secrets: The dealer's, of the survey.
        context: `Promise.context` of its promise.
        asked: By a device.
        laws: By question.
    """
    key, evaluation = evaluate(secrets.cards, _given(context, asked))
    signatures = {}
    for question, card in _drawn(key, laws).items():
        signed = signed_card(context, question, asked.serial, card.commitments)
        signatures[question] = secrets.sign(signed)
    return SignedCards(evaluation, signatures)


def cards_of(
    secrets: Secrets, context: bytes, asked: SerialNonce, laws: Mapping[str, Law]
) -> dict[str, VerifiedCard]:
    """The cards that a dealer has given to whoever asked so, drawn again for the closing sums."""
    return _drawn(evaluate_again(secrets.cards, _given(context, asked)), laws)


def check_dealt(
    promise: Promise,
    context: bytes,
    asked: SerialNonce,
    laws: Mapping[str, Law],
    dealt: SignedCards,
) -> dict[str, VerifiedCard]:
    """The device's part: draw the same cards, and refuse what the dealer has not promised.

    Raises:
        IntegrityError: The dealer deals other cards than those that its promise fixes, or has not
            signed them.
    """
    try:
        key = check_evaluation(
            bytes.fromhex(promise.cards), _given(context, asked), dealt.evaluation
        )
    except DamagedError:
        raise IntegrityError(
            "the dealer's card is not the one that its promise fixes: nothing was sent"
        ) from None
    cards = _drawn(key, laws)
    for question, card in cards.items():
        signed = signed_card(context, question, asked.serial, card.commitments)
        try:
            check_signature(promise, signed, dealt.signatures.get(question, b""))
        except DamagedError:
            raise IntegrityError(
                f"the dealer has not signed its card for {question}: nothing was sent"
            ) from None
    return cards


def signed_card(
    context: bytes, question: str, serial: bytes, commitments: Sequence[bytes]
) -> bytes:
    """What a dealer signs of a card: to what, and for which question and serial number."""
    return digest("card", context, question.encode(), serial, *commitments)


def report_binding(
    context: bytes, question: str, pseudonym: bytes, serials: Sequence[bytes | None]
) -> bytes:
    """What a proof is bound to.

    Args:
        context: `survey_context`.
        question: Its name.
        pseudonym: Of the person at the collector.
        serials: Of the cards, one from each dealer; None from one that was left out.
    """
    listed = (b"" if serial is None else serial for serial in serials)
    return digest("report", context, question.encode(), pseudonym, *listed)


def added(cards: Sequence[VerifiedCard]) -> VerifiedCard:
    """The cards of several dealers as one."""
    return VerifiedCard(
        tuple(map(sum, zip(*(card.masks for card in cards), strict=True))),
        tuple(map(sum, zip(*(card.blindings for card in cards), strict=True))),
    )


def _given(context: bytes, asked: SerialNonce) -> bytes:
    return digest("asked", context, asked.serial, asked.nonce)


def _drawn(key: bytes, laws: Mapping[str, Law]) -> dict[str, VerifiedCard]:
    return {
        question: _draw(Stream("masks", key, question.encode()), law)
        for question, law in laws.items()
    }


def _draw(stream: Stream, law: Law) -> VerifiedCard:
    pairs = [(stream.laplace(law.rate), stream.number()) for _ in range(law.numbers)]
    return VerifiedCard(tuple(mask for mask, _ in pairs), tuple(blinding for _, blinding in pairs))
