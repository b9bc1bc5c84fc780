"""What travels in surveys: everybody's answers to all items in one upload."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jrr.errors import DamagedError
from jrr.mechanisms.base import Mechanism
from jrr.survey.documents import canonical_json, read_body
from jrr.survey.messages import StoredReport, name_hash, stored_report
from jrr.survey.open_answers import OpenAnswers, as_covariates, check_open_answers
from jrr.survey.surveys import Survey


@dataclass(frozen=True, kw_only=True)
class StoredAnswers:
    """The answers of one person as the collector keeps them."""

    name: bytes  # hash of the pseudonym
    open: str  # canonical JSON: open answers, as they are
    reports: Mapping[str, StoredReport]  # by the names of the parts that were asked


def part_report(
    mechanism: Mechanism, report: Any, carded: bool, serials: Sequence[str | None] | None
) -> dict[str, Any]:
    """One perturbed answer in an upload."""
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
        reports: Name of a part -> as `part_report` makes it.
    """
    return canonical_json(
        {"pseudonym": pseudonym.hex(), "open": dict(answers), "reports": dict(reports)}
    )


def upload_limit(survey: Survey) -> int:
    """Bytes that no upload to the survey exceeds, however it is spelled in JSON."""
    texts = [
        text
        for item in survey.questionnaire.open
        for text in (item.name, *(text for label in item.labels for text in label.values()))
    ]
    texts += [part.name for part in survey.parts]
    reports = sum(
        128 + 16 * part.campaign.mechanism.report_format.width + 64 * len(part.campaign.dealers)
        for part in survey.parts
    )
    spelled = sum(12 * len(text) + 8 for text in texts)  # \uXXXX, twice beyond 16 bits
    return 4096 + reports + spelled + 64 * len(survey.questionnaire.open)


def read_upload(survey: Survey, body: bytes) -> StoredAnswers:
    """Answers that fit the survey, or a refusal: a report of exactly the parts that were asked."""
    document = read_body(body, "pseudonym", "open", "reports")
    name = name_hash(document)
    answers = check_open_answers(survey.questionnaire, document["open"])
    given = document["reports"]
    asked = survey.asked(answers)
    if not isinstance(given, Mapping) or set(given) != {part.name for part in asked}:
        raise DamagedError("reports must be of exactly the items that these open answers lead to")
    covariates = as_covariates(survey.questionnaire, answers)
    reports = {}
    for part in asked:
        fields = given[part.name]
        if not isinstance(fields, Mapping) or set(fields) - {"serials"} != {"carded", "report"}:
            raise DamagedError("each report must be of carded and report, and serials where needed")
        reports[part.name] = stored_report(
            part.campaign,
            part.campaign.mechanism,
            {**fields, "covariates": covariates},
            name,
        )
    return StoredAnswers(name=name, open=canonical_json(answers).decode(), reports=reports)
