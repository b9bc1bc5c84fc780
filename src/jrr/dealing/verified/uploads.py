"""What the collector checks of a verified answer, before it stores anything of it."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from jrr.dealing.verified.cards import report_binding, signed_card
from jrr.dealing.verified.keys import Promise, check_signature, hex_bytes, survey_context
from jrr.dealing.verified.proofs import Statement, verify
from jrr.dealing.verified.proving import SignedCommitments, all_commitments
from jrr.dealing.verified.questions import possible_numbers
from jrr.errors import DamagedError

if TYPE_CHECKING:
    from jrr.survey.sensitive import SensitiveQuestion


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
