"""What travels to the collector: all answers of a person in one upload, and invitations."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from jrr._base import checks
from jrr.dealing.serials import serial_from_hex
from jrr.errors import DamagedError, JrrError
from jrr.protocol.documents import Message, bytes_from_hex, canonical_json, hashed, plain, read_body
from jrr.survey.question import OpenAnswers, as_covariates, check_open_answers

if TYPE_CHECKING:
    from jrr.dealing.verified.keys import Promise
    from jrr.mechanisms.base import Mechanism
    from jrr.survey.sensitive import SensitiveQuestion
    from jrr.survey.survey import Survey

MOST_NAMES = 100_000  # hashes in one request


class _Signed(Message):
    commitments: list[str]
    signature: str


class _Report(Message):
    carded: bool
    report: Any
    serials: list[str | None] | None = None
    commitments: list[_Signed | None] | None = None  # of verified cards, and what proves the answer
    proof: str | None = None


class _Upload(Message):
    pseudonym: str
    open: dict[str, Any]
    reports: dict[str, _Report]


class _Invitations(Message):
    names: list[str]


@dataclass(frozen=True, kw_only=True)
class StoredReport:
    """One perturbed answer as the collector keeps it: no time, no address, no order."""

    carded: bool
    report: bytes
    serials: tuple[bytes | None, ...] = ()  # of its cards, one from each dealer; () where none
    signed: tuple[bytes | None, ...] = ()  # of verified cards: to what each dealer is committed


@dataclass(frozen=True, kw_only=True)
class StoredAnswers:
    """The answers of one person as the collector keeps them."""

    name: bytes  # hash of the pseudonym
    open: str  # canonical JSON: open answers, as they are
    covariates: str  # canonical JSON: those of them by which results are grouped, all of them
    reports: Mapping[str, StoredReport]  # by the names of the questions that were asked


def report_message(
    mechanism: "Mechanism", report: Any, carded: bool, serials: Sequence[str | None] | None
) -> dict[str, Any]:
    """One perturbed answer in an upload.

    serials: of the cards, where their sum is announced: one from each dealer, None from one that
    was left out.
    """
    told = mechanism.report_format.to_json(report)
    document: dict[str, Any] = {"carded": carded, "report": told}
    if serials is not None:
        document["serials"] = list(serials)
    return document


def upload(pseudonym: bytes, answers: OpenAnswers, reports: Mapping[str, Any]) -> bytes:
    """All answers, exactly as they are stored and sent, again and again until received.

    Args:
        pseudonym: At the collector.
        answers: Open ones.
        reports: Name of a question -> as `report_message` makes it.
    """
    return canonical_json(
        {"pseudonym": pseudonym.hex(), "open": dict(answers), "reports": dict(reports)}
    )


def upload_limit(survey: "Survey") -> int:
    """Bytes that no upload to the survey exceeds, however it is spelled in JSON."""
    texts = [
        text
        for question in survey.open
        for text in (
            question.name,
            *(text for label in question.labels for text in label.values()),
        )
    ]
    texts += [one.name for one in survey.sensitive]
    dealers = len(survey.dealing.addresses)
    reports = sum(
        128 + 16 * one.mechanism.report_format.width + 64 * dealers for one in survey.sensitive
    )
    if survey.dealing.is_verified:
        from jrr.dealing.verified.proving import most_bytes  # needs rbcl

        reports += sum(most_bytes(one.mechanism, dealers) for one in survey.dealt)
    spelled = sum(12 * len(text) + 8 for text in texts)  # \uXXXX, twice beyond 16 bits
    return 4096 + reports + spelled + 64 * len(survey.open)


def read_upload(
    survey: "Survey", body: bytes, n: int | None = None, promises: Sequence["Promise"] = ()
) -> StoredAnswers:
    """Answers that fit the survey: a report of exactly the questions that were asked.

    Args:
        survey: Which asks.
        body: As it came.
        n: People who were dealt cards, once enrolment fixed that.
        promises: Of the dealers, where cards are verified.

    Raises:
        DamagedError: They do not fit, or a proof proves nothing. What was answered is not repeated.
    """
    document = read_body(body, _Upload)
    pseudonym = bytes_from_hex(document.pseudonym)
    if pseudonym is None:
        raise DamagedError("pseudonym must be 64 hexadecimal digits")
    answers = check_open_answers(survey.open, document.open)
    asked = survey.asked(answers, pseudonym)
    if set(document.reports) != {question.name for question in asked}:
        raise DamagedError(
            "reports must be of exactly the questions that this person is asked with these open "
            "answers"
        )
    return StoredAnswers(
        name=hashed(pseudonym),
        open=canonical_json(answers).decode(),
        covariates=canonical_json(as_covariates(survey.open, answers)).decode(),
        reports={
            question.name: _stored(
                question, document.reports[question.name], n, pseudonym, promises
            )
            for question in asked
        },
    )


def _stored(
    question: "SensitiveQuestion",
    document: _Report,
    n: int | None,
    pseudonym: bytes,
    promises: Sequence["Promise"],
) -> StoredReport:
    carded = document.carded
    if carded and not question.deals:
        raise DamagedError("carded must be false where no cards are dealt")
    try:
        mechanism = question.mechanism if n is None else question.for_people(n)
        report = mechanism.report_bytes(document.report)
        report = report if carded else mechanism.check_cardless(report)
    except JrrError:  # not repeated: it is somebody's report
        raise DamagedError(f"report of {question.name} must be of its mechanism") from None
    if (document.serials is not None) != (carded and mechanism.announced):
        raise DamagedError(
            "serials must be given exactly with a card of a question whose card sums are announced"
        )
    serials = _serials(question.survey, document.serials)
    proved = carded and question.survey.dealing.is_verified
    if (document.commitments is not None, document.proof is not None) != (proved, proved):
        raise DamagedError("commitments and proof must be given exactly with a verified card")
    if not proved:
        return StoredReport(carded=carded, report=report, serials=serials)
    from jrr.dealing.verified.proving import check_verified  # needs rbcl

    told = document.report if isinstance(document.report, list) else [document.report]
    signed = check_verified(
        question, promises, pseudonym, serials, told, plain(document.commitments), document.proof
    )
    return StoredReport(carded=True, report=report, serials=serials, signed=signed)


def _serials(survey: "Survey", serials: list[str | None] | None) -> tuple[bytes | None, ...]:
    """One serial number from each dealer; None from one that the survey lets be left out."""
    if serials is None:
        return ()
    dealers = len(survey.dealing.addresses)
    if len(serials) != dealers:
        raise DamagedError(f"serials must be a list of {dealers}, one from each dealer")
    found = tuple(None if serial is None else serial_from_hex(serial) for serial in serials)
    if not survey.dealing.are_enough([serial is not None for serial in found]):
        raise DamagedError("serials must not leave out a dealer that the survey needs")
    return found


def read_invitations(body: bytes) -> tuple[bytes, ...]:
    """Hashes of pseudonyms that a server should accept, sorted, so that their order tells nothing.

    Raises:
        DamagedError: It is no such list.
    """
    names = read_body(body, _Invitations).names
    if len(names) > MOST_NAMES:
        raise DamagedError(f"names must be a list of at most {MOST_NAMES} hashes")
    hashes = set()
    for entry in names:
        decoded = bytes_from_hex(entry)
        if decoded is None:
            raise checks.refusal("names", entry, "hashes of 64 hexadecimal digits")
        hashes.add(decoded)
    return tuple(sorted(hashes))
