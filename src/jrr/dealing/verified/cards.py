"""A verified card: its masks follow from what dealer and device chose before either knew the other.

The dealer's key was promised before anybody asked; serial number and nonce are the device's. So
neither chooses the masks, and the device draws them again for itself.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from jrr.dealing.serials import SerialNonce
from jrr.dealing.verified import oprf
from jrr.dealing.verified.group import commit, digest
from jrr.dealing.verified.keys import Promise, Secrets, check_signature
from jrr.dealing.verified.laws import Law
from jrr.dealing.verified.stream import Stream
from jrr.errors import DamagedError, IntegrityError


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

    evaluation: oprf.Evaluation
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
    key, evaluation = oprf.evaluate(secrets.cards, _given(context, asked))
    signatures = {}
    for question, card in _drawn(key, laws).items():
        signed = signed_card(context, question, asked.serial, card.commitments)
        signatures[question] = secrets.sign(signed)
    return SignedCards(evaluation, signatures)


def cards_of(
    secrets: Secrets, context: bytes, asked: SerialNonce, laws: Mapping[str, Law]
) -> dict[str, VerifiedCard]:
    """The cards that a dealer has given to whoever asked so, drawn again for the closing sums."""
    return _drawn(oprf.evaluate_again(secrets.cards, _given(context, asked)), laws)


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
        key = oprf.check(bytes.fromhex(promise.cards), _given(context, asked), dealt.evaluation)
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
