"""Made-up people who answer a survey of the documentation."""

import asyncio
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jrr.client.fleet import drive_all
from jrr.protocol.identity import invitation_secret
from jrr.survey.contributor import contribute
from jrr.survey.question import Question, is_asked
from jrr.survey.spending import Limits
from jrr.survey.survey import Survey, read_survey

LIMITS = Limits(700.0, patience=5.0)


def answer(document: Path, invitations: Sequence[str]) -> None:
    """Let one person answer with each invitation; nobody may fail."""
    survey = read_survey(document.read_bytes())
    steps = [
        contribute(survey, invitation_secret(text), answers_to(survey, number), LIMITS)
        for number, text in enumerate(invitations)
    ]
    failed = [one for one in asyncio.run(drive_all(steps)) if isinstance(one, Exception)]
    assert not failed, failed[0]


def answers_to(survey: Survey, number: int) -> dict[str, Any]:
    """What one person answers to the questions that apply."""
    given: dict[str, Any] = {}
    for question in survey.questions:
        if is_asked(question, given):
            given[question.name] = answer_to(question, number)
    return given


def answer_to(question: Question, number: int) -> Any:
    """One answer to a question, another for another person."""
    words = [next(iter(label.values())) for label in question.labels] or ["no", "yes"]
    if question.kind == "number":
        return question.low
    if question.kind == "scale":
        return math.ceil(question.low) + number % 2
    return [words[0]] if question.kind == "several" else words[number % len(words)]
