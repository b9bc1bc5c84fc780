"""Made-up people who answer a survey of the documentation."""

import asyncio
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jrr.client.fleet import drive_all
from jrr.survey.campaign import Campaign
from jrr.survey.contributor import contribute
from jrr.survey.identity import invitation_secret
from jrr.survey.limits import Limits
from jrr.survey.open_answers import is_asked
from jrr.survey.questionnaire import Item
from jrr.survey.survey_contributor import contribute_survey
from jrr.survey.surveys import Survey, is_survey

LIMITS = Limits(700.0, patience=5.0)


def answer(document: Path, invitations: Sequence[str]) -> None:
    """Let one person answer with each invitation; nobody may fail."""
    data = document.read_bytes()
    secrets = [invitation_secret(text) for text in invitations]
    if is_survey(data):
        survey = Survey.from_bytes(data)
        steps = [
            contribute_survey(survey, secret, answers_to(survey, number), LIMITS)
            for number, secret in enumerate(secrets)
        ]
    else:
        campaign = Campaign.from_bytes(data)
        steps = [
            contribute(
                campaign,
                secret,
                number % campaign.mechanism.k,
                LIMITS,
                covariates={
                    name: values[number % len(values)]
                    for name, values in campaign.covariates.items()
                },
            )
            for number, secret in enumerate(secrets)
        ]
    failed = [one for one in asyncio.run(drive_all(steps)) if isinstance(one, Exception)]
    assert not failed, failed[0]


def answers_to(survey: Survey, number: int) -> dict[str, Any]:
    """What one person answers to the items that apply."""
    given: dict[str, Any] = {}
    for item in survey.questionnaire.items:
        if is_asked(item, given):
            given[item.name] = answer_to(item, number)
    return given


def answer_to(item: Item, number: int) -> Any:
    """One answer of an item, another for another person."""
    words = [next(iter(label.values())) for label in item.labels] or ["no", "yes"]
    if item.kind == "number":
        return item.low
    if item.kind == "scale":
        return math.ceil(item.low) + number % 2
    return [words[0]] if item.kind == "several" else words[number % len(words)]
